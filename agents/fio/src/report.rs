//! What a fio report says, in one set of units whatever the version that wrote it.

use serde::Serialize;

/// One fio document.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// As fio names itself, such as `fio-3.36`; free text.
    pub version: String,
    /// One entry a job, or a group of clones with `group_reporting`. The sum that client mode appends is
    /// left out.
    pub jobs: Vec<Job>,
    /// Disks that fio watched; counts include ramp, layout and other processes.
    pub disk_util: Vec<DiskUtil>,
    /// Complete documents in the output; the last is the one that is told here.
    pub documents: usize,
    /// Whether another document began after the last complete one: fio was cut off.
    pub truncated: bool,
    /// What stood around the documents: notes, errors, statistics as text. Lines without the empty ones.
    pub noise: Vec<String>,
}

/// A job, or a group of clones with `group_reporting`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Job {
    /// Name; clones share it.
    pub name: String,
    /// Number of the group.
    pub group: i64,
    /// The errno of the first failure, 0 for none; may be negative. 0 does not prove success.
    pub error: i64,
    /// Errors passed over by `continue_on_error`.
    pub total_err: u64,
    /// Sum of the members' run times in milliseconds; fio 3.8 and later.
    pub job_runtime_ms: Option<u64>,
    /// Options of this job as fio repeats them, duplicates kept. Before 3.39 those without value are missing.
    pub options: Vec<(String, String)>,
    /// Reads.
    pub read: Direction,
    /// Writes.
    pub write: Direction,
    /// Trims.
    pub trim: Direction,
    /// All of them together, where `unified_rw_reporting` asked for it; with `both` it repeats the others.
    pub mixed: Option<Direction>,
    /// User time, percent of run time, average of the members.
    pub usr: f64,
    /// System time, percent of run time, average of the members.
    pub sys: f64,
    /// Context switches.
    pub ctx: u64,
    /// Percent of submissions at each queue depth, `("1", 100.0)` and so on.
    pub iodepth_level: Vec<(String, f64)>,
}

impl Job {
    /// The directions that add up to the job's work, each I/O once.
    pub fn directions(&self) -> impl Iterator<Item = &Direction> {
        let apart = [&self.read, &self.write, &self.trim];
        let only_mixed = apart.iter().all(|d| d.total_ios == 0 && d.io_bytes == 0);
        let mixed = self.mixed.as_ref().filter(|_| only_mixed);
        apart.into_iter().filter(move |_| mixed.is_none()).chain(mixed)
    }

    /// The longest run time of the directions, milliseconds.
    pub fn runtime_ms(&self) -> u64 {
        self.directions().map(|d| d.runtime_ms).max().unwrap_or(0)
    }

    /// Completed I/Os of all directions.
    pub fn total_ios(&self) -> u64 {
        self.directions().fold(0, |sum, d| sum.saturating_add(d.total_ios))
    }
}

/// One direction of a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Direction {
    /// Completed I/Os. Before fio 2.1.14, which did not tell, computed from rate and run time.
    pub total_ios: u64,
    /// Bytes; up to fio 2.20 a multiple of 1024.
    pub io_bytes: u64,
    /// Run time without the ramp, milliseconds; the longest of the members.
    pub runtime_ms: u64,
    /// I/Os that came back short.
    pub short_ios: u64,
    /// I/Os that were dropped.
    pub drop_ios: u64,
    /// Submission latency.
    pub slat: Latency,
    /// Completion latency.
    pub clat: Latency,
    /// Total latency.
    pub lat: Latency,
}

/// A latency distribution in nanoseconds. fio up to 2.21 measured microseconds: values are multiples of 1000.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Latency {
    /// Shortest.
    pub min: u64,
    /// Longest.
    pub max: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation.
    pub stddev: f64,
    /// Measured I/Os. Before fio 3.18, which did not tell, the direction's `total_ios` where there is a mean.
    pub n: u64,
    /// `(percent, nanoseconds)` as fio computed them, ascending.
    pub percentiles: Vec<(f64, u64)>,
    /// JSON+ histogram, `(middle of the bucket, count)`, ascending; a bucket is 1/64 of its value wide.
    pub bins: Vec<(u64, u64)>,
}

/// Counters of one disk over the whole life of the fio process.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DiskUtil {
    /// Kernel name, such as `sda`.
    pub name: String,
    /// Completed reads.
    pub read_ios: u64,
    /// Completed writes.
    pub write_ios: u64,
    /// Merged reads.
    pub read_merges: u64,
    /// Merged writes.
    pub write_merges: u64,
    /// Percent of the time with I/O in flight.
    pub util: f64,
}
