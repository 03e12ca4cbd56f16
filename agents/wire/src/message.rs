//! The messages, one enumeration a direction.

use crate::{Listed, Target, TrialDone, TrialRequest};
use serde::{Deserialize, Serialize};

/// From the host to the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ToAgent {
    /// Answer to the agent's hello.
    Hello {
        /// The host's [`crate::PROTOCOL`].
        protocol: u32,
    },
    /// Asks for [`ToHost::Identity`].
    Identify,
    /// Asks for [`ToHost::Target`]: is it there, free, and what the lab lists?
    FindTarget {
        /// What is looked for.
        listed: Listed,
    },
    /// Asks for a trial.
    RunTrial {
        /// Which.
        request: TrialRequest,
    },
    /// Stops a running trial; the agent ends.
    Cancel,
    /// The agent ends, and a running trial with it.
    Bye,
}

/// From the agent to the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ToHost {
    /// The agent's first word.
    Hello {
        /// The agent's [`crate::PROTOCOL`].
        protocol: u32,
        /// BLAKE3 of the agent's own executable, 64 hexadecimal digits.
        digest: String,
        /// The agent's process id.
        pid: u32,
    },
    /// What the board is.
    Identity {
        /// Facts.
        identity: Identity,
    },
    /// A target was found and verified.
    Target {
        /// Facts.
        target: Target,
    },
    /// A trial is under way; sent once a second.
    Progress {
        /// Since fio's start, milliseconds.
        elapsed_ms: u64,
    },
    /// A trial is over; the chunks of the streams follow in the order in which it lists them.
    TrialDone {
        /// How it went.
        done: TrialDone,
    },
    /// A request was not carried out; nothing was written to a target.
    Error {
        /// Which kind.
        code: ErrorCode,
        /// What is wrong, one line.
        message: String,
    },
}

/// What a booted board says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// /proc/sys/kernel/random/boot_id
    pub boot_id: String,
    /// GNU build-id from /sys/kernel/notes, lower-case hexadecimal; absent where the kernel has none.
    pub build_id: Option<String>,
    /// /proc/cmdline without its newline.
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

/// Why a request was not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The host said something that does not belong here.
    Protocol,
    /// Nothing on the board is what the lab lists.
    TargetMissing,
    /// More than one thing on the board is what the lab lists.
    TargetAmbiguous,
    /// It is there, and is not what the lab lists: another size or another kind.
    TargetMismatch,
    /// It is mounted, part of another device, or held by another program.
    TargetBusy,
    /// It is read-only, and the trial writes.
    TargetReadOnly,
    /// The board keeps the agent from its work: a file cannot be read or made.
    Board,
}
