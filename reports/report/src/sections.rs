//! Findings become the view: this file holds the order of a report and its first part, the answer.

use crate::blocks;
use crate::boards;
use crate::findings::{Acceleration, Findings, Mean, Variant, Verdict};
use crate::made;
use crate::notes;
use crate::quantity::{Unit, ascii, clip, counted, interval, metric_title, one_line, percent};
use crate::render::Options;
use crate::view::{Named, View};
use kab_model::Metric;

/// Names are listed up to this many; beyond, a range says more.
const NAMED: usize = 2;

/// What all sections need: the findings and how to set them.
pub(crate) struct Setting<'a> {
    /// What is told.
    pub(crate) findings: &'a Findings,
    /// Columns that a line may have; none where tables are not wrapped.
    pub(crate) width: Option<usize>,
    options: Options,
    latency: Unit,
}

impl Setting<'_> {
    /// Text that a person wrote, on one line and in the characters that are allowed.
    pub(crate) fn plain(&self, text: &str) -> String {
        if self.options.unicode { one_line(text) } else { ascii(text) }
    }

    /// The unit of a metric: one for all latencies of a report, and one for each other metric that `values` fit.
    pub(crate) fn unit(&self, metric: Metric, values: &[f64]) -> Unit {
        match metric {
            Metric::ClatMean | Metric::ClatP50 | Metric::ClatP99 | Metric::ClatP999 => self.latency,
            _ => Unit::fitting(metric, values),
        }
    }

    /// The letter of a variant.
    pub(crate) fn letter(&self, variant: usize) -> &str {
        &self.findings.variants[variant].letter
    }

    /// `C vs A`.
    pub(crate) fn versus(&self, pair: usize) -> String {
        let (candidate, reference) = self.findings.pairs[pair];
        format!("{} vs {}", self.letter(candidate), self.letter(reference))
    }

    /// The cell's label, with the board's name where there are several.
    pub(crate) fn place(&self, board: usize, cell: usize) -> String {
        let board_found = &self.findings.boards[board];
        let label = self.plain(&board_found.cells[cell].label);
        if self.findings.boards.len() > 1 {
            format!("{} {label}", self.plain(&board_found.name))
        } else {
            label
        }
    }
}

/// The whole report as ready pieces.
pub(crate) fn view(findings: &Findings, options: Options, width: Option<usize>) -> View {
    let setting = setting(findings, options, width);
    let mut footnotes = boards::Footnotes::default();
    let board_views = boards::primary(&setting, &mut footnotes);
    let exploratory = if options.full { boards::exploratory(&setting, &mut footnotes) } else { Vec::new() };
    View {
        title: setting.plain(findings.title.as_deref().unwrap_or(&findings.name)),
        incomplete: incomplete(findings),
        answer: answer(&setting),
        caveats: caveats(&setting),
        variants: findings.variants.iter().map(|variant| named(&setting, variant)).collect(),
        boards: board_views,
        legend: boards::legend(&setting, &exploratory),
        footnotes: footnotes.into_named(),
        notes: notes::notes(&setting),
        differences: made::differences(&setting),
        method: made::method(&setting),
        commands: made::commands(&setting),
        provenance: made::provenance(&setting, options.full),
        exploratory,
        blocks: if options.full { blocks::blocks(&setting) } else { Vec::new() },
    }
}

/// How findings are put into words.
pub(crate) fn setting(findings: &Findings, options: Options, width: Option<usize>) -> Setting<'_> {
    Setting { findings, width, options, latency: latency_unit(findings) }
}

/// The unit that leaves the smallest latency readable.
fn latency_unit(findings: &Findings) -> Unit {
    let details = findings.boards.iter().flat_map(|board| &board.cells).flat_map(|cell| &cell.details);
    let posted = findings.boards.iter().filter(|_| findings.posted.is_some()).flat_map(|board| &board.cells);
    let posted = posted
        .flat_map(|cell| &cell.metrics)
        .filter(|metric| {
            matches!(metric.metric, Metric::ClatMean | Metric::ClatP50 | Metric::ClatP99 | Metric::ClatP999)
        })
        .flat_map(|metric| &metric.means)
        .filter_map(|mean| if let Mean::Value(value) = mean { Some(*value) } else { None });
    let smallest =
        details.flat_map(|d| [d.clat_mean, d.clat_p50, d.clat_p99]).flatten().chain(posted).reduce(f64::min);
    Unit::fitting(Metric::ClatMean, &smallest.into_iter().collect::<Vec<_>>())
}

fn incomplete(findings: &Findings) -> Option<String> {
    let progress = findings.progress;
    if progress.finished {
        return None;
    }
    Some(format!(
        "INCOMPLETE: {} of {} done; what follows may still change.",
        progress.done,
        counted(progress.planned, "boot")
    ))
}

fn answer(setting: &Setting) -> Vec<String> {
    let mut answer = notes::failures(setting);
    answer.extend((0..setting.findings.pairs.len()).map(|pair| pair_answer(setting, pair)));
    if setting.findings.pairs.is_empty() {
        answer.push("One variant: nothing to compare.".to_owned());
    }
    answer
}

/// `C vs B: IOPS worse in 7 of 8 tests (-15.5% to -31.4%), better in 1 (hdk read/8 +20.8%)`.
fn pair_answer(setting: &Setting, pair: usize) -> String {
    let findings = setting.findings;
    let changes: Vec<(usize, usize)> = findings
        .boards
        .iter()
        .enumerate()
        .flat_map(|(board, found)| (0..found.cells.len()).map(move |cell| (board, cell)))
        .collect();
    let total = changes.len();
    let verdict = |(board, cell): &(usize, usize)| {
        findings.boards[*board].cells[*cell].metrics[0].changes[pair].verdict
    };
    let mut parts = Vec::new();
    for word in Verdict::ALL {
        let of_kind: Vec<(usize, usize)> = changes.iter().filter(|at| verdict(at) == word).copied().collect();
        if !of_kind.is_empty() {
            let count = tests(of_kind.len(), total, parts.is_empty());
            parts.push(format!("{}{count}{}", word.word(), examples(setting, pair, word, &of_kind, total)));
        }
    }
    let metric = metric_title(findings.primary.metric);
    let parts = if parts.is_empty() { "no tests".to_owned() } else { parts.join(", ") };
    format!("{}: {metric} {parts}", setting.versus(pair))
}

fn tests(count: usize, total: usize, first: bool) -> String {
    match (count, total) {
        (_, 1) => String::new(),
        (2, 2) => " in both tests".to_owned(),
        _ if count == total => format!(" in all {total} tests"),
        _ if first => format!(" in {count} of {total} tests"),
        _ => format!(" in {count}"),
    }
}

/// What stands behind a count: the change itself, the cells by name, or the range of changes.
fn examples(
    setting: &Setting,
    pair: usize,
    word: Verdict,
    places: &[(usize, usize)],
    total: usize,
) -> String {
    let change = |(board, cell): &(usize, usize)| {
        &setting.findings.boards[*board].cells[*cell].metrics[0].changes[pair]
    };
    let differs =
        matches!(word, Verdict::Worse | Verdict::Better | Verdict::LikelyWorse | Verdict::LikelyBetter);
    if total == 1 {
        let change = change(&places[0]);
        let range = change.interval.map(|bounds| format!(" {}", interval(bounds, 0))).unwrap_or_default();
        return change.percent.map(|value| format!(" ({}{range})", percent(value))).unwrap_or_default();
    }
    if places.len() <= NAMED && places.len() < total {
        let name = |at: &(usize, usize)| match change(at).percent.filter(|_| differs) {
            Some(value) => format!("{} {}", setting.place(at.0, at.1), percent(value)),
            None => setting.place(at.0, at.1),
        };
        return format!(" ({})", places.iter().map(name).collect::<Vec<_>>().join(", "));
    }
    let mut values: Vec<f64> = places.iter().filter_map(|at| change(at).percent).collect();
    if word == Verdict::NoVerdict {
        return unjudged(&values);
    }
    values.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    match (differs, values.first(), values.last()) {
        (true, Some(least), Some(most)) => format!(" ({} to {})", percent(*least), percent(*most)),
        _ => String::new(),
    }
}

/// Where nothing may be concluded the reader still wants the sight of it: ` (lower in 6, higher in 2: -31.4% to +20.8%)`.
fn unjudged(values: &[f64]) -> String {
    let extremes = values.iter().copied().reduce(f64::min).zip(values.iter().copied().reduce(f64::max));
    let Some((least, most)) = extremes else { return String::new() };
    // Less than what is printed as +0.0% is neither.
    let count = |is: fn(f64) -> bool| values.iter().filter(|value| is(**value)).count();
    let kinds = [
        ("lower", count(|value| value <= -0.05)),
        ("higher", count(|value| value >= 0.05)),
        ("equal", count(|value| value.abs() < 0.05)),
    ];
    let told = kinds.iter().filter(|(_, count)| *count > 0).map(|(kind, count)| format!("{kind} in {count}"));
    let counts = told.collect::<Vec<_>>().join(", ");
    format!(" ({counts}: {} to {})", percent(least), percent(most))
}

fn caveats(setting: &Setting) -> Vec<String> {
    let boards = &setting.findings.boards;
    let emulated: Vec<String> = boards
        .iter()
        .filter(|board| board.facts.accel == Acceleration::Tcg)
        .map(|board| setting.plain(&board.name))
        .collect();
    if emulated.is_empty() {
        return Vec::new();
    }
    let subject = if emulated.len() == boards.len() {
        "All boards here are".to_owned()
    } else {
        format!("{} {}", emulated.join(", "), if emulated.len() == 1 { "is" } else { "are" })
    };
    let subject = if boards.len() == 1 { format!("{} is", emulated[0]) } else { subject };
    vec![format!("NOTE: {subject} emulated in software (QEMU TCG): these are not hardware numbers.")]
}

/// What a letter stands for: the name, and what the name does not say.
fn named(setting: &Setting, variant: &Variant) -> Named {
    let findings = setting.findings;
    let mut text = setting.plain(&variant.name);
    let mut origin = Vec::new();
    if variant.patches.is_empty() {
        let pinned = pinned(setting, variant);
        if !text.contains(&pinned) {
            origin.push(pinned);
        }
    } else {
        let base = variant
            .on_top_of
            .map_or_else(|| pinned(setting, variant), |base| setting.letter(base).to_owned());
        origin.push(format!("{base} + {}", counted_patches(variant.patches.len())));
    }
    if let Some(same) = variant.same_as {
        origin.push(format!("identical by construction to {}", setting.letter(same)));
    }
    if variant.letter == findings.variants[findings.baseline].letter && findings.variants.len() > 2 {
        origin.push("baseline".to_owned());
    }
    if !origin.is_empty() {
        text = format!("{text} ({})", origin.join(", "));
    }
    Named { name: variant.letter.clone(), text }
}

/// The ref, and what git calls its commit where that is another name: `linus: v6.16-rc1-12-g0ff41df1cb26`.
fn pinned(setting: &Setting, variant: &Variant) -> String {
    let reference = clip(&setting.plain(&variant.reference), 40);
    let describe = variant.describe.as_deref().map(|text| clip(&setting.plain(text), 60));
    let same = |describe: &String| *describe == reference || reference.ends_with(&format!("/{describe}"));
    match describe.filter(|describe| !describe.is_empty() && !same(describe)) {
        Some(describe) if variant.name == variant.reference => describe,
        Some(describe) => format!("{reference}: {describe}"),
        None => reference,
    }
}

fn counted_patches(count: usize) -> String {
    if count == 1 { "1 patch".to_owned() } else { format!("{count} patches") }
}
