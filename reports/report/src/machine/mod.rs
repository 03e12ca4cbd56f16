//! Reports for programs: JSON and CSV with stable names, straight from the findings, nothing rounded.
//!
//! A name ends in its unit where it has one. New members may appear in a later version; none changes its meaning without
//! [`VERSION`] going up.

mod data;
mod fill;
mod table;

pub use data::*;

use crate::findings::Findings;

/// Version of the names and meanings in [`Data`] and in the CSV table.
pub const VERSION: u32 = 1;

/// Everything of a report as data.
pub fn data(findings: &Findings) -> Data {
    fill::data(findings)
}

/// The report as JSON, indented, with a line end at the end.
///
/// # Errors
/// Never for findings of a run: every number in them is finite or absent.
pub fn json(findings: &Findings) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(&data(findings))? + "\n")
}

/// The report as one table of comma-separated values (RFC 4180, but with plain line ends). The first column says what a row
/// is: `visit` (one boot as one number), `variant` (the mean of a variant) or `change` (a comparison).
///
/// # Errors
/// Never: the table is written to memory.
pub fn csv(findings: &Findings) -> Result<String, csv::Error> {
    table::csv(&data(findings))
}
