//! Figures that somebody else posted become findings: compared as far as they go, and no further.

use crate::boots::{Boot, Boots};
use crate::findings::{
    Board, BoardFacts, Cell, CellMetric, Change, Detail, Family, Findings, Group, Mean, Meta, Method,
    Outliers, Progress, Tally, Variant, Verdict,
};
use crate::quantity::letter;
use crate::samples::Samples;
use crate::verdicts::{Judged, mean};
use kab_model::{Metric, Posted, PostedBoard, PostedCell, PostedValues, VariantName};
use kab_stats::Row;
use serde::Serialize;
use std::collections::BTreeMap;

/// What is known of figures that somebody else posted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PostedFacts {
    /// Subject, date and message-id of the mail, say.
    pub source: Option<String>,
    /// What the figures are.
    pub values: PostedValues,
    /// What was said with them.
    pub notes: Vec<String>,
}

/// A row of somebody else's table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PostedLine {
    /// As written, with its unit.
    pub name: String,
    /// One text a variant as written; empty where there was none.
    pub texts: Vec<String>,
}

/// Everything that can be said of `table`.
pub(crate) fn findings(table: &Posted, meta: &Meta) -> Findings {
    let index = |name: &VariantName| table.variants.iter().position(|variant| variant == name).unwrap_or(0);
    let pairs: Vec<(usize, usize)> =
        table.pairs.iter().map(|(candidate, reference)| (index(candidate), index(reference))).collect();
    let judged: Vec<Judged> =
        table.report.metrics.iter().map(|metric| judge(table, *metric, &pairs)).collect();
    let families: Vec<Family> = (table.report.metrics.iter().zip(&judged))
        .map(|(metric, judged)| Family {
            metric: *metric,
            margin: table.report.margin(*metric),
            comparisons: judged.comparisons,
        })
        .collect();
    let primary = families.first().copied().unwrap_or(Family {
        metric: table.report.primary,
        margin: table.report.margin(table.report.primary),
        comparisons: 0,
    });
    Findings {
        name: table.name.clone(),
        title: table.title.clone(),
        experiment_digest: table.digest.clone(),
        progress: Progress { finished: true, done: 0, planned: 0 },
        variants: table.variants.iter().enumerate().map(|(at, name)| variant(at, name)).collect(),
        baseline: index(&table.baseline),
        boards: (0..table.boards.len()).map(|at| board(table, &judged, &pairs, at)).collect(),
        pairs,
        primary,
        exploratory: families.into_iter().skip(1).collect(),
        method: Method {
            commands: table.commands.iter().map(|command| vec![command.clone()]).collect(),
            ..Method::default()
        },
        posted: Some(PostedFacts {
            source: table.source.clone(),
            values: table.values,
            notes: table.notes.clone(),
        }),
        ..Findings::empty(meta)
    }
}

fn judge(table: &Posted, metric: Metric, pairs: &[(usize, usize)]) -> Judged {
    let samples =
        |cell: &PostedCell| Samples::of_rows(&table.report, metric, rows(cell, metric, table.values));
    let all = table.boards.iter().map(|board| board.cells.iter().map(samples).collect()).collect();
    Judged::of_samples(all, pairs, &vec![false; pairs.len()])
}

/// Each figure as a row. Where nobody says that boots lay between repetitions, all of a variant are of one boot.
fn rows(cell: &PostedCell, metric: Metric, values: PostedValues) -> Vec<Row> {
    let Some(found) = cell.metric(metric) else { return Vec::new() };
    if values == PostedValues::Trials {
        return repetitions(&found.numbers);
    }
    let of_variant = |(variant, numbers): (usize, &Vec<f64>)| {
        let row = |(at, value): (usize, &f64)| {
            let at = u32::try_from(at).unwrap_or(u32::MAX);
            let (visit, round) = match values {
                PostedValues::Averages | PostedValues::Trials => (0, None),
                PostedValues::Boots => (at, None),
                PostedValues::Rounds => (at, Some(at)),
            };
            Row { variant, round, visit, seq: None, value: *value, void: false }
        };
        numbers.iter().enumerate().map(row).collect::<Vec<Row>>()
    };
    found.numbers.iter().enumerate().flat_map(of_variant).collect()
}

/// One row a variant with the arithmetic mean, which is what people post of repetitions.
fn repetitions(numbers: &[Vec<f64>]) -> Vec<Row> {
    let row = |(variant, numbers): (usize, &Vec<f64>)| {
        let value = numbers.iter().sum::<f64>() / numbers.len() as f64;
        value.is_finite().then_some(Row { variant, round: None, visit: 0, seq: None, value, void: false })
    };
    numbers.iter().enumerate().filter_map(row).collect()
}

fn variant(at: usize, name: &VariantName) -> Variant {
    Variant {
        letter: letter(at),
        name: name.0.clone(),
        reference: name.0.clone(),
        describe: None,
        commit: String::new(),
        release: None,
        on_top_of: None,
        patches: Vec::new(),
        series: Vec::new(),
        differences: Vec::new(),
        build_error: None,
        same_as: None,
    }
}

fn board(table: &Posted, judged: &[Judged], pairs: &[(usize, usize)], at: usize) -> Board {
    let posted = &table.boards[at];
    let count = table.variants.len();
    Board {
        name: posted.name.clone(),
        facts: BoardFacts::default(),
        about: posted.about.clone(),
        cells: (0..posted.cells.len()).map(|cell| self::cell(table, judged, posted, (at, cell))).collect(),
        groups: vec![group(judged, pairs, at, posted)],
        tallies: vec![Tally::default(); count],
        outliers: vec![Outliers::default(); count],
        count_differences: Vec::new(),
        lost: Vec::new(),
        given_up: Vec::new(),
    }
}

fn cell(table: &Posted, judged: &[Judged], board: &PostedBoard, (at, cell): (usize, usize)) -> Cell {
    let posted = &board.cells[cell];
    let count = table.variants.len();
    let metric = |(metric, judged): (&Metric, &Judged)| CellMetric {
        metric: *metric,
        means: (0..count).map(|variant| mean(judged.mean(at, cell, variant), false)).collect::<Vec<Mean>>(),
        boots: match table.values {
            PostedValues::Averages => vec![Boots::default(); count],
            PostedValues::Trials => trials(posted, *metric, count),
            _ => judged.boots(at, cell, count, &BTreeMap::new()),
        },
        changes: judged.changes(at, cell).iter().map(|change| honest(change, table.values)).collect(),
    };
    let numbers = |variant: usize| {
        let row = posted.metric(table.report.primary);
        row.and_then(|row| row.numbers.get(variant)).map_or(0, Vec::len)
    };
    let detail = |variant: usize| Detail {
        visits: match table.values {
            PostedValues::Averages | PostedValues::Trials => 0,
            PostedValues::Boots | PostedValues::Rounds => numbers(variant),
        },
        trials: numbers(variant),
        ..Detail::default()
    };
    Cell {
        id: posted.label.clone(),
        label: posted.label.clone(),
        metrics: table.report.metrics.iter().zip(judged).map(metric).collect(),
        details: (0..count).map(detail).collect(),
        posted: posted
            .rows
            .iter()
            .map(|row| PostedLine {
                name: row.name.clone(),
                texts: row.texts.iter().map(|texts| texts.join(" ")).collect(),
            })
            .collect(),
    }
}

/// Repetitions as trials of one boot.
fn trials(posted: &PostedCell, metric: Metric, count: usize) -> Vec<Boots> {
    let numbers = |variant: usize| Some(posted.metric(metric)?.numbers.get(variant)?.clone());
    let boots = |variant: usize| {
        let trials = numbers(variant).filter(|numbers| !numbers.is_empty());
        let boot = |trials: Vec<f64>| {
            let value = trials.iter().sum::<f64>() / trials.len() as f64;
            Boot { round: 0, visit: 0, value, trials, noted: 0 }
        };
        Boots { values: trials.map(boot).into_iter().collect(), interval: None }
    };
    (0..count).map(boots).collect()
}

/// A change with the reason why nothing follows from it.
fn honest(change: &Change, values: PostedValues) -> Change {
    let why = match values {
        _ if change.verdict != Verdict::NoVerdict || change.visits.0 == 0 || change.visits.1 == 0 => {
            return change.clone();
        }
        PostedValues::Averages => {
            "averages only: the noise between boots is unknown, the change may be chance"
        }
        PostedValues::Trials => "repetitions, perhaps all of one boot: the noise between boots is unknown",
        PostedValues::Boots | PostedValues::Rounds => return change.clone(),
    };
    Change { why: Some(why.to_owned()), ..change.clone() }
}

/// All tests of a board together: their names are all that is known of what they have in common.
fn group(judged: &[Judged], pairs: &[(usize, usize)], at: usize, board: &PostedBoard) -> Group {
    let all: Vec<usize> = (0..board.cells.len()).collect();
    let geomean = |pair: &(usize, usize)| {
        let primary = judged.first()?;
        let cells = primary.common(at, &all, &[pair.0, pair.1]);
        primary.geomean(at, *pair, &cells)
    };
    Group { name: board.name.clone(), geomean: pairs.iter().map(geomean).collect(), cpu_per_io: None }
}
