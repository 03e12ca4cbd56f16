//! The two hidden roles of a program: supervisor, and the stage that becomes the command.

use crate::HOOK_ARGUMENT;
use crate::protocol::{Ended, KILL, Line};
use crate::tree::signal_descendants;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

/// Second argument of the supervisor.
pub(crate) const WATCH: &str = "watch";

/// Second argument of the stage between supervisor and command.
const BECOME: &str = "become";

/// Interval at which SIGKILL is repeated for processes that were born during the last pass.
const KILL_AGAIN: Duration = Duration::from_millis(20);

/// The same after [`STUCK`]: what is left then is no fork bomb but sleeps in the kernel, and looking for it must not
/// keep a CPU busy.
const KILL_STUCK: Duration = Duration::from_secs(1);
const STUCK: Duration = Duration::from_secs(5);

/// Exit code of a supervisor that could not start its command, as a shell's.
const NOT_STARTED: i32 = 127;

/// Takes over, and never returns, if the program was started as a supervisor. Call it first thing in `main`, before
/// any thread, file or terminal is touched.
pub fn main_hook() {
    let mut args = std::env::args_os().skip(1);
    if args.next().as_deref() != Some(OsStr::new(HOOK_ARGUMENT)) {
        return;
    }
    let role = args.next();
    let number = args.next().and_then(|number| number.to_str()?.parse::<u64>().ok());
    let (Some(role), Some(number), Some(program)) = (role, number, args.next()) else {
        std::process::exit(NOT_STARTED)
    };
    let args: Vec<OsString> = args.collect();
    let code = match role.to_str() {
        Some(WATCH) => supervise(&program, &args, Duration::from_millis(number)),
        Some(BECOME) => become_command(&program, &args, number),
        _ => NOT_STARTED,
    };
    std::process::exit(code)
}

/// Runs the command until it and all its descendants are gone; the exit code to leave with.
fn supervise(program: &OsStr, args: &[OsString], grace: Duration) -> i32 {
    // Neither can fail here: a fresh child leads no group, and the second is plain on every kernel since 3.4.
    let _ = rustix::process::setsid();
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    // `pkill NAME` aimed at the parent should not hit its supervisors.
    let _ = rustix::thread::set_name(c"lifeline");
    let command = match start(program, args) {
        Ok(pid) => pid,
        Err(errno) => {
            tell(Line::Failed(errno));
            return NOT_STARTED;
        }
    };
    tell(Line::Started(command.as_raw_nonzero().get()));
    let (ask, asked) = mpsc::channel();
    let from_parent = ask.clone();
    std::thread::spawn(move || listen(&from_parent));
    std::thread::spawn(move || end_all(&asked, grace));
    let ended = reap_all(command, &ask);
    tell(Line::Ended(ended));
    ended.code()
}

/// Starts the command by way of the `become` stage; an errno if it cannot be executed.
fn start(program: &OsStr, args: &[OsString]) -> Result<Pid, i32> {
    let errno = |error: std::io::Error| error.raw_os_error().unwrap_or(Errno::IO.raw_os_error());
    let (mut failure, failure_writer) = std::io::pipe().map_err(errno)?;
    let child = std::process::Command::new("/proc/self/exe")
        .arg0("lifeline")
        .args([HOOK_ARGUMENT, BECOME, &std::process::id().to_string()])
        .arg(program)
        .args(args)
        .stdin(Stdio::from(failure_writer))
        .process_group(0)
        .spawn()
        .map_err(errno)?;
    // End of file without a number: the pipe was closed by a successful exec.
    let mut text = String::new();
    failure.read_to_string(&mut text).map_err(errno)?;
    if let Ok(errno) = text.parse() {
        return Err(errno);
    }
    // The handle is dropped without waiting: `reap_all` waits for every child alike.
    Ok(Pid::from_child(&child))
}

/// The stage between: binds its life to the supervisor's, then becomes the command. Standard input is the pipe that
/// takes the errno of a failure.
fn become_command(program: &OsStr, args: &[OsString], supervisor: u64) -> i32 {
    let Ok(failure) = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3) else { return NOT_STARTED };
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    // The supervisor may have died before the line above.
    let parent = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get());
    if parent.and_then(|pid| u64::try_from(pid).ok()) != Some(supervisor) {
        return NOT_STARTED;
    }
    let error = std::process::Command::new(program).args(args).stdin(Stdio::null()).exec();
    let errno = error.raw_os_error().unwrap_or(Errno::IO.raw_os_error());
    let _ = rustix::io::write(failure, errno.to_string().as_bytes());
    NOT_STARTED
}

/// What somebody wants of the command.
enum Wish {
    /// SIGTERM, then SIGKILL.
    Terminate,
    /// SIGKILL.
    Kill,
}

/// Waits for the parent's word, or for its end, which counts as a word too.
fn listen(ask: &mpsc::Sender<Wish>) {
    let mut word = [0];
    loop {
        match rustix::io::read(rustix::stdio::stdin(), &mut word) {
            Err(Errno::INTR) => {}
            Ok(1) if word[0] == KILL => {
                let _ = ask.send(Wish::Kill);
            }
            Ok(1) => {}
            _ => {
                let _ = ask.send(Wish::Terminate);
                return;
            }
        }
    }
}

/// Carries wishes out until the process exits: a kill that comes during a grace cuts it short.
fn end_all(asked: &mpsc::Receiver<Wish>, grace: Duration) {
    if let Ok(Wish::Terminate) = asked.recv() {
        signal_descendants(Signal::TERM);
        let end = std::time::Instant::now() + grace;
        loop {
            let left = end.saturating_duration_since(std::time::Instant::now());
            match asked.recv_timeout(left) {
                Ok(Wish::Terminate) => {}
                _ => break,
            }
        }
    }
    let began = std::time::Instant::now();
    loop {
        signal_descendants(Signal::KILL);
        std::thread::sleep(if began.elapsed() < STUCK { KILL_AGAIN } else { KILL_STUCK });
    }
}

/// Waits for every child, own or inherited, and answers how the command ended. Once the command is gone, what it
/// left behind has to go too.
fn reap_all(command: Pid, ask: &mpsc::Sender<Wish>) -> Ended {
    let mut ended = None;
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == command => {
                ended = Some(how(status));
                let _ = ask.send(Wish::Terminate);
            }
            Ok(_) | Err(Errno::INTR) => {}
            // No child left.
            Err(_) => return ended.unwrap_or(Ended::Exited(NOT_STARTED)),
        }
    }
}

fn how(status: WaitStatus) -> Ended {
    match status.terminating_signal() {
        Some(signal) => Ended::Signaled(signal),
        None => Ended::Exited(status.exit_status().unwrap_or(NOT_STARTED)),
    }
}

/// Writes a line to the parent, who may be gone. The runtime ignores SIGPIPE.
fn tell(line: Line) {
    let _ = rustix::io::write(rustix::stdio::stdin(), line.render().as_bytes());
}
