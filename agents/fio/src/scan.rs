//! Finds JSON documents of fio, and pieces of them, in text.

use crate::lenient::{self, Unread, Value};
use memchr::memmem;
use std::ops::Range;

/// Keys that begin a document, also one whose keys were sorted.
const FIRST_KEYS: &[&str] = &[
    "client_stats",
    "cpu_idleness",
    "disk_util",
    "fio version",
    "global options",
    "jobs",
    "time",
    "timestamp",
    "timestamp_ms",
];

/// A document or what is left of it.
pub(crate) struct Piece<'a> {
    /// Offsets in the text.
    pub(crate) bytes: Range<usize>,
    /// The document. A piece that begins in a job has that as its only job.
    pub(crate) value: Value<'a>,
    /// Where a whole document cannot be read, why.
    pub(crate) broken: Option<Unread>,
    /// Whether foreign text inside was skipped.
    pub(crate) gaps: bool,
    /// Whether it begins in the middle of a document.
    pub(crate) excerpt: bool,
}

/// All documents, whole ones and broken ones, in order.
pub(crate) fn documents(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = next_document(text, at)?;
        let piece = document(text, start);
        at = char_boundary(text, piece.bytes.end.max(start + 1));
        Some(piece)
    })
}

/// The document that begins at an offset, where one does and is whole.
pub(crate) fn whole_document(text: &str, start: usize) -> Option<Piece<'_>> {
    first_key(text[start..].strip_prefix('{')?)?;
    let (value, end) = lenient::read(text, start).ok()?;
    Some(Piece { bytes: start..end, value, broken: None, gaps: false, excerpt: false })
}

fn document(text: &str, start: usize) -> Piece<'_> {
    match lenient::read(text, start) {
        Ok((value, end)) => Piece { bytes: start..end, value, broken: None, gaps: false, excerpt: false },
        Err(unread) if unread.expected == lenient::TOO_DEEP => {
            let nothing = Value::Object(lenient::Object { at: start, pairs: Vec::new(), cut: true });
            Piece {
                bytes: start..unread.at,
                value: nothing,
                broken: Some(unread),
                gaps: false,
                excerpt: false,
            }
        }
        Err(unread) => {
            // Another document is not part of this one.
            let limit = next_document(text, start + 1).unwrap_or(text.len());
            let saved = lenient::salvage(&text[..limit], start);
            Piece {
                bytes: start..saved.end,
                value: saved.value,
                broken: Some(unread),
                gaps: saved.gaps,
                excerpt: false,
            }
        }
    }
}

/// The next `{` before a first key of fio's. Error messages may contain braces. `"fio version"` may stand anywhere;
/// the other keys count at the start of a line only.
pub(crate) fn next_document(text: &str, from: usize) -> Option<usize> {
    let from = char_boundary(text, from);
    memchr::memchr_iter(b'{', &text.as_bytes()[from..]).map(|i| from + i).find(|&brace| {
        let Some(key) = first_key(&text[brace + 1..]) else { return false };
        let before = text[from..brace].trim_end_matches([' ', '\t']);
        key == "fio version" || before.is_empty() || before.ends_with(['\n', '\r', '[', ','])
    })
}

fn first_key(text: &str) -> Option<&'static str> {
    let rest = text.trim_start().strip_prefix('"')?;
    FIRST_KEYS.iter().copied().find(|key| begins_with_key(rest, key))
}

/// Whether `rest` begins with the key and a quote. The line may be broken inside the key.
fn begins_with_key(rest: &str, key: &str) -> bool {
    behind_key(rest, key).is_some()
}

fn behind_key<'t>(rest: &'t str, key: &str) -> Option<&'t str> {
    let mut rest = rest;
    for letter in key.split(' ').flat_map(str::chars).chain(std::iter::once('"')) {
        rest = match rest.strip_prefix(letter) {
            Some(behind) => behind,
            None => rest.strip_prefix([' ', '\n'])?.trim_start().strip_prefix(letter)?,
        };
    }
    Some(rest)
}

/// Pieces of documents in a text without whole ones: from `"jobs"`, `"jobname"` or a direction on; at most `most`.
pub(crate) fn excerpts(text: &str, within: Range<usize>, most: usize) -> Vec<Piece<'_>> {
    let mut pieces: Vec<Piece<'_>> = Vec::new();
    let mut at = within.start;
    let limited = &text[..within.end];
    // Members count, since those of one piece are kept as well.
    for _ in 0..most {
        let Some((start, key)) = next_member(limited, at) else { break };
        let saved = lenient::salvage(limited, start);
        at = char_boundary(limited, saved.end.max(start + 1));
        let value = if key == "jobs" || key == "client_stats" { saved.value } else { in_jobs(saved.value) };
        let bytes = start..at;
        match pieces.last_mut() {
            Some(last) if only_brackets(&limited[last.bytes.end..start]) => {
                append(&mut last.value, value);
                last.bytes.end = bytes.end;
                last.gaps |= saved.gaps;
            }
            _ => pieces.push(Piece { bytes, value, broken: None, gaps: saved.gaps, excerpt: true }),
        }
    }
    pieces
}

/// Keys that begin an excerpt.
const MEMBERS: &[&str] = &["jobs", "client_stats", "jobname", "read", "write", "trim", "mixed"];

/// The next key of [`MEMBERS`] with a colon behind it.
fn next_member(text: &str, from: usize) -> Option<(usize, &'static str)> {
    memchr::memchr_iter(b'"', &text.as_bytes()[from..]).map(|i| from + i).find_map(|quote| {
        let rest = &text[quote + 1..];
        if !rest.starts_with(['j', 'c', 'r', 'w', 't', 'm']) {
            return None;
        }
        let key = MEMBERS.iter().copied().find(|key| begins_with_key(rest, key))?;
        let value = behind_key(rest, key)?.trim_start().strip_prefix(':')?.trim_start();
        let opens = match key {
            "jobs" | "client_stats" => value.starts_with('['),
            "jobname" => value.starts_with('"'),
            _ => value.starts_with('{'),
        };
        opens.then_some((quote, key))
    })
}

/// The members of a job as a document.
fn in_jobs(job: Value<'_>) -> Value<'_> {
    let cut = job.is_cut();
    let pairs = vec![("jobs".into(), Value::Array(vec![job]))];
    Value::Object(lenient::Object { at: 0, pairs, cut })
}

fn only_brackets(between: &str) -> bool {
    between.chars().all(|c| c.is_whitespace() || "{}[],".contains(c))
}

/// Adds the jobs of an excerpt to those of the one before it; jobs stand in the first array.
fn append<'a>(document: &mut Value<'a>, more: Value<'a>) {
    let (Value::Object(object), Value::Object(more)) = (document, more) else { return };
    object.cut |= more.cut;
    for (key, value) in more.pairs {
        match (object.pairs.iter_mut().find(|(name, _)| *name == key), value) {
            (Some((_, Value::Array(items))), Value::Array(added)) => items.extend(added),
            (_, value) => object.pairs.push((key, value)),
        }
    }
}

/// The first character boundary at or after an offset, at most the end.
pub(crate) fn char_boundary(text: &str, at: usize) -> usize {
    (at..text.len()).find(|&i| text.is_char_boundary(i)).unwrap_or(text.len())
}

/// Whether a text has anything of a document at all: a cheap question before the expensive ones.
pub(crate) fn may_have_json(text: &str) -> bool {
    let has = |needle: &str| memmem::find(text.as_bytes(), needle.as_bytes()).is_some();
    has("\"jobs\"") || has("\"jobname\"") || has("\"io_bytes\"") || has("\"fio") || has("\"client_stats\"")
}
