//! The pure planner: what will be done, in which order, and what comes next.
//!
//! No I/O, no clock, randomness by seed: [`make_plan`] gives the same plan for the same input, and [`next`] and
//! [`next_trial`] decide from the plan and the folded log alone, so that a resumed run decides as the first one did.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod cells;
mod estimate;
mod make;
mod next;
mod trials;

pub use cells::{cell_of, expand};
pub use estimate::{Estimate, estimate, visit_of};
pub use make::{PlanError, ResolvedVariant, make_plan};
pub use next::{INTERRUPTED, Next, next, outstanding_visits, outstanding_visits_of_round};
pub use trials::{NextTrial, Unmeasured, next_trial, unmeasured};
