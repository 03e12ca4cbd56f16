//! experiment.yaml: where kernels come from and how they are built.

use super::decode::{Decoder, Fields};
use super::keys::{Choice, Key, MapSpec, Shape};
use super::located::Context;
use super::scalar::{self, Problem, TextRule};
use super::source::Span;
use super::tree::{Entry, Node};
use crate::{
    Base, Change, ConfigItem, ConfigValue, Kernel, KernelSpec, SeriesSource, SeriesSpec, Toolchain, Variant,
    VariantName,
};
use std::path::{Path, PathBuf};

const CONFIG: Shape = Shape::List(&Shape::Text(TextRule::Line));
const CONFIG_DOC: &str = "Make targets (defconfig), files of CONFIG_ lines (written with a `/`) and single options \
    (CONFIG_X=y, CONFIG_X=n?; the `?` skips an option that the kernel does not offer), applied in order.";
const REPO: Shape = Shape::Text(TextRule::Repository);
const WORD: Shape = Shape::Text(TextRule::GitWord);
const PATH: Shape = Shape::Text(TextRule::Line);

pub(super) const KERNEL: MapSpec = MapSpec {
    what: "the kernel",
    hint: None,
    keys: &[
        Key::optional("repo", REPO, "A git repository: a path or a URL."),
        Key::optional("config", CONFIG, CONFIG_DOC),
        Key::optional("toolchain", Shape::Choice(TOOLCHAINS), "Which compiler builds it; gcc by default."),
    ],
};

/// `variants:`
pub(super) const VARIANTS: Shape = Shape::Table(TextRule::Heading, &Shape::Map(&VARIANT));

const VARIANT: MapSpec = MapSpec {
    what: "a variant",
    hint: None,
    keys: &[
        Key::optional("repo", REPO, "A git repository: a path or a URL; `kernel.repo` by default."),
        Key::required("ref", WORD, "A tag, branch or hash."),
        Key::optional("series", PATH, "Patches on top of `ref`: an mbox, a folder of patches or one patch."),
        Key::optional(
            "config",
            CONFIG,
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
        Key::later("from", "Another variant that this one changes."),
        Key::later("upto", "How many patches of the series to apply."),
        Key::later("revert", "Commits to revert."),
        Key::later("dts", "A patch to device tree sources."),
        Key::later("dtbo", "A device tree overlay."),
        Key::later("tree", "A working tree as it is, uncommitted changes included."),
        Key::later("range", "Commits that become one variant each."),
        Key::later("ladder", "Makes a range or series one variant a step."),
        Key::later("knobs", "Settings at run time."),
        Key::later("fio", "fio options of this variant."),
        Key::later("image", "A kernel image that exists already."),
        Key::later("dtb", "A device tree that exists already."),
        Key::later("modules", "Modules that exist already."),
        Key::later("running", "Whatever the board runs now."),
        Key::later("placebo", "The same source, laid out differently."),
    ],
};

const TOOLCHAINS: &[Choice] = &[
    Choice::plain("gcc", "The host's gcc."),
    Choice::plain("llvm", "clang and the LLVM tools."),
    Choice::later("cross", "A cross compiler by its prefix."),
];

/// What `kernel:` says; every part may be left to the variants.
struct Defaults {
    repo: Option<String>,
    config: Vec<ConfigItem>,
    toolchain: Toolchain,
    /// A faulty `repo` is not reported again at each variant.
    repo_given: bool,
}

/// All variants in the order of the file; `None` where one is faulty.
pub(super) fn variants(
    decoder: &mut Decoder<'_>,
    fields: &Fields<'_>,
    context: &Context<'_>,
) -> Option<Vec<Variant>> {
    let defaults = defaults(decoder, fields, context);
    let node = fields.value("variants")?;
    let entries = decoder.table(node, "variants", &VARIANTS);
    if let [only] = entries {
        decoder.warning(only.span, "there is only one variant, so nothing is compared");
    }
    let all: Vec<Option<Variant>> =
        entries.iter().map(|entry| variant(decoder, entry, &defaults, context)).collect();
    all.into_iter().collect()
}

fn defaults(decoder: &mut Decoder<'_>, fields: &Fields<'_>, context: &Context<'_>) -> Defaults {
    let none =
        Defaults { repo: None, config: Vec::new(), toolchain: Toolchain::default(), repo_given: false };
    let Some(node) = fields.value("kernel") else { return none };
    // An empty `kernel:` has been reported with its key, and what is wrong in it explains what variants lack.
    let Some(fields) = (!node.is_nothing()).then(|| decoder.fields(node, &KERNEL)).flatten() else {
        return Defaults { repo_given: true, ..none };
    };
    Defaults {
        repo: repo(decoder, &fields, context),
        config: config(decoder, &fields, context),
        toolchain: toolchain(decoder, &fields).unwrap_or_default(),
        repo_given: fields.value("repo").is_some(),
    }
}

fn variant(
    decoder: &mut Decoder<'_>,
    entry: &Entry,
    defaults: &Defaults,
    context: &Context<'_>,
) -> Option<Variant> {
    if entry.value.is_nothing() {
        decoder.error(entry.span, format!("the variant `{}` has no value", entry.key)).hint =
            Some("write at least `{ref: v6.16}`".into());
        return None;
    }
    let before = decoder.count_errors();
    let fields = decoder.fields(&entry.value, &VARIANT)?;
    let reference = decoder.text(&fields, "ref");
    let own_repo = repo(decoder, &fields, context);
    let series = series(decoder, &fields, context);
    let own_config = config(decoder, &fields, context);
    let toolchain = toolchain(decoder, &fields);
    let cmdline = cmdline(decoder, &fields);
    if own_repo.is_none()
        && defaults.repo.is_none()
        && !defaults.repo_given
        && decoder.count_errors() == before
    {
        decoder.error(entry.span, format!("the variant `{}` has no repository", entry.key)).hint =
            Some("write `repo:` here, or under `kernel:` for all variants".into());
    }
    let config =
        if is_whole(&own_config) { own_config } else { [defaults.config.as_slice(), &own_config].concat() };
    Some(Variant {
        name: VariantName(entry.key.clone()),
        kernel: Kernel::Built(Box::new(KernelSpec {
            repo: own_repo.or_else(|| defaults.repo.clone())?,
            base: Base::Ref(reference?),
            changes: series.map(series_of).into_iter().collect(),
            ladder: false,
            config: with_base(config),
            toolchain: toolchain.unwrap_or_else(|| defaults.toolchain.clone()),
            overlay: None,
            placebo: false,
        })),
        cmdline,
        knobs: Vec::new(),
        fio: Vec::new(),
    })
}

fn series_of(path: PathBuf) -> Change {
    Change::Series(SeriesSpec { source: SeriesSource::Path(path), upto: None, pick: Vec::new() })
}

/// Options alone configure nothing: `defconfig` comes first where no make target does.
fn with_base(mut config: Vec<ConfigItem>) -> Vec<ConfigItem> {
    if !is_whole(&config) {
        config.insert(0, ConfigItem::Base("defconfig".into()));
    }
    config
}

/// Whether a list stands on its own: it starts with a target that writes a whole configuration. Targets such as
/// `kvm_guest.config` add to one that is there.
fn is_whole(config: &[ConfigItem]) -> bool {
    matches!(config.first(), Some(ConfigItem::Base(target)) if !target.ends_with(".config"))
}

fn toolchain(decoder: &mut Decoder<'_>, fields: &Fields<'_>) -> Option<Toolchain> {
    match decoder.choice(fields, "toolchain")?.0 {
        "llvm" => Some(Toolchain::Llvm),
        _ => Some(Toolchain::Gcc),
    }
}

/// A URL as it is, or an absolute path of something that exists.
fn repo(decoder: &mut Decoder<'_>, fields: &Fields<'_>, context: &Context<'_>) -> Option<String> {
    let text = decoder.text(fields, "repo")?;
    if is_url(&text) {
        return Some(text);
    }
    let path = existing(decoder, fields.value("repo")?.span, &text, context)?;
    Some(path.to_string_lossy().into_owned())
}

/// As git tells them apart: `scheme://…` or `host:path`, where no `/` comes before the colon.
fn is_url(text: &str) -> bool {
    text.contains("://")
        || text.split_once(':').is_some_and(|(host, _)| !host.contains('/') && !host.starts_with('.'))
}

fn series(decoder: &mut Decoder<'_>, fields: &Fields<'_>, context: &Context<'_>) -> Option<PathBuf> {
    let text = decoder.text(fields, "series")?;
    let span = fields.value("series")?.span;
    if text.contains("://") {
        decoder.later(span, "a series from a URL");
        return None;
    }
    let local = text.contains('/') || context.resolve(&text).is_some_and(|path| (context.exists)(&path));
    if text.contains('@') && !local {
        decoder.later(span, "a series by its message-id");
        return None;
    }
    existing(decoder, span, &text, context)
}

/// The absolute path of something that must be there.
fn existing(decoder: &mut Decoder<'_>, span: Span, text: &str, context: &Context<'_>) -> Option<PathBuf> {
    let Some(path) = context.resolve(text) else {
        decoder.error(span, "there is no home directory that `~/` could stand for");
        return None;
    };
    if (context.exists)(&path) {
        return Some(path);
    }
    let hint = if Path::new(text).is_absolute() || text.starts_with("~/") {
        "check the path".to_owned()
    } else {
        "relative paths start at the folder of this file".to_owned()
    };
    decoder.error(span, format!("`{text}` does not exist")).hint = Some(hint);
    None
}

fn cmdline(decoder: &mut Decoder<'_>, fields: &Fields<'_>) -> Option<String> {
    let text = decoder.text(fields, "cmdline")?;
    check_cmdline(decoder, fields.value("cmdline")?.span, &text);
    Some(text)
}

/// Parameters that kab sets on every command line.
pub(super) fn check_cmdline(decoder: &mut Decoder<'_>, span: Span, text: &str) {
    for name in ["kab", "panic"] {
        let is_set = |word: &str| word.split_once('=').is_some_and(|(key, _)| key == name);
        if text.split_whitespace().any(is_set) {
            let reason =
                if name == "kab" { "to prove which kernel runs" } else { "so that a panic ends the boot" };
            decoder.error(span, format!("`{name}=` is set by kab itself, {reason}")).hint =
                Some("remove it".into());
        }
    }
}

fn config(decoder: &mut Decoder<'_>, fields: &Fields<'_>, context: &Context<'_>) -> Vec<ConfigItem> {
    let Some(node) = fields.value("config") else { return Vec::new() };
    let items = decoder.list(node, "config");
    items.iter().filter_map(|item| config_item(decoder, item, context)).collect()
}

fn config_item(decoder: &mut Decoder<'_>, node: &Node, context: &Context<'_>) -> Option<ConfigItem> {
    let text = decoder.item(node, "an item of `config`", |text| scalar::text(&PATH, text))?;
    if text.starts_with("CONFIG_") {
        return decoder.parsed(node, "`config`", config_option);
    }
    if text.contains('/') {
        return existing(decoder, node.span, &text, context).map(ConfigItem::Fragment);
    }
    let is_file = context.resolve(&text).is_some_and(|path| (context.exists)(&path));
    if is_file {
        decoder.error(node.span, format!("`{text}` would be a make target, but is a file here")).hint =
            Some(format!("write `./{text}` for the file"));
        return None;
    }
    decoder.parsed(node, "`config`", make_target)
}

fn make_target(text: &str) -> Result<ConfigItem, Problem> {
    let is_word =
        text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)) && !text.starts_with('-');
    if is_word && text.ends_with("config") {
        return Ok(ConfigItem::Base(text.to_owned()));
    }
    let hint = match text.split_once('=') {
        Some(_) => format!("write `CONFIG_{text}`"),
        None => "write `defconfig`, `./a/file` or `CONFIG_X=y`".to_owned(),
    };
    Err(Problem::new("is no make target, file or option", hint))
}

/// `CONFIG_X=y`, with `?` at the end where the kernel may not offer it.
fn config_option(text: &str) -> Result<ConfigItem, Problem> {
    let (optional, setting) = match text.strip_suffix('?') {
        Some(setting) => (true, setting),
        None => (false, text),
    };
    let Some((symbol, value)) = setting.split_once('=') else {
        return Err(Problem::new("sets no value", format!("write `{setting}=y`, `=m`, `=n` or a value")));
    };
    let name = symbol.trim_start_matches("CONFIG_");
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Err(Problem::new("names no option", "an option is written `CONFIG_SCSI_UFSHCD=y`"));
    }
    let value = config_value(value).ok_or_else(|| {
        let hint = format!("write y, m, n, a number or a quoted string: `'{symbol}=\"{value}\"'`");
        Problem::new("has a value that Kconfig does not take", hint)
    })?;
    Ok(ConfigItem::Option { symbol: symbol.to_owned(), value, optional })
}

fn config_value(text: &str) -> Option<ConfigValue> {
    let digits = |text: &str, hex: bool| {
        !text.is_empty() && text.bytes().all(|b| if hex { b.is_ascii_hexdigit() } else { b.is_ascii_digit() })
    };
    let is_number = match text.strip_prefix("0x") {
        Some(hex) => digits(hex, true),
        None => digits(text.strip_prefix('-').unwrap_or(text), false),
    };
    let is_string = text.len() >= 2 && text.starts_with('"') && text.ends_with('"');
    match text {
        "y" => Some(ConfigValue::Yes),
        "m" => Some(ConfigValue::Module),
        "n" => Some(ConfigValue::No),
        _ if is_number || is_string => Some(ConfigValue::Text(text.to_owned())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn tells_urls_from_paths() {
        for url in ["https://git.example/linux", "git@git.example:linux", "git.example:linux.git"] {
            assert!(is_url(url), "{url}");
        }
        for path in ["/src/linux", "./a:b", "~/src/linux", "../linux", "src/a:b"] {
            assert!(!is_url(path), "{path}");
        }
    }

    #[test]
    fn reads_config_options() {
        let option = |text| match config_option(text) {
            Ok(ConfigItem::Option { symbol, value, optional }) => Some((symbol, value, optional)),
            _ => None,
        };
        assert_eq!(option("CONFIG_A=y"), Some(("CONFIG_A".into(), ConfigValue::Yes, false)));
        assert_eq!(option("CONFIG_A=n?"), Some(("CONFIG_A".into(), ConfigValue::No, true)));
        assert_eq!(
            option("CONFIG_HZ=1000"),
            Some(("CONFIG_HZ".into(), ConfigValue::Text("1000".into()), false))
        );
        assert_eq!(option("CONFIG_A=0xff00").unwrap().1, ConfigValue::Text("0xff00".into()));
        assert_eq!(option("CONFIG_A=\"x?\"").unwrap().1, ConfigValue::Text("\"x?\"".into()));
        for bad in ["CONFIG_A", "CONFIG_=y", "CONFIG_A=yes", "CONFIG_A=", "CONFIG_A-B=y", "CONFIG_A=\"x"] {
            assert_eq!(option(bad), None, "{bad}");
        }
    }
}
