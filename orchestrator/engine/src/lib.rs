//! Carries a plan out on boards and owns all run state.
//!
//! The engine makes no choices: [`kab_plan::next`] says what comes, the engine does it and appends what happened to the
//! run log; observers see only what is durable. A trial that failed is an event, not an `Err`.

mod budget;
mod builder;
mod engine;
mod evidence;
mod observe;
mod prove;
mod session;
mod trial;
mod visit;

pub use builder::{BuildFailure, BuildFault, Builder};
pub use engine::{Engine, EngineError, Parts};
pub use evidence::{BlobSource, judge_again};
pub use observe::{Observer, Progress};
pub use prove::{ProofError, stamp_argument};
