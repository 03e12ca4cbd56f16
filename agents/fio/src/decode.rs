//! The strict way: from the output of one fio run, as kab itself starts it, to a [`Report`].

use crate::json;
use crate::report::Report;
use crate::scan::{self, Piece};
use thiserror::Error;

/// Lines of text around the documents that are kept.
const MAX_NOISE: usize = 200;

/// Why there is no report in an output.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParseError {
    /// Nothing but white space: fio was killed before its end, or never ran.
    #[error("fio's output is empty")]
    Empty,
    /// fio before 2.2.12 does not know JSON+ and prints text instead.
    #[error("fio printed text instead of JSON+, which it has since version 2.2.12")]
    Text,
    /// There is output, and no document in it.
    #[error("no JSON document in fio's output, which begins with {first_line:?}")]
    NoDocument {
        /// First line that is not empty, shortened.
        first_line: String,
    },
    /// The only document ends early or is not readable.
    #[error("fio's JSON document breaks off at byte {at}, where {expected} should follow")]
    Broken {
        /// Offset in the output as text.
        at: usize,
        /// What should follow.
        expected: &'static str,
    },
    /// A document without jobs.
    #[error("fio's JSON document has no jobs")]
    NoJobs,
}

/// Reads fio's output file (or standard output), with whatever stands before, between and after its documents, and
/// tells the last of them. For files of other people see [`crate::read_any`].
///
/// # Errors
/// [`ParseError`] where no complete document with jobs is in it. Never panics, whatever the bytes.
pub fn parse(output: &[u8]) -> Result<Report, ParseError> {
    let text = String::from_utf8_lossy(output);
    let pieces: Vec<Piece<'_>> = scan::documents(&text).collect();
    let Some(last) = pieces.iter().rposition(|piece| piece.broken.is_none()) else {
        return Err(no_document(&text, &pieces));
    };
    let report = json::report(&pieces[last].value, &|_| 0);
    if report.jobs.is_empty() {
        return Err(ParseError::NoJobs);
    }
    Ok(Report {
        documents: pieces.iter().filter(|piece| piece.broken.is_none()).count(),
        truncated: last + 1 < pieces.len(),
        noise: noise_lines(&text, &pieces),
        ..report
    })
}

fn no_document(text: &str, pieces: &[Piece<'_>]) -> ParseError {
    if let Some(unread) = pieces.last().and_then(|piece| piece.broken.clone()) {
        return ParseError::Broken { at: unread.at, expected: unread.expected };
    }
    match text.lines().map(str::trim).find(|line| !line.is_empty()) {
        None => ParseError::Empty,
        Some(_) if text.contains("(groupid=") => ParseError::Text,
        Some(line) => ParseError::NoDocument { first_line: line.chars().take(120).collect() },
    }
}

/// The lines around the documents; what follows a broken last one is its own rest.
fn noise_lines(text: &str, pieces: &[Piece<'_>]) -> Vec<String> {
    let mut noise = Vec::new();
    let mut at = 0;
    for piece in pieces {
        noise.push(&text[at..piece.bytes.start]);
        at = piece.bytes.end;
    }
    if pieces.last().is_none_or(|piece| piece.broken.is_none()) {
        noise.push(&text[at..]);
    }
    let lines = noise.iter().flat_map(|part| part.split(['\n', '\r'])).map(str::trim_end);
    lines.filter(|line| !line.is_empty()).take(MAX_NOISE).map(str::to_owned).collect()
}
