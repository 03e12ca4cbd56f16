//! The kernel log of a window, record by record, and whether any was lost.

use kab_wire::MAX_STREAM;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;

/// Longest record that a kernel returns, with room: it fails a read whose buffer is smaller.
const RECORD: usize = 16 << 10;

/// Reader of /dev/kmsg, which yields one record a read. It is read to its end before and during a window, so
/// that little is lost and the sequence number of the record before the window is known.
pub(crate) struct KernelLog<R = File> {
    source: Result<R, String>,
    last: Option<u64>,
    window: Window,
}

/// What the kernel said during a window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Window {
    /// Records as they came, at most [`MAX_STREAM`] bytes.
    pub(crate) bytes: Vec<u8>,
    /// Bytes of all records.
    pub(crate) total: u64,
    /// Records that were overwritten before they were read.
    pub(crate) lost: u64,
}

impl KernelLog {
    /// Opens /dev/kmsg. Where that fails every window tells why.
    pub(crate) fn open() -> Self {
        let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let source = OpenOptions::new().read(true).custom_flags(flags).open("/dev/kmsg");
        Self::new(source.map_err(|error| format!("/dev/kmsg: {error}")))
    }
}

impl<R: Read> KernelLog<R> {
    fn new(source: Result<R, String>) -> Self {
        Self { source, last: None, window: Window::default() }
    }

    /// Begins a window: what is there now lies before it.
    pub(crate) fn begin(&mut self) {
        self.drain();
        self.window = Window::default();
    }

    /// Takes in what has come, before the kernel's buffer overflows.
    pub(crate) fn drain(&mut self) {
        let mut record = vec![0; RECORD];
        let mut overwritten = false;
        loop {
            let Ok(source) = &mut self.source else { return };
            match source.read(&mut record) {
                Ok(0) => return,
                Ok(length) => {
                    self.take(&record[..length], overwritten);
                    overwritten = false;
                }
                // EPIPE: the next read continues at the oldest record that is left.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => overwritten = true,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => self.source = Err(format!("/dev/kmsg: {error}")),
            }
        }
    }

    /// Ends the window; an error where the log cannot be read.
    pub(crate) fn end(&mut self) -> Result<Window, String> {
        self.drain();
        match &self.source {
            Ok(_) => Ok(std::mem::take(&mut self.window)),
            Err(reason) => Err(reason.clone()),
        }
    }

    fn take(&mut self, record: &[u8], after_loss: bool) {
        let sequence = sequence(record);
        if after_loss {
            // Numbers may have gaps of their own; only the kernel's word that something was overwritten makes one a
            // loss.
            let gap =
                sequence.zip(self.last).map_or(1, |(now, last)| now.saturating_sub(last).saturating_sub(1));
            self.window.lost += gap.max(1);
        }
        self.last = sequence.or(self.last);
        self.window.total += record.len() as u64;
        // Whole records only, so that a cut log still parses.
        if (self.window.bytes.len() + record.len()) as u64 <= MAX_STREAM {
            self.window.bytes.extend_from_slice(record);
        }
    }
}

/// The second field of `prio,sequence,microseconds,flags;text`.
fn sequence(record: &[u8]) -> Option<u64> {
    std::str::from_utf8(record.split(|byte| *byte == b',').nth(1)?).ok()?.parse().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use std::io;

    /// Reads as /dev/kmsg does: a record, an error, or "nothing yet" where a step is empty or none is left.
    struct Script(VecDeque<Result<String, ErrorKind>>);

    impl Read for Script {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.pop_front().unwrap_or(Err(ErrorKind::WouldBlock)) {
                Ok(record) => {
                    buffer[..record.len()].copy_from_slice(record.as_bytes());
                    Ok(record.len())
                }
                Err(kind) => Err(kind.into()),
            }
        }
    }

    fn record(sequence: u64) -> Result<String, ErrorKind> {
        Ok(format!("6,{sequence},1234,-;message {sequence}\n SUBSYSTEM=scsi\n"))
    }

    fn log(steps: impl IntoIterator<Item = Result<String, ErrorKind>>) -> KernelLog<Script> {
        KernelLog::new(Ok(Script(steps.into_iter().collect())))
    }

    #[test]
    fn a_window_holds_what_came_within_it() {
        let mut log = log([record(1), record(2), Err(ErrorKind::WouldBlock), record(3), record(4)]);
        log.begin();
        let window = log.end().unwrap();
        assert_eq!(window.bytes, [record(3).unwrap(), record(4).unwrap()].concat().into_bytes());
        assert_eq!((window.total, window.lost), (window.bytes.len() as u64, 0));
    }

    #[test]
    fn overwritten_records_are_counted_and_plain_gaps_are_not() {
        let steps =
            [record(7), Err(ErrorKind::WouldBlock), record(9), Err(ErrorKind::BrokenPipe), record(15)];
        let mut log = log(steps);
        log.begin();
        assert_eq!(log.end().unwrap().lost, 5);
    }

    #[test]
    fn a_loss_before_the_window_is_not_its_own() {
        let mut log =
            log([record(1), Err(ErrorKind::BrokenPipe), record(9), Err(ErrorKind::WouldBlock), record(10)]);
        log.begin();
        assert_eq!(log.end().unwrap().lost, 0);
    }

    #[test]
    fn a_flood_is_cut_between_records() {
        let long = format!("6,1,2,-;{}\n", "x".repeat(8000));
        let mut log = log(std::iter::repeat_n(Ok(long.clone()), 1100));
        log.window = Window::default();
        let window = log.end().unwrap();
        assert_eq!(window.total, 1100 * long.len() as u64);
        assert!(window.bytes.len() as u64 <= MAX_STREAM && window.bytes.len() % long.len() == 0);
    }

    #[test]
    fn a_log_that_cannot_be_read_says_why() {
        let mut log = log([Err(ErrorKind::PermissionDenied)]);
        log.begin();
        assert!(log.end().unwrap_err().starts_with("/dev/kmsg: permission denied"));
    }
}
