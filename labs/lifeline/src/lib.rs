//! Child processes that cannot outlive their parent, however the parent dies.
//!
//! A program that is killed with SIGKILL runs no destructor, so what must die with it has to be watched by somebody
//! else. That somebody is a *supervisor*: the same program started once more with the hidden first argument
//! [`HOOK_ARGUMENT`], for which [`main_hook`] takes over. Its standard input is a socket to the parent; the command runs as
//! its child, in a process group of its own, with nothing on standard input. When the socket closes (the parent died, or dropped
//! the handle) the supervisor ends the command and everything that descends from it: SIGTERM first, SIGKILL after a
//! [grace](Command::grace). It is a child subreaper, so daemonised descendants are found too. It leads a session of its
//! own: Ctrl-C in the terminal reaches the parent alone.
//!
//! Should the supervisor itself be killed, the kernel kills the command (parent-death signal), and the parent, where it
//! still lives, the command's process group.
//!
//! Every program that uses this calls [`main_hook`] first thing in `main`:
//!
//! ```no_run
//! kab_lifeline::main_hook();
//! let lifeline = kab_lifeline::Lifeline::this_program();
//! let mut child = lifeline.spawn(kab_lifeline::Command::new("make").arg("-j8"))?;
//! println!("{:?}", child.wait()?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod blocking;
mod command;
mod protocol;
mod supervisor;
#[cfg(feature = "tokio")]
mod tasks;
mod tree;

pub use blocking::Child;
pub use command::{Command, Output};
pub use protocol::Ended;
pub use supervisor::main_hook;
#[cfg(feature = "tokio")]
pub use tasks::Process;

use std::path::{Path, PathBuf};

/// First argument that turns a program into a supervisor.
pub const HOOK_ARGUMENT: &str = "__lifeline";

/// Where supervisors come from: a program that calls [`main_hook`].
#[derive(Clone, Debug)]
pub struct Lifeline {
    program: PathBuf,
}

impl Lifeline {
    /// The running program itself. Its file may be replaced meanwhile: the kernel still knows the one that runs.
    pub fn this_program() -> Self {
        Self::from_program("/proc/self/exe")
    }

    /// Another program that calls [`main_hook`], for callers whose own `main` does not (a test harness).
    pub fn from_program(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into() }
    }

    pub(crate) fn program(&self) -> &Path {
        &self.program
    }
}

/// Why a command was not started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The command itself: not found, not executable, no such working folder.
    #[error("cannot start {}", program.display())]
    Program {
        /// What was to be started.
        program: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// The supervisor could not be started.
    #[error("cannot start {} as supervisor", program.display())]
    Supervisor {
        /// The program of the [`Lifeline`].
        program: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// The supervisor went away before the command ran: it was killed, or the program lacks [`main_hook`].
    #[error("the supervisor {} ended before it started the command", program.display())]
    Lost {
        /// The program of the [`Lifeline`].
        program: PathBuf,
    },
}

/// The supervisor was killed, so nobody knows how the command ended. The command has been killed.
#[derive(Debug, thiserror::Error)]
#[error("the supervisor of process {pid} was killed")]
pub struct Lost {
    /// Process id of the command.
    pub pid: u32,
}
