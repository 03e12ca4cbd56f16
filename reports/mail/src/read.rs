//! What the bytes are, and the mails in them.

use crate::mail::Mail;
use crate::mbox;
use std::io::Read;

/// Size up to which input is read, unpacked, bytes; the largest threads are a few MiB.
pub const LARGEST: u64 = 64 << 20;

/// Lines from the start within which headers, a diff or HTML must show.
const LOOK: usize = 64;

/// Headers of which one must be there for the text to be a mail. Words before a colon are common in plain text.
const HEADERS: [&str; 10] = [
    "from",
    "to",
    "date",
    "subject",
    "message-id",
    "received",
    "mime-version",
    "return-path",
    "content-type",
    "delivered-to",
];

/// Why bytes cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The compressed data is damaged or cut off.
    #[error("the gzip data is damaged")]
    Gzip(#[source] std::io::Error),
    /// More than [`LARGEST`].
    #[error("larger than {} MiB", LARGEST >> 20)]
    TooLarge,
}

/// What the bytes were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing, or white space.
    Empty,
    /// Mails, each after a `From ` line.
    Mbox,
    /// One mail.
    Mail,
    /// A diff without a mail around it.
    Diff,
    /// A web page, perhaps saved in place of the mbox.
    Html,
    /// Anything else.
    Text,
}

/// Mails as they were found. A diff or plain text is one mail without headers.
#[derive(Clone, Debug)]
pub struct Posted {
    /// What the bytes were.
    pub kind: Kind,
    /// In the order of the input; empty if and only if the input was [`Kind::Empty`].
    pub mails: Vec<Mail>,
}

/// Reads an mbox, a mail, a diff or plain text, also compressed with gzip.
///
/// # Errors
///
/// Damaged gzip data, and more than [`LARGEST`] bytes. Damaged mail is no error: what can be decoded is.
pub fn read(bytes: &[u8]) -> Result<Posted, ReadError> {
    let unpacked;
    let bytes = if bytes.starts_with(&[0x1f, 0x8b]) {
        unpacked = unpack(bytes)?;
        &unpacked[..]
    } else {
        bytes
    };
    if bytes.len() as u64 > LARGEST {
        return Err(ReadError::TooLarge);
    }
    let kind = kind(bytes);
    let mails = match kind {
        Kind::Empty => Vec::new(),
        Kind::Mbox => mbox::split(bytes).iter().map(|cut| Mail::parse(&cut.bytes, cut.first_line)).collect(),
        Kind::Mail => {
            let blank = bytes.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let start = bytes[..blank].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            let first_line = 1 + bytes[..start].iter().filter(|byte| **byte == b'\n').count();
            vec![Mail::parse(&bytes[start..], first_line)]
        }
        Kind::Diff | Kind::Html | Kind::Text => vec![Mail::plain(bytes)],
    };
    Ok(Posted { kind, mails })
}

fn unpack(bytes: &[u8]) -> Result<Vec<u8>, ReadError> {
    let mut unpacked = Vec::new();
    let read = flate2::read::MultiGzDecoder::new(bytes).take(LARGEST + 1).read_to_end(&mut unpacked);
    read.map_err(ReadError::Gzip)?;
    if unpacked.len() as u64 > LARGEST { Err(ReadError::TooLarge) } else { Ok(unpacked) }
}

/// What these bytes are, by their first lines. Compressed bytes are [`Kind::Text`].
pub fn kind(bytes: &[u8]) -> Kind {
    let lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
    let mut lines = lines.skip_while(|line| line.is_empty()).take(LOOK).peekable();
    let Some(first) = lines.peek().copied() else { return Kind::Empty };
    if mbox::is_from_line(first) {
        return Kind::Mbox;
    }
    let lower = first.trim_ascii_start().to_ascii_lowercase();
    if [&b"<!doctype html"[..], b"<html", b"<?xml"].iter().any(|start| lower.starts_with(start)) {
        return Kind::Html;
    }
    if has_headers(lines) {
        return Kind::Mail;
    }
    if [&b"diff "[..], b"--- ", b"Index: "].iter().any(|start| first.starts_with(start)) {
        return Kind::Diff;
    }
    Kind::Text
}

/// Whether the lines up to the first empty one are headers, and one of them is known.
fn has_headers<'a>(lines: impl Iterator<Item = &'a [u8]>) -> bool {
    let mut known = false;
    let mut first = true;
    for line in lines.take_while(|line| !line.is_empty()) {
        if !first && matches!(line[0], b' ' | b'\t') {
            continue;
        }
        first = false;
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { return false };
        let name = line[..colon].trim_ascii_end();
        if name.is_empty() || !name.iter().all(|byte| byte.is_ascii_graphic()) {
            return false;
        }
        known |= HEADERS.iter().any(|header| name.eq_ignore_ascii_case(header.as_bytes()));
    }
    known
}
