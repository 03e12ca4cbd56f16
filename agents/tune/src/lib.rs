//! Knobs of a board: what there is, in which order it is set, how it reads back, and what a journal of it looks like.
//!
//! [`plan()`] goes from a [`Profile`] and a [`View`] of sysfs and procfs to an ordered list of changes. Nothing here
//! touches a file: the agent brings the view and carries the plan out, tests bring a [`Tree`].
//!
//! ```text
//! Profile + View + target's disk  ->  TuningPlan { changes: path, from, to, why; lacking }
//!   -> journal of all originals, durable  ->  writes in order, each read back  ->  ... trials, each verified ...
//!   -> restore_order(journal)             ->  originals written back
//! ```

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod catalogue;
mod device;
mod form;
mod interrupts;
mod journal;
mod kinds;
mod outcome;
mod plan;
mod profile;
mod tree;
mod view;

pub use catalogue::{Knob, Stage, catalogue};
pub use device::Device;
pub use form::Form;
pub use interrupts::{Vector, vectors};
pub use journal::{Entry, JournalError, parse_journal, restore_order};
pub use outcome::{Applied, Drift, Outcome, Restored, settled};
pub use plan::{Change, Lack, TuningPlan, Wanted, plan};
pub use profile::{BUILT_IN, Need, Profile, Setting, SettingError};
pub use tree::{Tree, TreeError};
pub use view::View;
