//! A table of figures that somebody posted, taken in as it stands: what a mail says, and no more.

use crate::{Metric, ReportSpec, VariantName};
use serde::{Deserialize, Serialize};

/// A whole table. Stored as the first event of its run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Posted {
    /// A short name.
    pub name: String,
    /// One line for the head of the report.
    pub title: Option<String>,
    /// Where the figures are from, such as subject, date and message-id of a mail.
    pub source: Option<String>,
    /// The columns of the table, at least one.
    pub variants: Vec<VariantName>,
    /// The variant that others are compared with; names one of `variants`.
    pub baseline: VariantName,
    /// `(candidate, reference)` pairs to compare, baseline pairs first.
    pub pairs: Vec<(VariantName, VariantName)>,
    /// What the figures are.
    pub values: PostedValues,
    /// Boards with their figures.
    pub boards: Vec<PostedBoard>,
    /// Commands that made the figures, as posted.
    pub commands: Vec<String>,
    /// Anything else that was said with the figures.
    pub notes: Vec<String>,
    /// What the report judges and shows.
    pub report: ReportSpec,
    /// BLAKE3 of the file, hexadecimal.
    pub digest: String,
}

/// What one variant's figures in a row are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PostedValues {
    /// One figure each, made of nobody knows what: nothing is known of the noise.
    Averages,
    /// Repetitions of which nobody says that a boot lay between them: the noise between boots is unknown.
    Trials,
    /// One figure a boot; the order of the boots is unknown.
    Boots,
    /// One figure a boot, and the first of all variants were made together, then the second, and so on.
    Rounds,
}

/// The figures of one board.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PostedBoard {
    /// Its name.
    pub name: String,
    /// What it is, as posted.
    pub about: Option<String>,
    /// Its tests in the order of the table.
    pub cells: Vec<PostedCell>,
}

/// The figures of one test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PostedCell {
    /// Its name.
    pub label: String,
    /// The rows of its table.
    pub rows: Vec<PostedRow>,
}

impl PostedCell {
    /// The row of a metric.
    pub fn metric(&self, metric: Metric) -> Option<&PostedRow> {
        self.rows.iter().find(|row| row.metric == Some(metric))
    }
}

/// One row: a figure, or several, for each variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PostedRow {
    /// As written, such as `bw (MB/s)`.
    pub name: String,
    /// What is compared by it; any other row is shown as it was posted.
    pub metric: Option<Metric>,
    /// The texts as written, one list a variant; empty where nothing was posted.
    pub texts: Vec<Vec<String>>,
    /// The same as numbers in the metric's own unit; empty for rows without a metric.
    pub numbers: Vec<Vec<f64>>,
}
