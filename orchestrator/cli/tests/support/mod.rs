//! A user of her own for each test: home, store and files, with the kernel cache shared by all tests.
#![allow(clippy::unwrap_used, dead_code)]

use kab_model::{Run, VisitState};
use kab_store::{RunReader, Store};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A user's folders and files.
pub(crate) struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    /// A new user without runs.
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.path().join("runs")
    }

    /// Writes a file of this user.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// A `kab` command of this user. Nothing of the developer's own configuration reaches it.
    pub(crate) fn kab(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kab"));
        command
            .args(arguments)
            .current_dir(self.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.path())
            .env("XDG_CACHE_HOME", cache())
            .env("KAB_STORE", self.store())
            .env("KAB_AGENTS", agents())
            .stdin(Stdio::null());
        command
    }

    /// Runs `kab` to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.kab(arguments).output().unwrap()
    }

    /// Runs `kab` to its end; anything but this exit code fails the test with all that was printed.
    pub(crate) fn expect(&self, code: i32, arguments: &[&str]) -> (String, String) {
        let output = self.run(arguments);
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(
            output.status.code(),
            Some(code),
            "kab {arguments:?}\n--- stdout\n{out}\n--- stderr\n{err}"
        );
        (out, err)
    }

    /// The only run of this user.
    pub(crate) fn reader(&self) -> RunReader {
        let mut runs = Store::new(self.store()).list().unwrap();
        assert_eq!(runs.len(), 1, "one run was expected");
        runs.remove(0)
    }

    /// The only run of this user, once there is one.
    pub(crate) fn run_so_far(&self) -> Option<Run> {
        let runs = Store::new(self.store()).list().unwrap();
        assert!(runs.len() <= 1, "one run was expected");
        runs.first().map(|reader| reader.run().unwrap())
    }

    /// Starts `kab` with its standard error going to a file.
    pub(crate) fn start(&self, arguments: &[&str], log: &str) -> Child {
        let err = fs::File::create(self.path().join(log)).unwrap();
        self.kab(arguments).stdout(Stdio::null()).stderr(err).spawn().unwrap()
    }

    /// Processes other than this one whose command line or working folder lies in this user's folders or the shared
    /// cache: what a kab left behind.
    pub(crate) fn left_behind(&self) -> Vec<String> {
        let marks = [self.path().to_owned(), cache()];
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
            let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command).replace('\0', " ");
            let folder = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
            let marked = marks
                .iter()
                .any(|mark| command.contains(&*mark.to_string_lossy()) || folder.starts_with(mark));
            if pid != std::process::id() && marked {
                found.push(format!("{pid} {command}"));
            }
        }
        found
    }

    /// Waits until nothing is left behind.
    pub(crate) fn wait_until_gone(&self, why: &str) {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let left = self.left_behind();
            if left.is_empty() {
                return;
            }
            assert!(Instant::now() < deadline, "{why}: still there: {left:#?}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// Cache of kernels, mirrors and keys: made once for all tests.
pub(crate) fn cache() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Kernel sources in git, made by `make source`.
pub(crate) fn linux() -> PathBuf {
    let path = std::env::var_os("KAB_TEST_SOURCE")
        .map(PathBuf::from)
        .unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache/kab/linux-source"));
    assert!(path.join("HEAD").exists(), "{} is missing: run `make source`", path.display());
    path
}

fn agents() -> PathBuf {
    let folder = std::env::var_os("KAB_AGENTS")
        .map(PathBuf::from)
        .unwrap_or_else(|| workspace().join("target/agents"));
    assert!(folder.join("kab-agent-x86_64").exists(), "{} has no agent: run `make agent`", folder.display());
    folder
}

/// Root of the repository.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A file of the test's fixtures.
pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// A lab with one small board.
pub(crate) const LAB: &str = "boards:
  vm:
    arch: x86_64
    boot: {qemu: {memory: 512MiB, cpus: 2, disks: [{nvme: {name: disk, size: 64MiB}}]}}
";

/// An experiment on that board. `variants` and `schedule` are YAML in braces.
pub(crate) fn experiment(variants: &str, schedule: &str, fio: &str) -> String {
    format!(
        "name: qemu-test
kernel: {{repo: \"{}\", config: [tinyconfig, \"{}\"]}}
variants: {variants}
boards: [vm]
target: disk
workloads:
  - name: io
    fio: {fio}
    matrix: {{rw: [randread, randwrite]}}
schedule: {schedule}
",
        linux().display(),
        fixture("small.config").display()
    )
}

/// Short reads and writes at queue depth 1.
pub(crate) const FIO: &str = "{ioengine: libaio, iodepth: 1, direct: 1, bs: 4k, size: 32m, ramp_time: 300ms, runtime: 1s, time_based: 1}";

/// Complete visits of a run.
pub(crate) fn complete_visits(run: &Run) -> usize {
    run.visits().filter(|visit| matches!(visit.state, VisitState::Ended)).count()
}
