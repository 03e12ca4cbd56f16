//! What an observer of a run is told.

use kab_model::{BoardName, Logged, Run, TrialKey, VariantName, VisitKey};
use kab_store::Durable;

/// Watches a run. Called from the engine's own task: it must not block for long.
pub trait Observer: Send + Sync {
    /// Something happened and is on disk; `run` has it already.
    fn event(&self, event: &Durable<Logged>, run: &Run);

    /// Something is under way; never stored.
    fn progress(&self, progress: Progress<'_>);
}

/// What is under way.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress<'a> {
    /// A variant is being built.
    Building {
        /// Which.
        variant: &'a VariantName,
        /// What the builder says.
        line: String,
    },
    /// A board's facts are being found, which may boot it once.
    Preparing {
        /// Which.
        board: &'a BoardName,
    },
    /// Another kab loads this host.
    Waiting {
        /// What it wrote about itself.
        owner: String,
    },
    /// A board boots.
    Booting {
        /// The visit.
        visit: &'a VisitKey,
    },
    /// The time budget has no room for another whole round: the run stays unfinished, to go on later.
    OutOfTime {
        /// Visits of the plan that are left.
        left: usize,
    },
    /// fio runs.
    Running {
        /// The trial.
        trial: &'a TrialKey,
        /// Since its start, milliseconds.
        elapsed_ms: u64,
        /// Planned, milliseconds, where known.
        planned_ms: Option<u64>,
    },
}
