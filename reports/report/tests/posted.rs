//! Figures that somebody else posted: every figure of the mail is in the report, and nothing is concluded that they do not carry.

#![allow(clippy::unwrap_used)]

mod support;

use kab_model::yaml::{Source, Style, parse_table};
use kab_model::{Event, Posted, PostedValues, Run};
use kab_report::{
    Findings, Latencies, Options, Verdict, changelog, csv, findings, html, json, markdown, tested, text,
};
use std::path::Path;
use support::meta;

const FULL: Options = Options { full: true, unicode: false };

fn parsed(name: &str, text: &str) -> Result<Posted, String> {
    let parsed = parse_table(&Source::new(name, text.to_owned()));
    parsed.map(|located| located.value).map_err(|problems| problems.render(Style::Plain))
}

/// The mails, as tables.
fn mails() -> Vec<(String, Posted)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/posted");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: &std::path::PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let table = parsed(&name, &std::fs::read_to_string(path).unwrap())
            .unwrap_or_else(|problem| panic!("{problem}"));
        (name, table)
    };
    paths.iter().map(read).collect()
}

fn found(table: &Posted) -> Findings {
    let imported = Event::Imported { table: Box::new(table.clone()) };
    findings(&Run::from_events(&[imported, Event::Finished]), &meta())
}

#[test]
fn mails_as_tables_give_reports() {
    let mails = mails();
    assert_eq!(mails.len(), 5);
    for (name, table) in &mails {
        let report = text(&found(table), FULL).unwrap();
        assert!(report.lines().all(|line| line.len() <= 72 && line.is_ascii()), "{report}");
        insta::assert_snapshot!(format!("posted_{name}"), report);
    }
}

#[test]
fn every_figure_of_the_mail_is_in_the_report_as_it_was_written() {
    for (name, table) in mails() {
        let found = found(&table);
        let report = text(&found, FULL).unwrap();
        let page = html(&found, &Latencies::default(), FULL).unwrap();
        let data = json(&found).unwrap();
        let rows = table.boards.iter().flat_map(|board| &board.cells).flat_map(|cell| &cell.rows);
        let mut figures = 0;
        for figure in rows.flat_map(|row| &row.texts).flatten() {
            assert!(report.contains(figure.as_str()), "{name}: {figure}");
            assert!(data.contains(figure.as_str()) && page.contains(figure.as_str()), "{name}: {figure}");
            figures += 1;
        }
        assert!(figures >= 16, "{name}: {figures}");
        assert!(markdown(&found, FULL).unwrap().contains("kab measured none"));
        assert!(changelog(&found, FULL).lines().count() <= 12);
        assert!(csv(&found).unwrap().lines().count() > 4);
    }
}

#[test]
fn averages_and_repetitions_of_one_boot_carry_no_verdict_and_no_claim() {
    for (name, table) in mails() {
        let found = found(&table);
        let cells = found.boards.iter().flat_map(|board| &board.cells);
        for change in cells.flat_map(|cell| &cell.metrics).flat_map(|metric| &metric.changes) {
            assert_eq!(change.verdict, Verdict::NoVerdict, "{name}");
            assert!(change.percent.is_some() && change.interval.is_none(), "{name}");
            assert!(change.why.as_ref().unwrap().contains("noise between boots is unknown"), "{name}");
        }
        let tested = tested(&found);
        assert!(tested.boards.is_empty() && !tested.refused.is_empty(), "what others ran is not tested here");
        let report = text(&found, FULL).unwrap();
        assert!(!report.contains("Stalls, warnings, I/O errors in trials: none"), "nobody knows");
    }
}

fn rounds(values: &str) -> Posted {
    let figures = "[[100, 102, 101, 99, 100.5, 101.5], [90, 91.5, 91, 89, 90, 91], [100.5, 101.5, 101, 99.5, 100, 102]]";
    let text = format!(
        "name: t\nvariants: [a, b, c]\nvalues: {values}\nboards:\n  x:\n    tests:\n      r/1:\n        iops: {figures}\n"
    );
    parsed("t", &text).unwrap()
}

#[test]
fn boots_are_judged() {
    for values in ["rounds", "boots"] {
        let table = rounds(values);
        let found = found(&table);
        let verdicts: Vec<Verdict> =
            found.boards[0].cells[0].metrics[0].changes.iter().map(|change| change.verdict).collect();
        assert_eq!(verdicts, [Verdict::Worse, Verdict::Same], "{values}");
        let report = text(&found, FULL).unwrap();
        assert!(report.contains("geometric mean of 6 boots"), "{report}");
        assert_eq!(
            report.contains("order of the boots is unknown"),
            table.values == PostedValues::Boots,
            "{report}"
        );
    }
}

#[test]
fn mistakes_in_tables_have_a_place_and_a_remedy() {
    let table =
        |rows: &str| format!("name: t\nvariants: [a, b]\nboards:\n  x:\n    tests:\n      r/1:\n{rows}");
    let cases = [
        ("a row that is too short", table("        iops: [1]\n")),
        ("a bandwidth without a unit", table("        bw: [1, 2]\n")),
        ("an unknown unit", table("        clat_p99 (min): [1, 2]\n")),
        ("no figure", table("        iops: [fast, 2e3]\n")),
        ("several figures, and nobody says of what", table("        iops: [[1, 2], [3, 4]]\n")),
        ("nothing that can be compared", table("        ctx: [1, 2]\n")),
        ("a metric that no test has", table("        iops: [1, 2]\n") + "primary: clat_p99\n"),
        ("a baseline that is no variant", table("        iops: [1, 2]\n") + "baseline: v1\n"),
    ];
    let told: Vec<String> = cases
        .iter()
        .map(|(name, text)| format!("{name}\n{}\n", parsed("t.yaml", text).unwrap_err()))
        .collect();
    insta::assert_snapshot!(told.join("\n"));
}
