//! Which numbers of a mail may be compared with each other: two columns of a row, two lists of a title, two runs of fio.

use crate::averages::Arm;
use crate::labels::{Label, Metric, Stat};
use crate::lists::Runs;
use crate::number::Unit;
use crate::table::Table;
use kab_fio::{Basis, Direction, Document};

/// A value with what its digits leave open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Value {
    pub(crate) value: f64,
    pub(crate) half: f64,
}

/// Two values of one thing under two arms, in the order of the text.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) first: Value,
    pub(crate) second: Value,
    /// What they are of, in lower case: labels, headings, arms.
    pub(crate) words: String,
    /// Text for a message.
    pub(crate) name: String,
    /// Whether the runs behind them overlap, where they are known.
    pub(crate) overlap: Option<bool>,
    pub(crate) lines: [usize; 2],
}

impl Pair {
    /// Smallest and largest change in percent, from first to second, that the digits allow.
    pub(crate) fn change(&self) -> (f64, f64) {
        change(self.first, self.second)
    }

    /// The same the other way round.
    pub(crate) fn backwards(&self) -> (f64, f64) {
        change(self.second, self.first)
    }
}

pub(crate) fn change(from: Value, to: Value) -> (f64, f64) {
    let (low, high) = (from.value - from.half, from.value + from.half);
    let percent = |to: f64, from: f64| if from > 0.0 { (to / from - 1.0) * 100.0 } else { f64::NAN };
    (percent(to.value - to.half, high), percent(to.value + to.half, low))
}

/// Pairs in a table: columns of a row, and rows of a column where the rows are arms.
pub(crate) fn of_table(table: &Table) -> Vec<Pair> {
    const MOST: usize = 12;
    let mut pairs = Vec::new();
    let columns = table.columns.len();
    let compared = |row: usize, column: usize| {
        let label = table.label(row, column);
        let stat = matches!(label.stat, None | Some(Stat::Mean | Stat::Other | Stat::Min | Stat::Max));
        stat && !label.change
    };
    let value = |row: usize, column: usize| {
        let number = table.rows[row].values.get(column)?.as_ref()?;
        // A change is no measurement.
        let change = number.unit == Unit::Percent && number.text.starts_with(['+', '-']);
        (!change).then_some(Value { value: number.value, half: number.half })
    };
    let mut push = |one: (usize, usize), other: (usize, usize), name: String| {
        if let (Some(first), Some(second)) = (value(one.0, one.1), value(other.0, other.1)) {
            let words = format!("{} {} {name}", table.place(), table.rows[one.0].label).to_lowercase();
            let lines = [table.rows[one.0].line, table.rows[other.0].line];
            pairs.push(Pair { first, second, words, name, overlap: None, lines });
        }
    };
    let alike = |one: &str, other: &str| {
        let (one, other) = (Label::read(one), Label::read(other));
        (one.metric, one.stat) == (other.metric, other.stat)
    };
    let (rows_are_cells, columns_are_cells) =
        (table.rows.iter().any(|row| is_cell(&row.label)), table.columns.iter().any(|name| is_cell(name)));
    for row in 0..if columns_are_cells { 0 } else { table.rows.len() } {
        for (a, b) in twos(columns.min(MOST)) {
            if alike(&table.columns[a], &table.columns[b]) && compared(row, a) && compared(row, b) {
                let name = format!("{}, {} to {}", table.rows[row].label, table.columns[a], table.columns[b]);
                push((row, a), (row, b), name);
            }
        }
    }
    for column in 0..if rows_are_cells { 0 } else { columns.min(MOST) } {
        for (a, b) in twos(table.rows.len().min(MOST)) {
            let (one, other) = (&table.rows[a].label, &table.rows[b].label);
            if alike(one, other) && compared(a, column) && compared(b, column) {
                push((a, column), (b, column), format!("{}, {one} to {other}", table.columns[column]));
            }
        }
    }
    pairs
}

/// Whether a name is that of a workload or setting: then its neighbours are others, not arms.
fn is_cell(name: &str) -> bool {
    let lower = name.to_lowercase();
    ["read", "write", "rand", "seq", "qd", "depth", "jobs", "bs=", "threads"]
        .iter()
        .any(|word| lower.contains(word))
        || crate::labels::block_size(name).is_some()
}

/// Pairs of lists with one title in two sections, else of neighbours.
pub(crate) fn of_lists(lists: &[Runs]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (a, b) in twos(lists.len().min(60)) {
        let (one, other) = (&lists[a], &lists[b]);
        if !one.title.eq_ignore_ascii_case(&other.title) {
            continue;
        }
        let mean = |runs: &Runs| {
            let count = runs.values.len() as f64;
            let value = runs.values.iter().map(|number| number.value).sum::<f64>() / count;
            Value { value, half: runs.values.iter().map(|number| number.half).fold(0.0, f64::max) }
        };
        let range = |runs: &Runs| {
            let values = || runs.values.iter().map(|number| number.value);
            (values().fold(f64::MAX, f64::min), values().fold(f64::MIN, f64::max))
        };
        let (low, high) = (range(one), range(other));
        let overlap = Some(low.0 <= high.1 && high.0 <= low.1);
        let name = format!("{}: {} to {}", one.title, one.section, other.section);
        let words = name.to_lowercase();
        pairs.push(Pair {
            first: mean(one),
            second: mean(other),
            words,
            name,
            overlap,
            lines: [one.line, other.line],
        });
    }
    pairs
}

/// Pairs of fio's outputs: the same direction in two of them. Lines are indices.
pub(crate) fn of_documents(documents: &[&Document]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (a, b) in twos(documents.len().min(12)) {
        for (one_job, name, one) in documents[a].rows() {
            for (other_job, other_name, other) in documents[b].rows() {
                if name != other_name || one_job.name != other_job.name {
                    continue;
                }
                let lines = [one.line.saturating_sub(1), other.line.saturating_sub(1)];
                for (metric, first, second) in values(one, other) {
                    let title = format!("{name} {metric} of fio's output {} to {}", a + 1, b + 1);
                    let words = format!("{name} {metric} {}", one_job.name).to_lowercase();
                    pairs.push(Pair { first, second, words, name: title, overlap: None, lines });
                }
            }
        }
    }
    pairs
}

fn values(one: &Direction, other: &Direction) -> Vec<(&'static str, Value, Value)> {
    let mut values = Vec::new();
    let printed = |d: &Direction, what, exact: f64, basis: Basis| {
        let figure = d.figure(what);
        // Printed figures are what a reader computes with.
        let half =
            figure.map_or(exact * 0.001, |figure| ((figure.high - figure.low) / 2.0).max(exact * 1e-6));
        (basis != Basis::Absent && exact > 0.0)
            .then_some(Value { value: figure.map_or(exact, |figure| figure.value), half })
    };
    let iops = |d| printed(d, kab_fio::What::Iops, d.iops, d.ios_basis);
    let bw = |d| printed(d, kab_fio::What::Bw, d.bw, d.bytes_basis);
    if let (Some(first), Some(second)) = (iops(one), iops(other)) {
        values.push(("IOPS", first, second));
    }
    if let (Some(first), Some(second)) = (bw(one), bw(other)) {
        values.push(("bandwidth", first, second));
    }
    for (name, first, second) in [("clat", &one.clat, &other.clat), ("lat", &one.lat, &other.lat)] {
        if first.mean > 0.0 && second.mean > 0.0 {
            let value = |mean: f64| Value { value: mean, half: mean * 0.005 };
            values.push((name, value(first.mean), value(second.mean)));
        }
        for (percent, first) in &first.percentiles {
            let second = second.percentiles.iter().find(|(other, _)| other == percent);
            if let Some((_, second)) = second.filter(|_| *first > 0) {
                let value = |ns: u64| Value { value: ns as f64, half: ns as f64 * 0.005 };
                values.push(("latency percentile", value(*first), value(*second)));
            }
        }
    }
    values
}

/// Pairs of means of columns.
pub(crate) fn of_arms(arms: &[Arm]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (a, b) in twos(arms.len().min(16)) {
        let (one, other) = (&arms[a], &arms[b]);
        if one.metric != other.metric || one.cells.len() != other.cells.len() {
            continue;
        }
        let (arithmetic, geometric) = other.changes(one);
        for (change, kind) in [(arithmetic, "arithmetic"), (geometric, "geometric")] {
            let first = Value { value: 100.0, half: 0.02 };
            let second = Value { value: 100.0 + change, half: 0.02 };
            let name = format!("{kind} means, {} to {}", one.name, other.name);
            let words =
                if one.metric == Metric::Iops { "iops average" } else { "bandwidth average" }.to_owned();
            pairs.push(Pair { first, second, words, name, overlap: None, lines: [0, 0] });
        }
    }
    pairs
}

fn twos(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).flat_map(move |a| (a + 1..count).map(move |b| (a, b)))
}
