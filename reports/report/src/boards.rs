//! The tables of the boards, with their marks, footnotes and legend.

use crate::findings::{Acceleration, Board, CellMetric, Change, CpuPerIo, Family, Group, Mean, Verdict};
use crate::layout::{self, GEOMEAN, Kind, Strip};
use crate::quantity::{
    KEEP, Unit, clip, counted, decimals, interval, interval_width, kept, metric_title, percent, size,
};
use crate::sections::Setting;
use crate::view::{BoardView, Named, Table};
use kab_model::{Metric, PostedValues};

/// Reasons of missing verdicts, numbered as they are met.
#[derive(Debug, Default)]
pub(crate) struct Footnotes(Vec<String>);

impl Footnotes {
    /// The mark for a reason: `!1`, `!2`, …
    fn mark(&mut self, why: &str) -> String {
        let at = self.0.iter().position(|known| known == why).unwrap_or_else(|| {
            self.0.push(why.to_owned());
            self.0.len() - 1
        });
        format!("!{}", at + 1)
    }

    /// Marks with their reasons.
    pub(crate) fn into_named(self) -> Vec<Named> {
        let named = |(at, why)| Named { name: format!("!{}", at + 1), text: format!("no verdict: {why}") };
        self.0.into_iter().enumerate().map(named).collect()
    }
}

/// The primary metric of every board.
pub(crate) fn primary(setting: &Setting, footnotes: &mut Footnotes) -> Vec<BoardView> {
    let family = setting.findings.primary;
    (0..setting.findings.boards.len())
        .map(|board| {
            let found = &setting.findings.boards[board];
            let view = metric_view(setting, found, 0, family, footnotes);
            BoardView {
                heading: heading(setting, found),
                lines: cpu_lines(setting, found, footnotes),
                ..view
            }
        })
        .collect()
}

/// The other metrics, board by board.
pub(crate) fn exploratory(setting: &Setting, footnotes: &mut Footnotes) -> Vec<BoardView> {
    let mut views = Vec::new();
    for board in &setting.findings.boards {
        for (at, family) in setting.findings.exploratory.iter().enumerate() {
            let measured = |cell: &CellMetric| cell.means.iter().any(|mean| matches!(mean, Mean::Value(_)));
            if board.cells.iter().any(|cell| measured(&cell.metrics[at + 1])) {
                let mut view = metric_view(setting, board, at + 1, *family, footnotes);
                let name = setting.plain(&board.name);
                view.caption = format!("{name}: {}; same within {}", view.caption, margin(*family));
                views.push(view);
            }
        }
    }
    views
}

/// What the marks mean, with the margin and the size of the family; marks that few reports have on a line of their own.
pub(crate) fn legend(setting: &Setting, exploratory: &[BoardView]) -> Vec<String> {
    let findings = setting.findings;
    let of = |metrics: &[CellMetric]| {
        metrics.iter().flat_map(|m| &m.changes).map(|c| c.verdict).collect::<Vec<_>>()
    };
    let shown = if exploratory.is_empty() { 1 } else { findings.exploratory.len() + 1 };
    let cells = findings.boards.iter().flat_map(|board| &board.cells);
    let seen: Vec<Verdict> =
        cells.flat_map(|cell| of(&cell.metrics[..shown.min(cell.metrics.len())])).collect();
    if seen.iter().all(|verdict| *verdict == Verdict::NoVerdict) {
        return Vec::new();
    }
    let within = margin(findings.primary);
    let mut lines = vec![format!("- worse  + better  = same within {within}  ? undecided")];
    if findings.primary.comparisons > 1 {
        let family = findings.primary.comparisons;
        lines.push(format!("95% CI: each comparison alone; verdicts: corrected for all {family} (Holm)"));
    }
    let mut parts = Vec::new();
    if seen.iter().any(|v| matches!(v, Verdict::LikelyWorse | Verdict::LikelyBetter)) {
        parts.push("(-) (+) likely, 1 in 20 false (Benjamini-Hochberg)");
    }
    if seen.contains(&Verdict::Identical) {
        parts.push("== identical by construction");
    }
    lines.extend((!parts.is_empty()).then(|| parts.join("  ")));
    lines
}

/// A table as lines, the head first.
pub(crate) fn lines(table: &Table) -> Vec<String> {
    let line = |texts: Vec<&String>| {
        let mut line = String::new();
        for (column, text) in table.columns.iter().zip(texts) {
            let width = column.width;
            line.push_str(&" ".repeat(column.gap));
            line += &if column.left { format!("{text:<width$}") } else { format!("{text:>width$}") };
        }
        line.trim_end().to_owned()
    };
    let head = line(table.columns.iter().map(|column| &column.head).collect());
    std::iter::once(head).chain(table.rows.iter().map(|row| line(row.iter().collect()))).collect()
}

fn margin(family: Family) -> String {
    let percent = format!("{:.2}", family.margin * 100.0);
    format!("{}%", percent.trim_end_matches('0').trim_end_matches('.'))
}

/// `vm-ufs: QEMU 10.0.2 q35, KVM, 2 CPUs, 1GiB, ufs0 UFS (MCQ) 1GiB`.
fn heading(setting: &Setting, board: &Board) -> String {
    if setting.findings.posted.is_some() {
        let about = board.about.as_deref().map(|about| format!(": {}", setting.plain(about)));
        return format!("{}{}", setting.plain(&board.name), about.unwrap_or_default());
    }
    let facts = &board.facts;
    let emulator = facts
        .emulator
        .as_deref()
        .map_or_else(|| "QEMU".to_owned(), |text| emulator_name(&setting.plain(text)));
    let accel = match facts.accel {
        Acceleration::Tcg => "TCG (emulated CPU)",
        Acceleration::Kvm => "KVM",
        Acceleration::Unknown => "never started",
    };
    let mut parts = vec![
        format!("{emulator} {}", setting.plain(&facts.machine)),
        accel.to_owned(),
        counted(facts.cpus as usize, "CPU"),
        size(facts.memory),
    ];
    for (name, kind, bytes) in &facts.disks {
        parts.push(kept(&format!("{} {kind} {}", setting.plain(name), size(*bytes))));
    }
    if let Some(cmdline) = facts.cmdline.as_deref().filter(|text| !text.trim().is_empty()) {
        parts.push(format!("cmdline {}", clip(&setting.plain(cmdline), 60)));
    }
    format!("{}: {}", setting.plain(&board.name), parts.join(", "))
}

/// `QEMU emulator version 9.2.0 (Debian 1:9.2)` becomes `QEMU 9.2.0`.
fn emulator_name(version_line: &str) -> String {
    match version_line.split_once(" version ") {
        Some((name, rest)) if name.starts_with("QEMU") => {
            format!("QEMU {}", rest.split([' ', '(']).next().unwrap_or_default())
        }
        _ => clip(version_line, 40),
    }
}

fn metric_view(
    setting: &Setting,
    board: &Board,
    at: usize,
    family: Family,
    footnotes: &mut Footnotes,
) -> BoardView {
    let values: Vec<f64> = board
        .cells
        .iter()
        .flat_map(|cell| &cell.metrics[at].means)
        .filter_map(|mean| if let Mean::Value(value) = mean { Some(*value) } else { None })
        .collect();
    let unit = setting.unit(family.metric, &values);
    let scaled: Vec<f64> = values.iter().map(|value| value * unit.factor).collect();
    let digits = decimals(&scaled);
    let summaries = if at == 0 { summarised(board) } else { Vec::new() };
    let mut labels: Vec<String> = board.cells.iter().map(|cell| setting.plain(&cell.label)).collect();
    labels.extend(summaries.iter().map(|group| match board.groups.len() {
        1 => GEOMEAN.to_owned(),
        _ => format!("{GEOMEAN} {}", setting.plain(&group.name)),
    }));
    let label = Strip { head: String::new(), cells: labels, kind: Kind::Label };
    let value_strips: Vec<Strip> = (0..setting.findings.variants.len())
        .map(|variant| {
            let text = |cell: &crate::findings::Cell| {
                mean_text(cell.metrics[at].means[variant], unit.factor, digits)
            };
            let mut cells: Vec<String> = board.cells.iter().map(text).collect();
            cells.extend(summaries.iter().map(|_| String::new()));
            Strip { head: setting.letter(variant).to_owned(), cells, kind: Kind::Value(variant) }
        })
        .collect();
    let change_strips: Vec<Strip> = (0..setting.findings.pairs.len())
        .map(|pair| change_strip(setting, board, at, pair, &summaries, footnotes))
        .collect();
    BoardView {
        heading: String::new(),
        caption: caption(setting, board, at, family.metric, unit),
        tables: layout::tables(
            label,
            &value_strips,
            &change_strips,
            setting.findings.baseline,
            setting.width,
        ),
        lines: Vec::new(),
    }
}

/// The workloads that have a geometric mean for at least one pair.
fn summarised(board: &Board) -> Vec<&Group> {
    board.groups.iter().filter(|group| group.geomean.iter().any(Option::is_some)).collect()
}

pub(crate) fn mean_text(mean: Mean, factor: f64, digits: usize) -> String {
    match mean {
        Mean::Value(value) => format!("{:.digits$}", value * factor),
        Mean::Failed => "failed".to_owned(),
        Mean::Missing => "-".to_owned(),
    }
}

/// `kIOPS, geometric means of 8 boots`.
pub(crate) fn caption(setting: &Setting, board: &Board, at: usize, metric: Metric, unit: Unit) -> String {
    let what = match metric {
        Metric::Iops => unit.name.to_owned(),
        Metric::CpuPerIo => format!("CPU {}/IO, whole board", unit.name),
        other => format!("{}, {}", metric_title(other), unit.name),
    };
    let visits: Vec<usize> = board
        .cells
        .iter()
        .filter(|cell| cell.metrics[at].means.iter().any(|mean| matches!(mean, Mean::Value(_))))
        .flat_map(|cell| cell.details.iter().map(|detail| detail.visits).filter(|visits| *visits > 0))
        .collect();
    match setting.findings.posted.as_ref().map(|posted| posted.values) {
        Some(PostedValues::Averages) => return format!("{what}, averages as posted"),
        Some(PostedValues::Trials) => return format!("{what}, averages of the posted repetitions"),
        _ => {}
    }
    match (visits.iter().min(), visits.iter().max()) {
        (Some(1), Some(1)) => format!("{what}, one boot each"),
        (Some(least), Some(most)) if least == most => format!("{what}, geometric mean of {most} boots"),
        (Some(least), Some(most)) => format!("{what}, geometric mean of {least} to {most} boots"),
        _ => format!("{what}: nothing measured"),
    }
}

fn change_strip(
    setting: &Setting,
    board: &Board,
    at: usize,
    pair: usize,
    summaries: &[&Group],
    footnotes: &mut Footnotes,
) -> Strip {
    let mut texts: Vec<ChangeText> = board
        .cells
        .iter()
        .map(|cell| {
            let change = &cell.metrics[at].changes[pair];
            ChangeText { percent: change.percent, interval: change.interval, mark: mark(change, footnotes) }
        })
        .collect();
    texts.extend(summaries.iter().map(|group| group.geomean[pair]).map(|total| ChangeText {
        percent: total.map(|total| total.percent),
        interval: total.and_then(|total| total.interval),
        mark: String::new(),
    }));
    let (candidate, reference) = setting.findings.pairs[pair];
    let (head, cells) = aligned(&setting.versus(pair), &texts);
    Strip { head, cells, kind: Kind::Change(candidate, reference) }
}

fn mark(change: &Change, footnotes: &mut Footnotes) -> String {
    match &change.why {
        Some(why) => footnotes.mark(why),
        None => change.verdict.mark().to_owned(),
    }
}

/// One row of a column of changes.
struct ChangeText {
    percent: Option<f64>,
    interval: Option<(f64, f64)>,
    mark: String,
}

/// Percentages, intervals and marks under each other, and the head over them.
fn aligned(versus: &str, texts: &[ChangeText]) -> (String, Vec<String>) {
    let percents: Vec<String> =
        texts.iter().map(|text| text.percent.map(percent).unwrap_or_default()).collect();
    let bounds = texts.iter().filter_map(|text| text.interval).map(interval_width).max().unwrap_or(0);
    let intervals: Vec<String> = texts
        .iter()
        .map(|text| text.interval.map(|range| interval(range, bounds)).unwrap_or_default())
        .collect();
    let widest = |texts: &[String]| texts.iter().map(String::len).max().unwrap_or(0);
    let first = widest(&percents).max(versus.len());
    let second = widest(&intervals);
    let cells = texts.iter().zip(percents.iter().zip(&intervals)).map(|(text, (percent, interval))| {
        let columns = if second == 0 {
            format!("{percent:>first$}")
        } else {
            format!("{percent:>first$} {interval:<second$}")
        };
        format!("{columns} {}", text.mark).trim_end().to_owned()
    });
    let head = if second == 0 { format!("{versus:>first$}") } else { format!("{versus:>first$} [95% CI]") };
    (head, cells.collect())
}

/// `CPU us/IO, whole board, geomean of 4 tests (exploratory): A 14.1, B 15.0; B vs A +6.4% [+6.1,+6.7] -`, or a line for each of
/// several workloads below a heading.
pub(crate) fn cpu_lines(setting: &Setting, board: &Board, footnotes: &mut Footnotes) -> Vec<String> {
    if setting.findings.primary.metric == Metric::CpuPerIo {
        return Vec::new();
    }
    let groups: Vec<(&Group, &CpuPerIo)> =
        board.groups.iter().filter_map(|group| Some((group, group.cpu_per_io.as_ref()?))).collect();
    let values: Vec<f64> = groups.iter().flat_map(|(_, cpu)| &cpu.values).copied().flatten().collect();
    if values.is_empty() {
        return Vec::new();
    }
    let unit = setting.unit(Metric::CpuPerIo, &values);
    let title = format!("CPU {}/IO, whole board", unit.name);
    if let [(_, cpu)] = groups.as_slice() {
        let cells = if cpu.cells == 1 { String::new() } else { format!(", geomean of {} tests", cpu.cells) };
        return vec![format!("{title}{cells} (exploratory): {}", cpu_text(setting, cpu, unit, footnotes))];
    }
    let mut lines = vec![format!("{title}, geomean of each workload (exploratory):")];
    lines.extend(groups.iter().map(|(group, cpu)| {
        format!("  {}: {}", setting.plain(&group.name), cpu_text(setting, cpu, unit, footnotes))
    }));
    lines
}

/// The values, and for every pair that has both the change with its interval and its mark.
fn cpu_text(setting: &Setting, cpu: &CpuPerIo, unit: Unit, footnotes: &mut Footnotes) -> String {
    let scaled: Vec<f64> = cpu.values.iter().flatten().map(|value| value * unit.factor).collect();
    let digits = decimals(&scaled);
    let value = |(variant, value): (usize, &Option<f64>)| {
        Some(format!("{}{KEEP}{:.digits$}", setting.letter(variant), (*value)? * unit.factor))
    };
    let values: Vec<String> = cpu.values.iter().enumerate().filter_map(value).collect();
    let mut parts = vec![values.join(", ")];
    for (pair, (candidate, reference)) in setting.findings.pairs.iter().enumerate() {
        let both = cpu.values[*candidate].is_some() && cpu.values[*reference].is_some();
        let Some(change) = cpu.changes.get(pair).filter(|_| both) else { continue };
        let Some(value) = change.percent else { continue };
        let range = change.interval.map(|range| format!(" {}", interval(range, 0))).unwrap_or_default();
        let text = format!("{} {}{range} {}", setting.versus(pair), percent(value), mark(change, footnotes));
        parts.push(kept(&text));
    }
    parts.join("; ")
}
