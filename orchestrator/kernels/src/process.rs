//! Runs a command to its end, or to ours: line by line, cancellable, and never outliving this process.

use kab_lifeline::{Command, Ended, Lifeline, Output};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio_util::sync::CancellationToken;

/// Bytes read from a pipe at once.
const CHUNK: usize = 16 * 1024;

/// Why a command has no end to tell of.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// It could not be started.
    #[error("the command did not start")]
    Start(#[source] kab_lifeline::StartError),
    /// Its supervisor was killed.
    #[error("the command was lost")]
    Lost(#[source] kab_lifeline::Lost),
    /// Its output could not be read or kept.
    #[error("the output of the command cannot be kept")]
    Output(#[source] std::io::Error),
    /// The caller gave up; the command and its descendants are gone.
    #[error("cancelled")]
    Cancelled,
}

/// Which of the outputs a line came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Out,
    Err,
}

/// Receives each line without its end. Progress meters that end in a carriage return count as lines.
pub(crate) type OnLine<'a> = &'a mut (dyn FnMut(Stream, &[u8]) -> std::io::Result<()> + Send);

/// A command that ended by itself.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) ended: Ended,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

/// Runs a command and keeps all that it prints.
pub(crate) async fn capture(
    lifeline: &Lifeline,
    command: Command,
    cancel: &CancellationToken,
) -> Result<Finished, ProcessError> {
    let mut process = start(lifeline, command, cancel).await?;
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let (out, err) = (process.stdout.take(), process.stderr.take());
    let read = async {
        tokio::try_join!(
            async { if let Some(mut out) = out { out.read_to_end(&mut stdout).await } else { Ok(0) } },
            async { if let Some(mut err) = err { err.read_to_end(&mut stderr).await } else { Ok(0) } },
        )
    };
    let read = tokio::select! {
        read = read => Some(read),
        () = cancel.cancelled() => None,
    };
    let ended = finish(process, read.map(|read| read.map(drop))).await?;
    Ok(Finished { ended, stdout, stderr: String::from_utf8_lossy(&stderr).into_owned() })
}

/// Runs a command and hands each line on as it comes.
pub(crate) async fn stream(
    lifeline: &Lifeline,
    command: Command,
    cancel: &CancellationToken,
    on_line: OnLine<'_>,
) -> Result<Ended, ProcessError> {
    let mut process = start(lifeline, command, cancel).await?;
    let (out, err) = (process.stdout.take(), process.stderr.take());
    let read = tokio::select! {
        read = pump(out, err, on_line) => Some(read),
        () = cancel.cancelled() => None,
    };
    finish(process, read).await
}

async fn start(
    lifeline: &Lifeline,
    command: Command,
    cancel: &CancellationToken,
) -> Result<kab_lifeline::Process, ProcessError> {
    if cancel.is_cancelled() {
        return Err(ProcessError::Cancelled);
    }
    let command = command.stdout(Output::Pipe).stderr(Output::Pipe);
    lifeline.start(command).await.map_err(ProcessError::Start)
}

/// Waits for the end that closed pipes announce, or brings it about: `None` stands for "cancelled".
async fn finish(
    mut process: kab_lifeline::Process,
    read: Option<std::io::Result<()>>,
) -> Result<Ended, ProcessError> {
    match read {
        Some(Ok(())) => process.wait().await.map_err(ProcessError::Lost),
        Some(Err(error)) => {
            let _ = process.terminate().await;
            Err(ProcessError::Output(error))
        }
        None => {
            let _ = process.terminate().await;
            Err(ProcessError::Cancelled)
        }
    }
}

/// Reads both outputs until both are closed.
async fn pump(
    mut out: Option<impl AsyncRead + Unpin>,
    mut err: Option<impl AsyncRead + Unpin>,
    on_line: OnLine<'_>,
) -> std::io::Result<()> {
    let (mut from_out, mut from_err) = (vec![0; CHUNK], vec![0; CHUNK]);
    let (mut out_lines, mut err_lines) = (Lines::default(), Lines::default());
    while out.is_some() || err.is_some() {
        tokio::select! {
            count = read(&mut out, &mut from_out), if out.is_some() => {
                out_lines.push(&from_out[..count?], &mut |line| on_line(Stream::Out, line))?;
            }
            count = read(&mut err, &mut from_err), if err.is_some() => {
                err_lines.push(&from_err[..count?], &mut |line| on_line(Stream::Err, line))?;
            }
        }
    }
    out_lines.flush(&mut |line| on_line(Stream::Out, line))?;
    err_lines.flush(&mut |line| on_line(Stream::Err, line))
}

/// Reads once; at the end the source becomes `None`.
async fn read(source: &mut Option<impl AsyncRead + Unpin>, buffer: &mut [u8]) -> std::io::Result<usize> {
    let Some(open) = source else { return Ok(0) };
    let count = open.read(buffer).await?;
    if count == 0 {
        *source = None;
    }
    Ok(count)
}

/// Cuts a stream of bytes into lines.
#[derive(Default)]
struct Lines {
    rest: Vec<u8>,
}

impl Lines {
    fn push(
        &mut self,
        bytes: &[u8],
        on_line: &mut dyn FnMut(&[u8]) -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        for part in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            self.rest.extend_from_slice(part);
            if part.ends_with(b"\n") || part.ends_with(b"\r") {
                self.rest.pop();
                self.flush(on_line)?;
            }
        }
        Ok(())
    }

    fn flush(&mut self, on_line: &mut dyn FnMut(&[u8]) -> std::io::Result<()>) -> std::io::Result<()> {
        if self.rest.is_empty() {
            return Ok(());
        }
        let line = std::mem::take(&mut self.rest);
        on_line(&line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_however_they_are_cut() {
        let mut seen = Vec::new();
        let mut lines = Lines::default();
        let mut keep = |line: &[u8]| {
            seen.push(String::from_utf8_lossy(line).into_owned());
            Ok(())
        };
        for piece in ["on", "e\ntw", "o\r", "three\r\nfo", "ur"] {
            assert!(lines.push(piece.as_bytes(), &mut keep).is_ok());
        }
        assert!(lines.flush(&mut keep).is_ok());
        assert_eq!(seen, ["one", "two", "three", "four"]);
    }
}
