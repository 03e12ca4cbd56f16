//! The handle for programs that run on tokio.

use crate::blocking::kill_orphans;
use crate::command::Command;
use crate::protocol::{Ended, KILL, Line};
use crate::{Lifeline, Lost, StartError};
use rustix::process::Pid;
use std::os::unix::net::UnixStream as StdStream;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::process::{ChildStderr, ChildStdout};

/// A running command and its supervisor. Dropping it kills the command and all its descendants; it does not wait for that,
/// [`Process::kill`] does.
#[derive(Debug)]
pub struct Process {
    /// The pipe from standard output, where [`crate::Output::Pipe`] was asked for. Take it to read it.
    pub stdout: Option<ChildStdout>,
    /// The pipe from standard error, likewise.
    pub stderr: Option<ChildStderr>,
    pid: Pid,
    supervisor: tokio::process::Child,
    lines: BufReader<UnixStream>,
    /// Kept across a cancelled wait: a line may arrive in pieces.
    partial: Vec<u8>,
    ended: Option<Ended>,
}

impl Lifeline {
    /// Starts a command and returns once it executes. Dropping the future on the way ends the command.
    pub async fn start(&self, command: Command) -> Result<Process, StartError> {
        let program = command.program.clone();
        let (ours, theirs) = StdStream::pair().map_err(|source| self.no_supervisor(source))?;
        ours.set_nonblocking(true).map_err(|source| self.no_supervisor(source))?;
        let ours = UnixStream::from_std(ours).map_err(|source| self.no_supervisor(source))?;
        let mut supervisor = tokio::process::Command::from(self.supervisor(command, theirs))
            .spawn()
            .map_err(|source| self.no_supervisor(source))?;
        let mut lines = BufReader::new(ours);
        let pid = match read_line(&mut lines, &mut Vec::new()).await {
            Some(line) => self.started(line, program)?,
            None => return Err(StartError::Lost { program: self.program().to_owned() }),
        };
        let (stdout, stderr) = (supervisor.stdout.take(), supervisor.stderr.take());
        Ok(Process { stdout, stderr, pid, supervisor, lines, partial: Vec::new(), ended: None })
    }
}

impl Process {
    /// Process id of the command, which is also its process group's.
    pub fn id(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Waits until the command and all its descendants are gone. What the command leaves running when it ends is ended
    /// too. The future may be dropped and asked for again.
    pub async fn wait(&mut self) -> Result<Ended, Lost> {
        if let Some(ended) = self.ended {
            return Ok(ended);
        }
        let line = read_line(&mut self.lines, &mut self.partial).await;
        if let Some(Line::Ended(ended)) = line {
            self.ended = Some(ended);
            let _ = self.supervisor.wait().await;
            return Ok(ended);
        }
        kill_orphans(self.pid);
        let _ = self.supervisor.wait().await;
        Err(Lost { pid: self.id() })
    }

    /// How the command ended, if it has.
    pub fn try_wait(&mut self) -> Option<Result<Ended, Lost>> {
        let mut wait = std::pin::pin!(self.wait());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match wait.as_mut().poll(&mut context) {
            std::task::Poll::Ready(ended) => Some(ended),
            std::task::Poll::Pending => None,
        }
    }

    /// Ends the command: SIGTERM to it and its descendants, SIGKILL after the grace; waits until they are gone.
    pub async fn terminate(mut self) -> Result<Ended, Lost> {
        // Fails only if the supervisor is gone already, which the wait reports.
        let _ = self.lines.get_mut().shutdown().await;
        self.wait().await
    }

    /// Kills the command and its descendants at once and waits until they are gone.
    pub async fn kill(mut self) -> Result<Ended, Lost> {
        let _ = self.lines.get_mut().write_all(&[KILL]).await;
        self.wait().await
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.ended.is_none() {
            // One byte into an empty socket buffer: never blocks. Closing the socket would end it too, with the grace.
            let _ = self.lines.get_ref().try_write(&[KILL]);
        }
    }
}

/// The next line; `None` at the end or if it is no line of ours. Nothing is lost if the future is dropped.
async fn read_line(lines: &mut BufReader<UnixStream>, partial: &mut Vec<u8>) -> Option<Line> {
    lines.read_until(b'\n', partial).await.ok()?;
    let line = String::from_utf8(std::mem::take(partial)).ok()?;
    Line::parse(&line)
}
