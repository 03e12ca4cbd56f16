//! What loggers, consoles and tools put before each line: time stamps, host and process, `fio-1  |`, `DEBUG| [stdout]`, `+`.
//!
//! A prefix is what stands before at least three rows of fio of two kinds and is the same but for its digits. It is taken off
//! every line that begins with it.

use memchr::memmem;
use std::collections::BTreeMap;

/// Words by which rows are known that have nothing but blanks before them in what fio prints.
const ANCHORS: &[&str] = &[
    "clat (",
    "slat (",
    "lat (",
    "bw (",
    "clat percentiles (",
    "IO depths",
    "cpu          :",
    "issued rwt",
    "issued    :",
    "submit    :",
    "complete  :",
    "Run status group",
    "Disk stats (",
    "read: IOPS=",
    "write: IOPS=",
    "\"jobname\"",
    "\"groupid\"",
    "\"io_bytes\"",
    "\"iops\"",
    "\"runtime\"",
    "\"total_ios\"",
];

/// Longest prefix, bytes.
const LONGEST: usize = 120;

/// Prefixes that are looked at; an input has one or two.
const MOST: usize = 32;

/// Rows that must have a prefix before it is believed, and their kinds.
const ROWS: usize = 3;
const KINDS: usize = 2;

/// The prefixes of an input.
#[derive(Debug, Default)]
pub(crate) struct Prefixes {
    shapes: Vec<String>,
}

impl Prefixes {
    /// Those of an input.
    pub(crate) fn of(input: &[u8]) -> Self {
        let mut seen: BTreeMap<String, (usize, Vec<usize>)> = BTreeMap::new();
        for (kind, anchor) in ANCHORS.iter().enumerate() {
            for at in memmem::find_iter(input, anchor.as_bytes()) {
                let Some(shape) = before(input, at).map(|before| shape(&before)) else { continue };
                if !seen.contains_key(&shape) && seen.len() >= MOST {
                    continue;
                }
                let (rows, kinds) = seen.entry(shape).or_default();
                *rows += 1;
                if kinds.len() < KINDS && !kinds.contains(&kind) {
                    kinds.push(kind);
                }
            }
        }
        seen.retain(|_, (rows, kinds)| *rows >= ROWS && kinds.len() >= KINDS);
        // The longer of two that begin alike is the one that is meant.
        let shapes: Vec<String> = seen.into_keys().rev().collect();
        Self { shapes }
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.shapes.is_empty()
    }

    /// A line without its prefix.
    pub(crate) fn strip<'t>(&self, line: &'t str) -> &'t str {
        let behind = self.shapes.iter().find_map(|shape| {
            let end = matched(line, shape)?;
            // The kernel's own messages have that stamp, too.
            let keep = shape.starts_with('[') && shape.ends_with(']') && !may_be_fio(&line[end..]);
            (!keep).then(|| &line[end..])
        });
        behind.unwrap_or(line)
    }
}

/// What stands on the line before a row; nothing where that is only blanks or cannot be a prefix.
fn before(input: &[u8], at: usize) -> Option<String> {
    let near = &input[at.saturating_sub(LONGEST)..at];
    let start = memchr::memrchr2(b'\n', b'\r', near).map(|i| i + 1);
    let line = &near[start.or((at <= LONGEST).then_some(0))?..];
    let text = unquoted(std::str::from_utf8(line).ok()?).trim();
    let word = line.last().is_some_and(u8::is_ascii_alphanumeric);
    (!text.is_empty() && !word && !text.contains(['{', '"', '%', ',', '='])).then(|| text.to_owned())
}

/// A line without its quote marks.
fn unquoted(line: &str) -> &str {
    line.trim_start_matches([' ', '\t', '\u{a0}', '>'])
}

/// Digits as one `0`, blanks as one blank.
fn shape(text: &str) -> String {
    let mut shape = String::new();
    for c in text.trim_start().chars() {
        let c = match c {
            c if c.is_ascii_digit() => '0',
            c if c.is_whitespace() => ' ',
            c => c,
        };
        if !(matches!(c, '0' | ' ') && shape.ends_with(c)) {
            shape.push(c);
        }
    }
    shape
}

/// Where the part of a line ends that has a shape.
fn matched(line: &str, shape: &str) -> Option<usize> {
    let mut at = line.len() - line.trim_start().len();
    for c in shape.chars() {
        let rest = &line[at..];
        at += match c {
            '0' => run(rest, |c| c.is_ascii_digit())?,
            ' ' => run(rest, char::is_whitespace)?,
            c => rest.starts_with(c).then(|| c.len_utf8())?,
        };
    }
    Some(at)
}

fn run(text: &str, of: impl Fn(char) -> bool) -> Option<usize> {
    let end = text.find(|c| !of(c)).unwrap_or(text.len());
    (end > 0).then_some(end)
}

/// Whether something can be a line of fio's.
fn may_be_fio(line: &str) -> bool {
    let text = line.trim_start();
    let begins =
        ["|", "fio-", "Starting ", "...", "Run status", "READ:", "WRITE:", "Disk stats", "{", "}", "]", "\""];
    let has = [
        "(groupid=",
        "(g=",
        ": ios=",
        "IOPS=",
        "iops",
        "lat (",
        "percentiles (",
        "bw (",
        "cpu   ",
        "IO depths",
        "issued",
        "submit ",
        "complete ",
        "latency ",
    ];
    text.is_empty() || begins.iter().any(|b| text.starts_with(b)) || has.iter().any(|h| text.contains(h))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Prefixes {
        Prefixes::of(text.as_bytes())
    }

    #[test]
    fn a_stamp_is_known_by_its_shape() {
        let log = "09:00:01 INFO| a: (groupid=0, jobs=1)\n09:00:01 INFO|   read: IOPS=10\n10:11:12 INFO|     clat (usec): min=1\n10:11:12 INFO|     lat (usec): min=1\n";
        let prefixes = of(log);
        assert_eq!(prefixes.strip("11:22:33 INFO| a: (groupid=0"), " a: (groupid=0");
        assert_eq!(prefixes.strip("11:22:33 WARN| a"), "11:22:33 WARN| a");
    }

    #[test]
    fn what_fio_prints_has_no_prefix() {
        let plain = "  read: IOPS=1\n    clat (usec): min=1\n   cpu          : usr=1\n  IO depths    : 1=1\n";
        assert!(of(plain).is_empty());
        let filled = "samples=450 iops : min=3 lat (usec) : 1=2%\nsamples=450 iops : min=3 lat (usec) : 1=2%\nsamples=450 bw (KiB/s) : 1=2%\n";
        assert!(of(filled).is_empty() || !of(filled).strip("  read: IOPS=1").is_empty());
        let named = "a.8-threads:  read: IOPS=1\na.16-threads:  read: IOPS=1\na.32-threads:  read: IOPS=1\n";
        assert!(of(named).is_empty(), "the names of three results");
    }

    #[test]
    fn messages_of_the_kernel_keep_their_stamp() {
        let console =
            "[   12.3]   read: IOPS=1\n[   12.4]     clat (usec): min=1\n[  112.4]     lat (usec): min=1\n";
        let prefixes = of(console);
        assert_eq!(prefixes.strip("[  113.5]   IO depths    : 1=1"), "   IO depths    : 1=1");
        assert_eq!(prefixes.strip("[  113.5] rcu: INFO: stall"), "[  113.5] rcu: INFO: stall");
    }
}
