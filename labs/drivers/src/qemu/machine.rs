//! One running QEMU: its console, its end, the way to its shell.

use super::console::{Console, Feed, Seen, follow};
use crate::host::HostTools;
use crate::ssh::{Ssh, SshError, SshTarget};
use kab_board::BootError;
use kab_lifeline::{Command, Ended, Lost, Output, Process};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

/// From a sign of death until QEMU is gone and the console complete: the kernel prints a panic's stack first.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// A handshake with a guest under load; slirp accepts a connection long before anybody answers on it.
const SSH_ATTEMPT: Duration = Duration::from_secs(10);

/// Between the console's word that all is up and Dropbear's first answer lie some ten milliseconds.
const SSH_AGAIN: Duration = Duration::from_millis(100);

/// A kernel may lose its console and be well: after this time SSH is tried without its word.
const CONSOLE_SILENT: Duration = Duration::from_secs(20);

/// Most of QEMU's own complaints that is kept.
const MOST_COMPLAINTS: usize = 4 << 10;

/// A QEMU process. Dropping it kills the process; [`Machine::stop`] also waits for that.
pub(super) struct Machine {
    pub(super) console: Console,
    pub(super) started: Instant,
    exit: watch::Receiver<Option<Exit>>,
    stop: Option<oneshot::Sender<()>>,
    watcher: AbortOnDropHandle<()>,
}

/// How QEMU ended.
#[derive(Clone, Debug)]
pub(super) struct Exit {
    /// `None` if its supervisor was killed.
    pub(super) ended: Option<Ended>,
    /// What it wrote to standard error.
    pub(super) complaints: String,
}

impl Machine {
    /// Starts QEMU. `console_file` is made anew.
    pub(super) async fn start(
        host: &HostTools,
        program: &Path,
        arguments: Vec<OsString>,
        console_file: &Path,
    ) -> Result<Self, BootError> {
        let file = tokio::fs::File::create(console_file).await.map_err(|error| BootError::Lab {
            cause: format!("cannot write the console to {}: {error}", console_file.display()),
        })?;
        let command = Command::new(program).args(arguments).stdout(Output::Pipe).stderr(Output::Pipe);
        let started = Instant::now();
        let process = host.lifeline.start(command).await.map_err(|error| {
            let reason =
                std::error::Error::source(&error).map(|source| format!(": {source}")).unwrap_or_default();
            BootError::Lab { cause: format!("{error}{reason}") }
        })?;
        let (console, feed) = Console::new();
        let (exit_sender, exit) = watch::channel(None);
        let (stop, stopped) = oneshot::channel();
        let watching = watch_over(process, file, feed, stopped, exit_sender);
        let watcher = AbortOnDropHandle::new(tokio::spawn(watching));
        Ok(Self { console, started, exit, stop: Some(stop), watcher })
    }

    /// Logs in as soon as the guest lets us, or tells why it will not.
    pub(super) async fn shell(&mut self, target: &SshTarget, limit: Duration) -> Result<Ssh, BootError> {
        let logged_in = log_in(self.console.seen.clone(), target);
        tokio::select! {
            biased;
            error = self.death() => Err(error),
            ssh = logged_in => ssh.map_err(|error| BootError::Lab { cause: error.to_string() }),
            () = tokio::time::sleep_until(self.started + limit) => {
                let reached = progress(&self.console.seen.borrow());
                Err(self.kernel_error(format!("no SSH answer within {} s: {reached}", limit.as_secs())))
            }
        }
    }

    /// Waits until the kernel has started and has come as far as its init, or as a panic: with the accelerator in use, a
    /// kernel runs. The error is a sentence.
    pub(super) async fn proof_of_life(&self, first_line: Duration, init: Duration) -> Result<(), String> {
        let mut seen = self.console.seen.clone();
        let mut by = async |what: &str, limit: Duration, condition: fn(&Seen) -> bool| {
            let state = timeout(limit, seen.wait_for(|seen| condition(seen) || seen.closed)).await;
            match state {
                Err(_) => Err(format!("{what} within {} s", limit.as_secs())),
                Ok(state) if state.as_ref().is_ok_and(|seen| condition(seen)) => Ok(()),
                Ok(_) => Err("QEMU ended".to_owned()),
            }
        };
        let lived = async {
            by("no line of a kernel", first_line, |seen| seen.kernel).await?;
            by("no init", init, |seen| seen.ready || seen.hopeless.is_some() || seen.panic.is_some()).await
        }
        .await;
        match lived {
            // A closed console: QEMU's own words, where there are some, say more.
            Err(_) if self.console.seen.borrow().closed => Err(self
                .ended_soon()
                .await
                .map_or_else(|| "QEMU ended".to_owned(), |exit| exit.first_complaint())),
            lived => lived,
        }
    }

    /// A wait for QEMU's end, at most as long as last words take, for who needs to know before acting on a lost link.
    pub(super) fn last_words(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut exit = self.exit.clone();
        async move {
            let _ = timeout(LAST_WORDS, exit.wait_for(Option::is_some)).await;
        }
    }

    /// What the guest did to end, if it did: a panic, a reset, a power-off. QEMU's own failures are not the guest's.
    pub(super) fn guest_death(&self) -> Option<String> {
        if let Some(panic) = &self.console.seen.borrow().panic {
            return Some(panic.clone());
        }
        let exit = self.exit.borrow();
        let left_by_itself = exit.as_ref().is_some_and(|exit| exit.ended.is_some_and(Ended::success));
        left_by_itself.then(|| "the machine reset or switched itself off".to_owned())
    }

    /// Whether QEMU gave up because somebody else took the port meanwhile.
    pub(super) fn port_was_taken(&self) -> bool {
        self.exit.borrow().as_ref().is_some_and(|exit| exit.complaints.contains("host forwarding rule"))
    }

    /// Kills QEMU and waits until it is gone.
    pub(super) async fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // Fails if QEMU has ended already.
            let _ = stop.send(());
        }
        let _ = (&mut self.watcher).await;
    }

    /// Waits for a sign that this boot will not succeed, and says what it was.
    async fn death(&self) -> BootError {
        let mut exit = self.exit.clone();
        let mut seen = self.console.seen.clone();
        tokio::select! {
            _ = exit.wait_for(Option::is_some) => {}
            _ = seen.wait_for(|seen| seen.panic.is_some() || seen.hopeless.is_some()) => {}
        }
        // A hopeless machine stays up: there are no last words to wait for.
        if let Some(cause) = self.console.seen.borrow().hopeless {
            return self.kernel_error(cause.to_owned());
        }
        let exit = self.ended_soon().await;
        if let Some(cause) = self.guest_death() {
            return self.kernel_error(cause);
        }
        let how = exit.map_or_else(|| "QEMU ended".to_owned(), |exit| exit.first_complaint());
        BootError::Lab { cause: how }
    }

    async fn ended_soon(&self) -> Option<Exit> {
        self.last_words().await;
        self.exit.borrow().clone()
    }

    fn kernel_error(&self, cause: String) -> BootError {
        BootError::Kernel { cause, console: self.console.last_lines() }
    }
}

impl Exit {
    fn first_complaint(&self) -> String {
        let how = self.ended.map_or_else(|| "killed".to_owned(), |ended| ended.to_string());
        format!("QEMU failed ({how}): {}", self.complaints.lines().next().unwrap_or("it said nothing"))
    }
}

/// Feeds the console, collects complaints and waits for QEMU's end, which it announces when all three are through.
async fn watch_over(
    mut process: Process,
    file: tokio::fs::File,
    feed: Feed,
    stopped: oneshot::Receiver<()>,
    exit: watch::Sender<Option<Exit>>,
) {
    let (stdout, stderr) = (process.stdout.take(), process.stderr.take());
    let (Some(stdout), Some(stderr)) = (stdout, stderr) else { return };
    let (ended, complaints, ()) =
        tokio::join!(end_of(process, stopped), complaints(stderr), follow(stdout, file, feed));
    exit.send_replace(Some(Exit { ended: ended.ok(), complaints }));
}

async fn end_of(mut process: Process, stopped: oneshot::Receiver<()>) -> Result<Ended, Lost> {
    tokio::select! {
        ended = process.wait() => return ended,
        _ = stopped => {}
    }
    process.kill().await
}

async fn complaints(mut stderr: impl AsyncRead + Unpin) -> String {
    let mut text = Vec::new();
    let mut chunk = [0; 1024];
    while let Ok(length @ 1..) = stderr.read(&mut chunk).await {
        let room = MOST_COMPLAINTS - text.len();
        text.extend(&chunk[..length.min(room)]);
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// Tries until it works, or until it is clear that the server is not ours.
async fn log_in(mut seen: watch::Receiver<Seen>, target: &SshTarget) -> Result<Ssh, SshError> {
    // Whether the word came or the wait was too long, what follows is the same.
    let _ = timeout(CONSOLE_SILENT, seen.wait_for(|seen| seen.ready)).await;
    loop {
        match timeout(SSH_ATTEMPT, Ssh::connect(target)).await {
            Ok(Ok(ssh)) => return Ok(ssh),
            Ok(Err(error @ (SshError::HostKey { .. } | SshError::Refused { .. }))) => return Err(error),
            _ => sleep(SSH_AGAIN).await,
        }
    }
}

fn progress(seen: &Seen) -> &'static str {
    match seen {
        Seen { ready: true, .. } => "init came up, but its SSH server does not answer",
        Seen { kernel: true, .. } => "the kernel started, but init did not come up",
        _ => "the console shows no kernel",
    }
}
