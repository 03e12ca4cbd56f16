//! The vocabulary of key tables. One table says which keys a map takes; decoder, hints and schema all follow it.

use super::scalar::TextRule;

/// A map with fixed keys.
#[derive(Debug)]
pub(super) struct MapSpec {
    /// What the map describes, with an article: `a workload`.
    pub(super) what: &'static str,
    /// Its keys in the order in which help lists them.
    pub(super) keys: &'static [Key],
    /// Told to a person who used an unknown key that resembles no known one.
    pub(super) hint: Option<&'static str>,
}

impl MapSpec {
    /// The key of that name.
    pub(super) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }
}

/// One key of a map.
#[derive(Debug)]
pub(super) struct Key {
    /// As it is written.
    pub(super) name: &'static str,
    /// One or two sentences for editors.
    pub(super) doc: &'static str,
    /// What its value looks like.
    pub(super) shape: Shape,
    /// Whether it may be left out.
    pub(super) presence: Presence,
}

/// Whether a key may be left out.
#[derive(Debug)]
pub(super) enum Presence {
    /// No.
    Required,
    /// Yes; the doc says what happens then.
    Optional,
    /// Yes; then this text stands for it.
    Default(&'static str),
}

/// What a value looks like.
#[derive(Debug)]
pub(super) enum Shape {
    /// A scalar kept as text.
    Text(TextRule),
    /// A whole number, bounds included.
    Count(u64, u64),
    /// A time such as `1h30m`; bounds in seconds, included.
    Duration(u64, u64),
    /// Bytes such as `512MiB`; bounds included.
    Size(u64, u64),
    /// A part of a whole such as `2%`; the bound, in percent, is included.
    Percent(u32),
    /// `true` or `false`.
    Flag,
    /// `kind`, or `{kind: …}`.
    Choice(&'static [Choice]),
    /// A list with at least one item.
    List(&'static Shape),
    /// One of it, or a list of at least one.
    OneOrMore(&'static Shape),
    /// Fixed keys.
    Map(&'static MapSpec),
    /// Keys that the user chooses; at least one.
    Table(TextRule, &'static Shape),
    /// Known, and answered with "not supported in this version yet".
    Later,
}

/// One alternative of a [`Shape::Choice`].
#[derive(Debug)]
pub(super) struct Choice {
    /// As it is written.
    pub(super) name: &'static str,
    /// A phrase for editors.
    pub(super) doc: &'static str,
    /// What follows in `{kind: …}`; none for a kind that stands alone.
    pub(super) body: Option<&'static Shape>,
}

impl Key {
    pub(super) const fn required(name: &'static str, shape: Shape, doc: &'static str) -> Self {
        Self { name, doc, shape, presence: Presence::Required }
    }

    pub(super) const fn optional(name: &'static str, shape: Shape, doc: &'static str) -> Self {
        Self { name, doc, shape, presence: Presence::Optional }
    }

    pub(super) const fn default(
        name: &'static str,
        shape: Shape,
        text: &'static str,
        doc: &'static str,
    ) -> Self {
        Self { name, doc, shape, presence: Presence::Default(text) }
    }

    pub(super) const fn later(name: &'static str, doc: &'static str) -> Self {
        Self { name, doc, shape: Shape::Later, presence: Presence::Optional }
    }

    /// Whether this version can do something with it.
    pub(super) fn is_later(&self) -> bool {
        matches!(self.shape, Shape::Later)
    }
}

impl Choice {
    pub(super) const fn plain(name: &'static str, doc: &'static str) -> Self {
        Self { name, doc, body: None }
    }

    pub(super) const fn with(name: &'static str, body: &'static Shape, doc: &'static str) -> Self {
        Self { name, doc, body: Some(body) }
    }

    pub(super) const fn later(name: &'static str, doc: &'static str) -> Self {
        Self { name, doc, body: Some(&Shape::Later) }
    }

    /// Whether this version can do something with it.
    pub(super) fn is_later(&self) -> bool {
        matches!(self.body, Some(Shape::Later))
    }
}
