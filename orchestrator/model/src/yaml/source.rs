//! The text of a file and places within it.

use super::diagnostic::{Diagnostic, Severity};
use serde::Serialize;
use std::sync::Arc;

/// A file that a person wrote. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    path: Arc<str>,
    text: Arc<str>,
}

/// A range of bytes in a [`Source`], end exclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Source {
    /// A file's text under the path that diagnostics show.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into().into(), text: text.into().into() }
    }

    /// A file's bytes, which must be UTF-8.
    ///
    /// # Errors
    /// A diagnostic at the first byte that is not.
    pub fn from_bytes(path: impl Into<String>, bytes: &[u8]) -> Result<Self, Box<Diagnostic>> {
        let path = path.into();
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Self::new(path, text)),
            Err(error) => {
                let at = error.valid_up_to();
                let source = Self::new(path, String::from_utf8_lossy(bytes));
                let place = Span { start: at, end: at };
                let problem = Diagnostic::new(&source, Severity::Error, place, "this byte is not UTF-8 text");
                Err(Box::new(problem.with_hint("save the file as UTF-8")))
            }
        }
    }

    /// The path as diagnostics show it.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Line and column of a byte, both from 1; columns count characters.
    pub(super) fn position(&self, offset: usize) -> (usize, usize) {
        let before = &self.text[..self.boundary(offset)];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.matches('\n').count() + 1;
        (line, before[line_start..].trim_start_matches('\u{feff}').chars().count() + 1)
    }

    /// The byte at a line from 1 and a column from 0, as the parser counts them.
    pub(super) fn offset(&self, line: usize, column: usize) -> usize {
        let Some(text) = self.text.split_inclusive('\n').nth(line.saturating_sub(1)) else {
            return self.text.len();
        };
        let start: usize = self.text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
        start + text.char_indices().nth(column).map_or(text.trim_end().len(), |(at, _)| at)
    }

    /// The part of a span that lies on its first line, without trailing blanks.
    pub(super) fn first_line(&self, span: Span) -> Span {
        let start = self.boundary(span.start);
        let end = self.boundary(span.end).max(start);
        let text = self.text[start..end].lines().next().unwrap_or_default().trim_end();
        Span { start, end: start + text.len() }
    }

    fn boundary(&self, offset: usize) -> usize {
        self.text.floor_char_boundary(offset)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn counts_characters_not_bytes() {
        let source = Source::new("f", "a: 1\nbü: ß\n");
        assert_eq!(source.position(source.text().find('ß').unwrap()), (2, 5));
        assert_eq!(source.offset(2, 4), source.text().find('ß').unwrap());
        assert_eq!(source.position(9999), (3, 1));
    }

    #[test]
    fn keeps_to_the_first_line() {
        let source = Source::new("f", "a:  \n  b: 1\n");
        assert_eq!(source.first_line(Span { start: 0, end: 12 }), Span { start: 0, end: 2 });
    }

    #[test]
    fn says_where_bytes_are_not_text() {
        let problem = Source::from_bytes("f", b"a: 1\nb: \xff\n").unwrap_err();
        assert_eq!((problem.line, problem.column), (2, 4));
    }
}
