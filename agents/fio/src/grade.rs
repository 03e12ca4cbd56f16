//! How far a result can be trusted, with the reasons.

use crate::found::{Damage, Document, Found, NoteKind};
use crate::report::{Direction, Job, Latency};
use crate::units::measured_runtime;
use serde::Serialize;

/// What a result is good for, gravest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// Nothing speaks against it.
    Sound,
    /// It counts, and something about it should be known.
    Remark,
    /// It may not be what it seems.
    Doubtful,
    /// It is no measurement.
    Unusable,
}

/// A result's grade: the gravest of its reasons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Grading {
    /// The grade.
    pub grade: Grade,
    /// Why, gravest first.
    pub reasons: Vec<Reason>,
}

/// One reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// How grave it is.
    pub grade: Grade,
    /// Name of the rule.
    pub rule: &'static str,
    /// What was seen, one line.
    pub detail: String,
    /// Line of the input, from 1; 0 where it has none.
    pub line: usize,
}

/// Parts of its time by which a time-based job may be off before it is remarked, and before it is doubted.
const TIME_OFF: (f64, f64) = (0.05, 0.5);

/// Reads or writes of a disk, as a part of fio's, below which most did not reach it.
const REACHED: f64 = 0.5;

/// I/Os below which the totals of disks say nothing: fio reads them four times a second.
const FEW_IOS: u64 = 1000;

/// Values above this saturate fio's histogram, nanoseconds.
const TOP_BUCKET: u64 = 17_000_000_000;

/// A run longer than this is a clock that jumped: ten years in milliseconds.
const ABSURD_MS: u64 = 10 * 365 * 86_400_000;

/// Grades a document of `found`. `exit` is fio's exit code where it is known; 0 and no error field are no proof of
/// success, since a worker that the kernel killed leaves both.
pub fn grade(found: &Found, document: &Document, exit: Option<i32>) -> Grading {
    let mut reasons = Vec::new();
    reasons.extend(exit.and_then(exit_code));
    for job in &document.report.jobs {
        reasons.extend(job_reasons(document, job));
    }
    if document.report.jobs.iter().all(|job| job.total_ios() == 0 && job.directions().all(|d| !d.moved())) {
        reasons.push(reason(
            Grade::Unusable,
            "no-io",
            *document.lines.start(),
            "no I/O completed".to_owned(),
        ));
    }
    reasons.extend(disks(document));
    reasons.extend(damages(document));
    reasons.extend(around(found, document));
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.grade));
    Grading { grade: reasons.first().map_or(Grade::Sound, |reason| reason.grade), reasons }
}

fn reason(grade: Grade, rule: &'static str, line: usize, detail: String) -> Reason {
    Reason { grade, rule, detail, line }
}

fn exit_code(code: i32) -> Option<Reason> {
    let detail = match code {
        0 => return None,
        128 => "fio was ended by a signal (exit code 128)".to_owned(),
        code => format!("fio ended with exit code {code}"),
    };
    Some(reason(Grade::Unusable, "exit-code", 0, detail))
}

fn job_reasons(document: &Document, job: &Job) -> Vec<Reason> {
    let mut reasons = Vec::new();
    let mut push = |grade, rule, line, detail| reasons.push(reason(grade, rule, line, detail));
    let name = &job.name;
    if job.error != 0 {
        push(Grade::Unusable, "error", job.line, format!("job {name:?} ended with error {}", job.error));
    }
    if job.total_err > 0 {
        let detail = format!("job {name:?} went on over {} errors", job.total_err);
        push(Grade::Doubtful, "errors-passed", job.line, detail);
    }
    if job.total_ios() > 0 && job.runtime_ms() == 0 && job.directions().all(|d| d.iops == 0.0) {
        let detail = format!("job {name:?} has I/Os and no run time: its worker was killed");
        push(Grade::Unusable, "killed", job.line, detail);
    }
    if let Some((grade, detail)) = run_time(document, job) {
        push(grade, "runtime", job.line, detail);
    }
    for (direction, numbers) in job.named_directions() {
        for (grade, rule, detail) in direction_reasons(numbers) {
            push(grade, rule, numbers.line, format!("{direction} of job {name:?}: {detail}"));
        }
    }
    reasons
}

/// The time that the options ask for, against the time that was measured.
fn run_time(document: &Document, job: &Job) -> Option<(Grade, String)> {
    let ran = job.runtime_ms();
    if ran > ABSURD_MS {
        return Some((Grade::Unusable, format!("job {:?} ran {ran} ms: the clock jumped", job.name)));
    }
    let options: Vec<(&str, &str)> = document
        .report
        .options
        .iter()
        .chain(&job.options)
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let asked = u64::try_from(measured_runtime(&options)?.as_millis()).ok().filter(|ms| *ms > 0)?;
    let off = (ran as f64 / asked as f64 - 1.0).abs();
    let grade = match off {
        off if off > TIME_OFF.1 => Grade::Doubtful,
        off if off > TIME_OFF.0 => Grade::Remark,
        _ => return None,
    };
    (ran > 0).then(|| (grade, format!("job {:?} ran {ran} ms of {asked} ms", job.name)))
}

fn direction_reasons(direction: &Direction) -> Vec<(Grade, &'static str, String)> {
    let mut reasons = Vec::new();
    let short = direction.short_ios.saturating_add(direction.drop_ios);
    if short > 0 {
        let detail = format!("{short} I/Os came back short or were dropped");
        reasons.push((Grade::Doubtful, "short-io", detail));
    }
    let latencies = [("slat", &direction.slat), ("clat", &direction.clat), ("lat", &direction.lat)];
    for (name, latency) in latencies.into_iter().filter(|(_, latency)| latency.n > 0) {
        if outside(latency) {
            let Latency { min, max, mean, .. } = latency;
            reasons.push((
                Grade::Doubtful,
                "mean",
                format!("mean {name} {mean} ns lies outside {min}..{max}"),
            ));
        }
        if latency.percentiles.iter().any(|(_, value)| *value >= TOP_BUCKET && latency.max / 11 > *value / 10)
        {
            let detail = format!("percentiles of {name} end at 17 s and the maximum is above");
            reasons.push((Grade::Remark, "saturated", detail));
        }
    }
    reasons
}

/// Text rounds minimum and maximum to five digits, and fio up to 2.21 cuts them to microseconds.
fn outside(latency: &Latency) -> bool {
    let slack = 1000.0 + latency.rounding * latency.max as f64;
    latency.max > 0
        && (latency.mean < latency.min as f64 - slack || latency.mean > latency.max as f64 + slack)
}

/// fio's own totals against those of the disks below, which count ramp, layout and others as well.
fn disks(document: &Document) -> Vec<Reason> {
    let disks = &document.report.disk_util;
    let seen: u64 = disks.iter().map(|disk| disk.read_ios + disk.write_ios).sum();
    if seen == 0 {
        return Vec::new();
    }
    let fio =
        |of: fn(&Job) -> &Direction| document.report.jobs.iter().map(|job| of(job).total_ios).sum::<u64>();
    let sum = |of: fn(&crate::DiskUtil) -> u64| disks.iter().map(of).fold(0u64, u64::saturating_add);
    let reads = (fio(|job| &job.read), sum(|disk| disk.read_ios.saturating_add(disk.read_merges)));
    let writes = (fio(|job| &job.write), sum(|disk| disk.write_ios.saturating_add(disk.write_merges)));
    let line = disks[0].line;
    let check = |what: &str, (fio, disk): (u64, u64)| {
        let missed = fio >= FEW_IOS && (disk as f64) < fio as f64 * REACHED;
        let detail =
            format!("fio did {fio} {what}, the disks only {disk}: a cache or a hole answered the others");
        missed.then(|| reason(Grade::Doubtful, "disk-totals", line, detail))
    };
    [check("reads", reads), check("writes", writes)].into_iter().flatten().collect()
}

fn damages(document: &Document) -> Vec<Reason> {
    let told = |damage: &Damage| {
        let (grade, detail) = match damage {
            Damage::Cut => (Grade::Doubtful, "the output ends early"),
            Damage::Gap => (Grade::Remark, "something is left out or stands in between"),
            Damage::Excerpt => (Grade::Remark, "it is an excerpt"),
        };
        reason(grade, "salvaged", *document.lines.start(), detail.to_owned())
    };
    document.salvaged.iter().map(told).collect()
}

/// What stands between the document before and the one behind. Documents and notes are in the order of their lines.
fn around(found: &Found, document: &Document) -> Vec<Reason> {
    let (start, end) = (*document.lines.start(), *document.lines.end());
    let documents = &found.documents;
    let before = documents.partition_point(|other| *other.lines.end() < start).checked_sub(1);
    let behind = documents.partition_point(|other| *other.lines.start() <= end);
    let from = before.and_then(|i| documents.get(i)).map_or(0, |other| *other.lines.end());
    let until = documents.get(behind).map_or(usize::MAX, |other| *other.lines.start());
    let near = |line: usize| line > from && line < until;
    let told = |note: &crate::Note| {
        let (grade, rule) = match note.kind {
            NoteKind::Signal => (Grade::Unusable, "signal"),
            NoteKind::Error => (Grade::Doubtful, "error-message"),
            NoteKind::Kernel => (Grade::Doubtful, "kernel-message"),
            NoteKind::Carry => (Grade::Remark, "carry"),
            NoteKind::Remark | NoteKind::Repaired | NoteKind::Unread => return None,
        };
        Some(reason(grade, rule, note.line, note.text.clone()))
    };
    let inside = |note: &&crate::Note| match note.kind {
        // A kernel's boot message in the mail says nothing about the run.
        NoteKind::Kernel => (start..=end).contains(&note.line),
        _ => near(note.line),
    };
    let first = found.notes.partition_point(|note| note.line <= from.min(start.saturating_sub(1)));
    let notes = found.notes[first..].iter().take_while(|note| note.line < until.max(end + 1));
    notes.filter(inside).filter_map(told).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::read_any;

    fn graded(name: &str, exit: Option<i32>) -> (Grade, Vec<&'static str>) {
        let path = format!("{}/tests/versions/{name}.txt", env!("CARGO_MANIFEST_DIR"));
        let found = read_any(&std::fs::read(path).unwrap());
        let grading = grade(&found, found.documents.last().unwrap(), exit);
        (grading.grade, grading.reasons.iter().map(|reason| reason.rule).collect())
    }

    #[test]
    fn a_quiet_run_is_sound_and_a_cached_one_is_not() {
        assert_eq!(graded("3.33-status-interval-concat-json", Some(0)).0, Grade::Sound);
        assert_eq!(graded("3.33-normal", Some(0)), (Grade::Doubtful, vec!["disk-totals", "disk-totals"]));
        assert_eq!(graded("3.16-normal", None).1, ["disk-totals", "disk-totals", "carry"]);
    }

    #[test]
    fn exit_codes_errors_signals_and_killed_workers_make_a_result_unusable() {
        assert_eq!(graded("3.42-normal", Some(1)).1[0], "exit-code");
        assert!(graded("3.33-child-killed-json", Some(0)).1.contains(&"killed"));
        assert!(graded("3.33-sigint-json", Some(128)).1.contains(&"exit-code"));
        assert!(graded("3.33-sigint-json", None).1.contains(&"signal"));
        let refused = graded("3.33-einval-prefix-json", None);
        assert!(refused.0 == Grade::Unusable && refused.1.contains(&"error"), "{refused:?}");
    }

    #[test]
    fn a_time_based_job_that_ends_early_is_doubtful() {
        let json = "{\"fio version\":\"fio-3.40\",\"jobs\":[{\"jobname\":\"a\",\"job options\":{\"time_based\":\"\",\"runtime\":\"60\"},\"read\":{\"io_bytes\":4096000,\"io_kbytes\":4000,\"runtime\":20000,\"total_ios\":1000,\"short_ios\":2}}]}";
        let found = read_any(json.as_bytes());
        let grading = grade(&found, &found.documents[0], None);
        let rules: Vec<_> = grading.reasons.iter().map(|reason| reason.rule).collect();
        assert_eq!((grading.grade, rules), (Grade::Doubtful, vec!["runtime", "short-io"]));
    }
}
