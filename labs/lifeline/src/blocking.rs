//! The handle for programs without an async runtime.

use crate::command::Command;
use crate::protocol::{Ended, KILL, Line};
use crate::supervisor::WATCH;
use crate::{HOOK_ARGUMENT, Lifeline, Lost, StartError};
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{ChildStderr, ChildStdout, Stdio};
use std::time::Duration;

/// A running command and its supervisor. Dropping it kills the command and all its descendants, and waits for that.
#[derive(Debug)]
pub struct Child {
    /// The pipe from standard output, where [`crate::Output::Pipe`] was asked for. Take it to read it.
    pub stdout: Option<ChildStdout>,
    /// The pipe from standard error, likewise.
    pub stderr: Option<ChildStderr>,
    pid: Pid,
    supervisor: std::process::Child,
    lines: BufReader<UnixStream>,
    ended: Option<Ended>,
    left: bool,
}

impl Lifeline {
    /// Starts a command and returns once it executes.
    pub fn spawn(&self, command: Command) -> Result<Child, StartError> {
        let program = command.program.clone();
        let (ours, theirs) = UnixStream::pair().map_err(|source| self.no_supervisor(source))?;
        let mut supervisor =
            self.supervisor(command, theirs).spawn().map_err(|source| self.no_supervisor(source))?;
        let mut lines = BufReader::new(ours);
        let pid = match read_line(&mut lines) {
            Ok(Some(line)) => self.started(line, program)?,
            _ => return Err(StartError::Lost { program: self.program().to_owned() }),
        };
        let (stdout, stderr) = (supervisor.stdout.take(), supervisor.stderr.take());
        Ok(Child { stdout, stderr, pid, supervisor, lines, ended: None, left: false })
    }

    /// The supervisor's own command line, ready to start with `socket` as its standard input.
    pub(crate) fn supervisor(&self, command: Command, socket: UnixStream) -> std::process::Command {
        let mut supervisor = std::process::Command::new(self.program());
        supervisor
            .arg0("lifeline")
            .args([HOOK_ARGUMENT, WATCH, &command.grace.as_millis().to_string()])
            .arg(command.program)
            .args(command.args)
            .stdin(Stdio::from(OwnedFd::from(socket)))
            .stdout(command.stdout)
            .stderr(command.stderr);
        if let Some(folder) = command.folder {
            supervisor.current_dir(folder);
        }
        if command.clear_env {
            supervisor.env_clear();
        }
        for (name, value) in command.env {
            match value {
                Some(value) => supervisor.env(name, value),
                None => supervisor.env_remove(name),
            };
        }
        supervisor
    }

    /// The command's process id out of the supervisor's first line.
    pub(crate) fn started(&self, line: Line, program: OsString) -> Result<Pid, StartError> {
        match line {
            Line::Started(pid) => {
                Pid::from_raw(pid).ok_or_else(|| StartError::Lost { program: self.program().to_owned() })
            }
            Line::Failed(errno) => Err(StartError::Program {
                program: program.into(),
                source: std::io::Error::from_raw_os_error(errno),
            }),
            Line::Ended(_) => Err(StartError::Lost { program: self.program().to_owned() }),
        }
    }

    pub(crate) fn no_supervisor(&self, source: std::io::Error) -> StartError {
        StartError::Supervisor { program: self.program().to_owned(), source }
    }
}

impl Child {
    /// Process id of the command, which is also its process group's.
    pub fn id(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Waits until the command and all its descendants are gone. What the command leaves running when it ends is ended
    /// too.
    pub fn wait(&mut self) -> Result<Ended, Lost> {
        self.set_timeout(None);
        self.next_line().map(|ended| ended.expect("without a time-out a read returns a line or fails"))
    }

    /// As [`Child::wait`], but gives up after `limit`; `None` if the command still runs.
    pub fn wait_timeout(&mut self, limit: Duration) -> Result<Option<Ended>, Lost> {
        // A time-out of zero would mean none to the socket.
        self.set_timeout(Some(limit.max(Duration::from_millis(1))));
        self.next_line()
    }

    /// Ends the command: SIGTERM to it and its descendants, SIGKILL after the grace; waits until they are gone.
    pub fn terminate(mut self) -> Result<Ended, Lost> {
        self.begin_termination();
        self.wait()
    }

    /// As [`Child::terminate`], without waiting: [`Child::wait_timeout`] does.
    pub fn begin_termination(&mut self) {
        // Fails only if the supervisor is gone already, which the wait reports.
        let _ = self.lines.get_ref().shutdown(Shutdown::Write);
    }

    /// Gives up a command that no signal ends, such as one in uninterruptible sleep. The supervisor stays with it and
    /// kills what is left as soon as that can be killed.
    pub fn leave(mut self) {
        self.left = true;
    }

    /// Kills the command and its descendants at once and waits until they are gone.
    pub fn kill(mut self) -> Result<Ended, Lost> {
        let _ = self.lines.get_mut().write_all(&[KILL]);
        self.wait()
    }

    fn set_timeout(&self, limit: Option<Duration>) {
        self.lines
            .get_ref()
            .set_read_timeout(limit)
            .expect("a non-zero time-out is accepted by every socket");
    }

    /// The last line of the supervisor, whose process is then collected.
    fn next_line(&mut self) -> Result<Option<Ended>, Lost> {
        if self.ended.is_some() {
            return Ok(self.ended);
        }
        match read_line(&mut self.lines) {
            Ok(Some(Line::Ended(ended))) => {
                let _ = self.supervisor.wait();
                self.ended = Some(ended);
                Ok(Some(ended))
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(None),
            _ => {
                let _ = self.supervisor.wait();
                kill_orphans(self.pid);
                Err(Lost { pid: self.id() })
            }
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.ended.is_none() && !self.left {
            let _ = self.lines.get_mut().write_all(&[KILL]);
            let _ = self.wait();
        }
    }
}

/// Kills what is left of a command whose supervisor was killed: the kernel killed the command alone.
pub(crate) fn kill_orphans(group: Pid) {
    // ESRCH where nobody is left.
    let _ = kill_process_group(group, Signal::KILL);
}

/// The next line; `None` at the end or if it is no line of ours.
fn read_line(lines: &mut BufReader<UnixStream>) -> std::io::Result<Option<Line>> {
    let mut line = String::new();
    lines.read_line(&mut line)?;
    Ok(Line::parse(&line))
}
