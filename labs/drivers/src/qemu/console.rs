//! The serial console: kept in a file, its last lines in memory, watched for what tells how a boot goes.

use crate::initramfs::{NO_NETWORK, READY};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::sync::watch;

/// Lines that an error shows.
const LAST_LINES: usize = 20;

/// Longest line that is kept in memory, in bytes; the rest of it is in the file.
const LONGEST_LINE: usize = 400;

/// Most bytes that go into the file: a kernel in a loop of warnings should not fill the host's disk.
const MOST_BYTES: usize = 16 << 20;

/// Lines after which nobody will log in, and why.
const HOPELESS: [(&str, &str); 2] = [
    (
        NO_NETWORK,
        "the kernel has no network device eth0: it needs CONFIG_INET, CONFIG_VIRTIO_PCI and CONFIG_VIRTIO_NET",
    ),
    ("Initramfs unpacking failed", "the kernel could not unpack the initramfs"),
];

/// What the console has shown so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// A kernel has introduced itself.
    pub(super) kernel: bool,
    /// The initramfs is through and Dropbear is started.
    pub(super) ready: bool,
    /// Why nobody will ever log in, though the machine goes on, in words.
    pub(super) hopeless: Option<&'static str>,
    /// The line of a panic, escaped.
    pub(super) panic: Option<String>,
    /// The console's other end is closed: the machine is gone.
    pub(super) closed: bool,
}

/// A view of a console that somebody else [follows](follow).
#[derive(Clone, Debug)]
pub(super) struct Console {
    pub(super) seen: watch::Receiver<Seen>,
    tail: Arc<Mutex<VecDeque<String>>>,
}

impl Console {
    /// A console and what [`follow`] needs to feed it.
    pub(super) fn new() -> (Self, Feed) {
        let (sender, seen) = watch::channel(Seen::default());
        let tail = Arc::default();
        (Self { seen, tail: Arc::clone(&tail) }, Feed { seen: sender, tail, line: Vec::new() })
    }

    /// The last lines, escaped for a terminal.
    pub(super) fn last_lines(&self) -> String {
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

/// Reads a console until it closes. What cannot be written to the file is still watched.
pub(super) async fn follow(mut console: impl AsyncRead + Unpin, mut file: tokio::fs::File, mut feed: Feed) {
    let mut chunk = vec![0; 16 * 1024];
    let mut room = MOST_BYTES;
    while let Ok(length @ 1..) = console.read(&mut chunk).await {
        let bytes = &chunk[..length];
        if room > 0 {
            let kept = length.min(room);
            room -= kept;
            let _ = file.write_all(&bytes[..kept]).await;
            if room == 0 {
                let _ = file.write_all(b"\n[kab: the console goes on, but is not kept]\n").await;
            }
            let _ = file.flush().await;
        }
        feed.bytes(bytes);
    }
    feed.close();
}

/// The writing end of a [`Console`].
pub(super) struct Feed {
    seen: watch::Sender<Seen>,
    tail: Arc<Mutex<VecDeque<String>>>,
    /// The line that is not complete.
    line: Vec<u8>,
}

impl Feed {
    fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if byte == b'\n' {
                self.end_line();
            } else if self.line.len() < LONGEST_LINE {
                self.line.push(byte);
            }
        }
    }

    fn end_line(&mut self) {
        // Serial consoles send the carriage return at either end.
        let line = escaped(without_returns(self.line.trim_ascii_end()));
        self.line.clear();
        self.seen.send_if_modified(|seen| note(seen, &line));
        let mut tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        if tail.len() == LAST_LINES {
            tail.pop_front();
        }
        tail.push_back(line);
    }

    fn close(&mut self) {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.seen.send_modify(|seen| seen.closed = true);
    }
}

/// Takes a line into account; whether it told anything new.
fn note(seen: &mut Seen, line: &str) -> bool {
    let before = seen.clone();
    seen.kernel |= line.contains("Linux version ");
    seen.ready |= line.contains(READY);
    let hopeless = HOPELESS.iter().find(|(sign, _)| line.contains(sign)).map(|(_, why)| *why);
    seen.hopeless = seen.hopeless.or(hopeless);
    if seen.panic.is_none()
        && let Some(start) = line.find("Kernel panic - not syncing")
    {
        seen.panic = Some(line[start..].to_owned());
    }
    *seen != before
}

fn without_returns(line: &[u8]) -> &[u8] {
    let start = line.iter().take_while(|byte| **byte == b'\r').count();
    &line[start..]
}

/// Foreign text line by line, each one [escaped].
pub(super) fn escaped_lines(text: &[u8]) -> String {
    text.split(|byte| *byte == b'\n')
        .map(|line| escaped(line.trim_ascii_end()))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Printable ASCII as it is, a tab as a blank, everything else as `\x1b`: a console is a foreign text, and must not
/// move the reader's cursor.
fn escaped(line: &[u8]) -> String {
    let mut out = String::with_capacity(line.len());
    for &byte in line {
        match byte {
            b' '..=b'~' => out.push(char::from(byte)),
            b'\t' => out.push(' '),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn fed(bytes: &[u8]) -> (Console, Feed) {
        let (console, mut feed) = Console::new();
        // One byte at a time: nothing may depend on how the console is cut.
        bytes.iter().for_each(|byte| feed.bytes(&[*byte]));
        (console, feed)
    }

    #[test]
    fn control_characters_do_not_get_through() {
        let (console, _feed) = fed(b"a\x1b[2Jb\tc\x07\xc3\xa4\r\n\x9b31m\n");
        assert_eq!(console.last_lines(), "a\\x1b[2Jb c\\x07\\xc3\\xa4\n\\x9b31m");
    }

    #[test]
    fn the_course_of_a_boot_is_seen() {
        let (console, mut feed) = fed(b"[    0.000000] Linux version 6.12.0 (x@y)\r\nkab-board: rea");
        assert_eq!(*console.seen.borrow(), Seen { kernel: true, ..Seen::default() });
        feed.bytes(b"dy\r\n");
        assert!(console.seen.borrow().ready);
        feed.bytes(b"[    5.1] Kernel panic - not syncing: sysrq\x1b triggered\r\n[    5.2] later");
        feed.close();
        let seen = console.seen.borrow();
        assert_eq!(seen.panic.as_deref(), Some("Kernel panic - not syncing: sysrq\\x1b triggered"));
        assert!(seen.closed && seen.hopeless.is_none());
        assert!(console.last_lines().ends_with("\n[    5.2] later"));
    }

    #[test]
    fn hopeless_boots_are_recognised() {
        let (console, _feed) = fed(b"ip: can't find device 'eth0'\n\rkab-board: no network\r\n");
        assert!(console.seen.borrow().hopeless.unwrap().contains("CONFIG_VIRTIO_NET"));
        assert!(console.last_lines().ends_with("\nkab-board: no network"));
        let (console, _feed) = fed(b"[    2.1] Initramfs unpacking failed: write error\n");
        assert!(console.seen.borrow().hopeless.unwrap().contains("initramfs"));
    }

    #[test]
    fn only_the_last_lines_are_kept_and_long_ones_cut() {
        let text: String = (0..30).map(|n| format!("{n} {}\n", "x".repeat(1_000))).collect();
        let (console, _feed) = fed(text.as_bytes());
        let lines = console.last_lines();
        assert_eq!(lines.lines().count(), LAST_LINES);
        assert!(lines.starts_with("10 x"));
        assert!(lines.lines().all(|line| line.len() == LONGEST_LINE));
    }

    #[tokio::test]
    async fn the_file_has_everything_up_to_its_limit() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (console, feed) = Console::new();
        let text = "endless warning\n".repeat(MOST_BYTES / 16 + 1_000) + "Kernel panic - not syncing: x\n";
        follow(text.as_bytes(), file.reopen().unwrap().into(), feed).await;
        assert!(console.seen.borrow().panic.is_some());
        let kept = std::fs::read_to_string(file.path()).unwrap();
        assert!(kept.len() < MOST_BYTES + 100);
        assert!(kept.ends_with("warning\n\n[kab: the console goes on, but is not kept]\n"));
    }
}
