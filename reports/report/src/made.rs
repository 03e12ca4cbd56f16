//! How the numbers were made: what differs between variants, the schedule, the commands, the ids.

use crate::findings::{Difference, Method, Series, Timing, Variant};
use crate::posted::PostedFacts;
use crate::quantity::{clip, counted, kept, seconds};
use crate::sections::Setting;
use crate::view::Listed;
use kab_model::{Order, PostedValues};

/// Subjects of a series that are listed.
const SUBJECTS: usize = 8;
/// Files and configuration items that are named.
const NAMED: usize = 3;
/// Items of a configuration that are listed.
const ITEMS: usize = 12;
/// Digits of a commit, as the kernel's `Fixes:` tags write it.
const COMMIT: usize = 12;
/// Digits of a digest in a short report.
const DIGEST: usize = 16;

/// What differs from the baseline or from the variant that a series went onto.
pub(crate) fn differences(setting: &Setting) -> Vec<Listed> {
    let mut listed = Vec::new();
    if setting.findings.posted.is_some() {
        return listed;
    }
    for (at, variant) in setting.findings.variants.iter().enumerate() {
        if !variant.patches.is_empty() {
            listed.push(series(setting, variant));
        }
        if at == setting.findings.baseline {
            continue;
        }
        // What a series on another variant changes is in its subjects; files against the baseline would repeat the other's.
        let told = |difference: &&Difference| {
            let elsewhere = variant.on_top_of.is_some_and(|base| base != setting.findings.baseline);
            !(elsewhere && matches!(difference, Difference::Files { .. }))
        };
        let sentences: Vec<String> =
            variant.differences.iter().filter(told).map(|difference| sentence(setting, difference)).collect();
        let from = setting.letter(setting.findings.baseline);
        let text = match (sentences.is_empty(), variant.patches.is_empty()) {
            (true, true) => {
                format!("{from}->{}: no difference in source, configuration or command line", variant.letter)
            }
            (true, false) => continue,
            _ => format!("{from}->{}: {}", variant.letter, sentences.join("; ")),
        };
        listed.push(Listed { text, items: Vec::new() });
    }
    listed
}

fn series(setting: &Setting, variant: &Variant) -> Listed {
    let base = match variant.on_top_of {
        Some(base) => setting.letter(base).to_owned(),
        None => clip(&setting.plain(&variant.reference), 40),
    };
    let mut items: Vec<String> =
        variant.patches.iter().take(SUBJECTS).map(|subject| clip(&setting.plain(subject), 100)).collect();
    if variant.patches.len() > SUBJECTS {
        items.push(format!("and {} more", variant.patches.len() - SUBJECTS));
    }
    let told = variant.series.iter().filter_map(|series| cover(setting, series));
    let told: Vec<String> = told.collect();
    Listed {
        text: format!("{} = {base} plus {}", variant.letter, told.join("; ")).trim_end().to_owned(),
        items,
    }
}

/// `"title" v2, 2 of 3 patches, <message-id>`: what is known of it.
fn cover(setting: &Setting, series: &Series) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    if let Some(title) = &series.title {
        let version = series.version.filter(|version| *version > 1).map(|version| format!(" v{version}"));
        parts.push(format!("\"{}\"{}", clip(&setting.plain(title), 100), version.unwrap_or_default()));
    }
    parts.extend(series.of.map(|of| format!("{} of {of} patches", series.applied)));
    parts.extend(series.message_id.as_ref().map(|id| format!("<{}>", clip(&setting.plain(id), 60))));
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn sentence(setting: &Setting, difference: &Difference) -> String {
    let plain = |text: &str| clip(&setting.plain(text), 60);
    let or_none = |text: &str| if text.is_empty() { "none".to_owned() } else { plain(text) };
    match difference {
        Difference::Files { count, more: true, .. } => format!("{count}+ files"),
        Difference::Files { files, count, .. } => {
            some_of(files.iter().map(|file| plain(file)).collect(), *count, "files")
        }
        Difference::Config { items } => {
            format!(
                "config {}",
                some_of(items.iter().map(|item| plain(item)).collect(), items.len(), "items")
            )
        }
        Difference::Reverts { commits } => {
            let all = commits.iter().map(|commit| clip(&setting.plain(commit), 100)).collect();
            format!("reverts {}", some_of(all, commits.len(), "commits"))
        }
        Difference::Uncommitted { files } => format!("{} not committed", counted(*files, "file")),
        Difference::DeviceTree { sources, only } => {
            let only = if *only { "device tree only" } else { "device tree" };
            format!(
                "{only}, by {}",
                some_of(sources.iter().map(|s| plain(s)).collect(), sources.len(), "files")
            )
        }
        Difference::Knobs { items } => {
            format!("knobs {}", some_of(items.iter().map(|item| plain(item)).collect(), items.len(), "items"))
        }
        Difference::Fio { items } => {
            format!("fio {}", some_of(items.iter().map(|item| plain(item)).collect(), items.len(), "options"))
        }
        Difference::Prebuilt => "a kernel that kab did not build".to_owned(),
        Difference::Placebo => "same source, functions aligned differently (layout noise)".to_owned(),
        Difference::Symbols { count, more: true, .. } => format!("{count}+ symbols of the final .config"),
        Difference::Symbols { symbols, count, .. } => {
            let all = symbols.iter().map(|symbol| plain(symbol)).collect();
            format!("final .config {}", some_of(all, *count, "symbols"))
        }
        Difference::Nodes { only, count, more: true, .. } => {
            format!("{}{count}+ device tree nodes", if *only { "device tree only, " } else { "" })
        }
        Difference::Nodes { nodes, only, count, .. } => {
            let all = nodes.iter().map(|node| clip(&setting.plain(node), 100)).collect();
            format!("device tree {}{}", if *only { "only, " } else { "" }, some_of(all, *count, "nodes"))
        }
        Difference::FinalConfig => "final .config differs".to_owned(),
        Difference::Cmdline { from, to } => format!("cmdline {} -> {}", or_none(from), or_none(to)),
        Difference::Compiler { from, to } => format!("compiler {} -> {}", plain(from), plain(to)),
        Difference::Repository { from, to } => format!("repository {} -> {}", plain(from), plain(to)),
    }
}

/// All names while they are few, else the first ones and the count.
fn some_of(names: Vec<String>, count: usize, what: &str) -> String {
    if count <= NAMED {
        return names.join(", ");
    }
    let first: Vec<String> = names.into_iter().take(NAMED - 1).collect();
    format!("{count} {what}, such as {}", first.join(", "))
}

fn order(method: &Method) -> String {
    match method.order {
        Order::Random => format!("random order (seed {})", method.seed),
        Order::Abba => "ABBA order".to_owned(),
        Order::Sequential => "one variant after the other".to_owned(),
    }
}

/// Schedule, kernels and compilers.
pub(crate) fn method(setting: &Setting) -> Vec<String> {
    let method = &setting.findings.method;
    if setting.findings.variants.is_empty() {
        return Vec::new();
    }
    if let Some(posted) = &setting.findings.posted {
        return self::posted(setting, posted);
    }
    let times: Vec<String> = method.times.iter().map(|timing| time(*timing)).collect();
    let each = if times.is_empty() {
        format!("{} of each test", counted(method.trials as usize, "trial"))
    } else {
        format!("{} of each test", kept(&format!("{} x {}", method.trials, times.join(" or "))))
    };
    let mut schedule =
        vec![format!("{}, {}, reboot each", counted(method.rounds, "round"), order(method)), each];
    if method.warmup > 0 {
        schedule.push(kept(&format!("{} before", counted(method.warmup as usize, "warm-up"))));
    }
    if method.cooldown_ms > 0 {
        schedule.push(kept(&format!("pause {}", seconds(method.cooldown_ms))));
    }
    let mut lines = vec![schedule.join(", ")];
    if setting.findings.primary.comparisons > 0 {
        lines.push("Verdicts: t and rank tests of boots, by rounds where 5 are complete".to_owned());
    }
    lines.push(kernels(setting));
    if !method.config.is_empty() {
        let items: Vec<String> =
            method.config.iter().take(ITEMS).map(|item| clip(&setting.plain(item), 60)).collect();
        let more = method.config.len().saturating_sub(ITEMS);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        lines.push(format!("Config: {}{more}", items.join(" + ")));
    }
    if let [compiler] = method.compilers.as_slice() {
        lines.push(format!("Built with {}", clip(&setting.plain(compiler), 60)));
    }
    lines
}

/// Whose the figures are, and what therefore is not known.
fn posted(setting: &Setting, posted: &PostedFacts) -> Vec<String> {
    let mut lines = vec!["Figures as somebody else posted them: kab measured none of them.".to_owned()];
    lines.extend(posted.source.as_ref().map(|source| format!("Source: {}", setting.plain(source))));
    match posted.values {
        PostedValues::Boots => {
            lines.push("The order of the boots is unknown: drift would look like a change.".to_owned());
        }
        PostedValues::Rounds | PostedValues::Averages | PostedValues::Trials => {}
    }
    lines
}

/// `2 s (ramp 0.5 s)`.
fn time(timing: Timing) -> String {
    let ramp =
        if timing.ramp_ms > 0 { format!(" (ramp {})", seconds(timing.ramp_ms)) } else { String::new() };
    format!("{}{ramp}", seconds(timing.runtime_ms))
}

/// `Kernels (x86_64): A 6.15.0 0ff41df1cb26, B 6.16.0 038d61fd6422`.
fn kernels(setting: &Setting) -> String {
    let kernels: Vec<String> = setting
        .findings
        .variants
        .iter()
        .map(|variant| {
            let release =
                variant.release.as_deref().map(|release| format!(" {}", clip(&setting.plain(release), 40)));
            let commit: String = variant.commit.chars().take(COMMIT).collect();
            kept(format!("{}{} {commit}", variant.letter, release.unwrap_or_default()).trim_end())
        })
        .collect();
    let mut arches: Vec<&str> =
        setting.findings.boards.iter().map(|board| board.facts.arch.as_str()).collect();
    arches.dedup();
    format!("Kernels ({}): {}", arches.join(", "), kernels.join(", "))
}

/// The command lines; the version of fio stands for the program where all boards agree.
pub(crate) fn commands(setting: &Setting) -> Vec<String> {
    let method = &setting.findings.method;
    if setting.findings.posted.is_some() {
        return method.commands.iter().map(|words| setting.plain(&words.join(" "))).collect();
    }
    let program = match method.fio_versions.as_slice() {
        [] => "fio".to_owned(),
        versions => setting.plain(&versions.join(" and ")),
    };
    method.commands.iter().map(|words| format!("{program} {}", setting.plain(&words.join(" ")))).collect()
}

/// Versions, ids and digests; a full report has whole digests, which take a line each.
pub(crate) fn provenance(setting: &Setting, full: bool) -> Vec<String> {
    let meta = &setting.findings.meta;
    let mut lines: Vec<String> = Vec::new();
    if !meta.host.is_empty() {
        let facts: Vec<String> =
            meta.host.iter().map(|fact| setting.plain(&format!("{} {}", fact.name, fact.value))).collect();
        lines.push(format!("Host: {}", facts.join(", ")));
    }
    lines.push(run_line(setting, full));
    if full {
        let what = if setting.findings.posted.is_some() { "table" } else { "experiment" };
        lines.push(format!(
            "{what} {}, {}",
            setting.plain(&setting.findings.name),
            digest(&setting.findings.experiment_digest, full)
        ));
    }
    lines
}

/// `kab 0.1.0 run 7f3a9c1b2d3e, data blake3:3fb13fb13fb13fb1`.
pub(crate) fn run_line(setting: &Setting, full: bool) -> String {
    let meta = &setting.findings.meta;
    format!(
        "kab {} run {}, data {}",
        setting.plain(&meta.kab_version),
        setting.plain(&meta.run_id),
        digest(&setting.plain(&meta.data_digest), full)
    )
}

fn digest(text: &str, full: bool) -> String {
    let (algorithm, digits) = text.split_once(':').unwrap_or(("blake3", text));
    if full {
        return format!("{algorithm} {digits}");
    }
    format!("{algorithm}:{}", digits.chars().take(DIGEST).collect::<String>())
}
