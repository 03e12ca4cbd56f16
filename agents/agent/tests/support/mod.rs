//! A "board" that is this machine: the real bootstrap command in a real shell, over pipes.
#![allow(clippy::unwrap_used, dead_code, unreachable_pub)]

use kab_board::ExecChannel;
use kab_link::{Agent, AgentBinary, Arg, BOOTSTRAP, LinkError, Listed, Progress, TrialRequest, TrialResult};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tempfile::TempDir;
use tokio::process::{Child, Command};

/// Any wait of these tests: far more than a busy machine needs.
pub const LIMIT: Duration = Duration::from_secs(60);

/// Size of a scratch file.
pub const SIZE: u64 = 4 << 20;

/// The agent under test.
pub fn binary() -> AgentBinary {
    AgentBinary::new(fs::read(env!("CARGO_BIN_EXE_kab-agent")).unwrap())
}

/// The agent under test with a digest of its own: programs may carry bytes after their end.
pub fn unique_binary(tag: &str) -> AgentBinary {
    let mut bytes = binary().bytes;
    bytes.extend_from_slice(format!("{tag} {}", std::process::id()).as_bytes());
    AgentBinary::new(bytes)
}

/// A shell that runs the bootstrap, and later the agent under the same process id.
pub struct Shell {
    pub child: Child,
    pub pid: u32,
}

impl Shell {
    /// The shell of this machine.
    pub fn start() -> (Self, ExecChannel) {
        Self::start_with(&["sh"], None)
    }

    /// A shell, with `path` as its PATH.
    pub fn start_with(shell: &[&str], path: Option<&Path>) -> (Self, ExecChannel) {
        let mut command = Command::new(shell[0]);
        command.args(&shell[1..]).args(["-c", BOOTSTRAP]);
        if let Some(path) = path {
            command.env("PATH", path);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let channel = ExecChannel {
            stdin: Box::new(child.stdin.take().unwrap()),
            stdout: Box::new(child.stdout.take().unwrap()),
            stderr: Box::new(child.stderr.take().unwrap()),
        };
        let pid = child.id().unwrap();
        (Self { child, pid }, channel)
    }

    /// Waits for the end; the exit code.
    pub async fn ended(&mut self) -> Option<i32> {
        tokio::time::timeout(LIMIT, self.child.wait()).await.expect("the agent did not end").unwrap().code()
    }

    /// Paths below the agent's folder that belong to this process.
    pub fn remains(&self) -> Vec<PathBuf> {
        let suffix = format!("-{}", self.pid);
        let entries = fs::read_dir(home()).into_iter().flatten().flatten().map(|entry| entry.path());
        entries.filter(|path| path.to_string_lossy().ends_with(&suffix)).collect()
    }
}

/// Where the bootstrap keeps agents for this user.
pub fn home() -> PathBuf {
    let uid = rustix::process::geteuid();
    if uid.is_root() {
        PathBuf::from("/run/kab")
    } else {
        PathBuf::from(format!("/tmp/kab-{}", uid.as_raw()))
    }
}

/// Connects to the real agent.
pub async fn connect() -> (Shell, Agent) {
    let (shell, channel) = Shell::start();
    (shell, Agent::connect(channel, &binary()).await.unwrap())
}

/// A scratch file in a folder of its own.
pub struct Scratch {
    pub folder: TempDir,
}

impl Scratch {
    pub fn new() -> Self {
        let scratch = Self { folder: tempfile::tempdir().unwrap() };
        fs::File::create(scratch.path()).unwrap().set_len(SIZE).unwrap();
        scratch
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("scratch")
    }

    pub fn listed(&self, size: u64) -> Listed {
        Listed::File { path: self.path().display().to_string(), size }
    }

    /// A trial on this file with further options.
    pub fn trial(&self, options: &[&str]) -> TrialRequest {
        let text = |text: &str| Arg::Text(text.to_owned());
        let mut args = vec![
            text("--output-format=json"),
            Arg::Output("--output=".to_owned()),
            text("--eta=never"),
            text("--name=t"),
            Arg::Target("--filename=".to_owned()),
        ];
        args.extend(options.iter().map(|option| text(option)));
        TrialRequest { args, target: self.listed(SIZE), writes: true, deadline_ms: 60_000 }
    }

    /// A trial that runs for a minute.
    pub fn long_trial(&self) -> TrialRequest {
        self.trial(&[
            "--rw=randwrite",
            "--size=1m",
            "--bs=4k",
            "--rate_iops=50",
            "--time_based",
            "--runtime=60",
            "--numjobs=2",
        ])
    }

    /// Processes that have the file on their command line, agents apart.
    pub fn users(&self) -> Vec<Pid> {
        let path = self.path().display().to_string();
        let processes = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let command = fs::read(entry.path().join("cmdline")).ok()?;
            let command = String::from_utf8_lossy(&command);
            command.contains(&path).then(|| Pid::from_raw(pid)).flatten()
        });
        processes.collect()
    }
}

/// Runs a trial, ignoring progress.
pub async fn run(agent: &mut Agent, request: TrialRequest) -> Result<TrialResult, LinkError> {
    agent.run_trial(request, &mut |_| {}).await
}

/// Runs a trial until its first sign of life, then gives it up.
pub async fn run_until_progress(agent: &mut Agent, request: TrialRequest) {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let mut sender = Some(sender);
    let mut progress = move |_: Progress| {
        if let Some(sender) = sender.take() {
            sender.send(()).unwrap();
        }
    };
    tokio::select! {
        result = agent.run_trial(request, &mut progress) => panic!("the trial ended: {result:?}"),
        seen = tokio::time::timeout(LIMIT, receiver) => seen.expect("no progress").unwrap(),
    }
}

/// Waits until a process is gone.
pub fn wait_gone(pid: Pid) {
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    let limit = Timespec { tv_sec: 60, tv_nsec: 0 };
    assert_eq!(
        poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&limit)),
        Ok(1),
        "process {pid:?} lives on"
    );
}

/// A folder for PATH with busybox's versions of what the bootstrap needs, and nothing else.
pub fn busybox_path() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let busybox = find("busybox");
    for applet in ["sh", "chmod", "head", "id", "mkdir", "mv", "rm", "tr", "wc"] {
        symlink(&busybox, folder.path().join(applet)).unwrap();
    }
    folder
}

/// A PATH on which fio is this shell script.
pub fn path_with_fio(script: &str) -> TempDir {
    let folder = busybox_path();
    fs::write(folder.path().join("fio"), format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(folder.path().join("fio"), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// A program of this machine.
pub fn find(program: &str) -> PathBuf {
    look_up(program).unwrap_or_else(|| panic!("these tests need {program}"))
}

/// Whether this machine has a program.
pub fn is_there(program: &str) -> bool {
    look_up(program).is_some()
}

fn look_up(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.exists())
}
