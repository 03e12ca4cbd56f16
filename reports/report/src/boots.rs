//! The single boots behind a mean, and the p-values behind a verdict: what plots and machine-readable reports show beyond tables.

use serde::Serialize;

/// The boots of one variant in one cell and metric.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Boots {
    /// In the order in which they were made.
    pub values: Vec<Boot>,
    /// 95 % interval of their geometric mean by Student's t on logarithms, in the metric's own unit; absent below two boots.
    pub interval: Option<(f64, f64)>,
}

/// One boot as one number.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Boot {
    /// The round, from 0.
    pub round: u32,
    /// Number of the visit on its board, from 0: the order in time.
    pub visit: u32,
    /// Median of its trials (below three their geometric mean), in the metric's own unit. A percentile is read from the merged
    /// histogram of its trials.
    pub value: f64,
    /// The trials, in the order in which they were run.
    pub trials: Vec<f64>,
    /// Trials with something to note.
    pub noted: usize,
}

/// A visit that gave no numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lost {
    /// Number of the visit on its board, from 0.
    pub visit: u32,
    /// The round, from 0.
    pub round: u32,
    /// Index of the variant.
    pub variant: usize,
    /// How it ended, in words.
    pub why: String,
}

/// The p-values of one comparison.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PValues {
    /// Of the comparison alone, two-sided.
    pub raw: f64,
    /// Corrected by Holm over the family.
    pub holm: f64,
    /// Corrected by Benjamini and Hochberg over the family.
    pub benjamini_hochberg: f64,
}
