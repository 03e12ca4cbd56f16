//! How a trial ends: one vocabulary everywhere.

use serde::{Deserialize, Serialize};
use std::fmt;

/// How a trial ended. Only `Void` excludes a number, and only `Ok` and `Noted` have one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Outcome {
    /// Nothing to say; counted.
    Ok,
    /// The kernel or the device did something inside the window; counted and listed.
    Noted {
        /// What was seen; never empty.
        reasons: Vec<Reason>,
    },
    /// The variant did not deliver: a result, never a number, never repeated.
    Failed {
        /// What was seen; never empty.
        reasons: Vec<Reason>,
    },
    /// The lab's fault: excluded, and repeated up to a limit equal for all variants.
    Void {
        /// What was seen; never empty.
        reasons: Vec<Reason>,
    },
}

impl Outcome {
    /// Whether the trial's sample enters the numbers.
    pub fn counts(&self) -> bool {
        matches!(self, Self::Ok | Self::Noted { .. })
    }

    /// The word of the glossary.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Noted { .. } => "noted",
            Self::Failed { .. } => "failed",
            Self::Void { .. } => "void",
        }
    }

    /// What was seen; empty for `Ok`.
    pub fn reasons(&self) -> &[Reason] {
        match self {
            Self::Ok => &[],
            Self::Noted { reasons } | Self::Failed { reasons } | Self::Void { reasons } => reasons,
        }
    }
}

/// Why a trial is not plainly ok: the rule that spoke and what it saw.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Reason {
    /// Stable name of the rule, such as `kernel-warn` or `fio-missing`.
    pub rule: String,
    /// One line of evidence.
    pub detail: String,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.detail)
    }
}
