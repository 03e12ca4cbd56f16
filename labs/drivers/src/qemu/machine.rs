//! One running QEMU: its console, its end, the way to its shell.

use super::console::{Console, Feed, Seen, escaped_lines, follow};
use crate::host::{HostTools, with_source};
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

/// Most of QEMU's own complaints that is kept, in bytes: half of it from the beginning, half from the end.
const MOST_COMPLAINTS: usize = 4 << 10;

/// What QEMU says when it obeys a signal. It exits with code 0 then, as it does after a guest's reset.
const OBEYED_SIGNAL: &str = "terminating on signal";

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

/// Why a machine is no more, one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The guest panicked, reset or switched itself off.
    Guest(String),
    /// QEMU failed, or somebody ended it.
    Host(String),
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
        let process = host
            .lifeline
            .start(command)
            .await
            .map_err(|error| BootError::Lab { cause: with_source(&error) })?;
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
            Err(_) if self.console.seen.borrow().closed => {
                Err(self.ended_soon().await.map_or_else(|| "QEMU ended".to_owned(), |exit| exit.failure()))
            }
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

    /// How the machine ended, if it has. After a panic, whatever becomes of QEMU is the guest's doing.
    pub(super) fn end(&self) -> Option<End> {
        let panic = self.console.seen.borrow().panic.clone();
        panic.map(End::Guest).or_else(|| self.exit.borrow().as_ref().map(Exit::end))
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
        self.last_words().await;
        match self.end() {
            Some(End::Guest(cause)) => self.kernel_error(cause),
            Some(End::Host(cause)) => BootError::Lab { cause },
            // Nobody watches over the process any more.
            None => BootError::Lab { cause: "QEMU ended".to_owned() },
        }
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
    fn end(&self) -> End {
        if let Some(line) = self.complaints.lines().find(|line| line.contains(OBEYED_SIGNAL)) {
            return End::Host(format!("somebody on this host ended QEMU: {line}"));
        }
        match self.ended {
            Some(Ended::Exited(0)) => End::Guest("the machine reset or switched itself off".to_owned()),
            Some(_) => End::Host(self.failure()),
            None => End::Host("QEMU's supervisor was killed, and QEMU with it".to_owned()),
        }
    }

    fn failure(&self) -> String {
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

/// The first words say what went wrong, the last ones how it ended.
async fn complaints(mut stderr: impl AsyncRead + Unpin) -> String {
    let mut text = Vec::new();
    let mut chunk = [0; 1024];
    while let Ok(length @ 1..) = stderr.read(&mut chunk).await {
        text.extend(&chunk[..length]);
        if text.len() > MOST_COMPLAINTS {
            text.drain(MOST_COMPLAINTS / 2..text.len() - MOST_COMPLAINTS / 2);
        }
    }
    escaped_lines(&text)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn end(ended: Option<Ended>, complaints: &str) -> End {
        Exit { ended, complaints: complaints.to_owned() }.end()
    }

    #[test]
    fn only_a_qemu_that_left_by_itself_is_the_guests_doing() {
        let guest = End::Guest("the machine reset or switched itself off".to_owned());
        assert_eq!(end(Some(Ended::Exited(0)), ""), guest);
        assert_eq!(end(Some(Ended::Exited(0)), "qemu: warning: TCG doesn't support this feature\n"), guest);
        let said = "qemu-system-x86_64: terminating on signal 15 from pid 7 (kill)";
        let killed = End::Host(format!("somebody on this host ended QEMU: {said}"));
        assert_eq!(end(Some(Ended::Exited(0)), &format!("qemu: warning: x\n{said}\n")), killed);
        for (ended, how) in [(Some(Ended::Exited(1)), "exit code 1"), (Some(Ended::Signaled(6)), "signal 6")]
        {
            let End::Host(cause) = end(ended, "qemu: assertion failed\nmore") else { panic!("{how}") };
            assert!(
                cause.starts_with("QEMU failed (") && cause.ends_with("): qemu: assertion failed"),
                "{cause}"
            );
            assert!(cause.contains(how), "{cause}");
        }
        assert!(matches!(end(None, ""), End::Host(_)));
    }

    #[tokio::test]
    async fn of_many_complaints_the_first_and_the_last_are_kept() {
        let text = format!("first\x1b\n{}{OBEYED_SIGNAL} 15\n", "and again\n".repeat(10_000));
        let kept = complaints(text.as_bytes()).await;
        assert!(kept.starts_with("first\\x1b\nand again\n"), "{kept}");
        assert!(kept.ends_with("and again\nterminating on signal 15\n"), "{kept}");
        assert!(kept.len() <= MOST_COMPLAINTS + 3, "{}", kept.len());
    }
}
