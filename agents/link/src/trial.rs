//! A trial as the host sees it: signs of life, the end, and the streams of evidence.

use crate::LinkError;
use crate::agent::{answer, unexpected, within};
use crate::channel::Channel;
use kab_wire::{
    Exit, Frame, KernelLog, MAX_STREAM, Stream, StreamInfo, ToAgent, ToHost, TrialDone, TrialRequest,
};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// Longest silence during a trial. The agent speaks once a second, also while it ends fio, but a guest in emulation whose
/// CPUs are all busy with I/O may starve it for some time.
const SILENCE: Duration = Duration::from_secs(60);

/// Time beyond the deadline: five seconds of grace for fio, then a minute in which the agent waits for a kernel that
/// aborts and resets a device that does not answer, before it leaves fio behind; doubled for emulation.
const OVERTIME: Duration = Duration::from_secs(130);

/// Longest silence between two pieces of evidence, which are in the board's memory.
const EVIDENCE: Duration = Duration::from_secs(60);

/// A sign of life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Since the trial's start, by the board's clock.
    pub elapsed: Duration,
}

/// A trial that is over, however it ended. Texts are lines without control characters; streams are as they were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialResult {
    /// The command that ran, argument by argument.
    pub argv: Vec<String>,
    /// How fio ended.
    pub exit: Exit,
    /// Wall time of fio on the board, milliseconds.
    pub wall_ms: u64,
    /// The `cpu` line of /proc/stat before and after.
    pub proc_stat: Option<(String, String)>,
    /// fio's output file.
    pub output: Collected,
    /// fio's standard output.
    pub stdout: Collected,
    /// fio's standard error.
    pub stderr: Collected,
    /// Records of /dev/kmsg during the trial, as the kernel gives them.
    pub kernel_log: Collected,
    /// How complete the kernel log is.
    pub kernel_log_state: KernelLog,
}

impl TrialResult {
    /// What the kernel log lacks, in words: `3 records lost`, or `unreadable: ` and why.
    pub fn kernel_log_gap(&self) -> Option<String> {
        match &self.kernel_log_state {
            KernelLog::Complete => None,
            KernelLog::Lost { records } => Some(format!("{records} records lost")),
            KernelLog::Unreadable(why) => Some(format!("unreadable: {why}")),
        }
    }

    /// Names of the streams of which only the beginning was brought over.
    pub fn cut(&self) -> Vec<String> {
        let streams = Stream::ALL.into_iter().filter(|stream| self.collected(*stream).is_cut());
        streams.map(|stream| stream.name().to_owned()).collect()
    }

    fn collected(&self, stream: Stream) -> &Collected {
        match stream {
            Stream::Output => &self.output,
            Stream::Stdout => &self.stdout,
            Stream::Stderr => &self.stderr,
            Stream::KernelLog => &self.kernel_log,
        }
    }
}

/// One stream of evidence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Its bytes, at most [`MAX_STREAM`].
    pub bytes: Vec<u8>,
    /// Bytes that there were on the board.
    pub total: u64,
}

impl Collected {
    /// Whether the stream is longer than what was brought over.
    pub fn is_cut(&self) -> bool {
        self.total > self.bytes.len() as u64
    }
}

pub(crate) async fn run(
    channel: &mut Channel,
    request: TrialRequest,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<TrialResult, LinkError> {
    let limit = Duration::from_millis(request.deadline_ms) + OVERTIME;
    let start = ToAgent::RunTrial { request };
    within("room for the request", SILENCE, channel.send(&start)).await?;
    let done = within("end of the trial", limit, end_of_trial(channel, progress)).await?;
    collect(channel, done).await
}

async fn end_of_trial(
    channel: &mut Channel,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<TrialDone, LinkError> {
    let mut shown: Option<Instant> = None;
    loop {
        match within("sign of life during the trial", SILENCE, answer(channel)).await? {
            ToHost::Progress { elapsed_ms } => {
                // A board that floods the host does not flood the host's user.
                if shown.is_none_or(|shown| shown.elapsed() >= Duration::from_millis(200)) {
                    shown = Some(Instant::now());
                    progress(Progress { elapsed: Duration::from_millis(elapsed_ms) });
                }
            }
            ToHost::TrialDone { done } => return Ok(done),
            other => return Err(unexpected(&other)),
        }
    }
}

async fn collect(channel: &mut Channel, done: TrialDone) -> Result<TrialResult, LinkError> {
    let mut collected = BTreeMap::new();
    for info in &done.streams {
        if collected.contains_key(&info.stream) {
            return Err(LinkError::protocol(&format_args!("stream {} came twice", info.stream.name())));
        }
        collected.insert(info.stream, stream(channel, info).await?);
    }
    let mut take = |stream| collected.remove(&stream).unwrap_or_default();
    Ok(TrialResult {
        argv: done.argv,
        exit: done.exit,
        wall_ms: done.wall_ms,
        proc_stat: done.proc_stat,
        output: take(Stream::Output),
        stdout: take(Stream::Stdout),
        stderr: take(Stream::Stderr),
        kernel_log: take(Stream::KernelLog),
        kernel_log_state: done.kernel_log,
    })
}

/// Reads exactly the bytes that were announced.
async fn stream(channel: &mut Channel, info: &StreamInfo) -> Result<Collected, LinkError> {
    let name = info.stream.name();
    if info.length > MAX_STREAM || info.total < info.length {
        let StreamInfo { length, total, .. } = info;
        return Err(LinkError::protocol(&format_args!("stream {name} of {length} bytes out of {total}")));
    }
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < info.length {
        match within("piece of evidence", EVIDENCE, channel.frame()).await? {
            Frame::Chunk { stream, bytes: piece } if stream == info.stream && !piece.is_empty() => {
                bytes.extend_from_slice(&piece);
            }
            _ => return Err(LinkError::protocol(&format_args!("stream {name} broke off"))),
        }
    }
    if bytes.len() as u64 > info.length {
        return Err(LinkError::protocol(&format_args!("stream {name} is longer than announced")));
    }
    Ok(Collected { bytes, total: info.total })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use kab_board::ExecChannel;
    use std::io::Cursor;

    fn info(stream: Stream, length: u64, total: u64) -> StreamInfo {
        StreamInfo { stream, length, total }
    }

    fn chunk(stream: Stream, bytes: &[u8]) -> Frame {
        Frame::Chunk { stream, bytes: bytes.to_vec() }
    }

    /// A channel to a board that says these frames and ends.
    fn channel(frames: &[Frame]) -> Channel {
        let said: Vec<u8> = frames.iter().flat_map(|frame| frame.encode().unwrap()).collect();
        Channel::new(ExecChannel {
            stdin: Box::new(tokio::io::sink()),
            stdout: Box::new(Cursor::new(said)),
            stderr: Box::new(tokio::io::empty()),
        })
    }

    /// What the host makes of a board that announces `streams` and then sends `frames`.
    async fn host(streams: Vec<StreamInfo>, frames: Vec<Frame>) -> Result<TrialResult, LinkError> {
        let done = TrialDone {
            argv: vec!["fio".to_owned()],
            exit: Exit::Code(0),
            wall_ms: 1,
            proc_stat: None,
            kernel_log: KernelLog::Complete,
            streams,
        };
        let progress = Frame::control(&ToHost::Progress { elapsed_ms: 1000 }).unwrap();
        let done = Frame::control(&ToHost::TrialDone { done }).unwrap();
        let mut channel = channel(&[vec![progress, done], frames].concat());
        let target = kab_wire::Listed::File { path: "/f".to_owned(), size: 1 };
        let request = TrialRequest { args: Vec::new(), target, writes: false, deadline_ms: 1000 };
        let mut seen = Vec::new();
        let result = run(&mut channel, request, &mut |progress| seen.push(progress.elapsed)).await;
        assert_eq!(seen, [Duration::from_secs(1)]);
        result
    }

    #[tokio::test]
    async fn words_of_a_board_come_without_control_characters() {
        for (code, told) in [
            (kab_wire::ErrorCode::Board, "\\u{1b}[2Jno"),
            (kab_wire::ErrorCode::Protocol, "the agent broke the protocol: it complains: \\u{1b}[2Jno"),
        ] {
            let message = "\u{1b}[2Jno".to_owned();
            let frame = Frame::control(&ToHost::Error { code, message }).unwrap();
            let error = answer(&mut channel(&[frame])).await.unwrap_err();
            assert_eq!(error.to_string(), told);
        }
    }

    #[tokio::test]
    async fn streams_are_put_together_from_their_pieces() {
        use Stream::{Output, Stderr};
        let frames = vec![chunk(Output, b"ab"), chunk(Output, b"c"), chunk(Stderr, b"x")];
        let result = host(vec![info(Output, 3, 3), info(Stderr, 1, 9)], frames).await.unwrap();
        assert_eq!((&result.output.bytes[..], result.output.is_cut()), (&b"abc"[..], false));
        assert_eq!((&result.stderr.bytes[..], result.stderr.is_cut()), (&b"x"[..], true));
        assert_eq!(result.stdout, Collected::default());
        assert_eq!((result.cut(), result.kernel_log_gap()), (vec!["stderr".to_owned()], None));
    }

    #[tokio::test]
    async fn what_the_kernel_log_lacks_is_put_into_words() {
        let mut result = host(vec![info(Stream::KernelLog, 0, 1)], vec![]).await.unwrap();
        assert_eq!(result.cut(), ["kernel_log"]);
        result.kernel_log_state = KernelLog::Lost { records: 3 };
        assert_eq!(result.kernel_log_gap().as_deref(), Some("3 records lost"));
        result.kernel_log_state = KernelLog::Unreadable("/dev/kmsg: EPERM".to_owned());
        assert_eq!(result.kernel_log_gap().as_deref(), Some("unreadable: /dev/kmsg: EPERM"));
    }

    #[tokio::test]
    async fn streams_that_are_not_as_announced_are_refused() {
        use Stream::{Output, Stdout};
        let big = MAX_STREAM + 1;
        for (streams, frames) in [
            (vec![info(Output, big, big)], vec![]),
            (vec![info(Output, 2, 1)], vec![]),
            (vec![info(Output, 0, 0), info(Output, 0, 0)], vec![]),
            (vec![info(Output, 1, 1)], vec![chunk(Output, b"ab")]),
            (vec![info(Output, 1, 1)], vec![chunk(Output, b"")]),
            (vec![info(Output, 1, 1)], vec![chunk(Stdout, b"a")]),
            (vec![info(Output, 1, 1)], vec![Frame::control(&ToHost::Progress { elapsed_ms: 1 }).unwrap()]),
        ] {
            let result = host(streams.clone(), frames).await;
            assert!(matches!(result, Err(LinkError::Protocol { .. })), "{streams:?}: {result:?}");
        }
    }

    #[tokio::test]
    async fn an_end_within_a_stream_is_told() {
        let result = host(vec![info(Stream::Output, 2, 2)], vec![chunk(Stream::Output, b"a")]).await;
        assert!(matches!(result, Err(LinkError::Closed { .. })), "{result:?}");
    }
}
