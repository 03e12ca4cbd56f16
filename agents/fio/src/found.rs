//! What [`crate::read_any`] finds in a file, a console capture or a mail.

use crate::report::{Job, Report};
use serde::Serialize;
use std::ops::{Range, RangeInclusive};

/// Everything of fio's in an input.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Found {
    /// One for each output of fio, in the order of the input.
    pub documents: Vec<Document>,
    /// What stands around and between, where it says something about the measurement or the reading.
    pub notes: Vec<Note>,
}

impl Found {
    /// The documents to count: without earlier states of a run and repetitions of one in another format.
    pub fn counted(&self) -> impl Iterator<Item = &Document> {
        self.documents.iter().filter(|document| document.role == Role::Result)
    }
}

/// One output of fio: a JSON document, or the text of one run, or the terse lines of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Document {
    /// Format it was printed in.
    pub format: Format,
    /// What it says.
    pub report: Report,
    /// Whether it is a result of its own.
    pub role: Role,
    /// Why it is not whole, where it is not: what is told is right, and something is missing.
    pub salvaged: Vec<Damage>,
    /// Bytes of the input from its first to its last character.
    pub bytes: Range<usize>,
    /// Lines of the input, from 1.
    pub lines: RangeInclusive<usize>,
    /// The last line of other text above it, within five lines: what people call it in a mail.
    pub heading: Option<Heading>,
}

impl Document {
    /// Jobs and directions that moved data, as `(job, name of the direction, direction)`.
    pub fn rows(&self) -> impl Iterator<Item = (&Job, &'static str, &crate::Direction)> {
        self.report.jobs.iter().flat_map(|job| job.named_directions().map(move |(name, d)| (job, name, d)))
    }
}

/// A format of fio's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// `--output-format=json`.
    Json,
    /// `--output-format=json+`: with histograms.
    JsonPlus,
    /// `--output-format=normal`, fio's default.
    Normal,
    /// `--output-format=terse`, versions 2 to 5.
    Terse,
}

/// Whether a document is to be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A result.
    Result,
    /// An earlier state of a run whose later state follows (`--status-interval`).
    Interim,
    /// A run that another document tells in more detail (`--output-format=json,normal`).
    Repeat,
}

/// What is missing or was repaired in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Damage {
    /// It ends early.
    Cut,
    /// Something that is not fio's stands inside, or something is left out.
    Gap,
    /// It begins in the middle.
    Excerpt,
}

/// Other text above a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Heading {
    /// Line of the input, from 1.
    pub line: usize,
    /// The text without quote marks.
    pub text: String,
}

/// A remark on the input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// Line of the input, from 1.
    pub line: usize,
    /// What kind of line or finding.
    pub kind: NoteKind,
    /// The line, or what was found.
    pub text: String,
}

/// Kinds of [`Note`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoteKind {
    /// A message of the kernel.
    Kernel,
    /// fio tells of an error (`fio: pid=7, err=5/…`).
    Error,
    /// fio or a worker of it was ended by a signal.
    Signal,
    /// fio remarks something (`note: …`, `fio: …`).
    Remark,
    /// A figure that fio printed too small; the text names both values.
    Carry,
    /// The input was quoted, encoded or wrapped, and was read without that.
    Repaired,
    /// Something that looks like fio's output and could not be read.
    Unread,
}
