//! The parts of the page: a board and metric each, with a table and a card for every cell.

use super::Latencies;
use crate::boards::{Footnotes, caption, cpu_lines, mean_text};
use crate::findings::{Board, Change, Family, Mean, Verdict};
use crate::plot;
use crate::quantity::{Unit, decimals, interval, metric_title, percent};
use crate::sections::Setting;
use serde::Serialize;

/// One metric of one board.
#[derive(Debug, Serialize)]
pub(super) struct Part {
    /// Names the board in filters.
    pub(super) board: String,
    /// Index of the board.
    #[serde(rename = "at")]
    pub(super) board_index: usize,
    /// Names the metric in filters.
    pub(super) metric: String,
    /// The metric for people.
    pub(super) metric_title: String,
    /// Name of the board.
    name: String,
    /// What the numbers are and how they were averaged.
    caption: String,
    /// Whether verdicts of the answer rest on it.
    primary: bool,
    /// Heads of the comparisons.
    pairs: Vec<String>,
    /// A drawing of all changes for each comparison.
    drawings: Vec<String>,
    /// Sentences below the table.
    lines: Vec<String>,
    /// A card for each cell.
    pub(super) cards: Vec<Card>,
}

/// One cell.
#[derive(Debug, Serialize)]
pub(super) struct Card {
    /// Anchor in the page.
    id: String,
    /// The cell's label.
    label: String,
    /// Its verdicts as words of filters, a blank between them.
    pub(super) verdicts: String,
    /// What each variant measured.
    values: Vec<Value>,
    /// What follows.
    changes: Vec<Finding>,
    /// The drawings.
    drawings: Vec<String>,
}

/// The value of a variant.
#[derive(Debug, Serialize)]
struct Value {
    letter: String,
    class: String,
    text: String,
    boots: usize,
}

/// A comparison in words.
#[derive(Debug, Serialize)]
struct Finding {
    versus: String,
    percent: String,
    interval: String,
    mark: &'static str,
    word: &'static str,
    class: &'static str,
    why: Option<String>,
}

/// All parts: board by board, the primary metric first.
pub(super) fn parts(setting: &Setting, latencies: &Latencies) -> Vec<Part> {
    let findings = setting.findings;
    let families: Vec<Family> =
        std::iter::once(findings.primary).chain(findings.exploratory.clone()).collect();
    let mut parts = Vec::new();
    for board in 0..findings.boards.len() {
        for (at, family) in families.iter().enumerate() {
            let measured =
                |cell: &crate::Cell| cell.metrics[at].means.iter().any(|mean| !matches!(mean, Mean::Missing));
            if at == 0 || findings.boards[board].cells.iter().any(measured) {
                parts.push(part(setting, latencies, board, at, *family));
            }
        }
    }
    parts
}

/// The unit of a metric on a board. `at` is its place in the cells.
pub(super) fn unit(setting: &Setting, board: &Board, at: usize) -> Unit {
    setting.unit(board.cells[0].metrics[at].metric, &means(board, at))
}

fn means(board: &Board, at: usize) -> Vec<f64> {
    let all = board.cells.iter().flat_map(|cell| &cell.metrics[at].means);
    all.filter_map(|mean| if let Mean::Value(value) = mean { Some(*value) } else { None }).collect()
}

fn part(setting: &Setting, latencies: &Latencies, board_index: usize, at: usize, family: Family) -> Part {
    let board = &setting.findings.boards[board_index];
    let pairs = 0..setting.findings.pairs.len();
    let fit = setting.unit(family.metric, &means(board, at));
    Part {
        board: format!("b{board_index}"),
        board_index,
        metric: family.metric.name().to_owned(),
        metric_title: metric_title(family.metric).to_owned(),
        name: setting.plain(&board.name),
        caption: caption(setting, board, at, family.metric, fit),
        primary: at == 0,
        pairs: pairs.clone().map(|pair| setting.versus(pair)).collect(),
        drawings: pairs
            .filter_map(|pair| plot::changes(setting, board, at, family, pair))
            .map(|drawing| drawing.inline())
            .collect(),
        lines: if at == 0 { cpu_lines(setting, board, &mut Footnotes::default()) } else { Vec::new() },
        cards: (0..board.cells.len())
            .map(|cell| card(setting, latencies, (board_index, cell, at), fit))
            .collect(),
    }
}

fn card(
    setting: &Setting,
    latencies: &Latencies,
    (at_board, at_cell, at): (usize, usize, usize),
    unit: Unit,
) -> Card {
    let findings = setting.findings;
    let board = &findings.boards[at_board];
    let (cell, place) = (&board.cells[at_cell], setting.place(at_board, at_cell));
    let metric = &cell.metrics[at];
    let scaled: Vec<f64> = means(board, at).iter().map(|value| value * unit.factor).collect();
    let digits = decimals(&scaled);
    let mut verdicts: Vec<String> = metric.changes.iter().map(|change| slug(change.verdict)).collect();
    verdicts.sort();
    verdicts.dedup();
    let mut drawings = vec![
        plot::boots(setting, &place, metric, unit, "every boot; mean with 95 % interval"),
        plot::sequence(setting, &place, metric, unit, &board.lost),
    ];
    if at == 0 {
        drawings.push(plot::latency(setting, &place, &latencies.of_cell(findings, at_board, at_cell)));
    }
    Card {
        id: format!("b{at_board}c{at_cell}m{at}"),
        label: setting.plain(&cell.label),
        verdicts: verdicts.join(" "),
        values: (0..metric.means.len())
            .map(|variant| Value {
                letter: setting.letter(variant).to_owned(),
                class: plot::colour(variant),
                text: mean_text(metric.means[variant], unit.factor, digits),
                boots: metric.boots[variant].values.len(),
            })
            .collect(),
        changes: (0..metric.changes.len())
            .map(|pair| finding(setting, pair, &metric.changes[pair]))
            .collect(),
        drawings: drawings.into_iter().flatten().map(|drawing| drawing.inline()).collect(),
    }
}

fn finding(setting: &Setting, pair: usize, change: &Change) -> Finding {
    Finding {
        versus: setting.versus(pair),
        percent: change.percent.map(percent).unwrap_or_default(),
        interval: change.interval.map(|range| interval(range, 0)).unwrap_or_default(),
        mark: change.verdict.mark(),
        word: change.verdict.word(),
        class: plot::class(change.verdict),
        why: change.why.clone(),
    }
}

/// A verdict as one word of a filter.
pub(super) fn slug(verdict: Verdict) -> String {
    verdict.word().replace(' ', "-")
}
