//! Bringing the agent onto a board, and what can go wrong on the way.
#![allow(clippy::unwrap_used)]

mod support;

use kab_link::{Agent, AgentBinary, LinkError};
use kab_wire::{Decoder, ErrorCode, Frame, ToAgent, ToHost};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use support::{Shell, binary, connect, home, unique_binary};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[tokio::test]
async fn a_program_is_pushed_once() {
    let binary = unique_binary("once");
    let file = home().join(&binary.digest);
    let (_shell, channel) = Shell::start();
    drop(Agent::connect(channel, &binary).await.unwrap());
    let first = fs::metadata(&file).unwrap();
    assert_eq!((first.len(), first.permissions().mode() & 0o777), (binary.bytes.len() as u64, 0o700));
    assert_eq!(fs::metadata(home()).unwrap().permissions().mode() & 0o777, 0o700);
    let (_shell, channel) = Shell::start();
    drop(Agent::connect(channel, &binary).await.unwrap());
    assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), first.modified().unwrap());
    fs::remove_file(file).unwrap();
}

#[tokio::test]
async fn every_login_shell_at_hand_will_do() {
    for shell in ["dash", "bash", "zsh", "fish", "tcsh"].into_iter().filter(|shell| support::is_there(shell))
    {
        let (_shell, channel) = Shell::start_with(&[shell], None);
        Agent::connect(channel, &binary()).await.unwrap_or_else(|error| panic!("{shell}: {error}"));
    }
}

#[tokio::test]
async fn a_push_that_breaks_off_leaves_nothing() {
    let binary = unique_binary("truncated");
    let (mut shell, mut channel) = Shell::start();
    let header = format!("{} {}\n", binary.digest, binary.bytes.len());
    channel.stdin.write_all(header.as_bytes()).await.unwrap();
    channel.stdin.write_all(&binary.bytes[..binary.bytes.len() / 2]).await.unwrap();
    drop(channel.stdin);
    let mut stderr = String::new();
    channel.stderr.read_to_string(&mut stderr).await.unwrap();
    assert_eq!((shell.ended().await, stderr.as_str()), (Some(92), "the agent arrived incomplete\n"));
    assert_eq!(shell.remains(), [] as [PathBuf; 0]);
    assert!(!home().join(&binary.digest).exists());
}

#[tokio::test]
async fn a_half_written_program_is_replaced() {
    let binary = unique_binary("half");
    drop(connect().await);
    let file = home().join(&binary.digest);
    fs::write(&file, &binary.bytes[..1000]).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o700)).unwrap();
    let (_shell, channel) = Shell::start();
    Agent::connect(channel, &binary).await.unwrap();
    fs::remove_file(file).unwrap();
}

#[tokio::test]
async fn another_program_than_the_pushed_one_is_refused_and_removed() {
    let binary = AgentBinary { digest: "d".repeat(64), ..binary() };
    let (_shell, channel) = Shell::start();
    match Agent::connect(channel, &binary).await.map(drop) {
        Err(LinkError::Digest { expected, found }) => {
            assert_eq!((expected, found), (binary.digest, support::binary().digest));
        }
        other => panic!("{other:?}"),
    }
    assert!(!home().join("d".repeat(64)).exists());
}

#[tokio::test]
async fn a_digest_that_is_none_never_reaches_the_board() {
    let (_shell, channel) = Shell::start();
    let binary = AgentBinary { digest: "../../etc/passwd".to_owned(), bytes: vec![1] };
    assert!(matches!(Agent::connect(channel, &binary).await, Err(LinkError::Push { .. })));
}

#[tokio::test]
async fn a_header_that_is_none_is_refused_by_the_board() {
    for header in ["../x 12\n", "ab 1;reboot\n", "ab\n", "\n", ""] {
        let (mut shell, mut channel) = Shell::start();
        channel.stdin.write_all(header.as_bytes()).await.unwrap();
        drop(channel.stdin);
        assert_eq!(shell.ended().await, Some(90), "{header:?}");
    }
}

/// A program that says one thing and waits for the end of its input.
fn speaker(bytes: &[u8]) -> AgentBinary {
    let octal: String = bytes.iter().map(|byte| format!("\\{byte:03o}")).collect();
    AgentBinary::new(format!("#!/bin/sh\necho a word >&2\nprintf '{octal}'\ncat >/dev/null\n").into_bytes())
}

async fn connect_to(binary: &AgentBinary) -> Result<(), LinkError> {
    let (_shell, channel) = Shell::start();
    let result = Agent::connect(channel, binary).await;
    fs::remove_file(home().join(&binary.digest)).unwrap();
    result.map(drop)
}

fn frame(message: &ToHost) -> Vec<u8> {
    Frame::control(message).unwrap().encode().unwrap()
}

#[tokio::test]
async fn an_agent_of_another_protocol_is_refused() {
    let hello = frame(&ToHost::Hello { protocol: 999, digest: String::new(), pid: 1 });
    let refused = connect_to(&speaker(&hello)).await.unwrap_err();
    assert_eq!(refused.to_string(), "the agent broke the protocol: it speaks version 999, this kab 1");
}

#[tokio::test]
async fn words_that_are_no_greeting_are_refused() {
    for bytes in [
        &b"Last login: today\n"[..],
        &frame(&ToHost::Progress { elapsed_ms: 1 }),
        &[1, 0xff, 0xff, 0xff, 0xff],
    ] {
        let refused = connect_to(&speaker(bytes)).await.unwrap_err();
        assert!(matches!(refused, LinkError::Protocol { .. }), "{refused}");
    }
}

#[tokio::test]
async fn a_program_that_dies_is_told_with_its_last_words() {
    let binary = AgentBinary::new(b"#!/bin/sh\necho \"no, \x1b[1mnever\" >&2\nexit 1\n".to_vec());
    let refused = connect_to(&binary).await.unwrap_err();
    assert!(matches!(&refused, LinkError::Closed { stderr } if stderr == "no, \\u{1b}[1mnever"), "{refused}");
}

#[tokio::test]
async fn a_board_without_a_place_for_programs_says_so() {
    let path = tempfile::tempdir().unwrap();
    for applet in ["sh", "tr"] {
        std::os::unix::fs::symlink(support::find(applet), path.path().join(applet)).unwrap();
    }
    // Without chmod no folder can be made fit.
    let (_shell, channel) = Shell::start_with(&["sh"], Some(path.path()));
    let refused = Agent::connect(channel, &binary()).await.map(drop).unwrap_err();
    assert!(
        matches!(&refused, LinkError::Push { cause } if cause.contains("can hold a program")),
        "{refused}"
    );
}

/// Starts the agent alone, sends bytes and answers its second message, after the greeting.
async fn answer_to(bytes: &[u8]) -> (ToHost, Option<i32>) {
    let mut child = tokio::process::Command::new(env!("CARGO_BIN_EXE_kab-agent"))
        .arg("serve")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(bytes).await.unwrap();
    let output = child.wait_with_output().await.unwrap();
    let mut decoder = Decoder::new();
    decoder.push(&output.stdout);
    assert!(matches!(decoder.next_frame().unwrap().unwrap().message().unwrap(), ToHost::Hello { .. }));
    (decoder.next_frame().unwrap().unwrap().message().unwrap(), output.status.code())
}

#[tokio::test]
async fn a_host_of_another_protocol_is_refused_by_the_agent() {
    let hello = Frame::control(&ToAgent::Hello { protocol: 999 }).unwrap().encode().unwrap();
    let identify = Frame::control(&ToAgent::Identify).unwrap().encode().unwrap();
    for bytes in [&hello[..], &identify[..], &b"GET /"[..]] {
        let (answer, code) = answer_to(bytes).await;
        assert!(matches!(answer, ToHost::Error { code: ErrorCode::Protocol, .. }), "{answer:?}");
        assert_eq!(code, Some(1));
    }
}
