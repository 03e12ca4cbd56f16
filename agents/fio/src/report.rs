//! What a fio report says, in one set of units whatever the version that wrote it.

use serde::Serialize;

/// One fio document.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// As fio names itself, such as `fio-3.36`; free text, empty where an excerpt lacks it.
    pub version: String,
    /// When it was printed, milliseconds since 1970; whole seconds up to fio 2.11, absent in text and terse.
    pub time_ms: Option<u64>,
    /// Options of the `[global]` section as fio repeats them, duplicates kept; those of all clients in turn.
    pub options: Vec<(String, String)>,
    /// One entry a job, or a group of clones with `group_reporting`. The sum that client mode appends is
    /// left out.
    pub jobs: Vec<Job>,
    /// The sum over all jobs that client mode appends; kept apart, since it would count everything twice.
    pub all_clients: Option<Box<Job>>,
    /// Lines of the "Run status" blocks of text output.
    pub groups: Vec<GroupLine>,
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
    /// Name; clones share it. Empty where an excerpt lacks it.
    pub name: String,
    /// The client that ran it, in client mode.
    pub host: Option<String>,
    /// Members that are told together, where text output says so (`jobs=4`).
    pub members: Option<u64>,
    /// Process of the first member, where text output says so.
    pub pid: Option<u64>,
    /// Line of the input that begins it, from 1; 0 where it was not read by [`crate::read_any`].
    pub line: usize,
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
    /// Latency of fsync and its like; fio 3.4 and later.
    pub sync: Option<Latency>,
    /// Percent of submissions at each queue depth, `("1", 100.0)` and so on.
    pub iodepth_level: Vec<(String, f64)>,
}

impl Job {
    /// The directions that add up to the job's work, each I/O once.
    pub fn directions(&self) -> impl Iterator<Item = &Direction> {
        let apart = [&self.read, &self.write, &self.trim];
        let only_mixed = apart.iter().all(|d| !d.moved());
        let mixed = self.mixed.as_ref().filter(|_| only_mixed);
        apart.into_iter().filter(move |_| mixed.is_none()).chain(mixed)
    }

    /// The directions that moved data, each I/O once, by name.
    pub fn named_directions(&self) -> impl Iterator<Item = (&'static str, &Direction)> {
        let apart = [("read", &self.read), ("write", &self.write), ("trim", &self.trim)];
        let only_mixed = apart.iter().all(|(_, d)| !d.moved());
        let mixed = self.mixed.as_ref().filter(|_| only_mixed).map(|d| ("mixed", d));
        apart.into_iter().chain(mixed).filter(|(_, d)| d.moved())
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
    /// Completed I/Os. Where fio did not tell (JSON before 2.1.14, terse, excerpts), computed from rate and run time.
    pub total_ios: u64,
    /// Bytes; up to fio 2.20 a multiple of 1024. In text the best that all printed figures allow.
    pub io_bytes: u64,
    /// I/Os a second, from counters and run time where fio tells them, else as printed.
    pub iops: f64,
    /// Bytes a second, likewise.
    pub bw: f64,
    /// How well `total_ios` and `iops` are known.
    pub ios_basis: Basis,
    /// How well `io_bytes` and `bw` are known.
    pub bytes_basis: Basis,
    /// What fio printed as rates and totals, with its rounding and its lines.
    pub printed: Vec<Figure>,
    /// fio's own samples of bandwidth, bytes a second, one each half second and member.
    pub bw_samples: Option<Spread>,
    /// fio's own samples of IOPS; fio 2.99 and later.
    pub iops_samples: Option<Spread>,
    /// Line of the input that begins it, from 1; 0 where unknown.
    pub line: usize,
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

impl Direction {
    /// Whether anything was moved. An excerpt may tell rates only.
    pub fn moved(&self) -> bool {
        self.total_ios > 0 || self.io_bytes > 0 || self.iops > 0.0 || self.bw > 0.0
    }

    /// A printed figure.
    pub fn figure(&self, what: What) -> Option<&Figure> {
        self.printed.iter().find(|figure| figure.what == what)
    }
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
    /// Line of the input with minimum, maximum and mean, from 1; 0 where unknown.
    pub line: usize,
    /// Half the step in which `min` and `max` were printed, as a part of the value: 0 in JSON, 0.0005 for four digits.
    pub rounding: f64,
}

/// How well a counter and its rate are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// Not at all.
    #[default]
    Absent,
    /// From figures that are rounded to three to five digits.
    Rounded,
    /// From rounded figures, one of which fio 2.17 to 3.25 printed up to a tenth too small; another tells so.
    Corrected,
    /// From exact counters.
    Counted,
}

/// A figure as printed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Which one.
    pub what: What,
    /// The value in I/Os, bytes, or either a second.
    pub value: f64,
    /// Smallest value that is printed so.
    pub low: f64,
    /// Largest value that is printed so, without the carry error.
    pub high: f64,
    /// Whether fio 2.17 to 3.25 print this figure for a larger value as well, up to this one: the fraction is zero, and
    /// these versions drop the carry of a fraction that rounds up to one.
    pub carry: Option<f64>,
    /// Line of the input, from 1.
    pub line: usize,
    /// The characters, such as `12.0k`.
    pub text: String,
}

/// What a [`Figure`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// I/Os a second.
    Iops,
    /// Bytes a second, in units of 1024 where fio is left as it is.
    Bw,
    /// Bytes a second again, in the other units.
    BwOther,
    /// Bytes.
    Io,
    /// Bytes again, in the other units.
    IoOther,
    /// Smallest rate of a member, bytes a second.
    BwMin,
    /// Largest rate of a member, bytes a second.
    BwMax,
}

/// fio's samples of a rate over time: I/Os or bytes a second.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// Smallest. With group_reporting the sum of the members' smallest since fio 3.13, the smallest of all before.
    pub min: f64,
    /// Largest, likewise.
    pub max: f64,
    /// Mean, likewise: an average over members before fio 3.13.
    pub mean: f64,
    /// Standard deviation.
    pub stddev: f64,
    /// Number of samples; fio 2.99 and later.
    pub samples: Option<u64>,
    /// Line of the input, from 1; 0 where unknown.
    pub line: usize,
}

/// One line of a "Run status" block: the sum over a group.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GroupLine {
    /// Number of the group; 0 where an excerpt lacks it.
    pub group: i64,
    /// `read`, `write`, `trim` or `mixed`.
    pub direction: String,
    /// Rates and bytes.
    pub printed: Vec<Figure>,
    /// Shortest run of a member, milliseconds.
    pub runtime_min_ms: u64,
    /// Longest run of a member, milliseconds.
    pub runtime_max_ms: u64,
    /// Line of the input, from 1.
    pub line: usize,
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
    /// Sectors of 512 bytes read and written; fio 3.36 and later.
    pub sectors: Option<(u64, u64)>,
    /// Milliseconds that reads and writes waited, summed.
    pub ticks: (u64, u64),
    /// Milliseconds with I/O in flight, weighted by depth.
    pub in_queue: u64,
    /// Percent of the time with I/O in flight.
    pub util: f64,
    /// Line of the input, from 1; 0 where unknown.
    pub line: usize,
}
