//! Builds that are cancelled or whose kab is killed: nothing outlives it, and the next build is right.
#![allow(clippy::unwrap_used, missing_docs)]

mod mini;

use kab_kernels::Progress;
use kab_model::{Arch, KernelSpec};
use mini::{Mini, planned};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Far more than anything here takes, even on a loaded machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// Makes the next builds stop in the middle of `ufs.o`.
fn hold(mini: &Mini) -> std::path::PathBuf {
    let file = mini.cache().join("out/hold");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "").unwrap();
    file
}

/// Processes whose command line or working folder lies in `folder`.
fn processes_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let involved = entries.filter_map(|entry| {
        let line =
            String::from_utf8_lossy(&std::fs::read(entry.path().join("cmdline")).ok()?).replace('\0', " ");
        let cwd = std::fs::read_link(entry.path().join("cwd")).unwrap_or_default();
        (line.contains(folder.to_str()?) || cwd.starts_with(folder)).then_some(line)
    });
    involved.collect()
}

async fn until(what: &str, mut condition: impl FnMut() -> Result<(), String>) {
    let start = Instant::now();
    while let Err(state) = condition() {
        assert!(start.elapsed() < DEADLINE, "{what}: {state}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn until_nothing_runs_in(folder: &Path) {
    until("processes remain", || {
        let left = processes_in(folder);
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    })
    .await;
}

#[tokio::test]
async fn a_cancelled_build_ends_its_make_and_the_next_one_goes_on() {
    let mini = Mini::new();
    let spec = mini.spec();
    let variant = planned(&spec, mini.resolve(&spec).await.unwrap());
    let held = hold(&mini);
    let cancel = CancellationToken::new();
    let out = mini.cache().join("out");
    let report = |progress| {
        if matches!(progress, Progress::Compiling { steps: 1.., .. }) && torn(&out) {
            cancel.cancel();
        }
    };
    let kernels = mini.kernels();
    let build = kernels.build(&variant, Arch::X86_64, &report, &cancel);
    let watch = async {
        until("ufs.o", || if torn(&out) { Ok(()) } else { Err("absent".into()) }).await;
        cancel.cancel();
        std::future::pending::<()>().await;
    };
    let error = tokio::select! { built = build => built.unwrap_err(), () = watch => unreachable!() };
    assert!(error.is_cancelled(), "{error:?}");
    assert_eq!(processes_in(&mini.cache()), [""; 0]);
    std::fs::remove_file(held).unwrap();
    let (built, _) = mini.build(&spec).await.unwrap();
    assert!(!built.cached);
}

/// Whether some output folder holds the half-made `ufs.o`.
fn torn(out: &Path) -> bool {
    let folders = std::fs::read_dir(out).into_iter().flatten().flatten();
    folders
        .into_iter()
        .any(|entry| std::fs::read(entry.path().join("ufs.o")).is_ok_and(|bytes| bytes == b"torn\n"))
}

#[tokio::test]
async fn a_killed_kab_leaves_no_process_and_no_wrong_kernel() {
    let mini = Mini::new();
    let spec = KernelSpec { changes: mini::patches(mini::fixture("v2-ufs-depth.mbox")), ..mini.spec() };
    let (reference, _) = mini.build(&spec).await.unwrap();
    std::fs::remove_dir_all(mini.cache()).unwrap();
    let held = hold(&mini);
    let file = mini.root().join("spec.json");
    std::fs::write(&file, serde_json::to_vec(&spec).unwrap()).unwrap();
    let mut probe = Command::new(env!("CARGO_BIN_EXE_kernels-probe"))
        .arg(mini.cache())
        .arg(mini.search_path())
        .arg(&file)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let out = mini.cache().join("out");
    until("ufs.o", || if torn(&out) { Ok(()) } else { Err(format!("{:?}", probe.try_wait())) }).await;
    probe.kill().unwrap();
    probe.wait().unwrap();
    until_nothing_runs_in(&mini.cache()).await;
    assert!(torn(&out), "the test needs a file that make would take for finished");
    std::fs::remove_file(held).unwrap();
    let (built, _) = mini.build(&spec).await.unwrap();
    assert!(!built.cached);
    assert_eq!(built.image_digest, reference.image_digest);
}

#[tokio::test]
async fn two_kabs_share_a_cache() {
    let mini = Mini::new();
    let spec = mini.spec();
    let variant = planned(&spec, mini.resolve(&spec).await.unwrap());
    let (one, other, cancel) = (mini.kernels(), mini.kernels(), CancellationToken::new());
    let (a, b) = tokio::join!(
        one.build(&variant, Arch::X86_64, &|_| {}, &cancel),
        other.build(&variant, Arch::X86_64, &|_| {}, &cancel),
    );
    let (a, b) = (a.unwrap(), b.unwrap());
    assert_ne!(a.cached, b.cached);
    assert_eq!(a.image_digest, b.image_digest);
}
