//! Host side of the agent protocol, over any byte stream.
//!
//! [`BOOTSTRAP`] is the one command that runs on a board; [`Agent::connect`] talks to it over its streams: it pushes the
//! agent where the board does not have it, starts it and checks that it is the one that was meant. Everything after
//! that is a frame: no value is ever part of a shell's text.
//!
//! Dropping an [`Agent`], at any await, closes the channel, and the agent then stops what it runs.

mod agent;
mod bootstrap;
mod channel;
mod error;
mod text;
mod trial;

pub use agent::Agent;
pub use bootstrap::{AgentBinary, BOOTSTRAP};
pub use error::LinkError;
pub use trial::{Collected, Progress, TrialResult};

/// Messages that callers fill in or read.
pub use kab_wire::{Arg, ErrorCode, Exit, Identity, KernelLog, Listed, Target, TrialRequest};
