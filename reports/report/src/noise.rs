//! How much the boots of one and the same kernel differ: the noise of a board, and whether the tests hold on it.

use crate::places::Places;
use crate::samples::{Samples, Trials};
use kab_model::{Metric, Plan, Run};
use kab_stats::aa::{SelfCheck, WARN_SHARE, self_check};
use kab_stats::planning::{Design, detectable};
use kab_stats::verdict::ALPHA;
use kab_stats::{Scale, Units};
use serde::Serialize;

/// Random splits of a self-check (A21).
const SPLITS: u32 = 200;

/// Boots of the baseline from which the share of splits says something of the board. Of 400 simulated sets of plain normal noise
/// this share of sets was over [`WARN_SHARE`]: 29 % with 6 boots, 11 % with 8, 0.8 % with 12 and with 16, 0.5 % with 24, 2 % with 32.
pub const ENOUGH: usize = 16;

/// The noise of one cell on one board.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Noise {
    /// The board.
    pub board: String,
    /// Id of the cell.
    pub cell: String,
    /// Label of the cell.
    pub label: String,
    /// Boots whose deviations from the mean of their own variant are pooled.
    pub boots: usize,
    /// Standard deviation of a boot, percent of the value.
    pub deviation_percent: f64,
    /// Those of them that are of the baseline, which is split.
    pub baseline_boots: usize,
    /// Share of random splits of the baseline's boots with p <= .05, where there are boots enough for two halves.
    pub significant: Option<f64>,
}

impl Noise {
    /// Whether more splits have p <= .05 than chance explains. With fewer boots than [`ENOUGH`] the same few values decide all
    /// splits, and nothing can be said.
    pub fn is_suspicious(&self) -> bool {
        self.baseline_boots >= ENOUGH && self.significant.is_some_and(|share| share > WARN_SHARE)
    }

    /// Percent of change that `rounds` rounds show four times out of five. `None` below two rounds.
    pub fn visible(&self, rounds: usize) -> Option<f64> {
        let deviation = (self.deviation_percent / 100.0).ln_1p();
        Some(Scale::Log.to_percent(detectable(rounds, ALPHA, Design::Blocks)? * deviation))
    }
}

/// The noise of each cell of a run in its primary metric; cells with fewer than two boots of any variant are left out.
/// `seed` chooses the splits.
///
/// Deviation: pooled over the variants, each about its own mean, on the logarithmic scale (statistics.md, "Margins"); self-check:
/// A21.
pub fn noise(run: &Run, plan: &Plan, metric: Metric, seed: u64) -> Vec<Noise> {
    let places = Places::of(run, plan);
    let baseline = plan.variants.iter().position(|variant| variant.name == plan.baseline).unwrap_or(0);
    let mut all = Vec::new();
    for (board, cells) in plan.boards.iter().zip(&places.boards) {
        for (cell, placed) in plan.cells.iter().zip(cells) {
            let input = Samples::of(plan, placed, metric, Trials::Counted).judged;
            let units = Units::of_cell(&input);
            let Some((deviation, boots)) = pooled(&units) else { continue };
            let check = self_check(&input, baseline, SPLITS, seed);
            all.push(Noise {
                board: board.spec.name.0.clone(),
                cell: cell.id.0.clone(),
                label: cell.label.clone(),
                boots,
                baseline_boots: units.values(baseline).len(),
                deviation_percent: deviation.exp_m1() * 100.0,
                significant: check.as_ref().map(SelfCheck::share),
            });
        }
    }
    all
}

/// Standard deviation about the means of the variants, and how many boots it rests on.
fn pooled(units: &Units) -> Option<(f64, usize)> {
    let (mut squares, mut freedom, mut boots) = (0.0, 0, 0);
    for variant in units.variants() {
        let values = units.values(variant);
        if values.len() < 2 {
            continue;
        }
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        squares += values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        freedom += values.len() - 1;
        boots += values.len();
    }
    (freedom > 0).then(|| ((squares / freedom as f64).sqrt(), boots))
}

/// What an earlier run tells of the noise of a plan: of its boards as they are and its cells with the same options, named as in
/// the plan. Deviations that rest on fewer than [`FEW`] boots are left out.
pub fn known_noise(run: &Run, plan: &Plan, seed: u64) -> Vec<Noise> {
    let Some(earlier) = &run.plan else { return Vec::new() };
    let same_board = |name: &str| {
        let spec =
            |plan: &Plan| plan.boards.iter().find(|board| board.spec.name.0 == name).map(|b| b.spec.clone());
        spec(plan).is_some() && spec(plan) == spec(earlier)
    };
    let cell_of = |id: &str| {
        let then = earlier.cells.iter().find(|cell| cell.id.0 == id)?;
        plan.cells.iter().find(|cell| (&cell.fio, &cell.target) == (&then.fio, &then.target))
    };
    let named = |noise: Noise| {
        let cell = cell_of(&noise.cell)?;
        Some(Noise { cell: cell.id.0.clone(), label: cell.label.clone(), ..noise })
    };
    noise(run, earlier, plan.report.primary, seed)
        .into_iter()
        .filter(|noise| noise.boots >= FEW && same_board(&noise.board))
        .filter_map(named)
        .collect()
}

/// Boots from which a deviation is worth telling.
pub const FEW: usize = 4;
