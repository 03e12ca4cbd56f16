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
    let per_cell = u64::from(plan.trials).saturating_add(plan.warmup.into());
    let visits: u64 =
        plan.boards.iter().flat_map(|board| &board.rounds).map(|round| round.len() as u64).sum();
    let cell_ms = |cell| per_cell.saturating_mul(trial_ms(plan, cell));
    let visit_ms = plan.cells.iter().map(cell_ms).fold(0, u64::saturating_add);
    let visit = Duration::from_millis(visit_ms);
    let writing = plan.cells.iter().filter(|cell| cell.writes).count();
    let trials_of = |cells: usize| visits.saturating_mul(per_cell).saturating_mul(cells as u64);
    Estimate {
        visits,
        trials: trials_of(plan.cells.len()),
        visit,
        total: visit.saturating_add(boot).saturating_mul(u32::try_from(visits).unwrap_or(u32::MAX)),
        writing_trials: trials_of(writing),
    }
}

fn trial_ms(plan: &Plan, cell: &Cell) -> u64 {
    cell.planned_ms.unwrap_or(UNTIMED_MS).saturating_add(plan.cooldown_ms).saturating_add(OVERHEAD_MS)
}
