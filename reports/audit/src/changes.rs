//! Columns of changes in tables: `diff`, `C vs B`, `improvement`.

use crate::finding::{Draft, Grade, Rule};
use crate::number::{Number, Unit};
use crate::pairs::{self, Value};
use crate::table::{Table, TableRow};

/// Percentages that do not follow from the other columns of their row.
pub(crate) fn check(tables: &[Table]) -> Vec<Draft> {
    let mut found = Vec::new();
    for table in tables {
        for column in 0..table.columns.len() {
            if !table.is_change(column) {
                continue;
            }
            found.extend(table.rows.iter().filter_map(|row| finding(table, column, row)));
        }
    }
    found
}

fn finding(table: &Table, column: usize, row: &TableRow) -> Option<Draft> {
    let percent = row.values[column].as_ref()?;
    let name = &table.columns[column];
    if percent.unit != Unit::Percent && !name.contains('%') {
        return None;
    }
    let values: Vec<(usize, &Number)> = (0..table.columns.len())
        .filter(|other| !table.is_change(*other))
        .filter_map(|other| Some((other, row.values[other].as_ref()?)))
        .filter(|(_, number)| number.unit != Unit::Percent && number.value > 0.0)
        .collect();
    let named = named(table, name);
    let candidates: Vec<(&Number, &Number)> = match named {
        Some((new, old)) => vec![(row.values[old].as_ref()?, row.values[new].as_ref()?)],
        None => values
            .iter()
            .enumerate()
            .flat_map(|(index, (_, a))| values[index + 1..].iter().map(move |(_, b)| (*a, *b)))
            .collect(),
    };
    if candidates.is_empty() || candidates.iter().any(|(old, new)| follows(percent, old, new)) {
        return None;
    }
    let [(old, new)] = &candidates[..] else { return None };
    let right = (new.value / old.value - 1.0) * 100.0;
    let off = (percent.value.abs() - right.abs()).abs();
    let turned = follows(percent, new, old);
    // Computed from numbers with more digits than are printed; a change with an interval often from pairs of runs.
    let (absolute, relative) = if name.contains("CI") { (1.0, 0.2) } else { (0.2, 0.05) };
    let grade = match () {
        () if off < absolute || off < right.abs() * relative => Grade::Remark,
        () if turned => Grade::Warning,
        () => Grade::Error,
    };
    let why = if turned { "; it was divided by the new value in place of the old one" } else { "" };
    let label = if row.label.is_empty() { String::new() } else { format!("{}: ", row.label) };
    let message = format!("{label}{} does not follow from {} and {}{why}", percent.text, old.text, new.text);
    let check = format!("({} / {} - 1) x 100", new.text, old.text);
    Some(
        Draft::new(grade, Rule::Percentage, [row.line], message)
            .expected(format!("{right:+.1}%"))
            .check(check),
    )
}

fn follows(percent: &Number, old: &Number, new: &Number) -> bool {
    let value = |number: &Number| Value { value: number.value, half: number.half };
    let (low, high) = pairs::change(value(old), value(new));
    let half = percent.half * 1.01;
    let within = |stated: f64| low <= stated + half && high >= stated - half;
    // Without a sign, or with that of `less is better`.
    low.is_finite() && high.is_finite() && (within(percent.value) || within(-percent.value))
}

/// New and old column of `C vs B`.
fn named(table: &Table, name: &str) -> Option<(usize, usize)> {
    let (new, old) = name.split_once(" vs ")?;
    let old = old.split('[').next().unwrap_or(old);
    let find = |name: &str| {
        table
            .columns
            .iter()
            .position(|column| column.trim().eq_ignore_ascii_case(name.trim().trim_end_matches('.')))
    };
    Some((find(new)?, find(old)?))
}
