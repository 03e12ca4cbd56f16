//! How long a plan takes and how much it writes, before anything is measured.

use kab_model::{Cell, Plan};
use std::time::Duration;

/// Rough cost of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Visits, which are boots.
    pub visits: u64,
    /// Trials, warm-ups included.
    pub trials: u64,
    /// One visit without its boot.
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
    let per_cell = u64::from(plan.trials + plan.warmup);
    let visits: u64 =
        plan.boards.iter().flat_map(|board| &board.rounds).map(|round| round.len() as u64).sum();
    let visit_ms: u64 = plan.cells.iter().map(|cell| per_cell * trial_ms(plan, cell)).sum();
    let writing = plan.cells.iter().filter(|cell| cell.writes).count() as u64;
    let visit = Duration::from_millis(visit_ms);
    Estimate {
        visits,
        trials: visits * per_cell * plan.cells.len() as u64,
        visit,
        total: (visit + boot) * u32::try_from(visits).unwrap_or(u32::MAX),
        writing_trials: visits * per_cell * writing,
    }
}

fn trial_ms(plan: &Plan, cell: &Cell) -> u64 {
    cell.planned_ms.unwrap_or(UNTIMED_MS) + plan.cooldown_ms + OVERHEAD_MS
}
