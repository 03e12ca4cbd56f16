//! Why a board's agent did not do what was asked.

use kab_wire::ErrorCode;
use std::time::Duration;

/// Why a board's agent did not do what was asked. After anything but [`LinkError::Agent`] the agent is of no more use.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The agent did not get onto the board.
    #[error("cannot bring the agent onto the board: {cause}")]
    Push {
        /// What the board said, or what is wrong.
        cause: String,
    },
    /// The other side does not keep to the protocol.
    #[error("the agent broke the protocol: {cause}")]
    Protocol {
        /// How.
        cause: String,
    },
    /// Another program answered than the one that was pushed.
    #[error("agent {found} answered where {expected} was pushed")]
    Digest {
        /// BLAKE3 of what was pushed.
        expected: String,
        /// BLAKE3 that the agent told of itself.
        found: String,
    },
    /// The board did not answer in time.
    #[error("no {what} within {} s", limit.as_secs_f64())]
    Timeout {
        /// What was waited for.
        what: &'static str,
        /// For how long.
        limit: Duration,
    },
    /// The channel ended: the agent or the connection died.
    #[error("the agent's channel closed{}", after(stderr))]
    Closed {
        /// The last that the agent wrote to standard error, escaped for a terminal.
        stderr: String,
    },
    /// The agent refused the request and waits for another.
    #[error("{message}")]
    Agent {
        /// Which kind of refusal.
        code: ErrorCode,
        /// What is wrong, one line, escaped for a terminal.
        message: String,
    },
}

impl LinkError {
    pub(crate) fn protocol(cause: &impl ToString) -> Self {
        Self::Protocol { cause: cause.to_string() }
    }
}

fn after(stderr: &str) -> String {
    if stderr.is_empty() { String::new() } else { format!("; it last wrote:\n{stderr}") }
}
