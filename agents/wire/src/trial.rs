//! A trial: what is asked for and what comes back.

use crate::Listed;
use serde::{Deserialize, Serialize};

/// Most bytes of one stream that the agent sends; the rest is left out and [`StreamInfo::total`] tells so.
pub const MAX_STREAM: u64 = 8 << 20;

/// How the line on [`Stream::Stderr`] begins in which the agent tells that fio could not be ended.
pub const LEFT_BEHIND: &str = "kab-agent: fio was left behind";

/// A trial to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialRequest {
    /// fio's arguments after the program's name.
    pub args: Vec<Arg>,
    /// What fio reads or writes.
    pub target: Listed,
    /// Whether it writes.
    pub writes: bool,
    /// Wall time after which fio is stopped, milliseconds.
    pub deadline_ms: u64,
}

/// One argument of fio. What only the board knows has its own place in the message, so that no text is searched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arg {
    /// The argument as it is.
    Text(String),
    /// This prefix (`--filename=`) and the target's path, with fio's escapes.
    Target(String),
    /// This prefix (`--output=`) and the path of the file whose content becomes [`Stream::Output`].
    Output(String),
}

/// A trial that is over, however it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialDone {
    /// The command that ran, argument by argument, from the program's name.
    pub argv: Vec<String>,
    /// How fio ended.
    pub exit: Exit,
    /// Wall time of fio, milliseconds.
    pub wall_ms: u64,
    /// The `cpu` line of /proc/stat before and after; absent where the board does not tell.
    pub proc_stat: Option<(String, String)>,
    /// How complete the kernel log is.
    pub kernel_log: KernelLog,
    /// The streams that follow, each once.
    pub streams: Vec<StreamInfo>,
}

/// How fio ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// Exit code.
    Code(i32),
    /// Killed by a signal that the agent did not send.
    Signal(i32),
    /// Stopped by the agent because it outlived its deadline.
    Deadline,
    /// Could not be started: why.
    NotStarted(String),
}

/// How complete [`Stream::KernelLog`] is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelLog {
    /// Every record between start and end is there.
    Complete,
    /// The kernel overwrote records before they were read.
    Lost {
        /// How many, from the sequence numbers.
        records: u64,
    },
    /// The board does not let the agent read it: why.
    Unreadable(String),
}

/// Raw evidence of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// fio's output file.
    Output,
    /// fio's standard output.
    Stdout,
    /// fio's standard error.
    Stderr,
    /// Records of /dev/kmsg from fio's start to its end, as the kernel gives them
    /// (`prio,sequence,microseconds,flags;text`).
    KernelLog,
}

impl Stream {
    /// All streams, in the order in which the agent sends them.
    pub const ALL: [Self; 4] = [Self::Output, Self::Stdout, Self::Stderr, Self::KernelLog];

    /// For messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Output => "output",
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
            Self::KernelLog => "kernel_log",
        }
    }

    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Output => 0,
            Self::Stdout => 1,
            Self::Stderr => 2,
            Self::KernelLog => 3,
        }
    }

    pub(crate) fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|stream| stream.code() == code)
    }
}

/// A stream that follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamInfo {
    /// Which.
    pub stream: Stream,
    /// Bytes that follow, at most [`MAX_STREAM`].
    pub length: u64,
    /// Bytes that there were; more than `length` where the stream was cut.
    pub total: u64,
}
