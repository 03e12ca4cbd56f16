//! The handle without an async runtime.
#![allow(clippy::unwrap_used, missing_docs)]

mod marks;

use kab_lifeline::{Command, Ended, Lifeline, Output, StartError};
use std::io::{ErrorKind, Read};
use std::time::{Duration, Instant};

fn lifeline() -> Lifeline {
    Lifeline::from_program(env!("CARGO_BIN_EXE_lifeline-probe"))
}

fn shell(script: &str) -> Command {
    Command::new("sh").args(["-c", script])
}

#[test]
fn exit_codes_and_signals_come_through() {
    let ended = |script| lifeline().spawn(shell(script)).unwrap().wait().unwrap();
    assert_eq!(ended("exit 0"), Ended::Exited(0));
    assert_eq!(ended("exit 42"), Ended::Exited(42));
    assert_eq!(ended("exit 127"), Ended::Exited(127));
    assert_eq!(ended("kill -9 $$"), Ended::Signaled(9));
    assert_eq!(ended("kill -15 $$"), Ended::Signaled(15));
}

#[test]
fn outputs_folder_and_environment_are_as_asked() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = lifeline()
        .spawn(
            shell("pwd; echo $ONE-$TWO; readlink /proc/self/fd/0; echo bad >&2")
                .current_dir(folder.path())
                .env_clear()
                .env("ONE", "1")
                .stdout(Output::Pipe)
                .stderr(Output::File(std::fs::File::create(folder.path().join("err")).unwrap())),
        )
        .unwrap();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap(), Ended::Exited(0));
    let real = folder.path().canonicalize().unwrap();
    assert_eq!(text, format!("{}\n1-\n/dev/null\n", real.display()));
    assert_eq!(std::fs::read_to_string(folder.path().join("err")).unwrap(), "bad\n");
}

#[test]
fn a_missing_program_is_not_an_exit_code() {
    let missing = lifeline().spawn(Command::new("no-such-program-anywhere")).unwrap_err();
    let StartError::Program { program, source } = missing else { panic!("{missing:?}") };
    assert_eq!(program.as_os_str(), "no-such-program-anywhere");
    assert_eq!(source.kind(), ErrorKind::NotFound);

    let forbidden = lifeline().spawn(Command::new("/etc/passwd")).unwrap_err();
    let StartError::Program { source, .. } = forbidden else { panic!("{forbidden:?}") };
    assert_eq!(source.kind(), ErrorKind::PermissionDenied);
}

#[test]
fn a_program_without_the_hook_is_found_out() {
    let error = Lifeline::from_program("true").spawn(Command::new("true")).unwrap_err();
    assert!(matches!(error, StartError::Lost { .. }), "{error:?}");
    let error = Lifeline::from_program("/nonexistent").spawn(Command::new("true")).unwrap_err();
    assert!(matches!(error, StartError::Supervisor { .. }), "{error:?}");
}

#[test]
fn waiting_can_give_up() {
    let mut child = lifeline().spawn(shell("sleep 1000")).unwrap();
    assert_eq!(child.wait_timeout(Duration::ZERO).unwrap(), None);
    assert_eq!(child.wait_timeout(Duration::from_millis(50)).unwrap(), None);
    assert_eq!(child.kill().unwrap(), Ended::Signaled(9));
}

#[test]
fn terminate_is_gentle_first() {
    let mut child = lifeline()
        .spawn(
            shell("trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done")
                .stdout(Output::Pipe)
                .grace(Duration::from_secs(20)),
        )
        .unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
    assert_eq!(child.terminate().unwrap(), Ended::Exited(7));
}

#[test]
fn terminate_kills_who_does_not_listen() {
    let mark = marks::fresh("deaf");
    let child = lifeline()
        .spawn(
            shell(&format!("trap '' TERM; {}", marks::TREE))
                .env(marks::NAME, &mark)
                .grace(Duration::from_millis(200)),
        )
        .unwrap();
    marks::stands(&mark);
    let begin = Instant::now();
    assert_eq!(child.terminate().unwrap(), Ended::Signaled(9));
    assert!(begin.elapsed() >= Duration::from_millis(200));
    // Not eventually: `terminate` has waited for everybody but the supervisor's own last breath.
    assert_eq!(marks::carriers(&mark), Vec::<String>::new());
}

#[test]
fn drop_kills_at_once_and_waits() {
    let mark = marks::fresh("drop");
    let child = lifeline()
        .spawn(shell(marks::TREE).env(marks::NAME, &mark).grace(Duration::from_secs(1_000)))
        .unwrap();
    marks::stands(&mark);
    drop(child);
    assert_eq!(marks::carriers(&mark), Vec::<String>::new());
}

#[test]
fn what_a_finished_command_leaves_behind_goes_too() {
    let mark = marks::fresh("left");
    let mut child = lifeline()
        .spawn(shell("setsid sleep 1000 & exit 5").env(marks::NAME, &mark).grace(Duration::from_millis(100)))
        .unwrap();
    assert_eq!(child.wait().unwrap(), Ended::Exited(5));
    assert_eq!(marks::carriers(&mark), Vec::<String>::new());
}
