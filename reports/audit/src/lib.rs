//! Checks the arithmetic and the claims of a posted result.
//!
//! [`audit`] takes the bytes of a mail, an mbox or plain text, finds fio's output, tables, lists of runs and claims in
//! prose, computes what can be computed again, and tells each contradiction with its line, the right number and how to
//! check it. Numbers are taken with the range that their digits leave open: what rounding explains is no finding.
//!
//! An error is a contradiction between numbers of the text. A warning is a number that may be right and does not carry what is
//! said. A remark is worth knowing.
//!
//! ```
//! let text = b"Results:\n\n            before   after\n\
//! min IOPS     1,000   1,200\n\
//! max IOPS     1,100   1,300\n\
//! avg IOPS     1,050   1,150\n";
//! let audit = kab_audit::audit(text).unwrap();
//! let finding = &audit.findings[0];
//! assert_eq!((finding.grade, finding.lines[0].line), (kab_audit::Grade::Error, 6));
//! assert_eq!(finding.message, "Results: after: the mean 1,150 is below the minimum 1,200");
//! ```

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod averages;
mod bandwidth;
mod changes;
mod claims;
mod commands;
mod finding;
mod labels;
mod lists;
mod number;
mod outputs;
mod pairs;
mod ranges;
mod render;
mod runs;
mod source;
mod table;

pub use finding::{Finding, Grade, Quote, Rule};
pub use kab_mail::{LARGEST, ReadError};
pub use render::render;

use finding::Draft;
use serde::Serialize;
use source::Source;

/// Everything that was found in a text.
#[derive(Clone, Debug, Serialize)]
pub struct Audit {
    /// Worst first, then by line.
    pub findings: Vec<Finding>,
    /// What was looked at.
    pub seen: Seen,
}

/// How much there was to check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Seen {
    /// Mails.
    pub mails: usize,
    /// Lines of text.
    pub lines: usize,
    /// Tables of numbers.
    pub tables: usize,
    /// Lists of runs.
    pub lists: usize,
    /// Outputs of fio.
    pub outputs: usize,
    /// fio commands.
    pub commands: usize,
}

impl Audit {
    /// How many findings have a grade.
    pub fn count(&self, grade: Grade) -> usize {
        self.findings.iter().filter(|finding| finding.grade == grade).count()
    }

    /// Whether there was anything to check.
    pub fn is_empty(&self) -> bool {
        let seen = &self.seen;
        seen.tables + seen.lists + seen.outputs + seen.commands == 0
    }
}

/// Checks a text.
///
/// # Errors
///
/// Damaged gzip data, or more than [`kab_mail::LARGEST`] bytes.
pub fn audit(bytes: &[u8]) -> Result<Audit, ReadError> {
    let posted = kab_mail::read(bytes)?;
    let mut audit =
        Audit { findings: Vec::new(), seen: Seen { mails: posted.mails.len(), ..Seen::default() } };
    for mail in &posted.mails {
        let mut source = Source::of(mail);
        let drafts = examine(&mut source, &mut audit.seen);
        audit.findings.extend(drafts.into_iter().map(|draft| told(draft, &source)));
    }
    audit.findings.sort_by_key(|finding| (finding.grade, finding.lines.first().map(|quote| quote.line)));
    Ok(audit)
}

fn examine(source: &mut Source, seen: &mut Seen) -> Vec<Draft> {
    let found = kab_fio::read_any(source.joined().as_bytes());
    let documents: Vec<&kab_fio::Document> = found.counted().collect();
    for document in &found.documents {
        source.take(document.lines.clone().map(|line| line - 1));
    }
    let commands = commands::commands(source);
    let lists = lists::lists(source);
    let tables = table::tables(source);
    seen.lines += source.rows.len();
    seen.tables += tables.len();
    seen.lists += lists.len();
    seen.outputs += documents.len();
    seen.commands += commands.len();

    let arms = averages::arms(&tables);
    let mut pairs = pairs::of_lists(&lists);
    pairs.extend(pairs::of_documents(&documents));
    pairs.extend(pairs::of_arms(&arms));
    pairs.extend(tables.iter().flat_map(pairs::of_table));
    let known = known(&tables, &lists, &documents);
    let sentences = source.sentences();

    let mut drafts = outputs::check(&found, source.rows.len());
    drafts.extend(ranges::check(&tables));
    drafts.extend(ranges::check_lines(source));
    drafts.extend(bandwidth::check(&tables, &commands::block_sizes(&commands)));
    drafts.extend(changes::check(&tables));
    drafts.extend(averages::check_lists(&lists));
    drafts.extend(averages::check_tables(&tables));
    drafts.extend(averages::check_prose(source, &sentences, &arms, &known));
    drafts.extend(claims::check(source, &sentences, &claims::Evidence { pairs: &pairs, known: &known }));
    drafts.extend(commands::check(&commands));
    drafts.extend(runs::check_lists(&lists));
    drafts.extend(runs::check_documents(&documents));
    drafts
}

/// Every value of the results, in base units and as printed.
fn known(tables: &[table::Table], lists: &[lists::Runs], documents: &[&kab_fio::Document]) -> Vec<f64> {
    let mut known = Vec::new();
    for table in tables {
        for (row, cells) in table.rows.iter().enumerate() {
            for (column, number) in cells.values.iter().enumerate() {
                let Some(number) = number else { continue };
                known.push(number.value);
                known.extend(table.label(row, column).scale.map(|scale| number.value * scale));
            }
        }
    }
    for runs in lists {
        known.extend(
            runs.values
                .iter()
                .chain(runs.average.iter().map(|(_, number)| number))
                .map(|number| number.value),
        );
    }
    for (_, _, direction) in documents.iter().flat_map(|document| document.rows()) {
        known.extend([direction.iops, direction.bw]);
        known.extend(direction.printed.iter().map(|figure| figure.value));
        known.extend(direction.clat.percentiles.iter().map(|(_, ns)| *ns as f64));
        known.extend([direction.clat.mean, direction.lat.mean]);
    }
    known.retain(|value| value.is_finite() && *value != 0.0);
    known
}

fn told(draft: Draft, source: &Source) -> Finding {
    let mut at = draft.at;
    let mut seen = std::collections::BTreeSet::new();
    at.retain(|index| seen.insert(*index));
    let quote = |index: &usize| {
        let row = source.rows.get(*index)?;
        Some(Quote { line: row.number, text: row.original.clone() })
    };
    Finding {
        grade: draft.grade,
        rule: draft.rule,
        lines: at.iter().filter_map(quote).collect(),
        message: draft.message,
        expected: draft.expected,
        check: draft.check,
    }
}
