//! Rules on how fio ended and what it measured.

use crate::fio_facts::FioFacts;
use crate::rule::{Class, RuleInfo};
use kab_fio::ParseError;
use kab_model::{FioExit, Reason};

/// Slack between fio's clock and the agent's beyond a tenth: start and end of processes, milliseconds.
const CLOCK_SLACK_MS: u64 = 1000;

/// Longest detail.
const DETAIL: usize = 1000;

/// A rule on facts: the detail where it speaks.
pub(crate) struct FioRule {
    /// Name, class and description.
    pub(crate) info: RuleInfo,
    speaks: fn(&FioFacts<'_>) -> Option<String>,
}

/// What the rules find, in the order of [`RULES`].
pub(crate) fn judge(facts: &FioFacts<'_>) -> Vec<(Class, Reason)> {
    let found = RULES.iter().filter_map(|rule| (rule.speaks)(facts).map(|detail| (rule.info, detail)));
    found
        .map(|(info, detail)| (info.class, Reason { rule: info.name.to_owned(), detail: plain(&detail) }))
        .collect()
}

/// Names of jobs and reasons come from the board: nothing in them is for a terminal to obey, or without end.
fn plain(detail: &str) -> String {
    detail.chars().filter(|c| !c.is_control()).take(DETAIL).collect()
}

const fn rule(
    name: &'static str,
    class: Class,
    about: &'static str,
    speaks: fn(&FioFacts<'_>) -> Option<String>,
) -> FioRule {
    FioRule { info: RuleInfo { name, class, about }, speaks }
}

/// By class, gravest first; within a class, causes before consequences.
pub(crate) const RULES: &[FioRule] = &[
    rule("fio-hang", Class::Failed, "fio outlived its deadline and was stopped", fio_hang),
    rule("io-error", Class::Failed, "an I/O error ended a job", io_error),
    rule("stalled", Class::Failed, "no I/O completed while the kernel told of trouble", stalled),
    rule("fio-missing", Class::Void, "fio could not be started", fio_missing),
    rule("fio-refused", Class::Void, "fio refused the job or could not begin it", fio_refused),
    rule("fio-killed", Class::Void, "a signal ended fio or one of its workers", fio_killed),
    rule("fio-output-cut", Class::Void, "fio wrote more output than is kept", fio_output_cut),
    rule("fio-output", Class::Void, "fio's output cannot be read", fio_output),
    rule("fio-exit", Class::Void, "fio's exit code is not 0 and nothing tells why", fio_exit),
    rule("jobs-missing", Class::Void, "the report has fewer jobs than were started", jobs_missing),
    rule("no-io", Class::Void, "no I/O completed", no_io),
    rule("runtime-off", Class::Void, "a time-based job ended before half its time", runtime_off),
    rule("clock", Class::Void, "fio's run time is longer than fio ran", clock),
    rule("runtime-long", Class::Noted, "a job took more than twice its time", runtime_long),
    rule("io-short", Class::Noted, "I/Os came back short or were dropped", io_short),
    rule("io-error-passed", Class::Noted, "I/O errors that the options let pass", io_error_passed),
    rule(
        "kernel-log-incomplete",
        Class::Noted,
        "messages of the kernel are missing, so that trouble may go unseen",
        kernel_log_incomplete,
    ),
];

fn fio_hang(facts: &FioFacts<'_>) -> Option<String> {
    let how = if facts.left_behind { "could not be killed either" } else { "was stopped" };
    (*facts.exit == FioExit::Deadline)
        .then(|| format!("fio had not ended after {} ms and {how}", facts.wall_ms))
}

fn io_error(facts: &FioFacts<'_>) -> Option<String> {
    let first = facts.failed_jobs().next().filter(|_| !facts.never_began())?;
    let more = match facts.failed_jobs().count() {
        1 => String::new(),
        jobs => format!(" ({jobs} jobs)"),
    };
    Some(format!("job {}{more}: {}: {}", first.name, errno(first.error), facts.complaint()))
}

fn stalled(facts: &FioFacts<'_>) -> Option<String> {
    no_io_at_all(facts).filter(|_| facts.kernel_troubled)
}

fn fio_missing(facts: &FioFacts<'_>) -> Option<String> {
    if let FioExit::NotStarted(why) = facts.exit { Some(why.clone()) } else { None }
}

fn fio_refused(facts: &FioFacts<'_>) -> Option<String> {
    let code = facts.code().filter(|code| *code != 0)?;
    let refused = match &facts.report {
        Ok(_) if facts.signal.is_some() => false,
        Ok(_) => match facts.failed_jobs().next() {
            Some(_) => facts.never_began(),
            None => facts.totals.as_ref().is_some_and(|totals| totals.total_ios == 0),
        },
        Err(error) => !unreadable(error),
    };
    refused.then(|| format!("exit code {code}: {}", facts.complaint()))
}

fn fio_killed(facts: &FioFacts<'_>) -> Option<String> {
    if let FioExit::Signal(signal) = facts.exit {
        return Some(format!("fio was killed by signal {signal}"));
    }
    facts.code()?;
    facts.signal.clone().or_else(|| {
        let job = facts.killed_job()?;
        Some(format!("job {} has {} I/Os and no run time: its worker was killed", job.name, job.total_ios()))
    })
}

/// Even where what was kept reads well: it may be an interim report that the last one followed.
fn fio_output_cut(facts: &FioFacts<'_>) -> Option<String> {
    facts.output_cut.then(|| "fio wrote more output than is kept; the report may be in the rest".to_owned())
}

fn fio_output(facts: &FioFacts<'_>) -> Option<String> {
    let code = facts.code().filter(|_| !facts.output_cut)?;
    match &facts.report {
        Ok(report) => report.truncated.then(|| "fio's last document breaks off".to_owned()),
        Err(error) => (code == 0 || unreadable(error)).then(|| error.to_string()),
    }
}

fn fio_exit(facts: &FioFacts<'_>) -> Option<String> {
    let code = facts.code().filter(|code| *code != 0)?;
    let totals = facts.totals.as_ref().filter(|totals| totals.total_ios > 0)?;
    let explained =
        facts.failed_jobs().next().is_some() || facts.signal.is_some() || facts.killed_job().is_some();
    (!explained).then(|| format!("exit code {code} after {} I/Os: {}", totals.total_ios, facts.complaint()))
}

fn jobs_missing(facts: &FioFacts<'_>) -> Option<String> {
    facts.undisturbed()?;
    let (told, expected) = (facts.jobs().len(), facts.expected_jobs);
    (told < expected).then(|| format!("the report has {told} of {expected} jobs"))
}

fn no_io(facts: &FioFacts<'_>) -> Option<String> {
    no_io_at_all(facts).filter(|_| !facts.kernel_troubled)
}

fn no_io_at_all(facts: &FioFacts<'_>) -> Option<String> {
    let idle = facts.totals.as_ref().is_some_and(|totals| totals.total_ios == 0);
    let well = facts.code() == Some(0) && facts.failed_jobs().next().is_none() && facts.signal.is_none();
    (idle && well).then(|| format!("fio ended well after {} ms and completed no I/O", facts.wall_ms))
}

fn runtime_off(facts: &FioFacts<'_>) -> Option<String> {
    facts.undisturbed()?;
    let wanted = facts.measured_ms?;
    let shortest = facts.jobs().iter().min_by_key(|job| job.runtime_ms())?;
    let ran = shortest.runtime_ms();
    (ran.saturating_mul(2) < wanted).then(|| format!("job {} ran {ran} ms of {wanted} ms", shortest.name))
}

fn clock(facts: &FioFacts<'_>) -> Option<String> {
    let totals = facts.undisturbed()?;
    overran_wall(facts, totals.runtime_ms).then(|| {
        format!("fio measured {} ms and lived {} ms by the agent's clock", totals.runtime_ms, facts.wall_ms)
    })
}

fn runtime_long(facts: &FioFacts<'_>) -> Option<String> {
    let ran = facts.undisturbed()?.runtime_ms;
    let wanted = facts.measured_ms?;
    (ran > wanted.saturating_mul(2) && !overran_wall(facts, ran))
        .then(|| format!("fio took {ran} ms for {wanted} ms: the last I/Os were slow to complete"))
}

fn overran_wall(facts: &FioFacts<'_>, runtime_ms: u64) -> bool {
    let lived = facts.wall_ms;
    runtime_ms > lived.saturating_add(lived / 10).saturating_add(CLOCK_SLACK_MS)
}

fn io_short(facts: &FioFacts<'_>) -> Option<String> {
    let totals = facts.undisturbed()?;
    (totals.short_ios > 0).then(|| format!("{} of {} I/Os", totals.short_ios, totals.total_ios))
}

fn io_error_passed(facts: &FioFacts<'_>) -> Option<String> {
    let errors: u64 = facts.jobs().iter().fold(0, |sum, job| sum.saturating_add(job.total_err));
    (errors > 0).then(|| format!("{errors} errors: {}", facts.complaint()))
}

fn kernel_log_incomplete(facts: &FioFacts<'_>) -> Option<String> {
    facts.kernel_log_gap.as_ref().map(|gap| format!("the kernel log of the trial: {gap}"))
}

/// There was output, and it is not what JSON+ should look like.
fn unreadable(error: &ParseError) -> bool {
    matches!(error, ParseError::Broken { .. } | ParseError::Text)
}

/// Names of the errors that block devices and their file systems give; the number for all others.
fn errno(errno: i64) -> String {
    const NAMES: &[(i64, &str)] = &[
        (1, "EPERM"),
        (2, "ENOENT"),
        (5, "EIO"),
        (6, "ENXIO"),
        (11, "EAGAIN"),
        (12, "ENOMEM"),
        (13, "EACCES"),
        (16, "EBUSY"),
        (19, "ENODEV"),
        (22, "EINVAL"),
        (27, "EFBIG"),
        (28, "ENOSPC"),
        (30, "EROFS"),
        (38, "ENOSYS"),
        (52, "EBADE"),
        (61, "ENODATA"),
        (62, "ETIME"),
        (67, "ENOLINK"),
        (84, "EILSEQ"),
        (95, "EOPNOTSUPP"),
        (110, "ETIMEDOUT"),
        (117, "EUCLEAN"),
        (121, "EREMOTEIO"),
    ];
    match NAMES.iter().find(|(number, _)| *number == errno) {
        Some((number, name)) => format!("errno {number} ({name})"),
        None => format!("errno {errno}"),
    }
}
