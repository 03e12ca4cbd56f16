//! What is wrong with a user's template, where, and how to see what there is.

use minijinja::{Error, ErrorKind};
use std::fmt;

/// A mistake in a template, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateProblem {
    /// The template's file.
    pub file: String,
    /// Line, from 1, where minijinja knows it.
    pub line: Option<usize>,
    /// What is wrong, such as `undefined value`.
    pub what: String,
    /// The expression that is wrong, where minijinja knows it.
    pub expression: Option<String>,
    /// The whole line.
    pub source_line: Option<String>,
}

impl std::error::Error for TemplateProblem {}

impl TemplateProblem {
    /// Reads `error` of the template in `file` with this `source`.
    pub(crate) fn new(file: &str, source: &str, error: &Error) -> Self {
        let line = error.line();
        let range = error.range().and_then(|range| source.get(range)).map(str::trim);
        let what = match (error.kind(), error.detail()) {
            (ErrorKind::UndefinedError, None) => "undefined value".to_owned(),
            (kind, None) => kind.to_string(),
            (kind, Some(detail)) => format!("{kind}: {detail}"),
        };
        Self {
            file: file.to_owned(),
            line,
            what,
            expression: range.filter(|text| !text.is_empty() && !text.contains('\n')).map(str::to_owned),
            source_line: line.and_then(|line| source.lines().nth(line.checked_sub(1)?)).map(str::to_owned),
        }
    }
}

impl fmt::Display for TemplateProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.what)?;
        if let (Some(number), Some(line)) = (self.line, &self.source_line) {
            write!(f, "\n{number:>5} | {line}")?;
            let marked = self
                .expression
                .as_ref()
                .and_then(|expression| Some((line.find(expression.as_str())?, expression)));
            if let Some((at, expression)) = marked {
                let before =
                    line[..at].chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect::<String>();
                write!(f, "\n      | {before}{}", "^".repeat(expression.chars().count()))?;
            }
        }
        write!(f, "\n`kab schema report` lists what a template may name")
    }
}
