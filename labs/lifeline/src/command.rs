//! What to start: program, arguments, environment, outputs.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

/// Default for [`Command::grace`]: enough for a compiler to remove its temporary files.
const GRACE: Duration = Duration::from_secs(2);

/// A command to run under a supervisor. Standard input is `/dev/null`; outputs are inherited unless told otherwise.
#[derive(Debug)]
pub struct Command {
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) folder: Option<PathBuf>,
    pub(crate) clear_env: bool,
    pub(crate) env: Vec<(OsString, Option<OsString>)>,
    pub(crate) stdout: Output,
    pub(crate) stderr: Output,
    pub(crate) grace: Duration,
}

/// Where an output of a command goes.
#[derive(Debug)]
pub enum Output {
    /// Where the parent's goes.
    Inherit,
    /// Nowhere.
    Null,
    /// To a pipe that the handle holds. It reaches its end when the command and all its descendants are gone.
    Pipe,
    /// Into an open file.
    File(File),
}

impl Command {
    /// A program, looked up in `PATH` unless its name has a slash.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            folder: None,
            clear_env: false,
            env: Vec::new(),
            stdout: Output::Inherit,
            stderr: Output::Inherit,
            grace: GRACE,
        }
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets the working folder; a relative program path starts there.
    pub fn current_dir(mut self, folder: impl AsRef<Path>) -> Self {
        self.folder = Some(folder.as_ref().to_owned());
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), Some(value.into())));
        self
    }

    /// Removes an environment variable.
    pub fn env_remove(mut self, name: impl Into<OsString>) -> Self {
        self.env.push((name.into(), None));
        self
    }

    /// Starts from an empty environment; [`Command::env`] adds to it.
    pub fn env_clear(mut self) -> Self {
        self.clear_env = true;
        self
    }

    /// Sets where standard output goes.
    pub fn stdout(mut self, to: Output) -> Self {
        self.stdout = to;
        self
    }

    /// Sets where standard error goes.
    pub fn stderr(mut self, to: Output) -> Self {
        self.stderr = to;
        self
    }

    /// Sets the time between SIGTERM and SIGKILL when the command has to go.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }
}

impl From<Output> for Stdio {
    fn from(output: Output) -> Self {
        match output {
            Output::Inherit => Stdio::inherit(),
            Output::Null => Stdio::null(),
            Output::Pipe => Stdio::piped(),
            Output::File(file) => file.into(),
        }
    }
}
