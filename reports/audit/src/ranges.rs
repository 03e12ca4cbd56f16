//! Means between minimum and maximum, in tables whichever way they are turned.

use crate::finding::{Draft, Grade, Rule};
use crate::labels::{Label, Metric, Stat};
use crate::number::{self, Number};
use crate::source::Source;
use crate::table::Table;
use std::collections::BTreeMap;

/// A value with the line that it stands on.
#[derive(Clone, Debug)]
struct At {
    line: usize,
    number: Number,
}

/// Minimum, mean and maximum of the same thing.
#[derive(Clone, Debug, Default)]
struct Triple {
    min: Option<At>,
    mean: Option<At>,
    max: Option<At>,
    /// Two values for one place: the labels do not tell rows apart.
    ambiguous: bool,
    name: String,
}

/// What contradicts its own minimum or maximum.
pub(crate) fn check(tables: &[Table]) -> Vec<Draft> {
    tables
        .iter()
        .flat_map(|table| triples(table).into_iter().filter_map(|triple| finding(table, &triple)))
        .collect()
}

/// `min=1, max=3, avg=2` in one line, where fio's reader has not read it as a part of an output.
pub(crate) fn check_lines(source: &Source) -> Vec<Draft> {
    let rows = source.rows.iter().enumerate().filter(|(_, row)| !row.taken);
    rows.filter_map(|(line, row)| finding(&Table::default(), &inline(line, &row.text)?)).collect()
}

/// The numbers behind `min=`, `avg=` and `max=`, each named once.
fn inline(line: usize, text: &str) -> Option<Triple> {
    let name = text.split([':', '=']).next().unwrap_or_default().trim().to_owned();
    let mut triple = Triple { name, ..Triple::default() };
    for number in number::numbers(text) {
        let before = text[..number.span.start].trim_end();
        let Some(word) =
            before.strip_suffix(['=', ':']).and_then(|before| before.split([' ', ',', '(', '/']).next_back())
        else {
            continue;
        };
        let label = Label::read(word);
        let slot = match label.stat.filter(|_| label.rest.is_empty()) {
            Some(Stat::Min) => &mut triple.min,
            Some(Stat::Mean) => &mut triple.mean,
            Some(Stat::Max) => &mut triple.max,
            _ => continue,
        };
        triple.ambiguous |= slot.replace(At { line, number }).is_some();
    }
    (!triple.ambiguous && triple.mean.is_some()).then_some(triple)
}

fn triples(table: &Table) -> Vec<Triple> {
    let mut triples: BTreeMap<(usize, usize, String), Triple> = BTreeMap::new();
    for (row, cells) in table.rows.iter().enumerate() {
        for (column, value) in cells.values.iter().enumerate() {
            let Some(number) = value else { continue };
            let label = table.label(row, column);
            let Some(stat) = label.stat.filter(|stat| *stat != Stat::Other) else { continue };
            // The side that names the statistic varies; the other one is the place.
            let by_row = table.row_label(row).stat.is_some();
            let place = if by_row { (0, column + 1) } else { (row + 1, 0) };
            let key = (place.0, place.1, format!("{:?} {}", label.metric, label.rest.join(" ")));
            let triple = triples.entry(key).or_default();
            triple.name = if by_row { table.column(column) } else { cells.label.clone() };
            let at = At { line: cells.line, number: number.clone() };
            let slot = match stat {
                Stat::Min => &mut triple.min,
                Stat::Max => &mut triple.max,
                Stat::Mean | Stat::Other => &mut triple.mean,
            };
            triple.ambiguous |= slot.replace(at).is_some();
        }
    }
    triples.into_values().filter(|triple| !triple.ambiguous).collect()
}

fn finding(table: &Table, triple: &Triple) -> Option<Draft> {
    let above = |one: &At, other: &At| one.number.low() > other.number.high();
    let place = table.place();
    let at = |wrong: &At, limit: &At, text: String| {
        let place = if place.is_empty() { String::new() } else { format!("{place}: ") };
        let message = format!("{place}{}: {text}", triple.name);
        let check = "a mean cannot lie outside of its own minimum and maximum: one of the three was taken from other runs or mistyped";
        Some(Draft::new(Grade::Error, Rule::MeanInRange, [wrong.line, limit.line], message).check(check))
    };
    let text = |number: &Number| number.text.clone();
    if let (Some(min), Some(max)) = (&triple.min, &triple.max)
        && above(min, max)
    {
        let message = format!("the minimum {} is above the maximum {}", text(&min.number), text(&max.number));
        return at(min, max, message);
    }
    let range = |found: Draft| match (&triple.min, &triple.max) {
        (Some(min), Some(max)) => {
            found.expected(format!("between {} and {}", text(&min.number), text(&max.number)))
        }
        _ => found,
    };
    match (&triple.min, &triple.mean, &triple.max) {
        (Some(min), Some(mean), _) if above(min, mean) => {
            let message =
                format!("the mean {} is below the minimum {}", text(&mean.number), text(&min.number));
            at(mean, min, message).map(range)
        }
        (_, Some(mean), Some(max)) if above(mean, max) => {
            let message =
                format!("the mean {} is above the maximum {}", text(&mean.number), text(&max.number));
            at(mean, max, message).map(range)
        }
        _ => None,
    }
}

/// Whether a value stands for the runs as a whole: a mean, or a number with no statistic named.
pub(crate) fn is_central(label: &Label) -> bool {
    matches!(label.stat, None | Some(Stat::Mean))
        && !label.change
        && !matches!(label.metric, Some(Metric::Other))
}
