//! The summary over cells: geometric mean of ratios, with an interval from the rounds (S10).

use crate::cell::{LEVEL, MIN_ROUNDS};
use crate::sample::mean;
use crate::t;
use crate::types::{Better, CellInput, Interval, PValue, Pair, Scale};
use crate::units::Units;
use std::collections::{BTreeMap, BTreeSet};

/// Geometric mean of the candidate/reference ratios over cells.
#[derive(Debug, Clone, PartialEq)]
pub struct GeomeanSummary {
    /// Log of the geometric mean.
    pub estimate: f64,
    /// Its 95 % interval (logs).
    pub interval: Interval,
    /// Two-sided p; `None` when the rounds do not vary at all and the mean is not 0.
    pub p: Option<PValue>,
    /// Rounds in which every used cell has both variants.
    pub rounds: usize,
    /// Mean over the used cells, per round in round order.
    pub per_round: Vec<f64>,
    /// Cells that count, by index. A cell without any complete round is left out.
    pub cells: Vec<usize>,
    /// The cell with the least favourable mean, and that mean (log).
    pub worst: (usize, f64),
    /// The cell with the most favourable mean, and that mean (log).
    pub best: (usize, f64),
}

/// The cells in which every one of `variants` has a usable visit. Callers that show several pairs pass all their variants, so that
/// the lines rest on the same cells.
pub fn common_cells(cells: &[CellInput], variants: &[usize]) -> Vec<usize> {
    let complete = |cell: &CellInput| {
        let units = Units::of_cell(cell);
        variants.iter().all(|v| !units.of(*v).is_empty())
    };
    (0..cells.len()).filter(|i| complete(&cells[*i])).collect()
}

/// Per round, the mean over cells of the log ratios; then a paired t over the rounds. Correlation between cells that shared a
/// visit is inside the round values, so the interval holds where one built from independent cells would not.
///
/// `None` below five rounds that are complete in every cell, for cells that are not on the log scale, and for cells whose good
/// directions differ (throughput and latency are never mixed).
pub fn geomean(cells: &[CellInput], pair: Pair) -> Option<GeomeanSummary> {
    let better = cells.first()?.rule.better();
    if cells.iter().any(|c| c.rule.scale() != Scale::Log || c.rule.better() != better) {
        return None;
    }
    let tables = round_tables(cells, pair);
    let rounds = common_rounds(&tables);
    if rounds.len() < MIN_ROUNDS {
        return None;
    }
    let per_round: Vec<f64> = rounds
        .iter()
        .filter_map(|round| mean(&tables.iter().map(|(_, t)| t[round]).collect::<Vec<_>>()))
        .collect();
    let test = t::paired(&per_round)?;
    let (worst, best) = extremes(&tables, &rounds, better)?;
    Some(GeomeanSummary {
        estimate: test.estimate,
        interval: test.interval(LEVEL),
        p: test.p(),
        rounds: per_round.len(),
        per_round,
        cells: tables.iter().map(|(i, _)| *i).collect(),
        worst,
        best,
    })
}

type RoundTable = (usize, BTreeMap<u32, f64>);

fn round_tables(cells: &[CellInput], pair: Pair) -> Vec<RoundTable> {
    cells
        .iter()
        .enumerate()
        .map(|(i, cell)| {
            let differences = Units::of_pair(cell, pair).differences(pair.candidate, pair.reference);
            (i, differences.into_iter().collect::<BTreeMap<u32, f64>>())
        })
        .filter(|(_, table)| !table.is_empty())
        .collect()
}

fn common_rounds(tables: &[RoundTable]) -> BTreeSet<u32> {
    let Some((_, first)) = tables.first() else { return BTreeSet::new() };
    first.keys().copied().filter(|round| tables.iter().all(|(_, t)| t.contains_key(round))).collect()
}

/// Worst and best cell by their mean over the used rounds.
fn extremes(
    tables: &[RoundTable],
    rounds: &BTreeSet<u32>,
    better: Better,
) -> Option<((usize, f64), (usize, f64))> {
    let means: Vec<(usize, f64)> = tables
        .iter()
        .filter_map(|(i, t)| Some((*i, mean(&rounds.iter().map(|r| t[r]).collect::<Vec<_>>())?)))
        .collect();
    let low = *means.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let high = *means.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(match better {
        Better::Higher => (low, high),
        Better::Lower => (high, low),
    })
}
