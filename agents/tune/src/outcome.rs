//! What became of a change.

use crate::{Change, Form};
use serde::{Deserialize, Serialize};

/// A change that was tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// What was to be done.
    #[serde(flatten)]
    pub change: Change,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It already read as wanted.
    InPlace,
    /// Written, and reads as wanted.
    Set,
    /// Written, and the board made something else of it.
    Adjusted(String),
    /// The write was accepted, and nothing changed.
    Ignored,
    /// The interrupt belongs to the kernel, which moves it itself.
    Managed,
    /// The write was refused: why.
    Refused(String),
    /// Not written, only recorded.
    Kept,
}

impl Outcome {
    /// Whether the board now is as wanted.
    pub fn is_good(&self) -> bool {
        matches!(self, Self::InPlace | Self::Set | Self::Kept)
    }

    /// In words, after the file's name; `None` where it is as wanted.
    pub fn complaint(&self) -> Option<String> {
        match self {
            Self::InPlace | Self::Set | Self::Kept => None,
            Self::Adjusted(found) => Some(format!("became {found}")),
            Self::Ignored => Some("took the write and did not change".to_owned()),
            Self::Managed => Some("is managed by the kernel".to_owned()),
            Self::Refused(why) => Some(format!("refused the write: {why}")),
        }
    }

    /// What a file that was written reads back as.
    pub fn of_write(form: Form, from: &str, to: &str, found: &str) -> Self {
        if form.same(to, found) {
            Self::Set
        } else if form.same(from, found) {
            Self::Ignored
        } else {
            Self::Adjusted(form.normal(found))
        }
    }
}

/// A knob that somebody else changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drift {
    /// The setting's knob.
    pub knob: String,
    /// Which file.
    pub path: String,
    /// What it read after it had been set.
    pub expected: String,
    /// What it reads now; absent where it is gone.
    pub found: Option<String>,
    /// The kernel lowered a frequency because the board is hot.
    pub cooling: bool,
}

/// What could not be put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restored {
    /// Files that read as before.
    pub restored: u32,
    /// Files that do not, with the reason.
    pub failed: Vec<String>,
}

/// What a file must read during trials: what it read after everything had been set; none where it is not ours.
pub fn settled(applied: &Applied) -> Option<&str> {
    match &applied.outcome {
        Outcome::InPlace | Outcome::Set => applied.change.to.as_deref(),
        Outcome::Adjusted(found) => Some(found),
        Outcome::Ignored | Outcome::Managed | Outcome::Refused(_) => Some(&applied.change.from),
        Outcome::Kept => None,
    }
}
