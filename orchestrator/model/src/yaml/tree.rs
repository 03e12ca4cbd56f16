//! YAML as a tree in which everything knows its place and every scalar is text.

use super::source::Span;

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    /// Where it is written; for an alias, where the anchor is.
    pub(super) span: Span,
    /// Where to point when something is missing in it: its key, or itself where it has none.
    pub(super) owner: Span,
    /// What it is.
    pub(super) value: Value,
}

/// The three kinds of values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// Text after YAML's escapes; numbers, booleans and nulls are not told apart.
    Scalar {
        /// The text.
        text: String,
        /// Whether quotes or a block indicator surround it.
        quoted: bool,
    },
    /// A list.
    Seq(Vec<Node>),
    /// A map in the order of the file, keys unique, merge keys resolved.
    Map(Vec<Entry>),
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The key's text.
    pub(super) key: String,
    /// Where the key is written.
    pub(super) span: Span,
    /// Its value.
    pub(super) value: Node,
}

impl Node {
    /// Stands for a map that was left out and whose keys all have defaults.
    pub(super) fn empty_map() -> Self {
        Self { span: Span::default(), owner: Span::default(), value: Value::Map(Vec::new()) }
    }

    /// Whether nothing was written where a value belongs.
    pub(super) fn is_nothing(&self) -> bool {
        matches!(&self.value, Value::Scalar { text, quoted: false } if text.is_empty())
    }

    /// What it is, with an article.
    pub(super) fn describe(&self) -> &'static str {
        match &self.value {
            _ if self.is_nothing() => "nothing",
            Value::Scalar { .. } => "text",
            Value::Seq(_) => "a list",
            Value::Map(_) => "a map",
        }
    }

    /// The entry of a map under a key.
    pub(super) fn entry(&self, key: &str) -> Option<&Entry> {
        match &self.value {
            Value::Map(entries) => entries.iter().find(|entry| entry.key == key),
            _ => None,
        }
    }

    /// The child under a key, or at an index written as text.
    pub(super) fn child(&self, step: &str) -> Option<&Node> {
        match &self.value {
            Value::Map(_) => self.entry(step).map(|entry| &entry.value),
            Value::Seq(items) => items.get(step.parse::<usize>().ok()?),
            Value::Scalar { .. } => None,
        }
    }
}
