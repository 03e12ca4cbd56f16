//! Which of several documents of one run counts.

use crate::found::{Document, Format, Role};
use crate::report::{Job, Report};

/// Marks earlier states of a run and repetitions in another format.
pub(crate) fn assign(documents: &mut [Document]) {
    for later in 1..documents.len() {
        let (before, rest) = documents.split_at_mut(later);
        let (Some(earlier), Some(later)) = (before.last_mut(), rest.first_mut()) else { return };
        if earlier.format == later.format || both_json(earlier.format, later.format) {
            // What stands between tells two results apart, where no clock does.
            let apart = later.heading.is_some() && later.report.time_ms.is_none();
            if !apart && is_state_of(&earlier.report, &later.report) {
                earlier.role = Role::Interim;
            }
        } else if tell_the_same(&earlier.report, &later.report) {
            let json = matches!(later.format, Format::Json | Format::JsonPlus);
            let repeated = if json { earlier } else { later };
            repeated.role = Role::Repeat;
        }
    }
}

fn both_json(a: Format, b: Format) -> bool {
    [a, b].iter().all(|format| matches!(format, Format::Json | Format::JsonPlus))
}

/// Whether `earlier` is a state of the run that `later` tells: the same jobs, counters that only grow, and as much time
/// between the two as the run went on.
fn is_state_of(earlier: &Report, later: &Report) -> bool {
    if earlier.version != later.version || !same_jobs(earlier, later) {
        return false;
    }
    let mut pairs = earlier.jobs.iter().zip(&later.jobs);
    let grows = pairs.all(|(a, b)| {
        let (ios, bytes) = (a.total_ios() <= b.total_ios(), bytes(a) <= bytes(b));
        ios && bytes && a.runtime_ms() <= b.runtime_ms() && a.pid == b.pid
    });
    if !grows {
        return false;
    }
    let ran = longest(later).saturating_sub(longest(earlier));
    match (earlier.time_ms, later.time_ms) {
        (Some(before), Some(after)) => went_on(before, after, ran, longest(later)),
        // Text names the process. Without that, only a run that went on has both moved more and taken longer: a second
        // run moves as much, or takes as long.
        _ if earlier.jobs.iter().all(|job| job.pid.is_some_and(|pid| pid > 0)) => true,
        _ => ran >= 500 && earlier.jobs.iter().zip(&later.jobs).all(|(a, b)| bytes(a) < bytes(b)),
    }
}

/// Whether as much time went by as the run went on, and less than a whole second run takes.
fn went_on(before: u64, after: u64, ran: u64, longest: u64) -> bool {
    let Some(passed) = after.checked_sub(before) else { return false };
    let seconds_only = before.is_multiple_of(1000) && after.is_multiple_of(1000);
    let slack = if seconds_only { 1000 } else { 300 } + passed / 20;
    passed.abs_diff(ran) <= slack && passed < longest && (!seconds_only || ran >= 50)
}

fn same_jobs(a: &Report, b: &Report) -> bool {
    let name = |job: &Job| (job.name.clone(), job.group);
    a.jobs.iter().map(name).eq(b.jobs.iter().map(name))
}

fn longest(report: &Report) -> u64 {
    report.jobs.iter().map(Job::runtime_ms).max().unwrap_or(0)
}

fn bytes(job: &Job) -> u64 {
    job.directions().fold(0, |sum, direction| sum.saturating_add(direction.io_bytes))
}

/// Whether two formats tell of one run.
fn tell_the_same(a: &Report, b: &Report) -> bool {
    let alike = |a: u64, b: u64| a.abs_diff(b) <= a.max(b) / 100;
    same_jobs(a, b)
        && a.jobs.iter().zip(&b.jobs).all(|(a, b)| {
            alike(a.total_ios(), b.total_ios())
                && alike(bytes(a), bytes(b))
                && a.runtime_ms() == b.runtime_ms()
        })
}
