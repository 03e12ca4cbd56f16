//! Text to tree: syntax, anchors, merge keys and keys given twice.
//!
//! The parser below us yields events; the tree is built on an explicit stack, so that no input can exhaust the call
//! stack. Aliases are copied, and the copies are paid from one budget: a file that multiplies itself is refused.

use super::decode::shortened;
use super::diagnostic::{Diagnostic, Severity};
use super::source::{Source, Span};
use super::tree::{Entry, Node, Value};
use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError};
use std::collections::HashMap;

/// Larger files are no experiments; the limit keeps quadratic renderings cheap.
const MAX_BYTES: usize = 1 << 20;
/// Nodes of a tree with its aliases copied. Real files have hundreds.
const MAX_NODES: usize = 50_000;
/// Lists and maps within each other, aliases included. Real files have eight.
const MAX_DEPTH: usize = 64;

/// Reads a file. Problems that leave a tree behind (keys given twice, say) are added to `problems`.
///
/// # Errors
/// The one diagnostic after which no tree is left.
pub(super) fn load(source: &Source, problems: &mut Vec<Diagnostic>) -> Result<Node, Box<Diagnostic>> {
    if source.text().len() > MAX_BYTES {
        return Err(fatal(source, Span::default(), "the file is larger than 1 MiB"));
    }
    let options = granit_parser::options! {
        emit_comments: false,
        emit_unresolved_aliases: true,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    let mut builder = Builder {
        source,
        problems,
        stack: Vec::new(),
        anchors: HashMap::new(),
        spent: 0,
        root: None,
        documents: 0,
    };
    for event in Parser::new_from_str_with_options(source.text(), options) {
        let (event, span) = event.map_err(|error| syntax_error(source, &error))?;
        let place = Span {
            start: span.start.byte_offset().unwrap_or_default(),
            end: span.end.byte_offset().unwrap_or_default(),
        };
        if let Some(tag) = event.tag().filter(|tag| tag.is_custom()) {
            builder.custom_tag(&tag.original(), span.tag_span().and_then(|span| span.byte_range()), place);
        }
        builder.take(event, place)?;
    }
    let root = builder.root.take().filter(|root| !root.is_nothing());
    root.ok_or_else(|| fatal(source, Span::default(), "the file is empty"))
}

struct Builder<'a> {
    source: &'a Source,
    problems: &'a mut Vec<Diagnostic>,
    stack: Vec<Frame>,
    anchors: HashMap<usize, Anchored>,
    spent: usize,
    root: Option<Node>,
    documents: usize,
}

/// A list or map whose end has not come yet.
struct Frame {
    start: usize,
    anchor: usize,
    size: usize,
    height: usize,
    open: Open,
}

enum Open {
    Seq(Vec<Node>),
    Map { entries: Vec<RawEntry>, key: Option<RawKey> },
}

struct RawKey {
    text: String,
    span: Span,
    plain: bool,
}

struct RawEntry {
    key: RawKey,
    value: Node,
}

/// A finished node that an alias may repeat.
struct Anchored {
    node: Node,
    size: usize,
    height: usize,
}

impl Builder<'_> {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Box<Diagnostic>> {
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    let problem = fatal(self.source, span, "a second document starts here");
                    return Err(Box::new(problem.with_hint("a file holds one document: remove this `---`")));
                }
            }
            Event::Scalar(text, style, anchor, _) => {
                // The parser writes `~` where nothing is written.
                let text = if span.start == span.end { String::new() } else { text.into_owned() };
                let value = Value::Scalar { text, quoted: style != ScalarStyle::Plain };
                self.close(Node { span, owner: span, value }, anchor, 1, 0)?;
            }
            Event::SequenceStart(_, anchor, _) => self.open(span, anchor, Open::Seq(Vec::new())),
            Event::MappingStart(_, anchor, _) => {
                self.open(span, anchor, Open::Map { entries: Vec::new(), key: None });
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(span)?,
            Event::Alias(id) => self.alias(id, span)?,
            Event::UnresolvedAlias(name) => self.unresolved(&name, span)?,
            _ => {}
        }
        Ok(())
    }

    fn open(&mut self, span: Span, anchor: usize, open: Open) {
        self.stack.push(Frame { start: span.start, anchor, size: 1, height: 1, open });
    }

    fn end(&mut self, span: Span) -> Result<(), Box<Diagnostic>> {
        let Some(frame) = self.stack.pop() else { return Ok(()) };
        let value = match frame.open {
            Open::Seq(items) => Value::Seq(items),
            Open::Map { entries, .. } => Value::Map(self.finish_map(entries)),
        };
        let span = Span { start: frame.start, end: span.end.max(frame.start) };
        self.close(Node { span, owner: span, value }, frame.anchor, frame.size, frame.height)
    }

    /// Puts a finished node where it belongs.
    fn close(
        &mut self,
        node: Node,
        anchor: usize,
        size: usize,
        height: usize,
    ) -> Result<(), Box<Diagnostic>> {
        self.spent += 1;
        if self.spent > MAX_NODES {
            return Err(self.too_large(node.span));
        }
        if anchor != 0 {
            // The copy is paid for like any other, so anchors cannot make a file cost more than its budget.
            self.spent += size;
            self.anchors.insert(anchor, Anchored { node: node.clone(), size, height });
        }
        self.place(node, size, height);
        Ok(())
    }

    fn place(&mut self, mut node: Node, size: usize, height: usize) {
        let source = self.source;
        let Some(frame) = self.stack.last_mut() else {
            self.root.get_or_insert(node);
            return;
        };
        frame.size += size;
        frame.height = frame.height.max(height + 1);
        match &mut frame.open {
            Open::Seq(items) => items.push(node),
            Open::Map { entries, key } => match key.take() {
                Some(key) => {
                    node.owner = key.span;
                    if node.is_nothing() {
                        node.span = key.span;
                    }
                    entries.push(RawEntry { key, value: node });
                }
                None => *key = Some(raw_key(source, self.problems, node)),
            },
        }
    }

    fn alias(&mut self, id: usize, span: Span) -> Result<(), Box<Diagnostic>> {
        let Some(anchored) = self.anchors.get(&id) else {
            return Err(fatal(self.source, span, "this alias stands within the value that it names"));
        };
        let (size, height) = (anchored.size, anchored.height);
        if self.spent + size > MAX_NODES || self.stack.len() + height > MAX_DEPTH {
            return Err(self.too_large(span));
        }
        self.spent += size;
        let node = anchored.node.clone();
        self.place(node, size, height);
        Ok(())
    }

    fn unresolved(&mut self, name: &str, span: Span) -> Result<(), Box<Diagnostic>> {
        let problem = Diagnostic::new(
            self.source,
            Severity::Error,
            span,
            format!("`*{name}` names no anchor above it"),
        );
        let hint = format!("define `&{name}` before this line, or quote text that starts with `*`");
        self.problems.push(problem.with_hint(hint));
        let value = Value::Scalar { text: format!("*{name}"), quoted: true };
        self.close(Node { span, owner: span, value }, 0, 1, 0)
    }

    /// Reports keys given twice, keeping the first, and resolves `<<`.
    fn finish_map(&mut self, raw: Vec<RawEntry>) -> Vec<Entry> {
        let mut given: HashMap<String, Span> = HashMap::new();
        let mut kept = Vec::with_capacity(raw.len());
        for entry in raw {
            if let Some(first) = given.get(&entry.key.text) {
                let message = format!("`{}` is given twice", shortened(&entry.key.text));
                let problem = Diagnostic::new(self.source, Severity::Error, entry.key.span, message);
                self.problems.push(problem.with_related(*first, "first given here"));
                continue;
            }
            given.insert(entry.key.text.clone(), entry.key.span);
            kept.push(entry);
        }
        let mut entries: Vec<Entry> = Vec::with_capacity(kept.len());
        for RawEntry { key, value } in kept {
            if key.plain && key.text == "<<" {
                self.merge(value, &mut given, &mut entries);
            } else {
                entries.push(Entry { key: key.text, span: key.span, value });
            }
        }
        entries
    }

    /// Adds the entries of merged maps that the map itself (or an earlier merged one) does not give.
    fn merge(&mut self, value: Node, given: &mut HashMap<String, Span>, entries: &mut Vec<Entry>) {
        let maps = match value.value {
            Value::Seq(items) => items,
            _ => vec![value],
        };
        for map in maps {
            let span = map.span;
            let Value::Map(merged) = map.value else {
                self.error(span, "`<<` takes a map or a list of maps");
                continue;
            };
            for entry in merged {
                if !given.contains_key(&entry.key) {
                    given.insert(entry.key.clone(), entry.span);
                    entries.push(entry);
                }
            }
        }
    }

    fn custom_tag(&mut self, tag: &str, range: Option<std::ops::Range<usize>>, node: Span) {
        let span = range.map_or(node, |range| Span { start: range.start, end: range.end });
        let problem = Diagnostic::new(
            self.source,
            Severity::Error,
            span,
            format!("the tag `{tag}` means nothing here"),
        );
        let kind = tag.trim_start_matches('!');
        self.problems
            .push(problem.with_hint(format!("a choice is written `{{{kind}: ...}}`, or `{kind}` alone")));
    }

    fn error(&mut self, span: Span, message: &str) {
        self.problems.push(Diagnostic::new(self.source, Severity::Error, span, message));
    }

    fn too_large(&self, span: Span) -> Box<Diagnostic> {
        fatal(self.source, span, "the file grows too large or too deep here, with its aliases written out")
    }
}

fn raw_key(source: &Source, problems: &mut Vec<Diagnostic>, node: Node) -> RawKey {
    let span = node.span;
    let Value::Scalar { text, quoted } = node.value else {
        problems.push(Diagnostic::new(
            source,
            Severity::Error,
            span,
            "a key must be text, not a list or map",
        ));
        let text = source.text().get(span.start..span.end).unwrap_or_default().to_owned();
        return RawKey { text, span, plain: false };
    };
    RawKey { text, span, plain: !quoted }
}

fn fatal(source: &Source, span: Span, message: impl Into<String>) -> Box<Diagnostic> {
    Box::new(Diagnostic::new(source, Severity::Error, span, message))
}

/// A syntax error in words of a person who writes YAML, not of one who writes parsers.
fn syntax_error(source: &Source, error: &ScanError) -> Box<Diagnostic> {
    use ErrorKind as E;
    let marker = error.marker();
    let at = marker.byte_offset().unwrap_or_else(|| source.offset(marker.line(), marker.col()));
    let (message, hint) = match error.kind() {
        E::TabNotAllowed | E::TabInBlockIndentation | E::TabInIndentation | E::TabAtBlockScalarStart => {
            ("a tab is used as indentation".to_owned(), Some("indent with spaces"))
        }
        E::TabInPlainScalar => {
            ("a tab stands in unquoted text".to_owned(), Some("use spaces, or quote the text"))
        }
        E::UnclosedQuotedScalar => ("a quote is opened and never closed".to_owned(), None),
        E::UnclosedFlowCollection { open } => (format!("`{open}` is opened and never closed"), None),
        E::MismatchedFlowCollectionEnd { open, close } => (format!("`{open}` is closed by `{close}`"), None),
        E::MisplacedFlowCollectionEnd => ("this bracket closes nothing".to_owned(), None),
        E::MappingValueNotAllowed => (
            "`:` is not expected here".to_owned(),
            Some("quote text that contains `: `, and check the indentation of this line and the one above"),
        ),
        E::ExpectedBlockMappingKey | E::ExpectedBlockSequenceEntry | E::InvalidIndentation => (
            "this line fits neither the map nor the list above it".to_owned(),
            Some("lines of one map or list start in the same column"),
        ),
        E::InvalidColonPlacement => {
            ("`:` is not expected here".to_owned(), Some("a `[`, `{` or quote above may not be closed"))
        }
        E::SimpleKeyExpected | E::InvalidSimpleKey => {
            ("`key: value` is expected here".to_owned(), Some("a `:` with a space after it may be missing"))
        }
        E::ExpectedFlowMappingSeparator => ("`,` or `}` is expected here".to_owned(), None),
        E::ExpectedFlowSequenceSeparator => ("`,` or `]` is expected here".to_owned(), None),
        E::UnexpectedCharacter { character } => {
            (format!("`{character}` cannot start unquoted text"), Some("quote the text"))
        }
        E::RecursionLimitExceeded => ("lists and maps are nested too deeply here".to_owned(), None),
        kind => (format!("not valid YAML: {kind}"), None),
    };
    let after_tab = at > 0 && source.text().as_bytes().get(at - 1) == Some(&b'\t');
    let start = if after_tab { at - 1 } else { at };
    let problem = fatal(source, Span { start, end: start + 1 }, message);
    match hint {
        Some(hint) => Box::new(problem.with_hint(hint)),
        None => problem,
    }
}
