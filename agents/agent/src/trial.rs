//! One trial: fio under a lifeline, with everything around it that is evidence.

use crate::folder::TrialFolder;
use crate::kmsg::{KernelLog, Window};
use crate::log::note;
use crate::refusal::Refusal;
use crate::remains;
use crate::target::{self, Held};
use kab_lifeline::{Child, Command, Ended, Lifeline, Lost, Output, StartError};
use kab_wire::{
    Arg, Exit, KernelLog as Completeness, LEFT_BEHIND, MAX_STREAM, Stream, StreamInfo, TrialDone,
    TrialRequest,
};
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::time::{Duration, Instant};

/// How often a running trial looks at the world: rarely enough to cost nothing, often enough to stop at once.
const LOOK: Duration = Duration::from_millis(250);

/// Between SIGTERM and SIGKILL. fio waits for the I/O in flight and writes its output; a device that has not answered
/// by then does not.
const GRACE: Duration = Duration::from_secs(5);

/// After SIGKILL: a kernel that aborts and resets a device that does not answer takes 30 s a command, twice. A process
/// that is still there then is left behind, so that the host gets the evidence.
const REAP: Duration = Duration::from_secs(60);

/// Whether a running trial goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    GoOn,
    Stop,
}

/// A trial that came to its end.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) done: TrialDone,
    /// In the order that `done` lists.
    pub(crate) streams: Vec<(Stream, Vec<u8>)>,
    /// Let go once the host has everything: closing a disk writes back what is cached, and waits for that.
    _held: Held,
}

/// How fio came to its end.
struct Attended {
    exit: Exit,
    /// What would not go, in words for standard error.
    left_behind: Option<String>,
}

/// Runs a trial. `watch` is asked several times a second whether it goes on; `None` where it said no.
pub(crate) fn run(
    request: &TrialRequest,
    log: &mut KernelLog,
    watch: &mut dyn FnMut() -> Verdict,
) -> Result<Option<Finished>, Refusal> {
    let held = target::hold(&request.target, request.writes)?;
    let folder = TrialFolder::create()?;
    let argv = arguments(&request.args, &held.target.path, &folder);
    let command = command(&argv, &folder)?;
    log.begin();
    let before = cpu_line();
    let started = Instant::now();
    let deadline = started + Duration::from_millis(request.deadline_ms);
    let attended = match Lifeline::this_program().spawn(command) {
        Ok(child) => attend(child, folder.path(), deadline, log, watch)?,
        Err(error) => Some(Attended { exit: not_started(error)?, left_behind: None }),
    };
    let Some(Attended { exit, left_behind }) = attended else { return Ok(None) };
    let wall_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let proc_stat = before.zip(cpu_line());
    let (kernel_log, window) = completeness(log.end());
    let mut streams = Vec::new();
    for stream in [Stream::Output, Stream::Stdout, Stream::Stderr] {
        streams.push((stream, read_stream(&folder, stream)?));
    }
    if let (Some(left), Some((_, (stderr, total)))) = (left_behind, streams.last_mut()) {
        append(stderr, total, &left);
    }
    streams.push((Stream::KernelLog, (window.bytes, window.total)));
    let infos = streams.iter().map(|(stream, (bytes, total))| StreamInfo {
        stream: *stream,
        length: bytes.len() as u64,
        total: *total,
    });
    let done = TrialDone { argv, exit, wall_ms, proc_stat, kernel_log, streams: infos.collect() };
    let streams = streams.into_iter().map(|(stream, (bytes, _))| (stream, bytes)).collect();
    Ok(Some(Finished { done, streams, _held: held }))
}

/// The whole command line.
fn arguments(args: &[Arg], target: &str, folder: &TrialFolder) -> Vec<String> {
    let output = stream_path(folder, Stream::Output);
    let args = args.iter().map(|arg| match arg {
        Arg::Text(text) => text.clone(),
        // fio separates several files by colons.
        Arg::Target(prefix) => format!("{prefix}{}", target.replace(':', "\\:")),
        Arg::Output(prefix) => format!("{prefix}{output}"),
    });
    std::iter::once("fio".to_owned()).chain(args).collect()
}

fn command(argv: &[String], folder: &TrialFolder) -> Result<Command, Refusal> {
    let file = |stream| {
        let path = stream_path(folder, stream);
        File::create_new(&path).map_err(Refusal::file(&path))
    };
    let command = Command::new("fio")
        .args(&argv[1..])
        // Whatever fio writes beside its output stays in memory and goes with the trial.
        .current_dir(folder.path())
        .stdout(Output::File(file(Stream::Stdout)?))
        .stderr(Output::File(file(Stream::Stderr)?))
        .grace(GRACE);
    Ok(command)
}

/// Waits for fio's end; `None` where it was stopped on request.
fn attend(
    mut child: Child,
    folder: &Path,
    deadline: Instant,
    log: &mut KernelLog,
    watch: &mut dyn FnMut() -> Verdict,
) -> Result<Option<Attended>, Refusal> {
    let whole = |exit| Ok(Some(Attended { exit, left_behind: None }));
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match child.wait_timeout(left.min(LOOK)).map_err(|lost| abandoned(&lost, folder))? {
            Some(Ended::Exited(code)) => return whole(Exit::Code(code)),
            Some(Ended::Signaled(signal)) => return whole(Exit::Signal(signal)),
            None => {}
        }
        log.drain();
        if watch() == Verdict::Stop {
            if let Some(left) = end(child, folder, log, &mut || {})? {
                note(format_args!("{left}"));
            }
            return Ok(None);
        }
        if Instant::now() >= deadline {
            let mut stopped = false;
            let left_behind = end(child, folder, log, &mut || {
                // Not asked again once it said no.
                stopped = stopped || watch() == Verdict::Stop;
            })?;
            return Ok((!stopped).then_some(Attended { exit: Exit::Deadline, left_behind }));
        }
    }
}
/// Ends fio and everything that descends from it; what would not go, in words. `alive` is called several times a second
/// meanwhile.
fn end(
    mut child: Child,
    folder: &Path,
    log: &mut KernelLog,
    alive: &mut dyn FnMut(),
) -> Result<Option<String>, Refusal> {
    child.begin_termination();
    let limit = Instant::now() + GRACE + REAP;
    while Instant::now() < limit {
        if child.wait_timeout(LOOK).map_err(|lost| abandoned(&lost, folder))?.is_some() {
            return Ok(None);
        }
        log.drain();
        alive();
    }
    let left = remains::describe(folder);
    child.leave();
    Ok(Some(format!("{LEFT_BEHIND}: it still was there {} s after SIGKILL\n{left}", REAP.as_secs())))
}

/// Without its supervisor fio is dead, and what it forked is not.
fn abandoned(lost: &Lost, folder: &Path) -> Refusal {
    remains::kill(folder);
    Refusal::Board(lost.to_string())
}

/// fio that cannot be run is a result; a supervisor that cannot is the board's fault.
fn not_started(error: StartError) -> Result<Exit, Refusal> {
    match error {
        StartError::Program { source, .. } if source.kind() == ErrorKind::NotFound => {
            let path = std::env::var("PATH").unwrap_or_default();
            Ok(Exit::NotStarted(format!("fio is not in PATH ({path})")))
        }
        StartError::Program { source, .. } => Ok(Exit::NotStarted(format!("fio: {source}"))),
        other => Err(Refusal::Board(other.to_string())),
    }
}

/// The line of /proc/stat that adds all CPUs up.
fn cpu_line() -> Option<String> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    stat.lines().next().filter(|line| line.starts_with("cpu ")).map(str::to_owned)
}

fn completeness(window: Result<Window, String>) -> (Completeness, Window) {
    match window {
        Ok(window) if window.lost > 0 => (Completeness::Lost { records: window.lost }, window),
        Ok(window) => (Completeness::Complete, window),
        Err(reason) => (Completeness::Unreadable(reason), Window::default()),
    }
}

/// A stream's first bytes, and how many there were. No file, no bytes: fio may have ended before it made one.
fn read_stream(folder: &TrialFolder, stream: Stream) -> Result<(Vec<u8>, u64), Refusal> {
    let path = stream_path(folder, stream);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((Vec::new(), 0)),
        Err(error) => return Err(Refusal::file(path)(error)),
    };
    let mut bytes = Vec::new();
    let total = file.metadata().map_err(Refusal::file(&path))?.len();
    file.take(MAX_STREAM).read_to_end(&mut bytes).map_err(Refusal::file(&path))?;
    let total = total.max(bytes.len() as u64);
    Ok((bytes, total))
}

/// Adds the agent's own words to a stream, in place of its end where there is no room.
fn append(bytes: &mut Vec<u8>, total: &mut u64, words: &str) {
    let room = usize::try_from(MAX_STREAM).unwrap_or(usize::MAX).saturating_sub(words.len());
    bytes.truncate(room);
    bytes.extend_from_slice(words.as_bytes());
    *total += words.len() as u64;
}

fn stream_path(folder: &TrialFolder, stream: Stream) -> String {
    let path: &Path = folder.path();
    path.join(stream.name()).display().to_string()
}
