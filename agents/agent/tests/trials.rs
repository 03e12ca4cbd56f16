//! Trials by the real agent with the real fio, on a file.
#![allow(clippy::unwrap_used)]

mod support;

use kab_link::{Agent, Arg, ErrorCode, Exit, KernelLog, LinkError, Listed};
use rustix::process::{Pid, Signal};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use support::{
    SIZE, Scratch, Shell, binary, connect, find, path_with_fio, run, run_until_progress, wait_gone,
};

const SHORT: &[&str] = &["--rw=randwrite", "--size=1m", "--bs=64k"];

#[tokio::test]
async fn a_trial_yields_its_evidence_and_the_next_one_too() {
    let (mut shell, mut agent) = connect().await;
    let scratch = Scratch::new();
    for _ in 0..2 {
        let result = run(&mut agent, scratch.trial(SHORT)).await.unwrap();
        assert_eq!(result.exit, Exit::Code(0), "{}", String::from_utf8_lossy(&result.stderr.bytes));
        let output = String::from_utf8(result.output.bytes.clone()).unwrap();
        assert!(output.contains("\"jobs\"") && output.contains("\"total_ios\" : 16"), "{output}");
        assert!(!result.output.is_cut());
        assert_eq!(result.argv[0], "fio");
        assert!(
            result.argv.contains(&format!("--filename={}", scratch.path().display())),
            "{:?}",
            result.argv
        );
        let (before, after) = result.proc_stat.unwrap();
        assert!(before.starts_with("cpu ") && after.starts_with("cpu "), "{before} {after}");
        assert!(result.wall_ms > 0);
    }
    agent.close().await;
    assert_eq!(shell.ended().await, Some(0));
    assert_eq!(shell.remains(), [] as [PathBuf; 0]);
}

#[tokio::test]
async fn the_board_is_identified() {
    let (_shell, mut agent) = connect().await;
    let identity = agent.identify().await.unwrap();
    let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    assert_eq!(identity.boot_id, boot_id.trim());
    assert!(identity.fio.unwrap().starts_with("fio-"));
    assert_eq!(agent.digest(), binary().digest);
}

#[tokio::test]
async fn an_option_that_fio_does_not_know_is_a_result() {
    let (_shell, mut agent) = connect().await;
    let result = run(&mut agent, Scratch::new().trial(&["--no_such_option=1"])).await.unwrap();
    assert_eq!(result.exit, Exit::Code(1));
    let said = [result.stdout.bytes, result.stderr.bytes, result.output.bytes].concat();
    assert!(String::from_utf8_lossy(&said).contains("no_such_option"));
}

#[tokio::test]
async fn fio_that_is_not_there_is_a_result() {
    let path = support::busybox_path();
    let (_shell, channel) = Shell::start_with(&["sh"], Some(path.path()));
    let mut agent = Agent::connect(channel, &binary()).await.unwrap();
    assert_eq!(agent.identify().await.unwrap().fio, None);
    let result = run(&mut agent, Scratch::new().trial(SHORT)).await.unwrap();
    assert!(
        matches!(&result.exit, Exit::NotStarted(why) if why.contains("fio is not in PATH")),
        "{:?}",
        result.exit
    );
}

#[tokio::test]
async fn a_trial_beyond_its_deadline_is_stopped_and_its_output_kept() {
    let (_shell, mut agent) = connect().await;
    let scratch = Scratch::new();
    let mut request = scratch.long_trial();
    request.deadline_ms = 1500;
    let mut seen = Vec::new();
    let started = Instant::now();
    let result = agent.run_trial(request, &mut |progress| seen.push(progress.elapsed)).await.unwrap();
    assert_eq!(result.exit, Exit::Deadline);
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
    assert!(result.wall_ms >= 1500 && !seen.is_empty());
    assert!(String::from_utf8_lossy(&result.output.bytes).contains("\"jobs\""), "fio was not asked to end");
    assert_eq!(scratch.users(), []);
}

#[tokio::test]
async fn a_dropped_agent_takes_fio_along_and_leaves_nothing() {
    let (mut shell, mut agent) = connect().await;
    let scratch = Scratch::new();
    run_until_progress(&mut agent, scratch.long_trial()).await;
    assert!(scratch.users().len() >= 2, "fio does not run");
    assert_eq!(shell.remains().len(), 1);
    drop(agent);
    assert_eq!(shell.ended().await, Some(0));
    assert_eq!(scratch.users(), []);
    assert_eq!(shell.remains(), [] as [PathBuf; 0]);
}

#[tokio::test]
async fn a_killed_agent_takes_fio_along_and_the_next_one_cleans_up() {
    let (mut shell, mut agent) = connect().await;
    assert_eq!(agent.pid(), shell.pid);
    let scratch = Scratch::new();
    run_until_progress(&mut agent, scratch.long_trial()).await;
    let users = scratch.users();
    assert!(users.len() >= 2, "fio does not run");
    shell.child.start_kill().unwrap();
    assert_eq!(shell.ended().await, None);
    tokio::task::spawn_blocking(move || users.into_iter().for_each(wait_gone)).await.unwrap();
    assert_eq!(scratch.users(), []);
    assert!(matches!(agent.identify().await, Err(LinkError::Protocol { .. } | LinkError::Closed { .. })));
    let (_shell, _agent) = connect().await;
    assert_eq!(shell.remains(), [] as [PathBuf; 0]);
}

#[tokio::test]
async fn an_agent_that_is_killed_meanwhile_is_told() {
    let (mut shell, mut agent) = connect().await;
    let scratch = Scratch::new();
    let mut kill = |_| shell.child.start_kill().unwrap();
    let result = agent.run_trial(scratch.long_trial(), &mut kill).await;
    assert!(matches!(result, Err(LinkError::Closed { .. })), "{result:?}");
}

/// As with fio in uninterruptible sleep, no signal arrives: the supervisor that would send it is stopped.
#[tokio::test]
async fn fio_that_cannot_be_ended_is_left_behind_with_its_evidence() {
    let (shell, mut agent) = connect().await;
    let scratch = Scratch::new();
    let mut request =
        scratch.trial(&["--rw=randwrite", "--size=1m", "--rate_iops=50", "--time_based", "--runtime=600"]);
    request.deadline_ms = 3000;
    let (mut stopped, mut last) = (None, Duration::ZERO);
    let mut progress = |progress: kab_link::Progress| {
        stopped.get_or_insert_with(|| signal_supervisor(shell.pid, Signal::STOP));
        last = progress.elapsed;
    };
    let result = agent.run_trial(request, &mut progress).await.unwrap();
    assert_eq!(result.exit, Exit::Deadline);
    assert!(result.wall_ms >= 60_000 && last >= Duration::from_secs(50), "{} ms, {last:?}", result.wall_ms);
    let stderr = String::from_utf8_lossy(&result.stderr.bytes);
    assert!(stderr.contains("kab-agent: fio was left behind"), "{stderr}");
    assert!(stderr.contains("(fio) in state "), "{stderr}");
    assert!(!scratch.users().is_empty());
    agent.identify().await.unwrap();
    rustix::process::kill_process(stopped.unwrap(), Signal::KILL).unwrap();
    for pid in scratch.users() {
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}

#[tokio::test]
async fn a_killed_supervisor_leaves_none_of_fios_workers() {
    let (shell, mut agent) = connect().await;
    let scratch = Scratch::new();
    let mut killed = None;
    let mut progress = |_| {
        assert!(scratch.users().len() >= 4, "supervisor, fio and its two workers do not run");
        killed.get_or_insert_with(|| signal_supervisor(shell.pid, Signal::KILL));
    };
    let result = agent.run_trial(scratch.long_trial(), &mut progress).await;
    assert!(matches!(result, Err(LinkError::Agent { code: ErrorCode::Board, .. })), "{result:?}");
    assert_eq!(scratch.users(), []);
    agent.identify().await.unwrap();
}

/// Sends a signal to the supervisor of fio, a child of the agent.
fn signal_supervisor(agent: u32, signal: Signal) -> Pid {
    let children = std::fs::read_to_string(format!("/proc/{agent}/task/{agent}/children")).unwrap();
    let mut pids = children.split_whitespace();
    let pid = pids.find(|pid| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap() == "lifeline\n");
    let pid = Pid::from_raw(pid.unwrap().parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
    pid
}

#[tokio::test]
async fn a_target_that_is_not_as_listed_is_refused_and_nothing_runs() {
    let scratch = Scratch::new();
    let ran = scratch.folder.path().join("ran");
    let path = path_with_fio(&format!("echo >{}; exit 7", ran.display()));
    let (_shell, channel) = Shell::start_with(&["sh"], Some(path.path()));
    let mut agent = Agent::connect(channel, &binary()).await.unwrap();
    assert_eq!(agent.find_target(&scratch.listed(SIZE)).await.unwrap().size, SIZE);
    for (listed, code) in [
        (scratch.listed(SIZE + 1), ErrorCode::TargetMismatch),
        (Listed::File { path: "/nonexistent/file".to_owned(), size: SIZE }, ErrorCode::TargetMissing),
        (Listed::Serial { serial: "no such disk".to_owned(), size: SIZE }, ErrorCode::TargetMissing),
        (Listed::Pci { address: "ffff:ff:1f.7".to_owned(), size: SIZE }, ErrorCode::TargetMissing),
    ] {
        let refused = |error| matches!(error, LinkError::Agent { code: found, .. } if found == code);
        assert!(refused(agent.find_target(&listed).await.unwrap_err()), "{listed:?}");
        let mut request = scratch.trial(SHORT);
        request.target = listed;
        assert!(refused(run(&mut agent, request).await.unwrap_err()));
    }
    assert!(!ran.exists());
    assert_eq!(run(&mut agent, scratch.trial(SHORT)).await.unwrap().exit, Exit::Code(7));
    assert!(ran.exists());
}

#[tokio::test]
async fn a_target_in_use_is_refused() {
    let (_shell, mut agent) = connect().await;
    let (_other_shell, mut other) = connect().await;
    let scratch = Scratch::new();
    run_until_progress(&mut agent, scratch.long_trial()).await;
    let refused = run(&mut other, scratch.trial(SHORT)).await;
    assert!(matches!(refused, Err(LinkError::Agent { code: ErrorCode::TargetBusy, .. })), "{refused:?}");
}

#[tokio::test]
async fn a_request_after_one_that_was_given_up_is_refused() {
    let (_shell, mut agent) = connect().await;
    run_until_progress(&mut agent, Scratch::new().long_trial()).await;
    assert!(matches!(agent.identify().await, Err(LinkError::Protocol { .. })));
}

#[tokio::test]
async fn a_flood_of_output_is_cut_and_told() {
    let path = path_with_fio("head -c 9000000 /dev/zero; echo short >&2; exit 3");
    let (_shell, channel) = Shell::start_with(&["sh"], Some(path.path()));
    let mut agent = Agent::connect(channel, &binary()).await.unwrap();
    let result = run(&mut agent, Scratch::new().trial(SHORT)).await.unwrap();
    assert_eq!(result.exit, Exit::Code(3));
    assert_eq!(
        (result.stdout.bytes.len(), result.stdout.total, result.stdout.is_cut()),
        (8 << 20, 9_000_000, true)
    );
    assert_eq!((&result.stderr.bytes[..], result.stderr.is_cut()), (&b"short\n"[..], false));
    assert_eq!(result.output.total, 0);
}

#[tokio::test]
async fn a_signal_that_ends_fio_is_told() {
    let path = path_with_fio("kill -SEGV $$");
    let (_shell, channel) = Shell::start_with(&["sh"], Some(path.path()));
    let mut agent = Agent::connect(channel, &binary()).await.unwrap();
    assert_eq!(run(&mut agent, Scratch::new().trial(SHORT)).await.unwrap().exit, Exit::Signal(11));
}

#[tokio::test]
async fn kernel_messages_of_the_trial_and_no_others_are_brought() {
    let marker = format!("kab-agent test {}", std::process::id());
    let path = path_with_fio(&format!("echo {marker} inside >/dev/kmsg"));
    let (_shell, channel) = Shell::start_with(&["sh"], Some(path.path()));
    let mut agent = Agent::connect(channel, &binary()).await.unwrap();
    let may_write = std::fs::write("/dev/kmsg", format!("{marker} before\n")).is_ok();
    let result = run(&mut agent, Scratch::new().trial(SHORT)).await.unwrap();
    let log = String::from_utf8_lossy(&result.kernel_log.bytes).into_owned();
    match result.kernel_log_state {
        KernelLog::Unreadable(why) => assert!(!rustix::process::geteuid().is_root(), "{why}"),
        _ => assert_eq!(log.contains(&format!("{marker} inside")), may_write, "{log}"),
    }
    assert!(!log.contains("before"), "{log}");
}

#[tokio::test]
async fn colons_of_a_path_reach_fio_as_it_wants_them() {
    let (_shell, mut agent) = connect().await;
    let scratch = Scratch::new();
    let path = scratch.folder.path().join("a:b");
    std::fs::rename(scratch.path(), &path).unwrap();
    let mut request = scratch.trial(SHORT);
    request.target = Listed::File { path: path.display().to_string(), size: SIZE };
    request.args.push(Arg::Text("--allow_file_create=0".to_owned()));
    assert_eq!(run(&mut agent, request).await.unwrap().exit, Exit::Code(0));
    assert_eq!(std::fs::read_dir(scratch.folder.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn busybox_alone_is_enough() {
    let path = support::busybox_path();
    std::os::unix::fs::symlink(find("fio"), path.path().join("fio")).unwrap();
    let (mut shell, channel) = Shell::start_with(&["sh"], Some(path.path()));
    let binary = support::unique_binary("busybox");
    let mut agent = Agent::connect(channel, &binary).await.unwrap();
    let result = run(&mut agent, Scratch::new().trial(SHORT)).await.unwrap();
    assert_eq!(result.exit, Exit::Code(0));
    agent.close().await;
    assert_eq!(shell.ended().await, Some(0));
    std::fs::remove_file(support::home().join(binary.digest)).unwrap();
}
