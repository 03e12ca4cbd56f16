//! Tables of numbers: aligned by blanks or by bars, with names of rows and columns, spanning heads and headings.

use crate::labels::Label;
use crate::number::{self, Number};
use crate::source::Source;
use std::ops::Range;

/// Words that make a column or row of whole numbers a setting, not a result.
const SETTINGS: [&str; 18] = [
    "bs",
    "job",
    "jobs",
    "numjobs",
    "qd",
    "iodepth",
    "depth",
    "threads",
    "thread",
    "size",
    "run",
    "runs",
    "#",
    "iteration",
    "iter",
    "blocksize",
    "cpus",
    "nr",
];

/// Most lines above a table in which the name of the machine is looked for.
const CONTEXT: usize = 60;

/// A table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    /// Names of the columns of values, spanning heads in front; empty where there is no head.
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<TableRow>,
    /// The line above, such as `read / 1 job`.
    pub(crate) heading: String,
    /// The machine, such as `Board: x`.
    pub(crate) context: String,
    labels: Labels,
}

/// What the names say, read once.
#[derive(Clone, Debug, Default)]
struct Labels {
    rows: Vec<Label>,
    columns: Vec<Label>,
    heading: Label,
}

/// A row of values.
#[derive(Clone, Debug)]
pub(crate) struct TableRow {
    /// Index of the line.
    pub(crate) line: usize,
    pub(crate) label: String,
    /// One for each column.
    pub(crate) values: Vec<Option<Number>>,
}

/// A line that may be a row.
#[derive(Clone, Debug)]
struct Raw {
    line: usize,
    label: String,
    values: Vec<Number>,
    bars: bool,
}

impl Table {
    /// What is said about the value of a row and column.
    pub(crate) fn label(&self, row: usize, column: usize) -> Label {
        let none = Label::default();
        let both = self.row_label(row).with(self.labels.columns.get(column).unwrap_or(&none));
        if both.metric.is_some() {
            return both;
        }
        let heading = &self.labels.heading;
        Label { metric: heading.metric, scale: heading.scale, binary: heading.binary, ..both }
    }

    pub(crate) fn row_label(&self, row: usize) -> &Label {
        &self.labels.rows[row]
    }

    pub(crate) fn is_change(&self, column: usize) -> bool {
        self.labels.columns.get(column).is_some_and(|label| label.change)
    }

    /// What the cell is called in a message.
    pub(crate) fn place(&self) -> String {
        let heading = self.heading.trim().trim_end_matches(':');
        match (self.context.is_empty(), heading.is_empty()) {
            (true, _) => heading.to_owned(),
            (false, true) => self.context.clone(),
            (false, false) => format!("{}, {heading}", self.context),
        }
    }

    pub(crate) fn column(&self, column: usize) -> String {
        self.columns.get(column).cloned().unwrap_or_else(|| format!("column {}", column + 1))
    }
}

/// All tables; their lines are marked as taken.
pub(crate) fn tables(source: &mut Source) -> Vec<Table> {
    let mut tables = Vec::new();
    let mut at = 0;
    while at < source.rows.len() {
        let block = block(source, at);
        if block.is_empty() {
            at += 1;
            continue;
        }
        at = block.last().map_or(at, |raw| raw.line) + 1;
        if let Some((table, head)) = table(source, block) {
            let first = head.unwrap_or_else(|| table.rows.first().map_or(0, |row| row.line));
            let last = table.rows.last().map_or(0, |row| row.line);
            source.take(first..=last);
            tables.push(table);
        }
    }
    tables
}

/// Consecutive rows from a line on.
fn block(source: &Source, start: usize) -> Vec<Raw> {
    let mut rows: Vec<Raw> = Vec::new();
    let depth = source.rows[start].depth;
    for (index, row) in source.rows.iter().enumerate().skip(start) {
        if row.taken || row.depth != depth {
            break;
        }
        if !rows.is_empty() && is_rule(&row.text) {
            continue;
        }
        match raw(index, &row.text, rows.is_empty()) {
            Some(raw) if rows.first().is_none_or(|first| first.bars == raw.bars) => rows.push(raw),
            _ => break,
        }
    }
    rows
}

/// `-----`, `|:--|--:|`, `====`
fn is_rule(text: &str) -> bool {
    let text = text.trim();
    text.len() >= 3 && text.chars().all(|c| "-=+|: _".contains(c))
}

/// A row; only below another one may it have a single value.
fn raw(line: usize, text: &str, first: bool) -> Option<Raw> {
    if text.matches('|').count() >= 2 {
        return barred(line, text);
    }
    let row = aligned(line, text)?;
    let apart = || text[..row.values[0].span.start].ends_with("  ");
    (row.values.len() >= 2 || !first && !row.label.is_empty() && apart()).then_some(row)
}

fn barred(line: usize, text: &str) -> Option<Raw> {
    let mut cells: Vec<&str> = text.split('|').map(str::trim).collect();
    let outer = text.trim().starts_with('|');
    if outer {
        cells.remove(0);
        if cells.last().is_some_and(|cell| cell.is_empty()) {
            cells.pop();
        }
    }
    let (label, cells) = cells.split_first()?;
    let mut values = Vec::new();
    let mut start = 0;
    for cell in cells {
        let masked = masked(cell.trim_matches(['*', '`']));
        let first = number::numbers(&masked).into_iter().next();
        let leads = first.filter(|number| masked[..number.span.start].trim_matches(['~', ' ']).is_empty());
        // Places stand for columns, so that empty cells keep theirs.
        values.extend(leads.map(|number| Number { span: start..start + 1, ..number }));
        start += 2;
    }
    (!values.is_empty()).then(|| Raw { line, label: (*label).to_owned(), values, bars: true })
}

fn aligned(line: usize, text: &str) -> Option<Raw> {
    let masked = masked(text);
    let words = words(&masked);
    let mut values: Vec<Number> = Vec::new();
    let mut label_end = text.len();
    for span in words.iter().rev() {
        let word = &masked[span.clone()];
        match number::whole(word.trim_end_matches(',')) {
            Some(number) => {
                let unit = unit_after(&masked, span.end);
                let (factor, kind) = unit.unwrap_or((1.0, number.unit));
                let moved = Number {
                    span: span.clone(),
                    unit: kind,
                    scaled: number.scaled || factor != 1.0,
                    ..number
                };
                values.push(Number { text: moved.text.clone(), ..moved.times(factor) });
                label_end = span.start;
            }
            None if is_annotation(word) => {}
            None => break,
        }
    }
    values.reverse();
    if names_setting(&masked, label_end, &values) {
        label_end = values.remove(0).span.end;
    }
    let label = text.get(..label_end)?.trim().trim_end_matches([':', '=']).trim().to_owned();
    (!values.is_empty()).then_some(Raw { line, label, values, bars: false })
}

/// Whether the first number belongs to the label: `randread 4k   10,000`, `read jobs 8   10,000`.
fn names_setting(text: &str, label_end: usize, values: &[Number]) -> bool {
    let [first, second, ..] = values else { return false };
    let label = text[..label_end].trim_end();
    let apart = second.span.start - first.span.end >= 2 && label_end - label.len() == 1;
    let word = label.rsplit(' ').next().unwrap_or_default();
    !label.is_empty()
        && apart
        && (is_setting(word) || crate::labels::block_size(&text[first.span.clone()]).is_some())
}

/// Brackets and what `±` says are remarks on a value: blanks in their place keep the columns.
fn masked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut depth = 0_usize;
    for c in text.chars() {
        let opens = matches!(c, '[' | '(') && text.matches(closing(c)).count() > 0;
        depth += usize::from(opens);
        if depth > 0 || c == '±' {
            out.extend(std::iter::repeat_n(' ', c.len_utf8()));
        } else {
            out.push(c);
        }
        if matches!(c, ']' | ')') {
            depth = depth.saturating_sub(1);
        }
    }
    // A label's brackets (`iops (min)`) stay: they come before the first value.
    let first = number::numbers(&out).first().map_or(out.len(), |number| number.span.start);
    match text.get(..first) {
        Some(label) if out.is_char_boundary(first) => format!("{label}{}", &out[first..]),
        _ => out,
    }
}

fn closing(open: char) -> char {
    if open == '[' { ']' } else { ')' }
}

fn words(text: &str) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let mut start = None;
    for (index, c) in text.char_indices().chain(std::iter::once((text.len(), ' '))) {
        match (c.is_whitespace(), start) {
            (true, Some(from)) => {
                words.push(from..index);
                start = None;
            }
            (false, None) => start = Some(index),
            _ => {}
        }
    }
    words
}

/// A unit as a word of its own behind a value.
fn unit_after(text: &str, end: usize) -> Option<(f64, number::Unit)> {
    let word = text[end..]
        .strip_prefix(' ')?
        .split_whitespace()
        .next()
        .filter(|word| text[end + 1..].starts_with(word))?;
    if word == "%" { Some((1.0, number::Unit::Percent)) } else { number::unit(word) }
}

fn is_annotation(word: &str) -> bool {
    matches!(word, "-" | "+" | "=" | "?" | "%" | "--" | "n/a" | "N/A" | "~" | "|" | "*" | "->")
        || number::unit(word).is_some()
}

fn table(source: &Source, block: Vec<Raw>) -> Option<(Table, Option<usize>)> {
    let mut block = block;
    let first = block.first()?;
    let (depth, start) = (source.rows[first.line].depth, first.line);
    let mut head_line = above(source, start, depth).filter(|_| !block.is_empty());
    let mut names = None;
    if is_setting(&first.label) && block.len() > 1 && whole_numbers(&first.values) {
        let head = block.remove(0);
        names =
            Some(head.values.iter().map(|value| format!("{}={}", head.label.trim(), value.text)).collect());
        head_line = Some(head.line);
    }
    let width = width(&block, names.as_ref().map(Vec::len))?;
    let spans = spans(&block, width)?;
    let bars = block[0].bars;
    let mut columns: Vec<String> = match names {
        Some(names) => names,
        None => head_line.map(|line| named(source.text(line), &spans, bars)).unwrap_or_default(),
    };
    if columns.is_empty() {
        head_line = None;
    }
    if block.len() < 2 && columns.is_empty() {
        return None;
    }
    let mut top = head_line.unwrap_or(start);
    if let Some(line) = head_line.and_then(|line| above(source, line, depth))
        && let Some(groups) = spanning(source.text(line), &columns, &spans, bars)
    {
        columns = groups;
        top = line;
    }
    let rows = block.into_iter().filter_map(|raw| placed(raw, &spans)).collect();
    let (heading, context) = (heading(source, top, depth), context(source, top, depth));
    let mut table = Table { columns, rows, heading, context, labels: Labels::default() };
    settle(&mut table);
    table.labels = Labels {
        rows: table.rows.iter().map(|row| Label::read(&row.label)).collect(),
        columns: table.columns.iter().map(|name| Label::read(name)).collect(),
        heading: Label::read(&table.heading),
    };
    (!table.rows.is_empty()).then_some((table, head_line.map(|_| top)))
}

/// The line directly above, rules passed over.
fn above(source: &Source, line: usize, depth: usize) -> Option<usize> {
    let mut lines = (line.saturating_sub(2)..line).rev().filter(|index| !is_rule(source.text(*index)));
    lines.next().filter(|index| {
        let row = &source.rows[*index];
        !row.taken && row.depth == depth && !row.text.trim().is_empty()
    })
}

fn is_setting(label: &str) -> bool {
    let lower = label.to_lowercase();
    let mut words =
        lower.split(|c: char| c.is_whitespace() || "/:=()".contains(c)).filter(|word| !word.is_empty());
    let first = words.next().unwrap_or_default();
    SETTINGS.contains(&first) && words.all(|word| SETTINGS.contains(&word))
}

fn whole_numbers(values: &[Number]) -> bool {
    values.iter().all(|value| !value.text.contains(['.', '%']))
}

/// How many columns of values: what most rows have.
fn width(block: &[Raw], said: Option<usize>) -> Option<usize> {
    let count = |n: usize| block.iter().filter(|raw| raw.values.len() == n).count();
    let most = block.iter().map(|raw| raw.values.len()).max_by_key(|n| (count(*n), *n))?;
    Some(said.filter(|said| count(*said) > 0).unwrap_or(most))
}

/// Where the columns stand: from the leftmost start to the rightmost end of the whole rows.
fn spans(block: &[Raw], width: usize) -> Option<Vec<Range<usize>>> {
    let mut whole = block.iter().filter(|raw| raw.values.len() == width);
    let mut spans: Vec<Range<usize>> = whole.next()?.values.iter().map(|value| value.span.clone()).collect();
    for raw in whole {
        for (span, value) in spans.iter_mut().zip(&raw.values) {
            *span = span.start.min(value.span.start)..span.end.max(value.span.end);
        }
    }
    Some(spans)
}

fn placed(raw: Raw, spans: &[Range<usize>]) -> Option<TableRow> {
    let mut values = vec![None; spans.len()];
    if raw.values.len() == spans.len() {
        values = raw.values.into_iter().map(Some).collect();
    } else if raw.values.len() < spans.len() {
        for value in raw.values {
            let place = nearest(&value.span, spans);
            if values[place].replace(value).is_some() {
                return None;
            }
        }
    } else {
        return None;
    }
    Some(TableRow { line: raw.line, label: raw.label, values })
}

fn nearest(span: &Range<usize>, spans: &[Range<usize>]) -> usize {
    let distance = |other: &Range<usize>| {
        let gap = span.start.saturating_sub(other.end).max(other.start.saturating_sub(span.end));
        (gap, span.end.abs_diff(other.end).min(span.start.abs_diff(other.start)))
    };
    (0..spans.len()).min_by_key(|index| distance(&spans[*index])).unwrap_or(0)
}

/// Names of the columns, from a line; none where it does not fit.
fn named(text: &str, spans: &[Range<usize>], bars: bool) -> Vec<String> {
    let width = spans.len();
    if bars {
        let cells: Vec<&str> =
            text.trim().trim_start_matches('|').trim_end_matches('|').split('|').map(str::trim).collect();
        // Values stand at twice the number of their cell behind the label.
        let name = |span: &Range<usize>| cells.get(span.start / 2 + 1).map(|cell| (*cell).to_owned());
        return spans.iter().map(name).collect::<Option<Vec<_>>>().unwrap_or_default();
    }
    let cells = cells(text);
    let words: Vec<Range<usize>> = words(text);
    for found in [&cells, &words] {
        let skip = found.len().wrapping_sub(width);
        if skip <= 1 {
            return found[skip..].iter().map(|span| text[span.clone()].to_owned()).collect();
        }
    }
    let mut names = vec![String::new(); width];
    for span in &cells {
        let place = nearest(span, spans);
        if overlaps(span, &spans[place]) {
            names[place] = text[span.clone()].to_owned();
        }
    }
    let known = names.iter().filter(|name| !name.is_empty()).count();
    if cells.len() >= 2 && known * 2 > width { names } else { Vec::new() }
}

/// Parts of a line between two or more blanks.
fn cells(text: &str) -> Vec<Range<usize>> {
    let mut cells: Vec<Range<usize>> = Vec::new();
    for word in words(text) {
        match cells.last_mut() {
            Some(last) if word.start - last.end < 2 => last.end = word.end,
            _ => cells.push(word),
        }
    }
    cells
}

fn overlaps(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

/// Names with those of a head above that spans several columns (`before` over `min avg max`); none where there is none.
fn spanning(text: &str, columns: &[String], spans: &[Range<usize>], bars: bool) -> Option<Vec<String>> {
    let doubled = columns.iter().enumerate().any(|(index, name)| columns[..index].contains(name));
    let bare = columns.iter().all(|name| Label::read(name).rest.is_empty());
    if bars || !(doubled || bare) || columns.len() < 2 {
        return None;
    }
    let mut groups = cells(text);
    if groups.len() == 1 {
        groups = words(text);
    }
    if groups.len() < 2 || groups.len() >= columns.len() {
        return None;
    }
    let even = columns.len().is_multiple_of(groups.len()).then(|| columns.len() / groups.len());
    let group = |index: usize| match even {
        Some(each) => groups[index / each].clone(),
        None => groups[nearest(&spans[index], &groups)].clone(),
    };
    Some(columns.iter().enumerate().map(|(index, name)| format!("{} {name}", &text[group(index)])).collect())
}

/// The nearest line above that is short and no data.
fn heading(source: &Source, top: usize, depth: usize) -> String {
    const LONGEST: usize = 100;
    let mut lines = (top.saturating_sub(3)..top).rev().filter(|index| !is_rule(source.text(*index)));
    let line = lines.find(|index| !source.is_blank(*index));
    let row = line.map(|index| &source.rows[index]);
    row.filter(|row| !row.taken && row.depth == depth && row.text.len() < LONGEST)
        .map(|row| row.text.trim().to_owned())
        .unwrap_or_default()
}

fn context(source: &Source, top: usize, depth: usize) -> String {
    const NAMES: [&str; 5] = ["board", "device", "machine", "platform", "system"];
    let is_name = |text: &str| {
        let first = text.split([':', ' ']).next().unwrap_or_default().to_lowercase();
        NAMES.contains(&first.trim_start_matches('#')) && text.len() < 80
    };
    let mut above = source.rows[..top].iter().rev().take(CONTEXT).filter(|row| row.depth == depth);
    above.find(|row| is_name(row.text.trim())).map(|row| row.text.trim().to_owned()).unwrap_or_default()
}

/// Moves columns of settings into the labels of their rows.
fn settle(table: &mut Table) {
    while let Some(index) = table.columns.iter().position(|name| is_setting(name)) {
        let whole =
            table.rows.iter().all(|row| row.values[index].as_ref().is_none_or(|v| !v.text.contains('.')));
        if !whole || table.columns.len() < 2 {
            return;
        }
        let name = table.columns.remove(index);
        for row in &mut table.rows {
            if let Some(value) = row.values.remove(index) {
                row.label = format!("{} {name}={}", row.label, value.text).trim().to_owned();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn read(text: &str) -> Vec<Table> {
        let posted = kab_mail::read(text.as_bytes()).unwrap();
        tables(&mut Source::of(&posted.mails[0]))
    }

    fn values(table: &Table) -> Vec<Vec<Option<f64>>> {
        table
            .rows
            .iter()
            .map(|row| row.values.iter().map(|v| v.as_ref().map(|v| v.value)).collect())
            .collect()
    }

    #[test]
    fn columns_by_position() {
        let tables = read(
            "Board: x\nread / 1 job\n            v1      v2    v2 + fix\nmin IOPS   1,000   2,000      900.5\nmax IOPS   1,100   2,100      999\n\ntext\n",
        );
        assert_eq!(tables.len(), 1);
        assert_eq!(tables[0].columns, ["v1", "v2", "v2 + fix"]);
        assert_eq!(tables[0].place(), "Board: x, read / 1 job");
        assert_eq!(values(&tables[0])[0], [Some(1000.0), Some(2000.0), Some(900.5)]);
    }

    #[test]
    fn gaps_remarks_and_marks() {
        let tables = read(
            "kIOPS\n             A     B  B vs A [95% CI]\nread/1    4.51  6.28  +39.2% [38, 40] +\nread/8   64.20 62.02   -3.4% [ -4, -3] -\ngeomean                +16.0% [15,17]\n",
        );
        assert_eq!(tables[0].columns, ["A", "B", "B vs A [95% CI]"]);
        assert_eq!(values(&tables[0])[2], [None, None, Some(16.0)]);
    }

    #[test]
    fn bars_settings_and_spanning_heads() {
        let tables = read(
            "| test | bs | before | after |\n|--|--:|--:|--:|\n| randread | 4k | 10.5 MB/s | **11** |\n| randwrite | 8k | - | 12 |\n",
        );
        assert_eq!(tables[0].columns, ["before", "after"]);
        assert_eq!(tables[0].rows[0].label, "randread bs=4k");
        assert_eq!(values(&tables[0]), [[Some(10.5e6), Some(11.0)], [None, Some(12.0)]]);
        let tables = read(
            "              before               after\n         min   avg   max    min   avg   max\nread    10    11    12     13    14    15\nwrite   20    21    22     23    24    25\n",
        );
        assert_eq!(
            tables[0].columns,
            ["before min", "before avg", "before max", "after min", "after avg", "after max"]
        );
        let tables =
            read("qd        1      4     32\nbefore  10k    40k   100k\nafter   11k    42k   120k\n");
        assert_eq!(tables[0].columns, ["qd=1", "qd=4", "qd=32"]);
        assert_eq!(values(&tables[0])[0][2], Some(100_000.0));
    }

    #[test]
    fn prose_is_no_table() {
        assert!(read("In addition, we tested 8K and 16K.\nThe result was 10 and 12.\n").is_empty());
    }
}
