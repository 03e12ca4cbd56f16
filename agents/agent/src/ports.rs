//! The two ends of the channel: a thread that reads frames, and a writer that never waits where it must not.

use kab_wire::{Decoder, Frame, FrameError, Stream, ToAgent, ToHost};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};

/// Bytes of one read from the host, and of one chunk to it.
const PIECE: usize = 256 << 10;

/// What came from the host.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// A message.
    Message(ToAgent),
    /// End of file: nobody is there any more.
    Closed,
    /// Bytes that are no message.
    Broken(FrameError),
}

/// Messages from the host in their order.
pub(crate) struct Inbox(Receiver<Incoming>);

impl Inbox {
    /// Reads standard input from now on, on a thread that lives as long as the process.
    pub(crate) fn start() -> Self {
        // One message is under way at a time; a host that sends more has to wait.
        let (sender, receiver) = sync_channel(4);
        std::thread::spawn(move || read_frames(io::stdin().lock(), |incoming| sender.send(incoming).is_ok()));
        Self(receiver)
    }

    /// Waits for the next message.
    pub(crate) fn wait(&self) -> Incoming {
        self.0.recv().unwrap_or(Incoming::Closed)
    }

    /// The next message, if it is there.
    pub(crate) fn look(&self) -> Option<Incoming> {
        match self.0.try_recv() {
            Ok(incoming) => Some(incoming),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Incoming::Closed),
        }
    }
}

/// Decodes until the end, an error, or until `deliver` answers `false`.
fn read_frames(mut input: impl Read, deliver: impl Fn(Incoming) -> bool) {
    let mut decoder = Decoder::new();
    let mut piece = vec![0; 16 << 10];
    loop {
        loop {
            let incoming =
                match decoder.next_frame().and_then(|frame| frame.map(|frame| frame.message()).transpose()) {
                    Ok(None) => break,
                    Ok(Some(message)) => Incoming::Message(message),
                    Err(error) => Incoming::Broken(error),
                };
            let last = matches!(incoming, Incoming::Broken(_));
            if !deliver(incoming) || last {
                return;
            }
        }
        match input.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => {
                deliver(Incoming::Closed);
                return;
            }
            Ok(length) => decoder.push(&piece[..length]),
        }
    }
}

/// The way to the host.
pub(crate) struct Outbox(File);

impl Outbox {
    /// Takes standard output over, without the buffer that the standard library puts before it.
    pub(crate) fn open() -> io::Result<Self> {
        Ok(Self(File::from(io::stdout().as_fd().try_clone_to_owned()?)))
    }

    /// Sends a message; waits until the channel has taken it.
    pub(crate) fn send(&mut self, message: &ToHost) -> io::Result<()> {
        self.write(&Frame::control(message).map_err(io::Error::other)?)
    }

    /// Sends a message, or leaves it out where the channel is full: a host that does not read must not keep a trial
    /// from its deadline. A pipe that polls as writable takes a page, and no such message is that long.
    pub(crate) fn send_unless_full(&mut self, message: &ToHost) -> io::Result<()> {
        let mut ready = [PollFd::new(&self.0, PollFlags::OUT)];
        match poll(&mut ready, Some(&Timespec::default()))? {
            0 => Ok(()),
            _ => self.send(message),
        }
    }

    /// Sends a stream, in chunks.
    pub(crate) fn send_stream(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        bytes.chunks(PIECE).try_for_each(|piece| self.write(&Frame::Chunk { stream, bytes: piece.to_vec() }))
    }

    fn write(&mut self, frame: &Frame) -> io::Result<()> {
        self.0.write_all(&frame.encode().map_err(io::Error::other)?)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    fn read_all(input: &[u8]) -> Vec<Incoming> {
        let seen = RefCell::new(Vec::new());
        read_frames(input, |incoming| {
            seen.borrow_mut().push(incoming);
            true
        });
        seen.into_inner()
    }

    #[test]
    fn messages_come_in_order_and_the_end_is_told() {
        let bytes: Vec<u8> = [ToAgent::Identify, ToAgent::Bye]
            .iter()
            .flat_map(|message| Frame::control(message).unwrap().encode().unwrap())
            .collect();
        let seen = read_all(&bytes);
        assert!(
            matches!(
                seen[..],
                [Incoming::Message(ToAgent::Identify), Incoming::Message(ToAgent::Bye), Incoming::Closed]
            ),
            "{seen:?}"
        );
    }

    #[test]
    fn foreign_bytes_are_told_once() {
        let seen = read_all(b"GET / HTTP/1.1\r\n");
        assert!(matches!(seen[..], [Incoming::Broken(FrameError::UnknownType(b'G'))]), "{seen:?}");
    }
}
