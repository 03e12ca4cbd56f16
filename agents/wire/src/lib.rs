//! Messages between host and board: what kab and its agent say to each other, and how it becomes bytes.
//!
//! Both sides of a conversation are the same build (the host pushes the agent by digest), so a message has no optional
//! past: [`PROTOCOL`] only catches a program that is no agent of this kab at all.
//!
//! ```text
//! agent                                 host
//!   ToHost::Hello          ->             (protocol and digest are checked)
//!                          <-             ToAgent::Hello
//!                          <-             ToAgent::{Identify, FindTarget}
//!   Identity, Target or Error  ->
//!                          <-             ToAgent::RunTrial
//!   Progress, once a second    ->
//!   TrialDone or Error         ->
//!   chunks of the streams that TrialDone announced, in its order  ->
//!                          <-             ToAgent::Bye, or end of file
//! ```
//!
//! The agent speaks first: nothing may follow the pushed binary until it has started, since the shell that receives it
//! may read ahead. No I/O here: bytes in, bytes out.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod frame;
mod message;
mod target;
mod trial;

pub use frame::{Decoder, Frame, FrameError, MAX_CHUNK, MAX_CONTROL};
pub use message::{ErrorCode, Identity, ToAgent, ToHost};
pub use target::{Listed, Target};
pub use trial::{Arg, Exit, KernelLog, LEFT_BEHIND, MAX_STREAM, Stream, StreamInfo, TrialDone, TrialRequest};

/// Version of the conversation; both sides must have the same.
pub const PROTOCOL: u32 = 1;
