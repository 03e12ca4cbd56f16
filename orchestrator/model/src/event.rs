//! The run log's vocabulary. Events are facts that happened; a newer kab reads all older ones.

use crate::{
    Accel, Arch, Artifact, BlobId, BoardName, KernelDifference, Outcome, Plan, Posted, Reason, Sample,
    TrialKey, VariantName, VisitKey,
};
use serde::{Deserialize, Serialize};

/// One line of events.jsonl.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Logged {
    /// Version of the event format.
    pub v: u32,
    /// Position in the log, from 0, without gaps.
    pub seq: u64,
    /// Wall clock, milliseconds since the Unix epoch; for people, never for order.
    pub at_ms: i64,
    /// What happened.
    pub event: Event,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Event {
    /// First event of every log.
    Planned {
        /// The whole plan.
        plan: Box<Plan>,
    },
    /// First and but for its end only event of a run that somebody else made: its figures as posted.
    Imported {
        /// All of it.
        table: Box<Posted>,
    },
    /// A process took the run up, at first or again.
    Opened {
        /// `kab` version.
        kab: String,
        /// Process id, for people.
        pid: u32,
    },
    /// The accelerator that all visits of a virtual board use.
    Accelerated {
        /// The board.
        board: BoardName,
        /// `Tcg` or `Kvm`.
        accel: Accel,
        /// First line of the emulator's `--version`.
        emulator: String,
        /// Why, in words.
        reason: String,
    },
    /// A variant's kernel is there.
    Built {
        /// The variant.
        variant: VariantName,
        /// What was built or found.
        artifact: Artifact,
        /// The final `.config`; absent in logs of older kabs.
        #[serde(default)]
        config: Option<BlobId>,
    },
    /// A variant's kernel cannot be built; its visits are left out.
    BuildFailed {
        /// The variant.
        variant: VariantName,
        /// For which architecture.
        arch: Arch,
        /// First error lines and the place of the log.
        error: String,
    },
    /// What a variant's kernel has otherwise than the baseline's, once both are there.
    Compared {
        /// The variant.
        variant: VariantName,
        /// Symbols and nodes.
        difference: Box<KernelDifference>,
    },
    /// A visit begins: the board is about to boot.
    VisitStarted {
        /// The visit.
        visit: VisitKey,
    },
    /// What booted is what was meant (invariant 12).
    BootProved {
        /// The visit.
        visit: VisitKey,
        /// The evidence.
        proof: BootProof,
    },
    /// A trial begins; without an end it was in flight when kab died.
    TrialStarted {
        /// The trial.
        trial: TrialKey,
    },
    /// A trial ended and its evidence is stored.
    TrialEnded {
        /// The trial.
        trial: TrialKey,
        /// Raw evidence.
        record: Box<TrialRecord>,
        /// The judgement.
        #[serde(flatten)]
        outcome: Outcome,
        /// Numbers; present exactly when the outcome counts.
        sample: Option<Sample>,
        /// [`crate::DERIVATION`] of the rules that judged.
        derivation: u32,
    },
    /// All cells of a visit are through.
    VisitEnded {
        /// The visit.
        visit: VisitKey,
        /// Serial console of the whole visit.
        console: Option<BlobId>,
    },
    /// The variant did not deliver: the boot failed, or the kernel died under load. A result.
    VisitFailed {
        /// The visit.
        visit: VisitKey,
        /// How.
        class: FailureClass,
        /// What was seen.
        reason: Reason,
        /// Serial console.
        console: Option<BlobId>,
    },
    /// The lab's fault: none of this visit's trials count, and a replacement follows.
    VisitVoided {
        /// The visit.
        visit: VisitKey,
        /// What was seen. Rule `interrupted` means that kab itself ended and is not counted against the limit.
        reason: Reason,
        /// Serial console.
        console: Option<BlobId>,
    },
    /// Nothing more will be tried for this variant on this board.
    GaveUp {
        /// The board.
        board: BoardName,
        /// The variant, or all of the board's where absent.
        variant: Option<VariantName>,
        /// Why.
        reason: Reason,
    },
    /// The plan is finished as far as it can be.
    Finished,
}

/// How a variant failed a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// Never came up within the time-out, or panicked on the way.
    Boot,
    /// Panicked or stopped answering after it had come up.
    Crash,
}

/// What a booted board says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootIdentity {
    /// /proc/sys/kernel/random/boot_id
    pub boot_id: String,
    /// GNU build-id from /sys/kernel/notes, lower-case hexadecimal; absent where the kernel has none.
    pub build_id: Option<String>,
    /// /proc/cmdline
    pub cmdline: String,
    /// `uname -r`
    pub release: String,
    /// `uname -v`
    pub version: String,
    /// `uname -m`
    pub machine: String,
    /// Online CPUs.
    pub cpus: u32,
    /// MemTotal, bytes.
    pub memory: u64,
    /// What `fio --version` printed; absent where there is no fio.
    pub fio: Option<String>,
}

/// Evidence that the right kernel runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootProof {
    /// What the board said.
    pub identity: BootIdentity,
    /// Stamp found on the command line.
    pub stamp: String,
    /// From power-on to the agent's answer, milliseconds.
    pub boot_ms: u64,
    /// Digest of the agent that answered.
    pub agent: String,
}

/// How fio ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FioExit {
    /// Exit code.
    Code(i32),
    /// Killed by a signal.
    Signal(i32),
    /// Stopped by the agent because it outlived its deadline.
    Deadline,
    /// Could not be started.
    NotStarted(String),
}

/// Raw evidence of a trial: enough to judge it again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// The command that ran, argument by argument.
    pub argv: Vec<String>,
    /// How fio ended.
    pub exit: FioExit,
    /// fio's output file (JSON+).
    pub output: BlobId,
    /// fio's standard output.
    pub stdout: BlobId,
    /// fio's standard error.
    pub stderr: BlobId,
    /// Kernel log lines of the window.
    pub kernel_log: BlobId,
    /// The `cpu` line of /proc/stat before and after.
    pub proc_stat: Option<(String, String)>,
    /// Wall time of fio on the board, milliseconds.
    pub wall_ms: u64,
    /// Run time that was asked for, milliseconds, where the options say.
    pub planned_ms: Option<u64>,
    /// What the kernel log lacks, in words: `3 records lost`, or `unreadable: ` and why; absent where it is whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_log_gap: Option<String>,
    /// Streams of which only the beginning was kept: `output`, `stdout`, `stderr`, `kernel_log`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cut: Vec<String>,
}
