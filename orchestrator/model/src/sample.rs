//! The numbers of one trial that counts.

use crate::{LatencyBins, Metric};
use serde::{Deserialize, Serialize};

/// Version of the rules that turn raw bytes into a [`Sample`]; stored with every sample, so that
/// `kab runs verify` knows when a difference is a changed rule and not changed bytes.
///
/// 2: the histogram of latencies in place of a percentile of each trial.
pub const DERIVATION: u32 = 2;

/// Metrics of one trial, all jobs and directions together, computed again from totals and run time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Completed I/Os of all jobs and directions (reads, writes and trims).
    pub total_ios: u64,
    /// Bytes of all jobs and directions.
    pub io_bytes: u64,
    /// Longest run time of the jobs, milliseconds.
    pub runtime_ms: u64,
    /// Completed I/Os a second.
    pub iops: f64,
    /// Bytes a second.
    pub bw: f64,
    /// fio's own user time, percent of run time (average a job).
    pub usr_pct: f64,
    /// fio's own system time, percent of run time (average a job).
    pub sys_pct: f64,
    /// Board-wide busy time an I/O from /proc/stat deltas, nanoseconds; absent where the board did not tell.
    pub cpu_per_io: Option<f64>,
    /// Mean completion latency, nanoseconds, weighted by I/Os; absent where fio measured none.
    pub clat_mean: Option<f64>,
    /// Histogram of completion latency, all jobs and directions merged; empty where fio measured none.
    #[serde(default, skip_serializing_if = "LatencyBins::is_empty")]
    pub clat_bins: LatencyBins,
}

impl Sample {
    /// The value of one metric in its own unit (see [`Metric`]), where the trial has it. A percentile is no value of a trial: it is
    /// read from the bins of a visit's trials, merged, and never averaged.
    pub fn metric(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::Iops => Some(self.iops),
            Metric::Bw => Some(self.bw),
            Metric::CpuPerIo => self.cpu_per_io,
            Metric::ClatMean => self.clat_mean,
            Metric::ClatP50 | Metric::ClatP99 | Metric::ClatP999 => None,
        }
    }
}
