//! The evidence of one trial, as it is stored.

use kab_model::TrialRecord;

/// A trial's record with the bytes of the blobs that it names.
#[derive(Clone, Copy, Debug)]
pub struct RawTrial<'a> {
    /// Command, exit, CPU counters and wall time. Its blob ids are not looked at.
    pub record: &'a TrialRecord,
    /// fio's output file; empty where there was none.
    pub output: &'a [u8],
    /// fio's standard output.
    pub stdout: &'a [u8],
    /// fio's standard error.
    pub stderr: &'a [u8],
    /// Kernel log of the window: records of /dev/kmsg (`prio,seq,usec,flags;text`) or lines of dmesg.
    pub kernel_log: &'a [u8],
}
