//! The handle on tokio.
#![allow(clippy::unwrap_used, missing_docs)]

mod marks;

use kab_lifeline::{Command, Ended, Lifeline, Output, StartError};
use std::time::Duration;
use tokio::io::AsyncReadExt;

fn lifeline() -> Lifeline {
    Lifeline::from_program(env!("CARGO_BIN_EXE_lifeline-probe"))
}

fn shell(script: &str) -> Command {
    Command::new("sh").args(["-c", script])
}

#[tokio::test]
async fn runs_and_reports() {
    let mut process = lifeline().start(shell("echo hello; exit 3").stdout(Output::Pipe)).await.unwrap();
    let mut text = String::new();
    process.stdout.take().unwrap().read_to_string(&mut text).await.unwrap();
    assert_eq!(text, "hello\n");
    assert_eq!(process.wait().await.unwrap(), Ended::Exited(3));
    assert_eq!(process.try_wait().unwrap().unwrap(), Ended::Exited(3));
}

#[tokio::test]
async fn a_missing_program_is_not_an_exit_code() {
    let missing = lifeline().start(Command::new("no-such-program-anywhere")).await.unwrap_err();
    assert!(matches!(missing, StartError::Program { .. }), "{missing:?}");
}

#[tokio::test]
async fn a_cancelled_wait_can_be_repeated() {
    let mut process = lifeline().start(shell("sleep 1000")).await.unwrap();
    assert!(process.try_wait().is_none());
    tokio::time::timeout(Duration::from_millis(20), process.wait()).await.unwrap_err();
    assert!(process.try_wait().is_none());
    assert_eq!(process.kill().await.unwrap(), Ended::Signaled(9));
}

#[tokio::test]
async fn terminate_is_gentle_first() {
    let script = "trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done";
    let command = shell(script).stdout(Output::Pipe).grace(Duration::from_secs(20));
    let mut process = lifeline().start(command).await.unwrap();
    process.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).await.unwrap();
    assert_eq!(process.terminate().await.unwrap(), Ended::Exited(7));
}

#[tokio::test]
async fn drop_kills_at_once() {
    let mark = marks::fresh("drop");
    let command = shell(marks::TREE).env(marks::NAME, &mark).grace(Duration::from_secs(1_000));
    let process = lifeline().start(command).await.unwrap();
    marks::stands(&mark);
    drop(process);
    marks::gone(&mark);
}

#[tokio::test]
async fn dropped_start_leaves_nobody() {
    let mark = marks::fresh("start");
    for limit in 0..10 {
        let command = shell("sleep 1000").env(marks::NAME, &mark).grace(Duration::ZERO);
        // Whether the start wins or the time-out: the result is dropped.
        let _ = tokio::time::timeout(Duration::from_millis(limit), lifeline().start(command)).await;
    }
    marks::gone(&mark);
}
