//! The numbers of a trial that counts.

use crate::raw::RawTrial;
use kab_fio::{Totals, options_of, ramp_time};
use kab_model::{LatencyBins, Sample};

/// Nanoseconds of one tick of /proc/stat: USER_HZ is 100 on every architecture that Linux still has.
const TICK_NS: f64 = 1e7;

/// Computes a sample from the totals of fio's report and the board's CPU counters.
pub(crate) fn of(raw: &RawTrial<'_>, totals: &Totals) -> Sample {
    Sample {
        total_ios: totals.total_ios,
        io_bytes: totals.io_bytes,
        runtime_ms: totals.runtime_ms,
        iops: totals.iops,
        bw: totals.bw,
        usr_pct: totals.usr,
        sys_pct: totals.sys,
        cpu_per_io: cpu_per_io(raw, totals),
        clat_mean: totals.clat_mean,
        clat_bins: LatencyBins::new(totals.clat_bins.clone()),
    }
}

/// Busy time of all CPUs an I/O. The counters cover fio's whole life; where the job has a ramp, whose I/Os are
/// not in the totals, the ramp's share of the time is taken off.
fn cpu_per_io(raw: &RawTrial<'_>, totals: &Totals) -> Option<f64> {
    let (before, after) = raw.record.proc_stat.as_ref()?;
    let ticks = busy_ticks(after)?.checked_sub(busy_ticks(before)?)?;
    if totals.total_ios == 0 || totals.runtime_ms == 0 {
        return None;
    }
    let ramp_ms = ramp_time(&options_of(&raw.record.argv)).as_millis() as f64;
    let counted = totals.runtime_ms as f64 / (totals.runtime_ms as f64 + ramp_ms);
    Some(ticks as f64 * TICK_NS * counted / totals.total_ios as f64)
}

/// user + nice + system + irq + softirq + steal of a `cpu` line. Idle and iowait are not work; guest time is
/// already part of user time. Kernels of old have fewer columns.
fn busy_ticks(line: &str) -> Option<u64> {
    let mut words = line.split_whitespace();
    words.next().filter(|first| *first == "cpu")?;
    let ticks: Vec<u64> = words.map(str::parse).collect::<Result<_, _>>().ok()?;
    if ticks.len() < 4 {
        return None;
    }
    const BUSY: [usize; 6] = [0, 1, 2, 5, 6, 7];
    BUSY.iter().try_fold(0u64, |sum, &column| sum.checked_add(ticks.get(column).copied().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_leaves_out_idle_iowait_and_guest() {
        assert_eq!(busy_ticks("cpu  1 2 4 1000 1000 8 16 32 5000 5000"), Some(63));
        assert_eq!(busy_ticks("cpu  1 2 4 1000"), Some(7));
        for broken in ["", "cpu", "cpu0 1 2 3 4", "cpu 1 2 x 4", "cpu 18446744073709551615 1 0 0"] {
            assert_eq!(busy_ticks(broken), None, "{broken:?}");
        }
    }
}
