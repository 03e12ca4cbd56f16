//! The streams of the board's command: frames out, frames in, and the end of its standard error.

use crate::{LinkError, text};
use kab_board::ExecChannel;
use kab_wire::{Decoder, Frame, ToAgent};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::task::JoinHandle;

/// Bytes of standard error that are kept: the last screen.
const STDERR_TAIL: usize = 4096;

/// How long the rest of standard error is waited for once standard output has ended: it only has to come out of a
/// buffer.
const STDERR_REST: Duration = Duration::from_secs(2);

/// Bytes of one read.
const PIECE: usize = 64 << 10;

/// A channel on which lines are read first and frames later.
pub(crate) struct Channel {
    stdin: Box<dyn AsyncWrite + Send + Unpin>,
    stdout: Box<dyn AsyncRead + Send + Unpin>,
    decoder: Decoder,
    piece: Vec<u8>,
    stderr: Stderr,
}

impl Channel {
    pub(crate) fn new(channel: ExecChannel) -> Self {
        Self {
            stdin: channel.stdin,
            stdout: channel.stdout,
            decoder: Decoder::new(),
            piece: vec![0; PIECE],
            stderr: Stderr::drain(channel.stderr),
        }
    }

    /// Writes bytes and lets them go.
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> Result<(), LinkError> {
        let written = async {
            self.stdin.write_all(bytes).await?;
            self.stdin.flush().await
        };
        match written.await {
            Ok(()) => Ok(()),
            Err(error) => Err(self.closed(Some(&error)).await),
        }
    }

    /// Sends a message.
    pub(crate) async fn send(&mut self, message: &ToAgent) -> Result<(), LinkError> {
        let frame = Frame::control(message)
            .and_then(|frame| frame.encode())
            .map_err(|error| LinkError::protocol(&error))?;
        self.write(&frame).await
    }

    /// The next line, without its end, from the time before frames. Read byte by byte: what follows belongs to others.
    pub(crate) async fn line(&mut self, limit: usize) -> Result<String, LinkError> {
        let mut line = Vec::new();
        while line.len() < limit {
            match self.stdout.read_u8().await {
                Ok(b'\n') => return Ok(String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned()),
                Ok(byte) => line.push(byte),
                Err(error) => return Err(self.closed(Some(&error)).await),
            }
        }
        Err(LinkError::Push { cause: format!("a line of more than {limit} bytes: {}", text::lines(&line)) })
    }

    /// The next frame.
    pub(crate) async fn frame(&mut self) -> Result<Frame, LinkError> {
        loop {
            match self.decoder.next_frame() {
                Ok(Some(frame)) => return Ok(frame),
                Ok(None) => {}
                Err(error) => return Err(LinkError::protocol(&error)),
            }
            match self.stdout.read(&mut self.piece).await {
                Ok(0) => return Err(self.closed(None).await),
                Ok(length) => self.decoder.push(&self.piece[..length]),
                Err(error) => return Err(self.closed(Some(&error)).await),
            }
        }
    }

    /// Ends the input and waits until the other side has ended too, whatever it still says.
    pub(crate) async fn end(mut self) {
        // Fails where the other side is gone, which is what was wanted.
        let _ = self.stdin.shutdown().await;
        drop(self.stdin);
        while matches!(self.stdout.read(&mut self.piece).await, Ok(length) if length > 0) {}
    }

    /// That the channel has ended, with the last words.
    async fn closed(&mut self, error: Option<&io::Error>) -> LinkError {
        let mut stderr = self.stderr.rest().await;
        match error {
            Some(error) if stderr.is_empty() && error.kind() != io::ErrorKind::UnexpectedEof => {
                stderr = format!("({error})");
            }
            _ => {}
        }
        LinkError::Closed { stderr }
    }
}

/// Reads standard error on a task of its own, so that it never fills up; the task ends with this value.
struct Stderr {
    tail: Arc<Mutex<Vec<u8>>>,
    task: JoinHandle<()>,
}

impl Stderr {
    fn drain(mut stderr: Box<dyn AsyncRead + Send + Unpin>) -> Self {
        let tail = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&tail);
        let task = tokio::spawn(async move {
            let mut piece = vec![0; STDERR_TAIL];
            while let Ok(length @ 1..) = stderr.read(&mut piece).await {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&piece[..length]);
                let excess = kept.len().saturating_sub(STDERR_TAIL);
                kept.drain(..excess);
            }
        });
        Self { tail, task }
    }

    /// The end of it, once the writer has gone.
    async fn rest(&mut self) -> String {
        if !self.task.is_finished() {
            // A time-out is no error: what has come by then is told.
            let _ = tokio::time::timeout(STDERR_REST, &mut self.task).await;
        }
        text::lines(&self.tail.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Stderr {
    fn drop(&mut self) {
        self.task.abort();
    }
}
