//! What `read_any` finds in real output of eight versions of fio in five formats, and in odd output: one snapshot for
//! each file of `tests/versions` and `tests/same-run`, and what must hold in all of them.

#![allow(clippy::unwrap_used)]

use kab_fio::{Direction, Document, Format, Found, Job, Latency, Role, What, read_any};
use std::fmt::Write as _;
use std::path::PathBuf;

fn files(folder: &str) -> Vec<(String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let named = paths.map(|path| {
        (path.file_stem().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap())
    });
    let mut found: Vec<_> = named.collect();
    found.sort();
    found
}

fn all_files() -> Vec<(String, Vec<u8>)> {
    files("versions").into_iter().chain(files("same-run")).collect()
}

#[test]
fn every_file_reads_as_recorded() {
    for (name, bytes) in all_files() {
        insta::with_settings!({prepend_module_to_snapshot => false, omit_expression => true}, {
            insta::assert_snapshot!(format!("found-{name}"), tell(&read_any(&bytes)));
        });
    }
}

#[test]
fn nothing_is_salvaged_in_whole_files() {
    for (name, bytes) in all_files() {
        let found = read_any(&bytes);
        assert!(found.documents.iter().all(|document| document.salvaged.is_empty()), "{name}");
        let empty = ["2.1.14-terse5", "2.2.10-terse5", "3.33-bad-option-stdout"].contains(&&*name);
        assert_eq!(found.documents.is_empty(), empty, "{name}");
    }
}

/// The files of a version are runs of one job with 4 KiB blocks, so that each tells bytes and I/Os that fit, in whatever
/// format and unit it tells them.
#[test]
fn formats_of_one_version_have_the_same_units() {
    let mut seen = 0;
    for (name, bytes) in files("versions").iter().filter(|(name, _)| name.matches('-').count() == 1) {
        let found = read_any(bytes);
        for (job, _, direction) in
            found.counted().flat_map(Document::rows).filter(|(job, ..)| job.name == "mix")
        {
            seen += 1;
            let an_io = direction.io_bytes as f64 / direction.total_ios as f64;
            assert!((an_io / 4096.0 - 1.0).abs() < 0.001, "{name}: {an_io} bytes an I/O");
            assert!((900..1100).contains(&direction.runtime_ms), "{name}");
            let rate = direction.total_ios as f64 * 1000.0 / direction.runtime_ms as f64;
            assert!((direction.iops / rate - 1.0).abs() < 0.001, "{name}: {} and {rate}", direction.iops);
            plausible(name, direction);
            assert!(job.usr > 0.0 && job.usr < 100.0 && job.ctx > 0, "{name}");
            assert_eq!(job.iodepth_level[0], ("1".to_owned(), 100.0), "{name}");
        }
        for document in &found.documents {
            let whole = document.report.disk_util.iter().find(|disk| disk.name == "vda");
            assert!(whole.is_some_and(|disk| disk.ticks.0 > 0) || name == "2.1.14-terse3", "{name}");
        }
    }
    assert_eq!(seen, 2 * (8 * 5 - 2 - 5), "directions");
}

/// The latencies of one job of these runs: microseconds and milliseconds mixed up would show.
fn plausible(name: &str, direction: &Direction) {
    let Direction { clat, lat, .. } = direction;
    assert!(lat.mean >= clat.mean && lat.max >= clat.min && lat.mean < clat.mean * 1.5 + 2000.0, "{name}");
    assert!(clat.mean > clat.min as f64 && clat.mean < clat.max as f64, "{name}");
    assert!((1_000.0..100_000.0).contains(&clat.mean) && clat.max > 10_000, "{name}: {clat:?}");
    assert_eq!(clat.percentiles.len(), 17, "{name}");
    assert!(clat.percentiles.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "{name}");
    // Up to fio 2.21 values are cut to microseconds, so the highest may be a bucket over the maximum.
    assert!(clat.percentiles[16].1 as f64 <= clat.max as f64 * 1.02 + 1000.0, "{name}");
}

/// What fio prints as a rate is what its counters say, but for the carry that fio 2.17 to 3.25 lose.
#[test]
fn printed_rates_are_those_of_the_counters() {
    let mut carried = Vec::new();
    for (name, bytes) in all_files() {
        for (_, _, direction) in read_any(&bytes).documents.iter().flat_map(Document::rows) {
            for figure in direction.printed.iter().filter(|_| direction.runtime_ms > 0) {
                let value = match figure.what {
                    What::Iops => direction.iops,
                    What::Bw | What::BwOther => direction.bw,
                    _ => direction.io_bytes as f64,
                };
                let off = value * 0.001 + if figure.what == What::Iops { 2.0 } else { 1024.0 };
                let fits = value >= figure.low - off && value <= figure.high + off;
                if !fits {
                    assert!(
                        figure.carry.is_some_and(|high| value <= high + off),
                        "{name}: {figure:?} {value}"
                    );
                    carried.push((name.clone(), figure.text.clone()));
                }
            }
        }
    }
    assert_eq!(carried, [("3.16-normal".to_owned(), "12.0k".to_owned())]);
}

/// One run told in two or three formats at once.
#[test]
fn formats_of_one_run_agree() {
    let same_run = files("same-run")
        .into_iter()
        .chain(files("versions").into_iter().filter(|(name, _)| name.contains("mixed")));
    let mut compared = 0;
    for (name, bytes) in same_run {
        let found = read_any(&bytes);
        assert!(found.documents.len() > 1, "{name}");
        let counted: Vec<&Document> = found.counted().collect();
        let [one] = counted[..] else { panic!("{name}: {} documents count", counted.len()) };
        assert!(matches!(one.format, Format::Json | Format::JsonPlus));
        for other in found.documents.iter().filter(|document| document.role == Role::Repeat) {
            let (a, b): (Vec<_>, Vec<_>) = (one.rows().collect(), other.rows().collect());
            assert_eq!(a.len(), b.len(), "{name}");
            for ((_, direction, a), (_, _, b)) in a.iter().zip(&b) {
                let place = format!("{name} {:?} {direction}", other.format);
                agree(&place, a, b, if other.format == Format::Terse { 1000 } else { 1 });
                compared += 1;
            }
        }
    }
    assert!(compared >= 8, "{compared}");
}

/// `step` nanoseconds are the unit of the coarser format.
fn agree(place: &str, a: &Direction, b: &Direction, step: u64) {
    let near = |what: &str, x: f64, y: f64, part: f64, off: f64| {
        assert!((x - y).abs() <= x.abs() * part + off, "{place}: {what} {x} and {y}");
    };
    near("ios", a.total_ios as f64, b.total_ios as f64, 0.001, 1.0);
    near("bytes", a.io_bytes as f64, b.io_bytes as f64, 0.001, 1024.0);
    near("iops", a.iops, b.iops, 0.001, 1.0);
    assert_eq!(a.runtime_ms, b.runtime_ms, "{place}");
    for (what, x, y) in [("slat", &a.slat, &b.slat), ("clat", &a.clat, &b.clat), ("lat", &a.lat, &b.lat)] {
        let off = step as f64;
        near(what, x.mean, y.mean, 0.001, 0.01 * off + 0.01);
        near(what, x.stddev, y.stddev, 0.001, 0.01 * off + 0.01);
        near(what, x.min as f64, y.min as f64, 0.001, off);
        near(what, x.max as f64, y.max as f64, 0.001, off);
        for (percent, value) in &y.percentiles {
            let Some((_, exact)) = x.percentiles.iter().find(|(p, _)| (p - percent).abs() < 0.0051) else {
                continue;
            };
            near(what, *exact as f64, *value as f64, 0.001, 1000.0_f64.max(off));
        }
    }
    if let (Some(x), Some(y)) = (&a.bw_samples, &b.bw_samples) {
        near("samples", x.mean, y.mean, 0.001, 1024.0);
        near("samples", x.stddev, y.stddev, 0.01, 1024.0);
    }
}

fn tell(found: &Found) -> String {
    let mut told = String::new();
    for document in &found.documents {
        let Document { format, report, role, salvaged, lines, heading, .. } = document;
        writeln!(told, "{format:?} {:?} {role:?} {salvaged:?} lines {lines:?}", report.version).unwrap();
        if let Some(heading) = heading {
            writeln!(told, "  heading {}: {}", heading.line, heading.text).unwrap();
        }
        for job in &report.jobs {
            tell_job(&mut told, job);
        }
        if let Some(all) = &report.all_clients {
            writeln!(told, "  all clients: {} I/Os", all.total_ios()).unwrap();
        }
        for disk in &report.disk_util {
            writeln!(
                told,
                "  disk {} {}/{} util={} line {}",
                disk.name, disk.read_ios, disk.write_ios, disk.util, disk.line
            )
            .unwrap();
        }
    }
    for note in &found.notes {
        writeln!(told, "note {}: {:?}: {}", note.line, note.kind, note.text).unwrap();
    }
    told
}

fn tell_job(told: &mut String, job: &Job) {
    writeln!(
        told,
        "  job {:?} line {} group={} members={:?} error={} usr={} ctx={} options={}",
        job.name,
        job.line,
        job.group,
        job.members,
        job.error,
        job.usr,
        job.ctx,
        job.options.len()
    )
    .unwrap();
    for (name, d) in job.named_directions() {
        writeln!(
            told,
            "    {name} line {} ios={} {:?} bytes={} {:?} ms={} iops={:.2} bw={:.0}",
            d.line, d.total_ios, d.ios_basis, d.io_bytes, d.bytes_basis, d.runtime_ms, d.iops, d.bw
        )
        .unwrap();
        for (kind, Latency { min, max, mean, n, percentiles, bins, line, .. }) in
            [("slat", &d.slat), ("clat", &d.clat), ("lat", &d.lat)]
        {
            if *n > 0 {
                writeln!(
                    told,
                    "      {kind} line {line} {min}..{max} mean={mean:.2} n={n} percentiles={} bins={}",
                    percentiles.len(),
                    bins.len()
                )
                .unwrap();
            }
        }
    }
}
