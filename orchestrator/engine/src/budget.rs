//! A time budget: as many whole rounds as fit.

use kab_model::{Plan, Run, VisitKey, VisitState};
use kab_plan::{estimate, outstanding_visits_of_round};
use std::time::Duration;
use tokio::time::Instant;

/// A boot, until one was seen.
const BOOT_GUESS: Duration = Duration::from_secs(15);

/// When measuring has to end, and the pace so far.
pub(crate) struct Budget {
    end: Instant,
    spent: Duration,
    visits: u32,
}

impl Budget {
    pub(crate) fn new(time: Duration) -> Self {
        Self { end: Instant::now() + time, spent: Duration::ZERO, visits: 0 }
    }

    /// A visit of this length is over, however it ended.
    pub(crate) fn spent(&mut self, visit: Duration) {
        self.spent += visit;
        self.visits += 1;
    }

    /// Whether this visit may begin: a round that has begun is finished, since rounds are compared whole; another one begins
    /// only if all of it fits at the pace seen so far or, before that, at the plan's.
    pub(crate) fn allows(&self, plan: &Plan, run: &Run, next: &VisitKey) -> bool {
        if run.visits().any(|visit| visit.key.round == next.round && in_numbers(&visit.state)) {
            return true;
        }
        let left = outstanding_visits_of_round(plan, run, next.round);
        let visit = match self.visits {
            0 => estimate(plan, Duration::ZERO).visit + BOOT_GUESS,
            visits => self.spent / visits,
        };
        Instant::now() + visit * u32::try_from(left).unwrap_or(u32::MAX) <= self.end
    }
}

fn in_numbers(state: &VisitState) -> bool {
    matches!(state, VisitState::Ended | VisitState::Failed(..))
}
