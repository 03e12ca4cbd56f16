//! What happens to the command when its parent, or its supervisor, is killed.
#![allow(clippy::unwrap_used, missing_docs)]

mod marks;

use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

/// Starts the probe, which runs `script` in a shell.
fn probe(mark: &str, grace_ms: u64, script: &str) -> (Child, BufReader<ChildStdout>) {
    let mut probe = Command::new(env!("CARGO_BIN_EXE_lifeline-probe"))
        .args([&grace_ms.to_string(), "sh", "-c", script])
        .env(marks::NAME, mark)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let stdout = BufReader::new(probe.stdout.take().unwrap());
    (probe, stdout)
}

fn line(from: &mut impl BufRead) -> String {
    let mut line = String::new();
    from.read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

#[test]
fn killed_parent_takes_the_whole_tree_along() {
    let mark = marks::fresh("tree");
    let (mut parent, _stdout) = probe(&mark, 100, marks::TREE);
    marks::stands(&mark);
    parent.kill().unwrap();
    parent.wait().unwrap();
    marks::gone(&mark);
}

#[test]
fn parent_killed_at_any_instant_of_the_start_leaves_nobody() {
    for delay_us in (0..20_000).step_by(1_000) {
        let mark = marks::fresh("start");
        let (mut parent, _stdout) = probe(&mark, 0, "sleep 1000");
        std::thread::sleep(std::time::Duration::from_micros(delay_us));
        parent.kill().unwrap();
        parent.wait().unwrap();
        marks::gone(&mark);
    }
}

#[test]
fn grace_lets_the_command_clean_up() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("temporary");
    let script = format!(
        "trap 'rm {0}; exit' TERM; touch {0}; echo ready; while :; do sleep 0.01; done",
        file.display()
    );
    let mark = marks::fresh("grace");
    let (mut parent, mut stdout) = probe(&mark, 20_000, &script);
    // The probe's own line and the shell's come in either order.
    while line(&mut stdout) != "ready" {}
    parent.kill().unwrap();
    parent.wait().unwrap();
    marks::gone(&mark);
    assert!(!file.exists());
}

#[test]
fn killed_supervisor_takes_the_command_along_and_is_reported() {
    let mark = marks::fresh("supervisor");
    let (mut parent, mut stdout) = probe(&mark, 100, "sleep 1000 & sleep 1000 & wait");
    assert!(line(&mut stdout).starts_with("pid "));
    let supervisor =
        marks::carriers(&mark).into_iter().find(|line| line.contains("__lifeline watch")).unwrap();
    let pid = supervisor.split(' ').next().unwrap().parse().unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    assert!(line(&mut stdout).contains("Lost"));
    parent.wait().unwrap();
    marks::gone(&mark);
}

/// A process' session; 0 where its leader is outside of this PID namespace, as in a container that was entered.
fn session(pid: u32) -> i32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, after_name) = stat.rsplit_once(") ").unwrap();
    // State, parent, process group, session: proc_pid_stat(5).
    after_name.split(' ').nth(3).unwrap().parse().unwrap()
}

#[test]
fn supervisor_lives_in_a_session_of_its_own() {
    let mark = marks::fresh("session");
    let (mut parent, mut stdout) = probe(&mark, 0, "sleep 1000");
    let command: i32 = line(&mut stdout).strip_prefix("pid ").unwrap().parse().unwrap();
    assert_ne!(session(command.unsigned_abs()), session(parent.id()));
    assert_eq!(rustix::process::getpgid(Pid::from_raw(command)).unwrap().as_raw_nonzero().get(), command);
    parent.kill().unwrap();
    parent.wait().unwrap();
    marks::gone(&mark);
}
