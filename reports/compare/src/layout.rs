//! A comparison as text for a list, Markdown, HTML, CSV and JSON.

use crate::judge::{Change, Comparison, Metric};
use std::fmt::Write as _;

/// Columns that a mail may have.
const WIDTH: usize = 72;

/// Blanks between columns.
const GAP: usize = 2;

/// Remarks that are printed; `json` has all.
const REMARKS: usize = 12;

/// The comparison as plain text of at most 72 columns.
pub fn text(comparison: &Comparison) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "fio: {} by variant\n", comparison.metric.title());
    for line in variants(comparison) {
        let _ = writeln!(out, "  {line}");
    }
    for table in tables(comparison) {
        out.push('\n');
        out.push_str(&set(&table));
    }
    for paragraph in paragraphs(comparison) {
        let _ = write!(out, "\n{}", wrap(&paragraph));
    }
    out
}

/// The comparison as GitHub-flavoured Markdown.
pub fn markdown(comparison: &Comparison) -> String {
    let mut out = format!("**fio: {} by variant**\n\n", comparison.metric.title());
    for line in variants(comparison) {
        let _ = writeln!(out, "- {}", line.replace('|', "\\|"));
    }
    let table = table(comparison, None);
    out.push('\n');
    for (i, row) in table.iter().enumerate() {
        let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
        if i == 0 {
            let _ = writeln!(out, "| --- |{}", " ---: |".repeat(row.len() - 1));
        }
    }
    for paragraph in paragraphs(comparison) {
        let _ = write!(out, "\n{paragraph}\n");
    }
    out
}

/// The comparison as one page without scripts.
pub fn html(comparison: &Comparison) -> String {
    let title = escape(&format!("fio: {} by variant", comparison.metric.title()));
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title>\n<style>body{{font:16px/1.5 \
         sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color-scheme:light dark}}table{{border-collapse:collapse}}\
         th,td{{padding:.2em .8em;border-bottom:1px solid #8888;text-align:right}}th:first-child,td:first-child{{text-align:\
         left}}</style>\n<h1>{title}</h1>\n<ul>\n"
    );
    for line in variants(comparison) {
        let _ = writeln!(out, "<li>{}</li>", escape(&line));
    }
    out.push_str("</ul>\n<table>\n");
    for (i, row) in table(comparison, None).iter().enumerate() {
        let tag = if i == 0 { "th" } else { "td" };
        let cells: String = row.iter().map(|cell| format!("<{tag}>{}</{tag}>", escape(cell))).collect();
        let _ = writeln!(out, "<tr>{cells}</tr>");
    }
    out.push_str("</table>\n");
    for paragraph in paragraphs(comparison) {
        let _ = writeln!(out, "<p>{}</p>", escape(&paragraph));
    }
    out.push_str("</html>\n");
    out
}

/// One row for each cell and variant; changes are against the first variant.
pub fn csv(comparison: &Comparison) -> String {
    let mut out =
        String::from("cell,variant,metric,value,change_percent,low_percent,high_percent,verdict,p\n");
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    for cell in &comparison.cells {
        for (i, value) in cell.values.iter().enumerate() {
            let change = i.checked_sub(1).and_then(|i| cell.changes.get(i));
            let interval = change.and_then(|change| change.interval);
            let fields = [
                quote(&cell.label),
                quote(&comparison.variants[i].name),
                quote(&comparison.metric.title()),
                number(*value),
                number(change.and_then(|change| change.percent)),
                number(interval.map(|range| range.0)),
                number(interval.map(|range| range.1)),
                change.map_or(String::new(), |change| change.verdict.word().to_owned()),
                number(change.and_then(|change| change.p)),
            ];
            let _ = writeln!(out, "{}", fields.join(","));
        }
    }
    out
}

/// All numbers.
pub fn json(comparison: &Comparison) -> String {
    let mut text = serde_json::to_string_pretty(comparison).unwrap_or_default();
    text.push('\n');
    text
}

fn variants(comparison: &Comparison) -> Vec<String> {
    let line = |variant: &crate::Variant| {
        let fio = if variant.fio.is_empty() { String::new() } else { format!(", {}", variant.fio.join(" ")) };
        let boots = if comparison.hint.is_some() {
            String::new()
        } else {
            format!("{}, ", counted(variant.boots, "boot"))
        };
        format!("{}  {}: {boots}{}{fio}", variant.letter, variant.name, counted(variant.results, "result"))
    };
    comparison.variants.iter().map(line).collect()
}

fn counted(count: usize, word: &str) -> String {
    if count == 1 { format!("{count} {word}") } else { format!("{count} {word}s") }
}

/// One table where it fits into the width, else one for each variant beside the first.
fn tables(comparison: &Comparison) -> Vec<Vec<Vec<String>>> {
    let whole = table(comparison, None);
    if comparison.variants.len() < 3 || set(&whole).lines().all(|line| line.chars().count() <= WIDTH) {
        return vec![whole];
    }
    (1..comparison.variants.len()).map(|variant| table(comparison, Some(variant))).collect()
}

/// A table as text. A row that is too wide for one line has its label on a line of its own.
fn set(table: &[Vec<String>]) -> String {
    let columns = table.iter().map(Vec::len).max().unwrap_or(0);
    let length = |text: &String| text.chars().count();
    let widths: Vec<usize> = (0..columns)
        .map(|i| table.iter().filter_map(|row| row.get(i)).map(length).max().unwrap_or(0))
        .collect();
    let apart = widths.iter().sum::<usize>() + GAP * columns.saturating_sub(1) > WIDTH;
    let first = if apart { GAP } else { widths.first().copied().unwrap_or(0) };
    let mut out = String::new();
    for row in table {
        let Some((label, cells)) = row.split_first() else { continue };
        let mut line = if apart {
            let _ = writeln!(out, "{label}");
            " ".repeat(first)
        } else {
            format!("{label:<first$}")
        };
        for (cell, width) in cells.iter().zip(widths.iter().skip(1)) {
            let _ = write!(line, "{:GAP$}{cell:>width$}", "");
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

/// Rows of cells of text; the first is the head. With one variant against the first, or with all.
fn table(comparison: &Comparison, only: Option<usize>) -> Vec<Vec<String>> {
    let values = comparison.cells.iter().flat_map(|cell| cell.values.iter().flatten().copied());
    let (unit, scale) = unit(comparison.metric, values.fold(f64::INFINITY, f64::min));
    let shown: Vec<usize> = match only {
        Some(variant) => vec![0, variant],
        None => (0..comparison.variants.len()).collect(),
    };
    let letter = |variant: &usize| comparison.variants[*variant].letter.clone();
    let mut head = vec![format!("cell ({unit})")];
    head.extend(shown.iter().map(letter));
    for letter in shown.iter().skip(1).map(letter) {
        head.extend([format!("{letter} vs A"), "95% interval".to_owned(), String::new()]);
    }
    let mut table = vec![head];
    for cell in &comparison.cells {
        let mut row = vec![cell.label.clone()];
        let value =
            |variant: &usize| cell.values[*variant].map_or("-".to_owned(), |value| digits(value / scale));
        row.extend(shown.iter().map(value));
        shown.iter().skip(1).for_each(|variant| row.extend(told(&cell.changes[variant - 1])));
        table.push(row);
    }
    table
}

fn told(change: &Change) -> [String; 3] {
    let signed = |value: f64| format!("{value:+.1}%");
    [
        change.percent.map_or("-".to_owned(), signed),
        change.interval.map_or(String::new(), |(low, high)| format!("{} .. {}", signed(low), signed(high))),
        change.verdict.word().to_owned(),
    ]
}

fn unit(metric: Metric, smallest: f64) -> (&'static str, f64) {
    let choices: &[(&'static str, f64)] = match metric {
        Metric::Iops => &[("IOPS", 1.0), ("kIOPS", 1e3)],
        Metric::Bw => &[("kB/s", 1e3), ("MB/s", 1e6)],
        Metric::ClatMean | Metric::Percentile(_) => &[("ns", 1.0), ("us", 1e3), ("ms", 1e6)],
    };
    let fits = |choice: &&(&'static str, f64)| smallest.is_finite() && smallest >= 10.0 * choice.1;
    choices.iter().rev().find(fits).copied().unwrap_or(choices[0])
}

/// Four digits.
fn digits(value: f64) -> String {
    match value {
        value if value >= 1000.0 => format!("{value:.0}"),
        value if value >= 100.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

/// What is to be said below the table.
fn paragraphs(comparison: &Comparison) -> Vec<String> {
    let mut out: Vec<String> = comparison.hint.iter().cloned().collect();
    if comparison.hint.is_none() {
        out.push(format!(
            "Margin {}%; a boot is one sample, the median of its results.",
            comparison.margin * 100.0
        ));
        let mut reasons: Vec<&str> = Vec::new();
        for why in
            comparison.cells.iter().flat_map(|cell| &cell.changes).filter_map(|change| change.why.as_deref())
        {
            if !reasons.contains(&why) {
                reasons.push(why);
            }
        }
        out.extend(reasons.iter().take(REMARKS).map(|why| format!("No verdict: {why}.")));
    }
    for remark in comparison.remarks.iter().take(REMARKS) {
        let place = match (remark.input.as_str(), remark.line) {
            ("", _) => String::new(),
            (input, 0) => format!("{input}: "),
            (input, line) => format!("{input}:{line}: "),
        };
        out.push(format!("Note: {place}{}", remark.text));
    }
    if comparison.remarks.len() > REMARKS {
        out.push(format!("Note: {} more remarks; --json lists all.", comparison.remarks.len() - REMARKS));
    }
    out
}

/// Breaks a paragraph at blanks.
fn wrap(text: &str) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > WIDTH {
            out.push('\n');
            column = 0;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out.push('\n');
    out
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn quote(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
