//! One trial: fio under a lifeline, with everything around it that is evidence.

use crate::folder::TrialFolder;
use crate::kmsg::{KernelLog, Window};
use crate::refusal::Refusal;
use crate::target;
use kab_lifeline::{Child, Command, Ended, Lifeline, Output, StartError};
use kab_wire::{
    Arg, Exit, KernelLog as Completeness, MAX_STREAM, Stream, StreamInfo, TrialDone, TrialRequest,
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
    let exit = match Lifeline::this_program().spawn(command) {
        Ok(child) => match attend(child, started + Duration::from_millis(request.deadline_ms), log, watch)? {
            Some(exit) => exit,
            None => return Ok(None),
        },
        Err(error) => not_started(error)?,
    };
    let wall_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let proc_stat = before.zip(cpu_line());
    let (kernel_log, window) = completeness(log.end());
    let mut streams = Vec::new();
    for stream in [Stream::Output, Stream::Stdout, Stream::Stderr] {
        streams.push((stream, read_stream(&folder, stream)?));
    }
    streams.push((Stream::KernelLog, (window.bytes, window.total)));
    let infos = streams.iter().map(|(stream, (bytes, total))| StreamInfo {
        stream: *stream,
        length: bytes.len() as u64,
        total: *total,
    });
    let done = TrialDone { argv, exit, wall_ms, proc_stat, kernel_log, streams: infos.collect() };
    let streams = streams.into_iter().map(|(stream, (bytes, _))| (stream, bytes)).collect();
    Ok(Some(Finished { done, streams }))
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
    deadline: Instant,
    log: &mut KernelLog,
    watch: &mut dyn FnMut() -> Verdict,
) -> Result<Option<Exit>, Refusal> {
    let lost = |lost: kab_lifeline::Lost| Refusal::Board(lost.to_string());
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match child.wait_timeout(left.min(LOOK)).map_err(lost)? {
            Some(Ended::Exited(code)) => return Ok(Some(Exit::Code(code))),
            Some(Ended::Signaled(signal)) => return Ok(Some(Exit::Signal(signal))),
            None => {}
        }
        log.drain();
        if watch() == Verdict::Stop {
            child.terminate().map_err(lost)?;
            return Ok(None);
        }
        if Instant::now() >= deadline {
            child.terminate().map_err(lost)?;
            return Ok(Some(Exit::Deadline));
        }
    }
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

fn stream_path(folder: &TrialFolder, stream: Stream) -> String {
    let path: &Path = folder.path();
    path.join(stream.name()).display().to_string()
}
