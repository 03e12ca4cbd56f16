//! Exit codes, and what is printed with them.

use crate::escape::{print_err, printable};
use std::process::ExitCode;

/// How kab ends. The highest of build, lab and found that applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// Done: a variant that is worse or that panicked is a result.
    Done,
    /// Done, and what was asked to fail on was found.
    Found,
    /// Usage, or a file with mistakes.
    Usage,
    /// The lab kept the plan from being finished.
    Lab,
    /// A build failed.
    Build,
    /// Interrupted by the user.
    Interrupted,
}

impl Exit {
    /// The documented number.
    pub(crate) fn code(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Done => 0,
            Self::Found => 1,
            Self::Usage => 2,
            Self::Lab => 3,
            Self::Build => 4,
            Self::Interrupted => 130,
        })
    }
}

/// An error that ends kab.
#[derive(Debug)]
pub(crate) struct Failure {
    /// How kab ends.
    pub(crate) exit: Exit,
    /// For standard error; may hold several lines.
    message: String,
}

impl Failure {
    /// A failure with a message of its own.
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into() }
    }

    /// A failure that says the whole chain of causes.
    pub(crate) fn of(exit: Exit, error: &dyn std::error::Error) -> Self {
        Self { exit, message: crate::builder::chain(error) }
    }

    /// Prints to standard error. Diagnostics that were printed already leave an empty message.
    pub(crate) fn print(&self) {
        if !self.message.is_empty() {
            print_err(&format!("kab: {}\n", printable(&self.message)));
        }
    }
}

/// `?` for errors that are the user's usage or files.
pub(crate) fn usage<E: std::error::Error>(error: E) -> Failure {
    Failure::of(Exit::Usage, &error)
}

/// `?` for errors of the lab or the host.
pub(crate) fn lab<E: std::error::Error>(error: E) -> Failure {
    Failure::of(Exit::Lab, &error)
}
