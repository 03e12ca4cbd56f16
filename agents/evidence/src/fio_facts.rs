//! What can be told from fio's exit, output and options, gathered once for all rules.

use crate::raw::RawTrial;
use kab_fio::{Job, ParseError, Report, Totals};
use kab_model::FioExit;
use std::time::Duration;

/// Longest line that is quoted whole.
const QUOTE: usize = 160;

/// Errors of a job that could not begin: the options, the rights or the place are wrong, not the device.
/// EPERM, ENOENT, EAGAIN, ENOMEM, EACCES, EBUSY, EINVAL, EMFILE, ENOSPC, EROFS, ENOSYS, EOPNOTSUPP.
const SETUP_ERRNOS: &[i64] = &[1, 2, 11, 12, 13, 16, 22, 24, 28, 30, 38, 95];

/// How the line on standard error begins in which the agent tells that fio could not be ended.
const LEFT_BEHIND: &str = "kab-agent: fio was left behind";

/// Facts about one trial.
pub(crate) struct FioFacts<'a> {
    /// How fio ended.
    pub(crate) exit: &'a FioExit,
    /// Wall time of fio by the agent's clock, milliseconds.
    pub(crate) wall_ms: u64,
    /// fio's report.
    pub(crate) report: Result<Report, ParseError>,
    /// Its sums.
    pub(crate) totals: Option<Totals>,
    /// The run time that every job should have, where the job is time based, milliseconds.
    pub(crate) measured_ms: Option<u64>,
    /// Jobs that the report should have.
    pub(crate) expected_jobs: usize,
    /// fio's own words on what went wrong, one line.
    pub(crate) complaint: Option<String>,
    /// The line in which fio tells of a signal, its own or a worker's.
    pub(crate) signal: Option<String>,
    /// Whether a rule on the kernel log speaks.
    pub(crate) kernel_troubled: bool,
    /// Whether the agent told that fio could not be ended.
    pub(crate) left_behind: bool,
    /// Whether only the beginning of fio's output was kept.
    pub(crate) output_cut: bool,
    /// What the kernel log lacks.
    pub(crate) kernel_log_gap: Option<String>,
}

impl<'a> FioFacts<'a> {
    /// Reads everything once.
    pub(crate) fn gather(raw: &RawTrial<'a>, kernel_troubled: bool) -> Self {
        let report = kab_fio::parse(raw.output);
        let options = kab_fio::options_of(&raw.record.argv);
        let lines = Lines::of(raw, report.as_ref().ok());
        Self {
            exit: &raw.record.exit,
            wall_ms: raw.record.wall_ms,
            totals: report.as_ref().ok().map(Totals::of),
            measured_ms: kab_fio::measured_runtime(&options).map(millis),
            expected_jobs: kab_fio::reported_jobs(&options),
            complaint: lines.complaint(),
            signal: lines.signal(),
            report,
            kernel_troubled,
            left_behind: String::from_utf8_lossy(raw.stderr)
                .lines()
                .any(|line| line.starts_with(LEFT_BEHIND)),
            output_cut: is_cut(raw, "output"),
            kernel_log_gap: kernel_log_gap(raw),
        }
    }

    /// The exit code, where fio ended by itself.
    pub(crate) fn code(&self) -> Option<i32> {
        if let FioExit::Code(code) = self.exit { Some(*code) } else { None }
    }

    /// The jobs of the report; none where there is no report.
    pub(crate) fn jobs(&self) -> &[Job] {
        self.report.as_ref().map_or(&[], |report| &report.jobs)
    }

    /// Jobs that ended with an error.
    pub(crate) fn failed_jobs(&self) -> impl Iterator<Item = &Job> {
        self.jobs().iter().filter(|job| job.error != 0)
    }

    /// Whether the errors are such that no job could even begin.
    pub(crate) fn never_began(&self) -> bool {
        let bytes = self.totals.as_ref().map_or(0, |totals| totals.io_bytes);
        bytes == 0 && self.failed_jobs().all(|job| SETUP_ERRNOS.contains(&job.error))
    }

    /// A worker that was killed leaves I/O and no run time, and no error.
    pub(crate) fn killed_job(&self) -> Option<&Job> {
        self.jobs().iter().find(|job| job.error == 0 && job.total_ios() > 0 && job.runtime_ms() == 0)
    }

    /// The sums, where fio measured undisturbed: what remains to be asked is whether the measure is right.
    pub(crate) fn undisturbed(&self) -> Option<&Totals> {
        let disturbed = self.code() != Some(0)
            || self.failed_jobs().next().is_some()
            || self.signal.is_some()
            || self.killed_job().is_some();
        self.totals.as_ref().filter(|totals| !disturbed && totals.total_ios > 0)
    }

    /// What fio said, or that it said nothing.
    pub(crate) fn complaint(&self) -> &str {
        self.complaint.as_deref().unwrap_or("without a message")
    }
}

/// fio's messages may be in any of three places (and in two at once), whatever the version.
struct Lines(Vec<String>);

impl Lines {
    fn of(raw: &RawTrial<'_>, report: Option<&Report>) -> Self {
        let mut lines = Vec::new();
        let mut add = |bytes: &[u8]| lines.extend(String::from_utf8_lossy(bytes).lines().map(quote));
        add(raw.stderr);
        match report {
            Some(report) => report.noise.iter().for_each(|line| add(line.as_bytes())),
            None => add(raw.output),
        }
        add(raw.stdout);
        lines.retain(|line| !line.is_empty() && !line.starts_with("note: "));
        Self(lines)
    }

    /// The first line that begins with `fio: `, else the first of all.
    fn complaint(&self) -> Option<String> {
        self.0.iter().find(|line| line.starts_with("fio: ")).or(self.0.first()).cloned()
    }

    fn signal(&self) -> Option<String> {
        let tells = |line: &&String| line.contains("got signal=") || line.contains("terminating on signal ");
        self.0.iter().find(tells).cloned()
    }
}

fn is_cut(raw: &RawTrial<'_>, stream: &str) -> bool {
    raw.record.cut.iter().any(|cut| cut == stream)
}

fn kernel_log_gap(raw: &RawTrial<'_>) -> Option<String> {
    let kept = raw.kernel_log.len();
    let cut = is_cut(raw, "kernel_log").then(|| format!("only its first {kept} bytes were kept"));
    let gaps: Vec<String> = raw.record.kernel_log_gap.iter().map(|gap| quote(gap)).chain(cut).collect();
    (!gaps.is_empty()).then(|| gaps.join("; "))
}

fn quote(line: &str) -> String {
    line.trim().chars().filter(|c| !c.is_control()).take(QUOTE).collect()
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
