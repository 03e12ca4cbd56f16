//! One case for each recorded output of a real fio: `tests/versions/*.txt` against `tests/snapshots`.
//!
//! `3.33-…` names say what is odd about the output; all others are one randrw job of two clones, run with
//! group_reporting under that version.

#![allow(clippy::unwrap_used)]

use kab_fio::{Direction, Job, Latency, ParseError, Report, Totals, parse, percentile};
use std::fmt::Write as _;
use std::path::PathBuf;

fn fixtures() -> Vec<(String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/versions");
    // What was asked for as JSON; the other formats are for `read_any`.
    let json = |name: &str| name.contains("json") || name.contains("stdout") || name.contains("thread-error");
    let mut found: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap()))
        .filter(|(name, _)| json(name))
        .collect();
    found.sort();
    found
}

fn fixture(name: &str) -> Vec<u8> {
    fixtures().into_iter().find(|(found, _)| found == name).unwrap().1
}

#[test]
fn every_fixture_reads_as_recorded() {
    for (name, bytes) in fixtures() {
        let told = match parse(&bytes) {
            Ok(report) => tell(&report),
            Err(error) => format!("error: {error}\n"),
        };
        insta::with_settings!({prepend_module_to_snapshot => false, omit_expression => true}, {
            insta::assert_snapshot!(name, told);
        });
    }
}

/// fio computes percentiles from the same buckets that JSON+ shows.
#[test]
fn our_percentiles_are_those_of_fio() {
    let mut compared = 0;
    for (name, bytes) in fixtures() {
        let Ok(report) = parse(&bytes) else { continue };
        for direction in report.jobs.iter().flat_map(Job::directions) {
            let clat = &direction.clat;
            if clat.bins.is_empty() {
                continue;
            }
            assert_eq!(clat.bins.iter().map(|(_, n)| n).sum::<u64>(), clat.n, "{name}");
            for (percent, value) in &clat.percentiles {
                assert_eq!(percentile(&clat.bins, *percent), Some(*value), "{name} p{percent}");
                compared += 1;
            }
        }
    }
    assert!(compared > 100, "only {compared} percentiles compared");
}

#[test]
fn units_are_the_same_across_versions() {
    // All of these did 4 KiB I/Os, so bytes an I/O tell whether KiB and bytes were told apart.
    for version in ["2.1.14", "3.1", "3.16", "3.33", "3.36", "3.42"] {
        let report = parse(&fixture(&format!("{version}-json"))).unwrap();
        let totals = Totals::of(&report);
        assert_eq!(totals.io_bytes, totals.total_ios * 4096, "{version}");
        assert!((900..1100).contains(&totals.runtime_ms), "{version}");
    }
    let old = parse(&fixture("2.1.14-json")).unwrap();
    assert_eq!(old.jobs[0].read.clat.max, 10_347_000, "10347 us in the file");
    assert_eq!(old.jobs[0].read.clat.percentiles.len(), 17, "without the padding");
    assert_eq!(old.jobs[0].read.io_bytes, 129_016 * 1024);
}

#[test]
fn the_last_of_several_documents_counts() {
    let bytes = fixture("3.33-status-interval-concat-json");
    let report = parse(&bytes).unwrap();
    assert_eq!((report.documents, report.truncated), (4, false));
    assert_eq!(report.jobs[0].read.total_ios, 9_384_277);
    let cut = parse(&bytes[..bytes.len() - 100]).unwrap();
    assert_eq!((cut.documents, cut.truncated), (3, true));
    assert_eq!(cut.jobs[0].read.total_ios, 9_048_205);
}

#[test]
fn a_cut_document_is_no_report() {
    let bytes = fixture("3.42-jsonplus");
    for length in (0..bytes.len() - 3).step_by(97) {
        assert!(parse(&bytes[..length]).is_err(), "{length} bytes");
    }
    assert_eq!(parse(b" \n\n"), Err(ParseError::Empty));
    assert_eq!(parse(&fixture("2.2.10-jsonplus")), Err(ParseError::Text));
}

#[test]
fn the_sum_over_clients_is_left_out() {
    let report = parse(&fixture("3.33-client2-json")).unwrap();
    assert_eq!(report.jobs.iter().map(|job| job.name.as_str()).collect::<Vec<_>>(), ["cj", "cj"]);
}

#[test]
fn a_killed_worker_leaves_io_without_run_time() {
    let report = parse(&fixture("3.33-child-killed-json")).unwrap();
    let killed: Vec<bool> =
        report.jobs.iter().map(|job| job.total_ios() > 0 && job.runtime_ms() == 0).collect();
    assert_eq!(killed, [true, false]);
    assert!(report.jobs.iter().all(|job| job.error == 0), "fio sees no error in it");
}

fn tell(report: &Report) -> String {
    let mut told = String::new();
    writeln!(told, "{} documents={} truncated={}", report.version, report.documents, report.truncated)
        .unwrap();
    for line in &report.noise {
        writeln!(told, "noise: {line}").unwrap();
    }
    for job in &report.jobs {
        tell_job(&mut told, job);
    }
    for disk in &report.disk_util {
        writeln!(told, "{disk:?}").unwrap();
    }
    let totals = Totals::of(report);
    let bins = totals.clat_bins.len();
    let p99 = totals.clat_percentile(99.0);
    writeln!(told, "totals: ios={} bytes={} ms={}", totals.total_ios, totals.io_bytes, totals.runtime_ms)
        .unwrap();
    writeln!(
        told,
        "  iops={:.3} bw={:.1} usr={:.3} sys={:.3}",
        totals.iops, totals.bw, totals.usr, totals.sys
    )
    .unwrap();
    writeln!(told, "  clat mean={:.3?} p99={p99:?} bins={bins}", totals.clat_mean).unwrap();
    told
}

fn tell_job(told: &mut String, job: &Job) {
    writeln!(told, "job {:?} group={} error={}", job.name, job.group, job.error).unwrap();
    writeln!(told, "  options {:?}", job.options).unwrap();
    writeln!(told, "  usr={} sys={} ctx={} job_runtime={:?}", job.usr, job.sys, job.ctx, job.job_runtime_ms)
        .unwrap();
    let deepest = job.iodepth_level.iter().filter(|(_, percent)| *percent > 0.0);
    writeln!(told, "  depths {:?}", deepest.collect::<Vec<_>>()).unwrap();
    for (name, direction) in [("read", &job.read), ("write", &job.write), ("trim", &job.trim)] {
        tell_direction(told, name, direction);
    }
    if let Some(mixed) = &job.mixed {
        tell_direction(told, "mixed", mixed);
    }
}

fn tell_direction(told: &mut String, name: &str, direction: &Direction) {
    let Direction { total_ios, io_bytes, runtime_ms, short_ios, drop_ios, .. } = direction;
    if *total_ios == 0 && *runtime_ms == 0 {
        return;
    }
    writeln!(
        told,
        "  {name} ios={total_ios} bytes={io_bytes} ms={runtime_ms} short={short_ios} drop={drop_ios}"
    )
    .unwrap();
    for (name, latency) in [("clat", &direction.clat), ("lat", &direction.lat)] {
        let Latency { min, max, mean, stddev, n, percentiles, bins, .. } = latency;
        let p99 = percentiles.iter().find(|(percent, _)| *percent == 99.0).map(|(_, value)| value);
        writeln!(told, "    {name} min={min} max={max} mean={mean:.3} stddev={stddev:.3} n={n}").unwrap();
        writeln!(told, "      percentiles={} p99={p99:?} bins={}", percentiles.len(), bins.len()).unwrap();
    }
}
