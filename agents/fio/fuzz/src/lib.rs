//! What each fuzz target does with its bytes. `tests/fuzz_targets.rs` of kab-fio does the same on a stable toolchain.

use kab_fio::{Found, JobSpec, TargetKind, Totals, argv, grade, lint, parse_size, parse_time};

/// Everything that is done with foreign text: reading, adding up, grading.
pub fn read_any(bytes: &[u8]) {
    let found = kab_fio::read_any(bytes);
    hold(bytes, &found);
    for document in &found.documents {
        let _ = (Totals::of(&document.report), grade(&found, document, Some(0)));
    }
}

/// The places of documents are those of the input, in order, and no number is NaN.
fn hold(bytes: &[u8], found: &Found) {
    let lines = bytes.iter().filter(|b| **b == b'\n').count() + 1;
    for document in &found.documents {
        assert!(document.bytes.start < document.bytes.end && document.bytes.end <= bytes.len());
        assert!(*document.lines.start() >= 1 && document.lines.start() <= document.lines.end());
        assert!(*document.lines.end() <= lines);
        for (_, _, direction) in document.rows() {
            assert!(
                direction.iops.is_finite() && direction.bw.is_finite() && direction.clat.mean.is_finite()
            );
            assert!(direction.line <= lines);
        }
    }
    assert!(found.documents.is_sorted_by_key(|document| document.bytes.start));
    assert!(found.notes.iter().all(|note| (1..=lines).contains(&note.line)));
}

/// The strict way that kab reads its own runs.
pub fn parse(bytes: &[u8]) {
    if let Ok(report) = kab_fio::parse(bytes) {
        let totals = Totals::of(&report);
        assert!(totals.iops.is_finite() && totals.bw.is_finite() && totals.usr.is_finite());
        let _ = totals.clat_percentile(99.0);
    }
}

/// Options as a user may write them: a line each, `name=value`; no job has hundreds of them.
pub fn options(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let pairs: Vec<(&str, &str)> =
        text.lines().take(8).map(|line| line.split_once('=').unwrap_or((line, ""))).collect();
    let _ = lint(&pairs, Some(1 << 30));
    let spec =
        JobSpec { name: "a", options: &pairs, target: "/dev/x", kind: TargetKind::Device, output: "/o" };
    let _ = argv(&spec);
    for (_, value) in &pairs {
        let _ = (parse_size(value, Some(1 << 30)), parse_time(value));
    }
}
