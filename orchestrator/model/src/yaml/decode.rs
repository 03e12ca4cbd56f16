//! Walks a tree along key tables and collects every problem on the way.
//!
//! All methods return `None` where a value is absent or faulty; the fault has then been reported. A decoder goes on with
//! the rest of the file and assembles its result only at the end.

use super::diagnostic::{Diagnostic, Severity};
use super::keys::{Choice, Key, MapSpec, Presence, Shape};
use super::scalar::{self, Problem};
use super::source::{Source, Span};
use super::tree::{Entry, Node, Value};
use std::fmt::Write as _;
use std::time::Duration;

/// Collects problems of one file.
pub(super) struct Decoder<'a> {
    source: &'a Source,
    found: Vec<Diagnostic>,
}

/// The entries of a map whose keys have been checked.
pub(super) struct Fields<'n> {
    spec: &'static MapSpec,
    entries: Vec<(&'static Key, &'n Entry)>,
}

impl<'n> Fields<'n> {
    /// The value of a key, where it was given.
    pub(super) fn value(&self, name: &str) -> Option<&'n Node> {
        self.entries.iter().find(|(key, _)| key.name == name).map(|(_, entry)| &entry.value)
    }

    fn key(&self, name: &str) -> Option<&'static Key> {
        let key = self.spec.key(name);
        debug_assert!(key.is_some(), "no key {name} in the table of {}", self.spec.what);
        key
    }
}

impl<'a> Decoder<'a> {
    pub(super) fn new(source: &'a Source, found: Vec<Diagnostic>) -> Self {
        Self { source, found }
    }

    /// A decoder whose problems nobody sees.
    pub(super) fn silent(&self) -> Decoder<'a> {
        Decoder { source: self.source, found: Vec::new() }
    }

    /// All problems so far.
    pub(super) fn finish(self) -> Vec<Diagnostic> {
        self.found
    }

    /// Reports an error; the result may be given a hint.
    pub(super) fn error(&mut self, span: Span, message: impl Into<String>) -> &mut Diagnostic {
        self.report(Severity::Error, span, message.into())
    }

    /// Reports a warning.
    pub(super) fn warning(&mut self, span: Span, message: impl Into<String>) -> &mut Diagnostic {
        self.report(Severity::Warning, span, message.into())
    }

    /// Reports an error about a name that should be one of `known`.
    pub(super) fn unknown<'k>(
        &mut self,
        span: Span,
        word: &str,
        message: String,
        known: impl IntoIterator<Item = &'k str>,
    ) {
        let known: Vec<&str> = known.into_iter().collect();
        let hint = name_hint(word, &known);
        self.error(span, message).hint = hint;
    }

    /// Reports something that formats name and this version cannot do.
    pub(super) fn later(&mut self, span: Span, what: &str) {
        self.error(span, format!("{what} is not supported in this version yet"));
    }

    /// A map with fixed keys; reports unknown, unsupported and missing ones.
    pub(super) fn fields<'n>(&mut self, node: &'n Node, spec: &'static MapSpec) -> Option<Fields<'n>> {
        let Value::Map(given) = &node.value else {
            let keys = known_keys(spec);
            self.wrong_kind(node, spec.what, "a map").hint = Some(format!("its keys: {}", list(&keys)));
            return None;
        };
        let mut fields = Fields { spec, entries: Vec::new() };
        let mut unsupported = false;
        for entry in given {
            match spec.key(&entry.key) {
                Some(key) if key.is_later() => {
                    unsupported = true;
                    self.later(entry.span, &format!("`{}`", key.name));
                }
                Some(key) if entry.value.is_nothing() => {
                    self.error(entry.span, format!("`{}` has no value", key.name)).hint =
                        Some("give it one, or remove the line".into());
                    fields.entries.push((key, entry));
                }
                Some(key) => fields.entries.push((key, entry)),
                None => self.unknown_key(entry, spec),
            }
        }
        if !unsupported {
            // Where a key is unsupported, it may stand for what seems missing.
            self.missing_keys(node.owner, spec, given);
        }
        Some(fields)
    }

    /// The entries of a map whose keys the user chooses.
    pub(super) fn table<'n>(&mut self, node: &'n Node, name: &str, shape: &Shape) -> &'n [Entry] {
        let Shape::Table(rule, _) = shape else { return &[] };
        if node.is_nothing() {
            return &[];
        }
        let Value::Map(entries) = &node.value else {
            let problem = self.wrong_kind(node, &format!("`{name}`"), "a map");
            problem.hint = Some("write each entry as `name: value`, without `- `".into());
            return &[];
        };
        if entries.is_empty() {
            self.error(node.owner, format!("`{name}` is empty"));
        }
        for entry in entries {
            if let Err(problem) = rule.check(&entry.key) {
                self.scalar_problem(entry.span, &format!("`{name}`"), &entry.key, problem);
            }
        }
        entries
    }

    /// The items of a list.
    pub(super) fn list<'n>(&mut self, node: &'n Node, name: &str) -> &'n [Node] {
        match &node.value {
            _ if node.is_nothing() => &[],
            Value::Seq(items) => {
                if items.is_empty() {
                    self.error(node.span, format!("`{name}` is empty"));
                }
                items
            }
            Value::Scalar { text, .. } => {
                let hint = format!("write `[{text}]`");
                self.wrong_kind(node, &format!("`{name}`"), "a list").hint = Some(hint);
                &[]
            }
            Value::Map(_) => {
                self.wrong_kind(node, &format!("`{name}`"), "a list").hint =
                    Some("start each item with `- `, or write `[...]`".into());
                &[]
            }
        }
    }

    /// The items of a list, or the value itself where it is none.
    pub(super) fn one_or_more<'n>(&mut self, node: &'n Node, name: &str) -> &'n [Node] {
        match &node.value {
            Value::Seq(_) => self.list(node, name),
            _ if node.is_nothing() => &[],
            _ => std::slice::from_ref(node),
        }
    }

    /// The text of a scalar, whatever it is.
    pub(super) fn scalar<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n str> {
        match &node.value {
            _ if node.is_nothing() => {
                // An empty value of a known key has been reported with the key.
                None
            }
            Value::Scalar { text, .. } => Some(text),
            Value::Seq(_) | Value::Map(_) => {
                self.wrong_kind(node, what, "text");
                None
            }
        }
    }

    /// A scalar through one of the parsers of [`scalar`].
    pub(super) fn parsed<T>(
        &mut self,
        node: &Node,
        what: &str,
        parse: impl Fn(&str) -> Result<T, Problem>,
    ) -> Option<T> {
        let text = self.scalar(node, what)?;
        match parse(text) {
            Ok(value) => Some(value),
            Err(problem) => {
                self.scalar_problem(node.span, what, text, problem);
                None
            }
        }
    }

    /// Like [`Self::parsed`], for items of lists and tables, where an empty value has not been reported before.
    pub(super) fn item<T>(
        &mut self,
        node: &Node,
        what: &str,
        parse: impl Fn(&str) -> Result<T, Problem>,
    ) -> Option<T> {
        if node.is_nothing() {
            self.error(node.owner, format!("{what} is missing here"));
            return None;
        }
        self.parsed(node, what, parse)
    }

    /// The whole number under a key, or its default.
    pub(super) fn count(&mut self, fields: &Fields<'_>, name: &str) -> Option<u64> {
        self.field(fields, name, scalar::count)
    }

    /// The whole number under a key, or its default, where the table's bound lies within 32 bits.
    pub(super) fn count32(&mut self, fields: &Fields<'_>, name: &str) -> Option<u32> {
        self.count(fields, name).and_then(|number| u32::try_from(number).ok())
    }

    /// The time under a key, or its default.
    pub(super) fn duration(&mut self, fields: &Fields<'_>, name: &str) -> Option<Duration> {
        self.field(fields, name, scalar::duration)
    }

    /// The bytes under a key, or its default.
    pub(super) fn size(&mut self, fields: &Fields<'_>, name: &str) -> Option<u64> {
        self.field(fields, name, scalar::size)
    }

    /// The truth value under a key, or its default.
    pub(super) fn flag(&mut self, fields: &Fields<'_>, name: &str) -> Option<bool> {
        self.field(fields, name, scalar::flag)
    }

    /// The text under a key, or its default.
    pub(super) fn text(&mut self, fields: &Fields<'_>, name: &str) -> Option<String> {
        self.field(fields, name, scalar::text)
    }

    /// The chosen kind under a key, or its default, with what follows it.
    pub(super) fn choice<'n>(
        &mut self,
        fields: &Fields<'n>,
        name: &str,
    ) -> Option<(&'static str, Option<&'n Node>)> {
        let key = fields.key(name)?;
        let Shape::Choice(choices) = key.shape else { return None };
        match (fields.value(name), &key.presence) {
            (Some(node), _) => self.choose(node, &format!("`{name}`"), choices),
            (None, Presence::Default(text)) => Some((text, None)),
            (None, _) => None,
        }
    }

    /// `kind`, or `{kind: …}`.
    pub(super) fn choose<'n>(
        &mut self,
        node: &'n Node,
        what: &str,
        choices: &'static [Choice],
    ) -> Option<(&'static str, Option<&'n Node>)> {
        let (name, span, body) = match &node.value {
            _ if node.is_nothing() => return None,
            Value::Scalar { text, .. } => (text.as_str(), node.span, None),
            Value::Map(entries) => match entries.as_slice() {
                [entry] => (entry.key.as_str(), entry.span, Some(&entry.value)),
                _ => {
                    let message = format!("{what} takes exactly one kind, not {}", entries.len());
                    self.error(node.span, message).hint = Some(match entries.first() {
                        Some(first) if first.value.is_nothing() => {
                            format!("indent the lines that belong to `{}:`", first.key)
                        }
                        _ => format!("one of: {}", list(&usable(choices))),
                    });
                    return None;
                }
            },
            Value::Seq(_) => {
                self.wrong_kind(node, what, "one choice").hint =
                    Some(format!("one of: {}", list(&usable(choices))));
                return None;
            }
        };
        let Some(choice) = choices.iter().find(|choice| choice.name == name) else {
            self.error(span, format!("{what} cannot be `{}`", shortened(name))).hint =
                Some(choice_hint(name, choices));
            return None;
        };
        match (choice.body, body.filter(|body| !body.is_nothing())) {
            (Some(Shape::Later), _) => {
                self.later(span, &format!("{what} `{name}`"));
                None
            }
            (None, Some(body)) if !matches!(&body.value, Value::Map(entries) if entries.is_empty()) => {
                self.error(body.span, format!("nothing follows `{name}`")).hint =
                    Some(format!("write `{name}` alone"));
                None
            }
            (None, _) => Some((choice.name, None)),
            (Some(_), None) => {
                self.error(span, format!("`{name}` needs more")).hint =
                    Some(format!("write `{{{name}: {{...}}}}`"));
                None
            }
            (Some(_), Some(body)) => Some((choice.name, Some(body))),
        }
    }

    /// Reports something that was given before.
    pub(super) fn repeated(&mut self, span: Span, message: &str, first: Span) {
        let problem = Diagnostic::new(self.source, Severity::Error, span, message);
        self.found.push(problem.with_related(first, "first given here"));
    }

    /// How many errors have been reported.
    pub(super) fn count_errors(&self) -> usize {
        self.found.iter().filter(|problem| problem.severity == Severity::Error).count()
    }

    /// Makes sure that a file without a result has an error to show for it.
    pub(super) fn ensure_error(&mut self, span: Span) {
        if self.count_errors() == 0 {
            self.error(span, "this file cannot be used, and kab does not know why: this is a fault of kab");
        }
    }

    /// Reports a value of the wrong kind.
    pub(super) fn wrong_kind(&mut self, node: &Node, what: &str, wanted: &str) -> &mut Diagnostic {
        let span = node.span;
        self.error(span, format!("{what} must be {wanted}, not {}", node.describe()))
    }

    /// Reports a scalar that its place does not take.
    fn scalar_problem(&mut self, span: Span, what: &str, text: &str, problem: Problem) {
        let text = if text.is_empty() { "\"\"".to_owned() } else { shortened(text) };
        self.error(span, format!("{what}: `{text}` {}", problem.message)).hint = problem.hint;
    }

    fn field<T>(
        &mut self,
        fields: &Fields<'_>,
        name: &str,
        parse: impl Fn(&Shape, &str) -> Result<T, Problem>,
    ) -> Option<T> {
        let key = fields.key(name)?;
        match (fields.value(name), &key.presence) {
            (Some(node), _) => self.parsed(node, &format!("`{name}`"), |text| parse(&key.shape, text)),
            (None, Presence::Default(text)) => parse(&key.shape, text).ok(),
            (None, _) => None,
        }
    }

    fn missing_keys(&mut self, owner: Span, spec: &'static MapSpec, given: &[Entry]) {
        let known = known_keys(spec);
        for key in spec.keys.iter().filter(|key| matches!(key.presence, Presence::Required)) {
            // A key that was given under a misspelt name has been reported once.
            let is_given = |entry: &Entry| {
                entry.key == key.name
                    || (spec.key(&entry.key).is_none() && nearest(&entry.key, &known) == Some(key.name))
            };
            if !given.iter().any(is_given) {
                self.error(owner, format!("{} needs the key `{}`", spec.what, key.name)).hint =
                    Some(format!("add `{}:`, {}", key.name, first_sentence(key.doc)));
            }
        }
    }

    fn unknown_key(&mut self, entry: &Entry, spec: &'static MapSpec) {
        let known = known_keys(spec);
        let hint = match (nearest(&entry.key, &known), home_of(&entry.key, spec)) {
            (Some(name), _) => format!("did you mean `{name}`?"),
            (None, Some(parent)) => format!("`{}` belongs under `{parent}:`", entry.key),
            (None, None) => match spec.hint {
                Some(hint) => hint.to_owned(),
                None => format!("known keys: {}", list(&known)),
            },
        };
        self.error(entry.span, format!("unknown key `{}` in {}", shortened(&entry.key), spec.what)).hint =
            Some(hint);
    }

    fn report(&mut self, severity: Severity, span: Span, message: String) -> &mut Diagnostic {
        let at = self.found.len();
        self.found.push(Diagnostic::new(self.source, severity, span, message));
        &mut self.found[at]
    }
}

/// `did you mean`, or the names there are, or nothing where there are none.
pub(super) fn name_hint(word: &str, known: &[&str]) -> Option<String> {
    match nearest(word, known) {
        Some(name) => Some(format!("did you mean `{name}`?")),
        None if known.is_empty() => None,
        None => Some(format!("there are: {}", list(known))),
    }
}

/// The known name that a person may have meant.
pub(super) fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    if word.len() > 100 {
        return None;
    }
    let lower = word.to_lowercase();
    let distance = |name: &str| strsim::damerau_levenshtein(&lower, &name.to_lowercase());
    let (best, name) =
        known.iter().map(|name| (distance(name), *name)).min_by_key(|(distance, _)| *distance)?;
    let longer = name.chars().count().max(lower.chars().count());
    (best <= (longer / 3).max(1) && best < longer).then_some(name)
}

/// Names for a hint, in backticks; long lists are cut.
pub(super) fn list(names: &[&str]) -> String {
    let mut text = String::new();
    for (at, name) in names.iter().take(16).enumerate() {
        let comma = if at > 0 { ", " } else { "" };
        let _ = write!(text, "{comma}`{name}`");
    }
    if names.len() > 16 {
        let _ = write!(text, " and {} more", names.len() - 16);
    }
    text
}

/// A text for a message: on one line, cut where it is long.
pub(super) fn shortened(text: &str) -> String {
    let mut short = String::new();
    for c in text.chars().take(60) {
        if c.is_control() {
            short.extend(c.escape_default());
        } else {
            short.push(c);
        }
    }
    if text.chars().nth(60).is_some() {
        short.push_str("...");
    }
    short
}

fn choice_hint(name: &str, choices: &[Choice]) -> String {
    let known = usable(choices);
    match nearest(name, &known) {
        Some(meant) if known.len() == 1 => format!("did you mean `{meant}`?"),
        Some(meant) => format!("did you mean `{meant}`? one of: {}", list(&known)),
        None => format!("one of: {}", list(&known)),
    }
}

fn usable(choices: &[Choice]) -> Vec<&'static str> {
    choices.iter().filter(|choice| !choice.is_later()).map(|choice| choice.name).collect()
}

fn known_keys(spec: &'static MapSpec) -> Vec<&'static str> {
    spec.keys.iter().filter(|key| !key.is_later()).map(|key| key.name).collect()
}

/// The key of this map under which the unknown key would be known.
fn home_of(word: &str, spec: &'static MapSpec) -> Option<&'static str> {
    let inner = |key: &&Key| matches!(key.shape, Shape::Map(inner) if inner.key(word).is_some());
    spec.keys.iter().find(inner).map(|key| key.name)
}

fn first_sentence(doc: &str) -> String {
    let sentence = doc.split_once(". ").map_or(doc, |(first, _)| first).trim_end_matches('.');
    let mut chars = sentence.chars();
    let first = chars.next().map(|first| first.to_lowercase().to_string()).unwrap_or_default();
    format!("{first}{}", chars.as_str())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn suggests_what_is_near_and_nothing_else() {
        let known = ["visits", "trials", "warmup", "order"];
        assert_eq!(nearest("vists", &known), Some("visits"));
        assert_eq!(nearest("Visits", &known), Some("visits"));
        assert_eq!(nearest("trails", &known), Some("trials"));
        assert_eq!(nearest("rounds", &known), None);
        assert_eq!(nearest("", &known), None);
        assert_eq!(nearest("x", &["a"]), None);
    }
}
