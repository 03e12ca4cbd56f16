//! How long a plan takes and how much it writes, before anything is measured.

use crate::cells::cell_of;
use kab_model::{Cell, Plan, PlannedVariant};
use std::time::Duration;

/// Rough cost of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Visits, which are boots.
    pub visits: u64,
    /// Trials, warm-ups included.
    pub trials: u64,
    /// The longest visit without its boot.
    pub visit: Duration,
    /// All visits, with `boot` for each.
    pub total: Duration,
    /// Trials that write to a target, warm-ups included.
    pub writing_trials: u64,
}

/// Time that the fio options do not tell (a job that ends with its size): a placeholder of this length is counted.
const UNTIMED_MS: u64 = 10_000;
/// Start of fio, hand-over and judging of a trial, as seen on emulated boards.
const OVERHEAD_MS: u64 = 700;

/// The cost of a plan if every boot takes `boot`.
pub fn estimate(plan: &Plan, boot: Duration) -> Estimate {
    let mut found =
        Estimate { visits: 0, trials: 0, visit: Duration::ZERO, total: Duration::ZERO, writing_trials: 0 };
    let per_cell = u64::from(plan.trials).saturating_add(plan.warmup.into());
    for variant in &plan.variants {
        let rounds = plan.boards.iter().flat_map(|board| &board.rounds).flatten();
        let visits = rounds.filter(|name| **name == variant.name).count() as u64;
        let writing = plan.cells.iter().filter(|cell| cell_of(variant, cell).writes).count();
        let visit = visit_of(plan, variant);
        let trials_of = |cells: usize| visits.saturating_mul(per_cell).saturating_mul(cells as u64);
        let all = visit.saturating_add(boot).saturating_mul(u32::try_from(visits).unwrap_or(u32::MAX));
        found = Estimate {
            visits: found.visits.saturating_add(visits),
            trials: found.trials.saturating_add(trials_of(plan.cells.len())),
            visit: found.visit.max(visit),
            total: found.total.saturating_add(all),
            writing_trials: found.writing_trials.saturating_add(trials_of(writing)),
        };
    }
    found
}

/// One visit of a variant without its boot, by the run time of its own fio options.
pub fn visit_of(plan: &Plan, variant: &PlannedVariant) -> Duration {
    let per_cell = u64::from(plan.trials).saturating_add(plan.warmup.into());
    let cell_ms = |cell| per_cell.saturating_mul(trial_ms(plan, &cell_of(variant, cell)));
    Duration::from_millis(plan.cells.iter().map(cell_ms).fold(0, u64::saturating_add))
}

fn trial_ms(plan: &Plan, cell: &Cell) -> u64 {
    cell.planned_ms.unwrap_or(UNTIMED_MS).saturating_add(plan.cooldown_ms).saturating_add(OVERHEAD_MS)
}
