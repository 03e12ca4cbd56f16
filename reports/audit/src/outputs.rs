//! fio's own output: figures that disagree, stalls while it ran, settings that differ between two outputs.

use crate::finding::{Draft, Grade, Rule};
use crate::number::show;
use kab_fio::{Direction, Document, Figure, Found, Latency, NoteKind, Spread, What};
use std::collections::BTreeSet;

/// Slack for figures that fio rounded twice.
const SLACK: f64 = 0.01;

/// Run times this far apart are different settings, or one run was cut short.
const RUNTIME: f64 = 0.05;

/// Messages of the kernel that mean that it did not run.
const STALLS: [&str; 13] = [
    "stall",
    "lockup",
    "hung task",
    "blocked for more than",
    "oops",
    "bug:",
    "panic",
    "call trace",
    "timed out",
    "timeout",
    "i/o error",
    "reset",
    "aborted",
];

/// Options whose difference between two outputs spoils the comparison.
const SETTINGS: [&str; 13] = [
    "rw",
    "bs",
    "ioengine",
    "iodepth",
    "numjobs",
    "size",
    "direct",
    "runtime",
    "ramp_time",
    "filesize",
    "io_size",
    "rwmixread",
    "sync",
];

/// Everything about outputs. Lines that fio's reader gives are one above the index.
pub(crate) fn check(found: &Found, rows: usize) -> Vec<Draft> {
    let documents: Vec<&Document> = found.counted().collect();
    let mut drafts = Vec::new();
    for document in &documents {
        for (_, name, direction) in document.rows() {
            drafts.extend(figures(name, direction));
        }
        for group in &document.report.groups {
            drafts.extend(group_line(&group.direction, &group.printed, group.runtime_max_ms));
        }
    }
    drafts.extend(stalls(found, &documents));
    drafts.extend(settings(&documents));
    drafts.retain(|draft| draft.at.iter().all(|line| *line < rows));
    drafts
}

fn index(line: usize) -> usize {
    line.saturating_sub(1)
}

fn figures(name: &str, direction: &Direction) -> Vec<Draft> {
    let latencies = [("slat", &direction.slat), ("clat", &direction.clat), ("lat", &direction.lat)];
    let mut drafts: Vec<Draft> =
        latencies.iter().filter_map(|(kind, lat)| latency(name, kind, lat)).collect();
    drafts.extend(latencies.iter().filter_map(|(kind, lat)| percentiles(name, kind, lat)));
    for (kind, samples) in [("bw", &direction.bw_samples), ("iops", &direction.iops_samples)] {
        drafts.extend(samples.as_ref().and_then(|samples| spread(name, kind, samples)));
    }
    drafts
}

fn latency(name: &str, kind: &str, lat: &Latency) -> Option<Draft> {
    let slack = lat.rounding * 2.0 + SLACK;
    let (min, max) = (lat.min as f64, lat.max as f64);
    let outside =
        lat.mean > 0.0 && max > 0.0 && (lat.mean < min * (1.0 - slack) || lat.mean > max * (1.0 + slack));
    (outside && lat.line > 0).then(|| {
        let message = format!(
            "{name} {kind}: the mean {} ns is outside of {} to {} ns",
            show(lat.mean),
            show(min),
            show(max)
        );
        Draft::new(Grade::Error, Rule::MeanInRange, [index(lat.line)], message)
            .check("fio cannot print this: the output was edited or put together from several runs")
    })
}

fn percentiles(name: &str, kind: &str, lat: &Latency) -> Option<Draft> {
    let falls = lat.percentiles.windows(2).find(|pair| pair[0].0 < pair[1].0 && pair[0].1 > pair[1].1)?;
    (lat.line > 0).then(|| {
        let message = format!("{name} {kind}: percentile {} is below percentile {}", falls[1].0, falls[0].0);
        Draft::new(Grade::Error, Rule::FioFigures, [index(lat.line)], message).check("percentiles never fall")
    })
}

fn spread(name: &str, kind: &str, samples: &Spread) -> Option<Draft> {
    let outside = samples.max > 0.0
        && samples.mean > 0.0
        && (samples.mean < samples.min * (1.0 - SLACK) || samples.mean > samples.max * (1.0 + SLACK));
    (outside && samples.line > 0).then(|| {
        let (mean, min, max) = (show(samples.mean), show(samples.min), show(samples.max));
        let message = format!("{name} {kind} samples: the mean {mean} is outside of {min} to {max}");
        Draft::new(Grade::Error, Rule::MeanInRange, [index(samples.line)], message)
            .check("fio cannot print this: the output was edited or put together from several runs")
    })
}

/// `READ: bw=..., io=..., run=...`: bytes over time, and one unit against the other.
fn group_line(name: &str, printed: &[Figure], runtime_ms: u64) -> Vec<Draft> {
    let figure = |what| printed.iter().find(|figure| figure.what == what);
    let mut drafts = Vec::new();
    let high = |figure: &Figure| figure.carry.unwrap_or(figure.high);
    let apart = |a: (f64, f64), b: (f64, f64)| a.0 > b.1 * (1.0 + SLACK) || a.1 < b.0 * (1.0 - SLACK);
    let range = |figure: &Figure| (figure.low, high(figure));
    for (one, other) in [(What::Bw, What::BwOther), (What::Io, What::IoOther)] {
        let (Some(one), Some(other)) = (figure(one), figure(other)) else { continue };
        if apart(range(one), range(other)) {
            let message =
                format!("{name}: {} and {} are one figure in two units, and differ", one.text, other.text);
            let draft = Draft::new(Grade::Error, Rule::FioFigures, [index(one.line)], message);
            drafts.push(draft.check("1 MiB is 1.048576 MB"));
        }
    }
    if let (Some(bw), Some(io)) = (figure(What::Bw), figure(What::Io))
        && runtime_ms > 0
    {
        let seconds = runtime_ms as f64 / 1000.0;
        // Members that ran for different times make the rate of the group another one.
        if apart(range(bw), (io.low / seconds * 0.98, high(io) / seconds * 1.02)) {
            let message = format!("{name}: {}/s is not {} in {seconds} s", bw.text, io.text);
            let unit = bw.value / leading(&bw.text);
            let draft = Draft::new(Grade::Error, Rule::FioFigures, [index(bw.line)], message)
                .expected(format!("{} in the unit of {}", show(io.value / seconds / unit), bw.text))
                .check("divide io= by run=");
            drafts.push(draft);
        }
    }
    drafts
}

fn leading(text: &str) -> f64 {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    digits.parse().unwrap_or(1.0)
}

/// Messages of the kernel between the start of fio and its result.
fn stalls(found: &Found, documents: &[&Document]) -> Option<Draft> {
    let is_stall = |text: &str| {
        let lower = text.to_lowercase();
        STALLS.iter().any(|word| lower.contains(word))
    };
    let inside = |line: usize| documents.iter().any(|document| document.lines.contains(&line));
    let notes = found.notes.iter().filter(|note| note.kind == NoteKind::Kernel && is_stall(&note.text));
    let lines: Vec<usize> = notes.filter(|note| inside(note.line)).map(|note| index(note.line)).collect();
    (!lines.is_empty()).then(|| {
        let message = format!(
            "{} messages of a stalled or failing kernel while fio ran: the numbers hold that, too",
            lines.len()
        );
        Draft::new(Grade::Warning, Rule::Stall, lines, message).check(
            "see whether the other arm stalled as well; repeat without the stall before a change is claimed",
        )
    })
}

/// Two outputs that are compared and were made differently.
fn settings(documents: &[&Document]) -> Vec<Draft> {
    let [one, other] = documents else { return Vec::new() };
    let mut drafts = Vec::new();
    for (a, name, first) in one.rows() {
        for (b, other_name, second) in other.rows() {
            if name != other_name || a.name != b.name || a.name.is_empty() {
                continue;
            }
            let lines = [index(a.line), index(b.line)];
            let (x, y) = (first.runtime_ms as f64, second.runtime_ms as f64);
            let mut differing = differing(&a.options, &b.options);
            if let (Some(x), Some(y)) = (a.members, b.members)
                && x != y
            {
                differing.push(format!("jobs {x} and {y}"));
            }
            // Where both moved the same amount, the time is the result. In other numbers of jobs it is another test.
            let apart = |a: u64, b: u64| a.abs_diff(b) as f64 > RUNTIME * a.max(b) as f64;
            let timed = apart(first.io_bytes, second.io_bytes) && one.rows().count() == other.rows().count();
            if timed && apart(first.runtime_ms, second.runtime_ms) && x > 0.0 && y > 0.0 {
                differing.push(format!("run time {:.0} s and {:.0} s", x / 1000.0, y / 1000.0));
            }
            if !differing.is_empty() {
                let message = format!("{name}: the two outputs differ in {}", differing.join(", "));
                let draft = Draft::new(Grade::Warning, Rule::Settings, lines, message);
                drafts.push(
                    draft.check(
                        "run both arms with one command; what else differs is part of what is measured",
                    ),
                );
            }
        }
    }
    drafts.dedup_by(|a, b| a.at == b.at);
    drafts
}

fn differing(one: &[(String, String)], other: &[(String, String)]) -> Vec<String> {
    let value = |options: &[(String, String)], name: &str| {
        options.iter().rev().find(|(option, _)| option == name).map(|(_, value)| value.clone())
    };
    let names: BTreeSet<&str> = SETTINGS.into_iter().collect();
    let differs = |name: &&str| match (value(one, name), value(other, name)) {
        (Some(a), Some(b)) if a != b => Some(format!("{name} {a} and {b}")),
        _ => None,
    };
    names.iter().filter_map(differs).collect()
}
