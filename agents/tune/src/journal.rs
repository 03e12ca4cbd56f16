//! The journal: what files read before they were changed, one JSON line each.

use crate::{Change, Form, Stage};
use serde::{Deserialize, Serialize};

/// A line of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Version of the format, 1.
    pub v: u32,
    /// /proc/sys/kernel/random/boot_id; after another boot the entry means nothing.
    pub boot_id: String,
    /// When, milliseconds since the epoch, by the board's clock; for people.
    pub at_ms: u64,
    /// Position in the order of writes.
    pub step: u32,
    /// When its turn was.
    pub stage: Stage,
    /// Which file.
    pub path: String,
    /// How it reads back.
    pub form: Form,
    /// What it read, without newline.
    pub original: String,
}

/// A journal that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// A line that is none.
    #[error("line {line} of the journal is damaged: {source}")]
    Line {
        /// From 1.
        line: usize,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// Written by a newer kab.
    #[error("the journal has version {0}, and this agent knows version 1")]
    Version(u32),
}

impl Entry {
    /// The entries of a plan. Files that read as wanted are recorded, too: others may disturb them.
    pub fn of_plan(changes: &[Change], boot_id: &str, at_ms: u64) -> Vec<Self> {
        let entry = |(step, change): (usize, &Change)| Self {
            v: 1,
            boot_id: boot_id.to_owned(),
            at_ms,
            step: u32::try_from(step).unwrap_or(u32::MAX),
            stage: change.stage,
            path: change.path.clone(),
            form: change.form,
            original: change.from.clone(),
        };
        changes.iter().enumerate().map(entry).collect()
    }

    /// Its line, with newline.
    pub fn line(&self) -> String {
        let json = serde_json::to_string(self).unwrap_or_default();
        format!("{json}\n")
    }
}

/// Reads a journal. A last line without newline was never durable, and nothing was written after it: it is left out.
pub fn parse_journal(text: &str) -> Result<Vec<Entry>, JournalError> {
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let mut entries = Vec::new();
    for (index, line) in whole.lines().enumerate() {
        let entry: Entry =
            serde_json::from_str(line).map_err(|source| JournalError::Line { line: index + 1, source })?;
        if entry.v != 1 {
            return Err(JournalError::Version(entry.v));
        }
        entries.push(entry);
    }
    Ok(entries)
}

/// The order in which originals are written back: the reverse, but schedulers still before what they reset.
pub fn restore_order(entries: &[Entry]) -> Vec<&Entry> {
    let mut order: Vec<&Entry> = entries.iter().collect();
    let is_queue = |entry: &Entry| matches!(entry.stage, Stage::Scheduler | Stage::Queue);
    order.sort_by_key(|entry| {
        let group = if is_queue(entry) { Stage::Queue } else { entry.stage };
        let within = i64::from(entry.step);
        (std::cmp::Reverse(group), if is_queue(entry) { within } else { -within })
    });
    order
}
