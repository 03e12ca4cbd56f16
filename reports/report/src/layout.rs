//! Columns into tables of a given width.

use crate::quantity::cut;
use crate::view::{Column, Table};

/// Labels longer than this are cut: two values and a change must fit beside them.
const LABEL_WIDTH: usize = 20;

/// A column before it has a place.
#[derive(Clone, Debug)]
pub(crate) struct Strip {
    /// Its head.
    pub(crate) head: String,
    /// One text a row.
    pub(crate) cells: Vec<String>,
    /// What it shows.
    pub(crate) kind: Kind,
}

/// What a column shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Labels of the rows.
    Label,
    /// Values of a variant.
    Value(usize),
    /// Changes of a candidate against a reference.
    Change(usize, usize),
}

impl Strip {
    fn width(&self) -> usize {
        self.cells.iter().chain([&self.head]).map(|text| text.chars().count()).max().unwrap_or(0)
    }
}

/// Labels, values and changes set into as few tables as the width allows. Without a width all goes into one.
/// `baseline` is repeated wherever values continue.
pub(crate) fn tables(
    label: Strip,
    values: &[Strip],
    changes: &[Strip],
    baseline: usize,
    width: Option<usize>,
) -> Vec<Table> {
    let everything = || values.iter().chain(changes);
    let Some(width) = width else { return vec![table(&label, everything(), 2)] };
    let label = cut_labels(label);
    let short = shortened(&label);
    for (label, gap) in [(&label, 2), (&label, 1), (&short, 2), (&short, 1)] {
        if total(label, everything(), gap) <= width {
            return vec![table(label, everything(), gap)];
        }
    }
    let by_pair = by_pair(&short, values, changes, width);
    let by_kind = by_kind(&label, values, changes, baseline, width);
    if !by_pair.is_empty() && by_pair.len() <= by_kind.len() { by_pair } else { by_kind }
}

/// Each table holds some changes with the values they are made of.
fn by_pair(label: &Strip, values: &[Strip], changes: &[Strip], width: usize) -> Vec<Table> {
    let with_values = |chosen: &[Strip]| -> Vec<Strip> {
        let used = |strip: &&Strip| {
            chosen.iter().any(|change| match (change.kind, strip.kind) {
                (Kind::Change(candidate, reference), Kind::Value(v)) => v == candidate || v == reference,
                _ => false,
            })
        };
        values.iter().filter(used).chain(chosen).cloned().collect()
    };
    groups(changes, |chosen| total(label, with_values(chosen).iter(), 1) <= width)
        .iter()
        .map(|chosen| table(label, with_values(chosen).iter(), 1))
        .collect()
}

/// First all values, then all changes.
fn by_kind(label: &Strip, values: &[Strip], changes: &[Strip], baseline: usize, width: usize) -> Vec<Table> {
    let base = values.iter().find(|strip| strip.kind == Kind::Value(baseline));
    let rest: Vec<Strip> =
        values.iter().filter(|strip| strip.kind != Kind::Value(baseline)).cloned().collect();
    let with_base = |chosen: &[Strip]| base.into_iter().chain(chosen).cloned().collect::<Vec<Strip>>();
    let mut tables: Vec<Table> = groups(&rest, |chosen| total(label, with_base(chosen).iter(), 2) <= width)
        .iter()
        .map(|chosen| table(label, with_base(chosen).iter(), 2))
        .collect();
    tables.extend(
        groups(changes, |chosen| total(label, chosen.iter(), 2) <= width)
            .iter()
            .map(|chosen| table(label, chosen.iter(), 2)),
    );
    tables
}

/// Neighbours together as long as they fit; a strip that never fits stands alone.
fn groups(strips: &[Strip], fits: impl Fn(&[Strip]) -> bool) -> Vec<Vec<Strip>> {
    let mut groups: Vec<Vec<Strip>> = Vec::new();
    for strip in strips {
        if let Some(last) = groups.last_mut() {
            last.push(strip.clone());
            if fits(last) {
                continue;
            }
            last.pop();
        }
        groups.push(vec![strip.clone()]);
    }
    groups
}

fn gap(kind: Kind, gap: usize) -> usize {
    match kind {
        Kind::Label => 0,
        Kind::Value(_) => gap,
        Kind::Change(..) => 2,
    }
}

fn total<'a>(label: &Strip, strips: impl Iterator<Item = &'a Strip>, values_gap: usize) -> usize {
    label.width() + strips.map(|strip| strip.width() + gap(strip.kind, values_gap)).sum::<usize>()
}

fn table<'a>(label: &'a Strip, strips: impl Iterator<Item = &'a Strip>, values_gap: usize) -> Table {
    let strips: Vec<&Strip> = std::iter::once(label).chain(strips).collect();
    let columns = strips
        .iter()
        .map(|strip| Column {
            head: strip.head.clone(),
            gap: gap(strip.kind, values_gap),
            width: strip.width(),
            left: !matches!(strip.kind, Kind::Value(_)),
        })
        .collect();
    let rows = (0..label.cells.len())
        .map(|row| strips.iter().map(|strip| strip.cells[row].clone()).collect())
        .collect();
    Table { columns, rows }
}

fn cut_labels(mut label: Strip) -> Strip {
    label.head = cut(&label.head, LABEL_WIDTH);
    label.cells.iter_mut().for_each(|cell| *cell = cut(cell, LABEL_WIDTH));
    label
}

/// `randread/1`, `randwrite/1` become `read/1`, `write/1` below the head `rand`: the common beginning is said once.
/// Only words are shortened, and only where each row keeps some of it.
fn shortened(label: &Strip) -> Strip {
    let rows: Vec<&String> = label.cells.iter().filter(|cell| !is_geomean(cell)).collect();
    let Some(first) = rows.first() else { return label.clone() };
    let shared = |end: &usize| rows.iter().all(|row| row.starts_with(&first[..*end]) && row.len() > *end);
    let letters = first.chars().take_while(char::is_ascii_alphabetic).count();
    let end = (0..=letters).take_while(shared).last().unwrap_or(0);
    let next_is_word = |row: &&String| row[end..].starts_with(|c: char| c.is_ascii_alphabetic());
    if end < 3 || rows.len() < 2 || !rows.iter().all(next_is_word) {
        return label.clone();
    }
    let cells =
        label.cells.iter().map(|cell| if is_geomean(cell) { cell.clone() } else { cell[end..].to_owned() });
    Strip { head: first[..end].to_owned(), cells: cells.collect(), kind: label.kind }
}

/// What the labels of the last rows of a board's table begin with.
pub(crate) const GEOMEAN: &str = "geomean";

/// A row that no workload's label is told from by what both begin with.
fn is_geomean(label: &str) -> bool {
    label.strip_prefix(GEOMEAN).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strip(kind: Kind, head: &str, cells: &[&str]) -> Strip {
        Strip { head: head.to_owned(), cells: cells.iter().map(|cell| (*cell).to_owned()).collect(), kind }
    }

    fn width(table: &Table) -> usize {
        table.columns.iter().map(|column| column.gap + column.width).sum()
    }

    fn many(variants: usize) -> Vec<Table> {
        let label = strip(Kind::Label, "", &["randread/1", "randwrite/8"]);
        let values: Vec<Strip> =
            (0..variants).map(|v| strip(Kind::Value(v), &format!("V{v}"), &["64.31", "105.93"])).collect();
        let change = "-31.4% [-33,-30] -";
        let changes: Vec<Strip> = (1..variants)
            .map(|v| strip(Kind::Change(v, 0), &format!("V{v} vs V0"), &[change, change]))
            .collect();
        tables(label, &values, &changes, 0, Some(72))
    }

    #[test]
    fn every_table_fits_and_every_column_appears() {
        for variants in 1..=12 {
            let tables = many(variants);
            assert!(tables.iter().all(|table| width(table) <= 72), "{variants}");
            for v in 1..variants {
                let head = format!("V{v} vs V0");
                assert!(
                    tables.iter().any(|table| table.columns.iter().any(|column| column.head == head)),
                    "{head}"
                );
            }
        }
    }

    #[test]
    fn values_that_continue_repeat_the_baseline() {
        let with_values =
            many(12).into_iter().filter(|table| table.columns.iter().any(|column| !column.left));
        assert!(with_values.into_iter().all(|table| table.columns[1].head == "V0"));
    }

    #[test]
    fn a_shared_beginning_is_said_once() {
        let short = shortened(&strip(Kind::Label, "", &["randread/1", "randwrite/8", GEOMEAN]));
        assert_eq!(short.head, "rand");
        assert_eq!(short.cells, ["read/1", "write/8", GEOMEAN]);
        let same = shortened(&strip(Kind::Label, "", &["read/1", "read/8"]));
        assert_eq!(same.cells, ["read/1", "read/8"], "the value of an axis is not torn");
    }
}
