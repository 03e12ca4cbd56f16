//! events.jsonl: one event a line, and what a crash may leave of the last one.

use crate::log::{FORMAT, LogError, io_error};
use crate::quick;
use kab_model::Logged;
use serde::Deserialize;
use std::fs;
use std::path::Path;

/// What of a log counts.
pub(crate) struct Whole {
    /// Its events.
    pub(crate) events: Vec<Logged>,
    /// The bytes that they take, from the start of the file.
    pub(crate) bytes: Vec<u8>,
}

/// Reads a log. A torn last line is left out; anything else that is no event in its place is an error.
pub(crate) fn read(path: &Path) -> Result<Whole, LogError> {
    let bytes = bytes(path)?;
    let mut events = Vec::new();
    for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        events.push(event(path, index, line)?);
    }
    Ok(Whole { events, bytes })
}

/// The bytes of the whole lines, without a look at what they say.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, LogError> {
    let mut bytes = fs::read(path).map_err(io_error("read", path))?;
    bytes.truncate(whole_lines(&bytes));
    Ok(bytes)
}

/// An event as a line of the log.
pub(crate) fn line(logged: &Logged, path: &Path) -> Result<Vec<u8>, LogError> {
    let mut line = serde_json::to_vec(logged).map_err(|source| LogError::Line {
        path: path.to_owned(),
        line: usize::try_from(logged.seq).unwrap_or(usize::MAX).saturating_add(1),
        source,
    })?;
    line.push(b'\n');
    Ok(line)
}

/// Length of the lines that count: up to and with the last newline, without a last line that has holes. After a power
/// failure the end of an append may be on the disk and its beginning not, which then reads as zeros; it was not
/// synced, so nobody relied on it. The first line was synced before the folder became a run.
fn whole_lines(bytes: &[u8]) -> usize {
    let end_of_line = |bytes: &[u8]| bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let end = end_of_line(bytes);
    let start = end_of_line(&bytes[..end.saturating_sub(1)]);
    // JSON escapes zeros.
    let torn = start > 0 && bytes[start..end].contains(&0);
    if torn { start } else { end }
}

fn event(path: &Path, index: usize, line: &[u8]) -> Result<Logged, LogError> {
    let number = index + 1;
    let logged: Logged = match quick::ended_trial(line) {
        Some(logged) => logged,
        None => serde_json::from_slice(line).map_err(|source| not_known(path, number, line, source))?,
    };
    let (expected, found) = (index as u64, logged.seq);
    if found != expected {
        return Err(LogError::Sequence { path: path.to_owned(), line: number, expected, found });
    }
    Ok(logged)
}

/// Tells what a newer kab wrote from what nobody wrote.
fn not_known(path: &Path, number: usize, line: &[u8], source: serde_json::Error) -> LogError {
    #[derive(Deserialize)]
    struct Envelope {
        v: u32,
        event: Kind,
    }
    #[derive(Deserialize)]
    struct Kind {
        kind: String,
    }
    let path = path.to_owned();
    match serde_json::from_slice(line) {
        Ok(Envelope { v, event }) if v > FORMAT => {
            LogError::Unknown { path, line: number, what: format!("event {:?}", event.kind), found: v }
        }
        _ => LogError::Line { path, line: number, source },
    }
}
