//! Sums over all jobs and directions of a report, computed from counters and histograms.
//!
//! fio's own rates are not used: versions differ in what they sum, and some print up to a tenth too little.

use crate::report::{Direction, Job, Report};
use serde::Serialize;

/// What a whole fio run did.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Totals {
    /// Completed I/Os.
    pub total_ios: u64,
    /// Bytes.
    pub io_bytes: u64,
    /// Longest run time of any job and direction, milliseconds.
    pub runtime_ms: u64,
    /// I/Os that came back short or were dropped.
    pub short_ios: u64,
    /// `total_ios` a second of `runtime_ms`; 0 where that is 0.
    pub iops: f64,
    /// `io_bytes` a second of `runtime_ms`; 0 where that is 0.
    pub bw: f64,
    /// User time, percent of run time, average over the members of all jobs.
    pub usr: f64,
    /// System time, percent of run time, likewise.
    pub sys: f64,
    /// Mean completion latency in nanoseconds, weighted by I/Os; absent where fio measured none.
    pub clat_mean: Option<f64>,
    /// Histograms of completion latency merged, `(middle of the bucket in ns, count)`, ascending.
    pub clat_bins: Vec<(u64, u64)>,
}

impl Totals {
    /// Adds a report up. The order of additions is that of the report, so equal bytes give equal bits.
    pub fn of(report: &Report) -> Self {
        let directions: Vec<&Direction> = report.jobs.iter().flat_map(Job::directions).collect();
        let sum =
            |of: fn(&Direction) -> u64| directions.iter().fold(0u64, |sum, d| sum.saturating_add(of(d)));
        let total_ios = sum(|d| d.total_ios);
        let io_bytes = sum(|d| d.io_bytes);
        let runtime_ms = directions.iter().map(|d| d.runtime_ms).max().unwrap_or(0);
        Self {
            total_ios,
            io_bytes,
            runtime_ms,
            short_ios: sum(|d| d.short_ios.saturating_add(d.drop_ios)),
            iops: per_second(total_ios, runtime_ms),
            bw: per_second(io_bytes, runtime_ms),
            usr: average(&report.jobs, |job| job.usr),
            sys: average(&report.jobs, |job| job.sys),
            clat_mean: clat_mean(&directions),
            clat_bins: merge(&directions),
        }
    }

    /// A percentile of completion latency from the merged histograms, nanoseconds; see [`percentile`].
    pub fn clat_percentile(&self, percent: f64) -> Option<u64> {
        percentile(&self.clat_bins, percent)
    }
}

/// The middle of the first bucket at which `percent` of all counts are reached, the value that fio itself
/// reports for a single histogram. `bins` ascend; `None` where they are empty.
pub fn percentile(bins: &[(u64, u64)], percent: f64) -> Option<u64> {
    let all = bins.iter().fold(0u64, |sum, (_, count)| sum.saturating_add(*count));
    let wanted = percent / 100.0 * all as f64;
    let mut reached = 0u64;
    let middle = bins.iter().find(|(_, count)| {
        reached = reached.saturating_add(*count);
        reached as f64 >= wanted
    });
    middle.or(bins.last()).map(|(middle, _)| *middle)
}

fn per_second(amount: u64, runtime_ms: u64) -> f64 {
    if runtime_ms == 0 { 0.0 } else { amount as f64 * 1000.0 / runtime_ms as f64 }
}

/// fio's percentages are means over the members of a group, so each weighs by its members' summed run time
/// where fio tells it (since 3.8), else by the job's own.
fn average(jobs: &[Job], percent: fn(&Job) -> f64) -> f64 {
    let weight = |job: &Job| job.job_runtime_ms.unwrap_or_else(|| job.runtime_ms()) as f64;
    let weights: f64 = jobs.iter().map(weight).sum();
    if weights <= 0.0 {
        return 0.0;
    }
    jobs.iter().map(|job| percent(job) * weight(job)).sum::<f64>() / weights
}

fn clat_mean(directions: &[&Direction]) -> Option<f64> {
    let measured: u64 = directions.iter().fold(0, |sum, d| sum.saturating_add(d.clat.n));
    let weighted: f64 = directions.iter().map(|d| d.clat.mean * d.clat.n as f64).sum();
    (measured > 0).then(|| weighted / measured as f64)
}

fn merge(directions: &[&Direction]) -> Vec<(u64, u64)> {
    let mut all: Vec<(u64, u64)> = directions.iter().flat_map(|d| d.clat.bins.iter().copied()).collect();
    all.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::with_capacity(all.len());
    for (middle, count) in all {
        match merged.last_mut() {
            Some((last, sum)) if *last == middle => *sum = sum.saturating_add(count),
            _ => merged.push((middle, count)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Latency;

    fn direction(total_ios: u64, runtime_ms: u64, mean: f64, bins: &[(u64, u64)]) -> Direction {
        let clat = Latency { mean, n: total_ios, bins: bins.to_vec(), ..Latency::default() };
        Direction { total_ios, io_bytes: total_ios * 4096, runtime_ms, clat, ..Direction::default() }
    }

    fn job(read: Direction, write: Direction, usr: f64, job_runtime_ms: Option<u64>) -> Job {
        Job { read, write, usr, job_runtime_ms, ..Job::default() }
    }

    #[test]
    fn rates_come_from_counters_and_the_longest_run() {
        let first = job(direction(1000, 2000, 10.0, &[(10, 1000)]), Direction::default(), 10.0, Some(2000));
        let second = job(
            direction(500, 1000, 40.0, &[(10, 100), (40, 400)]),
            direction(500, 1000, 0.0, &[(7, 500)]),
            40.0,
            Some(1000),
        );
        let totals = Totals::of(&Report { jobs: vec![first, second], ..Report::default() });
        assert_eq!((totals.total_ios, totals.io_bytes, totals.runtime_ms), (2000, 2000 * 4096, 2000));
        assert_eq!((totals.iops, totals.bw), (1000.0, 4_096_000.0));
        assert_eq!(totals.usr, 20.0, "weighted 2:1");
        assert_eq!(totals.clat_mean, Some(15.0));
        assert_eq!(totals.clat_bins, [(7, 500), (10, 1100), (40, 400)]);
        assert_eq!(totals.clat_percentile(80.0), Some(10));
        assert_eq!(totals.clat_percentile(80.1), Some(40));
    }

    #[test]
    fn mixed_counts_only_where_it_stands_alone() {
        let alone = Job { mixed: Some(direction(5, 10, 1.0, &[])), ..Job::default() };
        let both = Job {
            mixed: Some(direction(5, 10, 1.0, &[])),
            ..job(direction(5, 10, 1.0, &[]), Direction::default(), 0.0, None)
        };
        for jobs in [vec![alone], vec![both]] {
            assert_eq!(Totals::of(&Report { jobs, ..Report::default() }).total_ios, 5);
        }
    }

    #[test]
    fn nothing_measured_is_absent_not_zero() {
        let totals = Totals::of(&Report { jobs: vec![Job::default()], ..Report::default() });
        assert_eq!((totals.iops, totals.clat_mean, totals.clat_percentile(99.0)), (0.0, None, None));
    }
}
