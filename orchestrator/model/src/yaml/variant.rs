//! experiment.yaml: what a variant may be, and variants that build on others.

use super::decode::{Decoder, Fields};
use super::kernel::{self, Defaults, TOOLCHAINS};
use super::keys::{Key, MapSpec, Shape};
use super::knobs;
use super::located::Context;
use super::scalar::{self, TextRule};
use super::source::Span;
use super::tree::Entry;
use super::workload::{OPTIONS, options};
use crate::{
    Base, Change, ConfigItem, FioOption, Kernel, KernelSpec, Knob, Prebuilt, SeriesSource, SeriesSpec,
    Toolchain, Variant, VariantName,
};
use std::path::PathBuf;

const WORD: Shape = Shape::Text(TextRule::GitWord);
const PATH: Shape = Shape::Text(TextRule::Line);
const NUMBER: Shape = Shape::Count(1, 10_000);

/// `variants:`
pub(super) const VARIANTS: Shape = Shape::Table(TextRule::Heading, &Shape::Map(&VARIANT));

pub(super) const VARIANT: MapSpec = MapSpec {
    what: "a variant",
    hint: None,
    keys: &[
        Key::optional("repo", kernel::REPO, "A git repository: a path or a URL; `kernel.repo` by default."),
        Key::optional("ref", WORD, "A tag, branch or hash."),
        Key::optional("from", Shape::Text(TextRule::Heading), "Another variant that this one changes."),
        Key::optional(
            "series",
            PATH,
            "Patches on top: an mbox (also gzip), a maildir, a folder, one patch, a message-id or a URL.",
        ),
        Key::optional("upto", NUMBER, "Only the patches of the series up to this number."),
        Key::optional("pick", Shape::OneOrMore(&NUMBER), "Only these patches of the series, by number."),
        Key::optional("revert", Shape::OneOrMore(&WORD), "Commits to revert, in this order."),
        Key::optional(
            "config",
            kernel::CONFIG,
            "A list that starts with a target such as defconfig replaces `kernel.config`; any other is added to it.",
        ),
        Key::optional(
            "toolchain",
            Shape::Choice(TOOLCHAINS),
            "Which compiler; `kernel.toolchain` by default.",
        ),
        Key::optional(
            "cmdline",
            Shape::Text(TextRule::CommandLine),
            "Added to the kernel command line after the board's own.",
        ),
        Key::optional("dts", PATH, "A patch to device tree sources: only device trees are built again."),
        Key::optional(
            "dtbo",
            PATH,
            "A device tree overlay, source or blob, applied to the board's device tree.",
        ),
        Key::optional(
            "tree",
            kernel::REPO,
            "A working tree as it is, changes that are not committed included.",
        ),
        Key::optional("range", WORD, "Commits A..B: the kernel at B, which A is the base of."),
        Key::optional(
            "ladder",
            Shape::Flag,
            "Makes each commit or patch a variant of its own: base, +1, +2, ...",
        ),
        Key::optional("knobs", knobs::KNOBS, "Settings at run time, written after the boot in this order."),
        Key::optional("fio", OPTIONS, "fio options that replace or add to those of every workload."),
        Key::optional("image", PATH, "A kernel image that exists already."),
        Key::optional("dtb", PATH, "The device tree blob that goes with `image`."),
        Key::optional(
            "modules",
            PATH,
            "The modules that go with `image`: an archive or a folder of lib/modules.",
        ),
        Key::optional("running", Shape::Flag, "`true`: whatever the board runs now."),
        Key::optional(
            "placebo",
            Shape::Flag,
            "`true`: the same source with functions aligned differently, to see what layout alone does.",
        ),
    ],
};

/// Keys of which a variant has exactly one.
const SOURCES: [&str; 6] = ["ref", "from", "tree", "range", "image", "running"];
/// Keys of kernels that are built.
const BUILDS: [&str; 11] =
    ["repo", "series", "upto", "pick", "revert", "config", "toolchain", "dts", "dtbo", "ladder", "placebo"];

/// What one entry says itself, before it is joined with what it builds on.
struct Own {
    name: String,
    span: Span,
    source: Source,
    /// Keys that were given, with their places.
    given: Vec<(&'static str, Span)>,
    changes: Vec<Change>,
    ladder: bool,
    config: Vec<ConfigItem>,
    toolchain: Option<Toolchain>,
    overlay: Option<PathBuf>,
    placebo: bool,
    cmdline: Option<String>,
    knobs: Vec<Knob>,
    fio: Vec<FioOption>,
}

enum Source {
    Git { repo: String, base: Base },
    From(String),
    Prebuilt(Prebuilt),
    Running,
}

/// All variants in the order of the file; `None` where one is faulty.
pub(super) fn variants(
    decoder: &mut Decoder<'_>,
    fields: &Fields<'_>,
    context: &Context<'_>,
) -> Option<Vec<Variant>> {
    let defaults = kernel::defaults(decoder, fields, context);
    let node = fields.value("variants")?;
    let entries = decoder.table(node, "variants", &VARIANTS);
    if let [only] = entries {
        let steps = only.value.child("ladder").is_some();
        if !steps {
            decoder.warning(only.span, "there is only one variant, so nothing is compared");
        }
    }
    let names: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
    let own: Vec<Option<Own>> =
        entries.iter().map(|entry| own(decoder, entry, &defaults, context, &names)).collect();
    let circles = report_circles(decoder, &own);
    let own: Vec<Own> = own.into_iter().collect::<Option<_>>().filter(|_| !circles)?;
    let all: Vec<Option<Variant>> = own.iter().map(|one| join(decoder, one, &own, &defaults)).collect();
    all.into_iter().collect()
}

fn own(
    decoder: &mut Decoder<'_>,
    entry: &Entry,
    defaults: &Defaults,
    context: &Context<'_>,
    names: &[&str],
) -> Option<Own> {
    if entry.value.is_nothing() {
        decoder.error(entry.span, format!("the variant `{}` has no value", entry.key)).hint =
            Some("write at least `{ref: v6.16}`".into());
        return None;
    }
    let before = decoder.count_errors();
    let fields = decoder.fields(&entry.value, &VARIANT)?;
    // A key that was misspelt may be the one that is missing.
    let complete = decoder.count_errors() == before;
    let source = source(decoder, entry, &fields, defaults, (context, names), complete);
    let overlay = file(decoder, &fields, "dtbo", context);
    let mut changes: Vec<(Span, Change)> = Vec::new();
    changes.extend(series(decoder, &fields, context));
    changes.extend(reverts(decoder, &fields));
    let dts = file(decoder, &fields, "dts", context);
    changes.extend(fields.value("dts").map(|node| node.span).zip(dts.map(Change::DeviceTree)));
    changes.sort_by_key(|(span, _)| span.start);
    let own = Own {
        name: entry.key.clone(),
        span: entry.span,
        given: VARIANT
            .keys
            .iter()
            .filter_map(|key| Some((key.name, fields.value(key.name)?.owner)))
            .collect(),
        changes: changes.into_iter().map(|(_, change)| change).collect(),
        ladder: only_true(decoder, &fields, "ladder"),
        config: kernel::config(decoder, &fields, context),
        toolchain: kernel::toolchain(decoder, &fields),
        overlay,
        placebo: only_true(decoder, &fields, "placebo"),
        cmdline: kernel::cmdline(decoder, &fields),
        knobs: knobs::knobs(decoder, &fields),
        fio: fields.value("fio").map(|node| options(decoder, node, "fio", context)).unwrap_or_default(),
        source: source?,
    };
    (decoder.count_errors() == before).then_some(own)
}

/// A switch that is written only to turn it on.
fn only_true(decoder: &mut Decoder<'_>, fields: &Fields<'_>, name: &str) -> bool {
    let flag = decoder.flag(fields, name);
    if let (Some(false), Some(node)) = (flag, fields.value(name)) {
        decoder.error(node.span, format!("`{name}: false` is the same as none")).hint =
            Some("remove it".into());
    }
    flag.unwrap_or(false)
}

fn source(
    decoder: &mut Decoder<'_>,
    entry: &Entry,
    fields: &Fields<'_>,
    defaults: &Defaults,
    (context, names): (&Context<'_>, &[&str]),
    complete: bool,
) -> Option<Source> {
    let given: Vec<&str> = SOURCES.into_iter().filter(|key| fields.value(key).is_some()).collect();
    let place = |key: &str| fields.value(key).map_or(entry.span, |node| node.owner);
    for key in ["dtb", "modules"] {
        if fields.value(key).is_some() && !given.contains(&"image") {
            decoder.error(place(key), format!("`{key}` goes with `image`, which is not given")).hint =
                Some("name the image too; a kernel that is built brings its own".into());
        }
    }
    match given.as_slice() {
        [] if !complete => None,
        [] => {
            decoder.error(entry.span, format!("the variant `{}` names no kernel", entry.key)).hint =
                Some("add `ref:`, `from:`, `tree:`, `range:`, `image:` or `running: true`".into());
            None
        }
        ["from"] => from(decoder, entry, fields, names),
        ["image"] => {
            refuse_builds(decoder, fields, "an image that exists is not built");
            let (image, dtb) =
                (file(decoder, fields, "image", context), file(decoder, fields, "dtb", context));
            let modules = file(decoder, fields, "modules", context);
            Some(Source::Prebuilt(Prebuilt { image: image?, dtb, modules }))
        }
        ["running"] => {
            only_true(decoder, fields, "running");
            refuse_builds(decoder, fields, "what a board runs already is not built");
            if fields.value("cmdline").is_some() {
                decoder.error(place("cmdline"), "what a board runs already is not booted").hint =
                    Some("remove `cmdline`, or use `knobs`".into());
            }
            Some(Source::Running)
        }
        [key] => git(decoder, entry, fields, key, defaults, context),
        [first, second, ..] => {
            decoder
                .error(place(second), format!("a variant has one source: `{first}` and `{second}` are two"))
                .hint = Some(format!(
                "remove one of them{}",
                if *second == "from" || *first == "from" {
                    "; with `from` everything else comes from that variant"
                } else {
                    ""
                }
            ));
            None
        }
    }
}

fn from(decoder: &mut Decoder<'_>, entry: &Entry, fields: &Fields<'_>, names: &[&str]) -> Option<Source> {
    let name = decoder.text(fields, "from")?;
    let span = fields.value("from")?.span;
    if let Some(node) = fields.value("repo") {
        decoder.error(node.owner, "the repository comes with `from`").hint =
            Some("remove `repo`, or name a `ref` in it instead of `from`".into());
    }
    if name == entry.key {
        decoder.error(span, format!("the variant `{name}` cannot be from itself")).hint =
            Some("name another variant".into());
        return None;
    }
    if !names.contains(&name.as_str()) {
        let others = names.iter().copied().filter(|other| *other != entry.key);
        decoder.unknown(span, &name, format!("no variant is named `{name}`"), others);
        return None;
    }
    Some(Source::From(name))
}

fn refuse_builds(decoder: &mut Decoder<'_>, fields: &Fields<'_>, reason: &str) {
    for key in BUILDS {
        if let Some(node) = fields.value(key) {
            decoder.error(node.owner, format!("{reason}: `{key}` has no effect")).hint =
                Some(format!("remove `{key}`"));
        }
    }
}

fn git(
    decoder: &mut Decoder<'_>,
    entry: &Entry,
    fields: &Fields<'_>,
    key: &str,
    defaults: &Defaults,
    context: &Context<'_>,
) -> Option<Source> {
    if key == "tree" {
        let repo = kernel::repo(decoder, fields, "tree", context);
        if let Some(node) = fields.value("repo") {
            decoder.error(node.owner, "`tree` names the repository itself").hint =
                Some("remove `repo`".into());
        }
        if let (Some(repo), Some(node)) = (&repo, fields.value("tree"))
            && !repo.starts_with('/')
        {
            decoder.error(node.span, "a working tree is a folder of this host, not a URL").hint =
                Some("clone it, or use `repo` and `ref`".into());
        }
        return Some(Source::Git { repo: repo?, base: Base::Tree });
    }
    let before = decoder.count_errors();
    let base =
        if key == "range" { range(decoder, fields) } else { decoder.text(fields, "ref").map(Base::Ref) };
    let own = kernel::repo(decoder, fields, "repo", context);
    if own.is_none() && defaults.repo.is_none() && !defaults.repo_given && decoder.count_errors() == before {
        decoder.error(entry.span, format!("the variant `{}` has no repository", entry.key)).hint =
            Some("write `repo:` here, or under `kernel:` for all variants".into());
    }
    Some(Source::Git { repo: own.or_else(|| defaults.repo.clone())?, base: base? })
}

fn range(decoder: &mut Decoder<'_>, fields: &Fields<'_>) -> Option<Base> {
    let text = decoder.text(fields, "range")?;
    match text.split_once("..") {
        Some((from, to))
            if !from.is_empty() && !to.is_empty() && !to.starts_with('.') && !to.contains("..") =>
        {
            Some(Base::Range { from: from.to_owned(), to: to.to_owned() })
        }
        _ => {
            let span = fields.value("range")?.span;
            decoder.error(span, format!("`{text}` is no range of commits")).hint =
                Some("write `A..B`, such as `HEAD~3..HEAD`".into());
            None
        }
    }
}

fn series(decoder: &mut Decoder<'_>, fields: &Fields<'_>, context: &Context<'_>) -> Option<(Span, Change)> {
    let (upto, pick) = (decoder.count32(fields, "upto"), pick(decoder, fields));
    let Some(node) = fields.value("series") else {
        for key in ["upto", "pick"] {
            if let Some(node) = fields.value(key) {
                decoder.error(node.owner, format!("`{key}` goes with `series`, which is not given")).hint =
                    Some("name the series here, too".into());
            }
        }
        return None;
    };
    if let (Some(_), Some(second)) = (fields.value("upto"), fields.value("pick")) {
        decoder.error(second.owner, "`upto` and `pick` both choose patches").hint =
            Some("remove one of them".into());
    }
    let text = decoder.text(fields, "series")?;
    let source = series_source(decoder, node.span, &text, context)?;
    Some((node.span, Change::Series(SeriesSpec { source, upto, pick })))
}

fn series_source(
    decoder: &mut Decoder<'_>,
    span: Span,
    text: &str,
    context: &Context<'_>,
) -> Option<SeriesSource> {
    if text.contains("://") {
        return Some(SeriesSource::Url(text.to_owned()));
    }
    let bare = text.trim_start_matches('<').trim_end_matches('>');
    let local = text.contains('/') || context.resolve(text).is_some_and(|path| (context.exists)(&path));
    if bare.contains('@') && !local && !bare.contains(char::is_whitespace) {
        return Some(SeriesSource::MessageId(bare.to_owned()));
    }
    kernel::existing(decoder, span, text, context).map(SeriesSource::Path)
}

fn pick(decoder: &mut Decoder<'_>, fields: &Fields<'_>) -> Vec<u32> {
    let Some(node) = fields.value("pick") else { return Vec::new() };
    let mut picked: Vec<u32> = Vec::new();
    for item in decoder.one_or_more(node, "pick") {
        let number = decoder.item(item, "a patch of `pick`", |text| scalar::count(&NUMBER, text));
        let Some(number) = number.and_then(|number| u32::try_from(number).ok()) else { continue };
        if picked.contains(&number) {
            decoder.error(item.span, format!("patch {number} is listed twice"));
        }
        picked.push(number);
    }
    picked
}

fn reverts(decoder: &mut Decoder<'_>, fields: &Fields<'_>) -> Option<(Span, Change)> {
    let node = fields.value("revert")?;
    let mut commits: Vec<String> = Vec::new();
    for item in decoder.one_or_more(node, "revert") {
        let commit = decoder.item(item, "a commit to revert", |text| scalar::text(&WORD, text))?;
        if commits.contains(&commit) {
            decoder.error(item.span, format!("`{commit}` is reverted twice"));
        }
        commits.push(commit);
    }
    Some((node.span, Change::Revert(commits)))
}

fn file(decoder: &mut Decoder<'_>, fields: &Fields<'_>, key: &str, context: &Context<'_>) -> Option<PathBuf> {
    let text = decoder.text(fields, key)?;
    kernel::existing(decoder, fields.value(key)?.span, &text, context)
}

/// Reports variants that build on themselves; whether there are any.
fn report_circles(decoder: &mut Decoder<'_>, own: &[Option<Own>]) -> bool {
    let parent = |name: &str| {
        let one = own.iter().flatten().find(|one| one.name == name)?;
        match &one.source {
            Source::From(parent) => Some(parent.as_str()),
            _ => None,
        }
    };
    let mut told: Vec<&str> = Vec::new();
    for start in own.iter().flatten() {
        let mut path = vec![start.name.as_str()];
        while let Some(next) = parent(path[path.len() - 1]) {
            if let Some(at) = path.iter().position(|name| *name == next) {
                let circle = &path[at..];
                if !circle.iter().any(|name| told.contains(name)) {
                    let way = [circle, &[next]].concat().join("` -> `");
                    decoder.error(start.span, format!("these variants are from each other: `{way}`")).hint =
                        Some("let one of them name a `ref`".into());
                    told.extend(circle);
                }
                break;
            }
            path.push(next);
        }
    }
    !told.is_empty()
}

/// A variant with everything that it inherits. There are no circles any more.
fn join(decoder: &mut Decoder<'_>, own: &Own, all: &[Own], defaults: &Defaults) -> Option<Variant> {
    let Joined { kernel, cmdline, knobs, fio } = joined(decoder, own, all, defaults)?;
    let kernel = match kernel {
        Kernel::Built(mut spec) => {
            spec.config = kernel::with_base(spec.config);
            Kernel::Built(spec)
        }
        other => other,
    };
    Some(Variant { name: VariantName(own.name.clone()), kernel, cmdline, knobs, fio })
}

struct Joined {
    kernel: Kernel,
    cmdline: Option<String>,
    knobs: Vec<Knob>,
    fio: Vec<FioOption>,
}

fn joined(decoder: &mut Decoder<'_>, own: &Own, all: &[Own], defaults: &Defaults) -> Option<Joined> {
    let base = match &own.source {
        Source::From(name) => {
            let parent = all.iter().find(|other| other.name == *name)?;
            // What is wrong with the parent is reported for the parent alone.
            joined(&mut decoder.silent(), parent, all, defaults)?
        }
        Source::Git { repo, base } => plain(Kernel::Built(Box::new(KernelSpec {
            repo: repo.clone(),
            base: base.clone(),
            changes: Vec::new(),
            ladder: false,
            config: defaults.config.clone(),
            toolchain: defaults.toolchain.clone(),
            overlay: None,
            placebo: false,
        }))),
        Source::Prebuilt(files) => plain(Kernel::Prebuilt(files.clone())),
        Source::Running => plain(Kernel::Running),
    };
    let kernel = on_top(decoder, own, base.kernel)?;
    if kernel == Kernel::Running
        && let Some((_, span)) = own.given.iter().find(|(key, _)| *key == "cmdline")
    {
        decoder.error(*span, "what a board runs already is not booted").hint =
            Some("remove `cmdline`, or use `knobs`".into());
        return None;
    }
    let parts = [base.cmdline, own.cmdline.clone()];
    let cmdline: Vec<String> = parts.into_iter().flatten().collect();
    Some(Joined {
        kernel,
        cmdline: (!cmdline.is_empty()).then(|| cmdline.join(" ")),
        knobs: overridden(base.knobs, &own.knobs, |knob| &knob.name),
        fio: overridden(base.fio, &own.fio, |option| &option.name),
    })
}

fn plain(kernel: Kernel) -> Joined {
    Joined { kernel, cmdline: None, knobs: Vec::new(), fio: Vec::new() }
}

/// The kernel of a variant from what it builds on.
fn on_top(decoder: &mut Decoder<'_>, own: &Own, base: Kernel) -> Option<Kernel> {
    let builds = own.given.iter().find(|(key, _)| BUILDS.contains(key));
    let mut spec = match (base, builds) {
        (Kernel::Built(spec), _) => spec,
        (other, None) => return Some(other),
        (_, Some((key, span))) => {
            decoder
                .error(*span, format!("`{key}` needs a kernel that is built, and `from` names none"))
                .hint =
                Some("only `cmdline`, `knobs` and `fio` can change a kernel that exists already".into());
            return None;
        }
    };
    if spec.ladder {
        decoder
            .error(own.span, format!("the variant `{}` is from a ladder, which is several kernels", own.name))
            .hint = Some("write the range or series here, too".into());
        return None;
    }
    spec.changes.extend(own.changes.iter().cloned());
    spec.ladder = own.ladder;
    if kernel::is_whole(&own.config) {
        spec.config.clone_from(&own.config);
    } else {
        spec.config.extend(own.config.iter().cloned());
    }
    if let Some(toolchain) = &own.toolchain {
        spec.toolchain = toolchain.clone();
    }
    if let Some(overlay) = &own.overlay {
        if spec.overlay.is_some() {
            decoder
                .error(
                    own.span,
                    format!("the variant `{}` has two overlays, its own and an inherited one", own.name),
                )
                .hint = Some("put both into one overlay".into());
        }
        spec.overlay = Some(overlay.clone());
    }
    spec.placebo |= own.placebo;
    let steps = matches!(spec.base, Base::Range { .. }) || !spec.changes.is_empty();
    if spec.ladder && !steps {
        let span = own.given.iter().find(|(key, _)| *key == "ladder").map_or(own.span, |(_, span)| *span);
        decoder.error(span, "a ladder needs steps").hint =
            Some("add `range:`, `series:` or `revert:`".into());
    }
    Some(Kernel::Built(spec))
}

/// Inherited entries, each replaced where the variant has one of that name; the others added.
fn overridden<T: Clone>(mut base: Vec<T>, own: &[T], name: impl Fn(&T) -> &str) -> Vec<T> {
    for one in own {
        match base.iter_mut().find(|other| name(other) == name(one)) {
            Some(other) => other.clone_from(one),
            None => base.push(one.clone()),
        }
    }
    base
}
