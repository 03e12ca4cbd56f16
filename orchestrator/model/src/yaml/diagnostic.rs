//! Problems of a file, and how people and programs get to see them.

use super::source::{Source, Span};
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet, normalize_untrusted_str};
use serde::Serialize;
use std::collections::HashSet;
use std::fmt;

/// Whether a file can be used in spite of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// It cannot.
    Error,
    /// It can, but somebody should look.
    Warning,
}

/// How diagnostics are rendered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// ASCII only.
    #[default]
    Plain,
    /// With terminal colours.
    Coloured,
}

/// One problem at one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// The file as the user named it.
    pub path: String,
    /// Bytes of the file that it speaks of; within one line.
    pub span: Span,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// Another place that explains it, such as the first of two equal keys.
    pub related: Option<Related>,
    #[serde(skip)]
    source: Source,
}

/// Another place in the same file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Related {
    /// Bytes of the file; within one line.
    pub span: Span,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is there.
    pub message: String,
}

impl Diagnostic {
    pub(super) fn new(source: &Source, severity: Severity, span: Span, message: impl Into<String>) -> Self {
        let span = source.first_line(span);
        let (line, column) = source.position(span.start);
        Self {
            severity,
            path: source.path().to_owned(),
            span,
            line,
            column,
            message: message.into(),
            hint: None,
            related: None,
            source: source.clone(),
        }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(super) fn with_related(mut self, span: Span, message: impl Into<String>) -> Self {
        let span = self.source.first_line(span);
        let (line, column) = self.source.position(span.start);
        self.related = Some(Related { span, line, column, message: message.into() });
        self
    }

    /// The problem with its source line, a caret and the hint; no newline at the end.
    pub fn render(&self, style: Style) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let mut snippet = Snippet::source(self.source.text())
            .path(self.path.as_str())
            .annotation(AnnotationKind::Primary.span(self.span.start..self.span.end));
        if let Some(related) = &self.related {
            let span = related.span.start..related.span.end;
            let label = normalize_untrusted_str(&related.message);
            snippet = snippet.annotation(AnnotationKind::Context.span(span).label(label));
        }
        let mut group = level.primary_title(normalize_untrusted_str(&self.message)).element(snippet);
        if let Some(hint) = &self.hint {
            group = group.element(Level::HELP.message(normalize_untrusted_str(hint)));
        }
        match style {
            Style::Plain => Renderer::plain().render(&[group]),
            Style::Coloured => Renderer::styled().render(&[group]),
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.path, self.line, self.column, self.message)
    }
}

/// All problems of a file, in the order of their places.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl Diagnostics {
    /// Sorts by place and drops repetitions, which arise where an alias repeats a faulty node.
    pub(super) fn tidy(mut found: Vec<Diagnostic>) -> Self {
        let mut seen = HashSet::new();
        found.retain(|problem| seen.insert((problem.span, problem.message.clone())));
        found.sort_by_key(|problem| problem.span.start);
        Self(found)
    }

    /// Whether one of them is an error.
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(|problem| problem.severity == Severity::Error)
    }

    /// All of them as people read them, an empty line between two.
    pub fn render(&self, style: Style) -> String {
        let parts: Vec<String> = self.0.iter().map(|problem| problem.render(style) + "\n").collect();
        parts.join("\n")
    }

    /// One JSON object a line.
    pub fn to_json_lines(&self) -> String {
        let lines = self.0.iter().filter_map(|problem| serde_json::to_string(problem).ok());
        lines.map(|line| line + "\n").collect()
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Style::Plain))
    }
}

impl std::error::Error for Diagnostics {}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
