//! What the audit says: findings with grade, place, the right number and how to check it.

use serde::Serialize;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// Numbers contradict each other: one of them is wrong.
    Error,
    /// The numbers may be right, and do not carry what is said or how it was measured.
    Warning,
    /// Worth knowing.
    Remark,
}

/// What was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Rule {
    /// A mean lies between minimum and maximum, and the minimum below the maximum.
    MeanInRange,
    /// Bandwidth is IOPS times block size.
    BandwidthIops,
    /// Bandwidths of two columns fit each other's IOPS.
    ColumnsExchanged,
    /// An average is the average of the numbers that it is of.
    Average,
    /// A percentage follows from the numbers.
    Percentage,
    /// An arithmetic mean over unlike cells shows the largest only.
    UnlikeCells,
    /// The kernel stalled while it was measured.
    Stall,
    /// Arms were measured with different settings.
    Settings,
    /// An option that does nothing or spoils a measurement.
    Option,
    /// Too few runs to tell a change from noise.
    FewRuns,
    /// fio's own figures agree.
    FioFigures,
    /// A number of the text is found in the results.
    Unsupported,
    /// The words say one direction and the numbers another.
    Direction,
}

/// A line of the input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Quote {
    /// Number, from 1, in the unpacked input.
    pub line: usize,
    /// The decoded text.
    pub text: String,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// How bad.
    pub grade: Grade,
    /// What was checked.
    pub rule: Rule,
    /// Where: the line that the finding is about first, then those that it follows from.
    pub lines: Vec<Quote>,
    /// What is wrong.
    pub message: String,
    /// What the number would be, where that can be told.
    pub expected: Option<String>,
    /// How to check it by hand.
    pub check: String,
}

/// A finding before its lines are looked up.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) grade: Grade,
    pub(crate) rule: Rule,
    /// Indices into the source's lines.
    pub(crate) at: Vec<usize>,
    pub(crate) message: String,
    pub(crate) expected: Option<String>,
    pub(crate) check: String,
}

impl Draft {
    pub(crate) fn new(
        grade: Grade,
        rule: Rule,
        at: impl IntoIterator<Item = usize>,
        message: String,
    ) -> Self {
        Self { grade, rule, at: at.into_iter().collect(), message, expected: None, check: String::new() }
    }

    pub(crate) fn expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = Some(expected.into());
        self
    }

    pub(crate) fn check(mut self, check: impl Into<String>) -> Self {
        self.check = check.into();
        self
    }
}
