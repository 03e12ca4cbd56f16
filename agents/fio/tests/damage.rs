//! What mailers, terminals, consoles and cuts do to fio's output, done by program to every real file: what is read after
//! that is what was read before, or a part of it, and never something else.

#![allow(clippy::unwrap_used)]

use kab_fio::{Basis, Direction, Document, Latency, read_any};
use proptest::prelude::*;
use std::path::PathBuf;
use std::sync::LazyLock;

/// Name, text and what is read from it.
struct Case {
    name: String,
    text: String,
    rows: Vec<Row>,
}

static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/versions");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let case = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        Case { rows: rows(text.as_bytes()), name, text }
    };
    paths.iter().map(case).filter(|case| !case.rows.is_empty()).collect()
});

fn cases(of: &str) -> Vec<&'static Case> {
    CASES.iter().filter(|case| case.name.contains(of) && !case.name.contains("control-char")).collect()
}

/// One direction of one job, without the places in the input.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    job: String,
    error: i64,
    direction: &'static str,
    numbers: Direction,
}

fn rows(bytes: &[u8]) -> Vec<Row> {
    let found = read_any(bytes);
    found
        .documents
        .iter()
        .flat_map(Document::rows)
        .map(|(job, direction, numbers)| {
            let mut numbers = numbers.clone();
            numbers.line = 0;
            numbers.printed.iter_mut().for_each(|figure| figure.line = 0);
            for latency in [&mut numbers.slat, &mut numbers.clat, &mut numbers.lat] {
                latency.line = 0;
            }
            for samples in [&mut numbers.bw_samples, &mut numbers.iops_samples].into_iter().flatten() {
                samples.line = 0;
            }
            Row { job: job.name.clone(), error: job.error, direction, numbers }
        })
        .collect()
}

fn same(case: &Case, damaged: &str) {
    let read = rows(damaged.as_bytes());
    assert_eq!(read.len(), case.rows.len(), "{}:\n{damaged}", case.name);
    for (read, whole) in read.iter().zip(&case.rows) {
        assert_eq!(read, whole, "{}:\n{damaged}", case.name);
    }
}

/// Breaks lines at blanks as mailers do.
fn wrapped(text: &str, width: usize, prefix: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let mut rest = line;
        while rest.len() > width && rest.is_ascii() {
            let blank = |at: &usize| rest.as_bytes()[*at] == b' ' && !rest[..*at].trim().is_empty();
            let Some(at) = (1..width).rev().find(blank).or_else(|| (width..rest.len()).find(blank)) else {
                break;
            };
            out.push_str(prefix);
            out.push_str(&rest[..at]);
            out.push('\n');
            rest = rest[at..].trim_start();
        }
        out.push_str(prefix);
        out.push_str(rest);
        out.push('\n');
    }
    out
}

/// Breaks lines at a column as terminals do.
fn broken(text: &str, width: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let characters: Vec<char> = line.chars().collect();
        let parts: Vec<String> = characters.chunks(width).map(|part| part.iter().collect()).collect();
        out.push_str(&parts.join("\n"));
        out.push('\n');
    }
    out
}

fn quoted_printable(text: &str) -> String {
    let mut out = String::from("Content-Transfer-Encoding: quoted-printable\n\n");
    for line in text.lines() {
        let mut column = 0;
        for byte in line.bytes() {
            let code = if byte == b'=' || byte >= 0x80 {
                format!("={byte:02X}")
            } else {
                char::from(byte).to_string()
            };
            if column + code.len() > 75 {
                out.push_str("=\n");
                column = 0;
            }
            column += code.len();
            out.push_str(&code);
        }
        out.push('\n');
    }
    out
}

#[test]
fn line_ends_and_encodings_change_nothing() {
    for case in cases("") {
        same(case, &case.text.replace('\n', "\r\n"));
        same(case, &quoted_printable(&case.text));
        if !case.name.contains("terse") {
            same(case, &case.text.replace("  ", " \u{a0}"));
        }
    }
}

/// Makes something else of a line with its number.
type Dress<'a> = &'a dyn Fn(&str, usize) -> String;

/// What loggers, shells, pages and Markdown make of a line.
#[test]
fn prefixes_colours_and_marks_change_nothing() {
    let stamped = |line: &str, i: usize| {
        format!("2024-05-03T09:{:02}:{:02}.{i:03}Z worker-7 INFO | {line}", i / 60, i % 60)
    };
    let console = |line: &str, i: usize| format!("[{:5}.{:06}] {line}", 90 + i, i * 37);
    let service = |line: &str, _: usize| format!("fio-1  | {line}");
    let journal = |line: &str, i: usize| format!("May  3 09:00:{:02} lab7 bench[41{i:02}]: {line}", i % 60);
    let added = |line: &str, _: usize| format!("+{line}");
    let marked = |line: &str, _: usize| if line.is_empty() { String::new() } else { format!("`{line}`") };
    let coloured = |line: &str, _: usize| format!("\x1b[32m{line}\x1b[0m\x1b[K");
    let page = |line: &str, _: usize| line.replace('&', "&amp;").replace('>', "&gt;").replace('"', "&quot;");
    let dresses: [Dress<'_>; 8] = [&stamped, &console, &service, &journal, &added, &marked, &coloured, &page];
    for case in
        cases("").iter().filter(|case| !case.name.contains("terse") && !case.name.contains("client2-normal"))
    {
        for (number, dress) in dresses.iter().enumerate() {
            let json = case.name.contains("json");
            if json && number == 5 {
                continue;
            }
            let lines: Vec<String> = case.text.lines().enumerate().map(|(i, line)| dress(line, i)).collect();
            same(case, &(lines.join("\n") + "\n"));
        }
    }
}

#[test]
fn two_bytes_a_character_change_nothing() {
    for case in cases("") {
        let units = std::iter::once(0xfeff).chain(case.text.encode_utf16());
        let wide: Vec<u8> = units.flat_map(u16::to_le_bytes).collect();
        assert_eq!(rows(&wide), case.rows, "{}", case.name);
        let found = read_any(&wide);
        assert!(found.documents.iter().all(|document| document.bytes.end <= wide.len()));
    }
}

#[test]
fn text_that_was_filled_to_one_line_reads_the_same() {
    for case in cases("-normal").iter().filter(|case| !case.name.contains("client")) {
        let words: Vec<&str> = case.text.split_whitespace().collect();
        same(case, &(words.join(" ") + "\n"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn wrapped_and_quoted_text_reads_the_same(pick in any::<prop::sample::Index>(), width in 40usize..100, depth in 0usize..4) {
        let all = cases("normal");
        let case = all[pick.index(all.len())];
        let prefix = [">", "> >", ">>> ", "> "][depth];
        same(case, &wrapped(&case.text, width, prefix));
        same(case, &wrapped(&case.text, width, ""));
    }

    #[test]
    fn quoted_json_reads_the_same(pick in any::<prop::sample::Index>(), width in 30usize..100) {
        let all = cases("json");
        let case = all[pick.index(all.len())];
        same(case, &wrapped(&case.text, width, "> "));
    }

    #[test]
    fn other_peoples_lines_change_nothing(pick in any::<prop::sample::Index>(), places in prop::collection::vec(any::<prop::sample::Index>(), 1..8), what in prop::collection::vec(0usize..4, 8)) {
        let all = cases("");
        let case = all[pick.index(all.len())];
        let foreign = [
            "[  318.569268] rcu: INFO: rcu_preempt self-detected stall on CPU",
            "Jobs: 4 (f=4): [R(4)][61.0%][r=4747MiB/s,w=0KiB/s][r=1215k,w=0 IOPS][eta 03m:01s]",
            "fio: io_u error on file /dev/sda: Input/output error: read offset=4096, buflen=4096",
            "[12345.000001] sd 0:0:0:0: [sda] tag#7 FAILED Result: {hostbyte=DID_OK} \"x\"",
        ];
        let mut lines: Vec<&str> = case.text.lines().collect();
        for (place, what) in places.iter().zip(what) {
            lines.insert(place.index(lines.len()), foreign[what]);
        }
        same(case, &(lines.join("\n") + "\n"));
    }

    #[test]
    fn what_a_cut_leaves_is_right(pick in any::<prop::sample::Index>(), at in any::<prop::sample::Index>()) {
        let all = cases("");
        let case = all[pick.index(all.len())];
        let end = (0..=at.index(case.text.len())).rev().find(|at| case.text.is_char_boundary(*at)).unwrap();
        part_of(case, &case.text[..end]);
    }

    #[test]
    fn what_a_terminal_breaks_is_right(pick in any::<prop::sample::Index>(), width in 20usize..130) {
        let all = cases("");
        let case = all[pick.index(all.len())];
        part_of(case, &broken(&case.text, width));
    }

    #[test]
    fn a_cut_at_the_start_leaves_what_is_right(pick in any::<prop::sample::Index>(), at in any::<prop::sample::Index>()) {
        // The sum over clients without its name, or without the clients, is like a job.
        let mut all = cases("");
        all.retain(|case| !case.name.contains("client2"));
        let case = all[pick.index(all.len())];
        let start = (at.index(case.text.len())..=case.text.len()).find(|at| case.text.is_char_boundary(*at)).unwrap();
        part_of(case, &case.text[start..]);
    }
}

/// Each row of a damaged text is one of the whole text, as far as it goes.
fn part_of(case: &Case, damaged: &str) {
    for row in rows(damaged.as_bytes()) {
        let fits = |whole: &&Row| is_part(&row.numbers, &whole.numbers) && whole.direction == row.direction;
        let whole = case.rows.iter().find(fits);
        assert!(whole.is_some(), "{}: {row:?}\nis no part of it\n{damaged}", case.name);
        // Where a line is broken inside a name, nothing tells whether a blank was there.
        let names = [whole.unwrap().job.as_str(), ""];
        // What begins within a name has the rest of it.
        let rest = damaged.starts_with(&row.job) && names[0].ends_with(&row.job);
        assert!(rest || names.contains(&&*row.job.replace(' ', "")), "{}: job {:?}", case.name, row.job);
    }
}

fn is_part(part: &Direction, whole: &Direction) -> bool {
    let near = |a: f64, b: f64| a == 0.0 || (a / b - 1.0).abs() < 0.01;
    // Where the counter is cut off, 12.0k stands for 12992 in fio 3.16.
    let rate = near(part.iops, whole.iops) || (part.ios_basis != Basis::Counted && near(part.iops, 12_000.0));
    let counted = part.ios_basis != Basis::Counted
        || whole.ios_basis != Basis::Counted
        || part.total_ios == whole.total_ios;
    let time = part.runtime_ms == 0 || part.runtime_ms == whole.runtime_ms;
    rate && counted
        && time
        && near(part.io_bytes as f64, whole.io_bytes as f64)
        && near(part.bw, whole.bw)
        && [(&part.slat, &whole.slat), (&part.clat, &whole.clat), (&part.lat, &whole.lat)]
            .iter()
            .all(|(a, b)| is_part_of_latency(a, b))
        && [(&part.bw_samples, &whole.bw_samples), (&part.iops_samples, &whole.iops_samples)].iter().all(
            |(a, b)| {
                let spread = |s: &kab_fio::Spread| (s.min, s.max, s.mean, s.stddev);
                a.as_ref().is_none_or(|a| {
                    b.as_ref().is_some_and(|b| {
                        spread(a) == spread(b) && (a.samples.is_none() || a.samples == b.samples)
                    })
                })
            },
        )
}

fn is_part_of_latency(part: &Latency, whole: &Latency) -> bool {
    let numbers = |l: &Latency| (l.min, l.max, l.mean, l.stddev);
    (part.mean == 0.0 || numbers(part) == numbers(whole))
        && part.percentiles.iter().all(|pair| whole.percentiles.contains(pair))
        && (part.bins.is_empty() || part.bins == whole.bins)
}
