//! A kernel in miniature in a real git repository, and a kab beside it.
#![allow(dead_code)] // Each test program uses its part.

use kab_kernels::{BuildError, Kernels, Progress, ResolveError, Resolved, Settings};
use kab_lifeline::Lifeline;
use kab_model::{
    Applied, Arch, Artifact, Base, Change, ConfigItem, ConfigValue, KernelSpec, PinnedKernel, PlannedKernel,
    PlannedVariant, SeriesInfo, SeriesSource, SeriesSpec, Toolchain, VariantName,
};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// Folders of one test.
pub(crate) struct Mini {
    root: TempDir,
}

impl Mini {
    /// A repository with one commit on `main`, tagged `v6.0`. Its path has blanks, as a user's may.
    pub(crate) fn new() -> Self {
        let mini = Self { root: tempfile::tempdir().unwrap() };
        copy(&fixture("tree"), &mini.repo());
        std::fs::rename(mini.repo().join("gitignore"), mini.repo().join(".gitignore")).unwrap();
        mini.git(&["init", "--quiet", "-b", "main"]);
        mini.commit("mini: begin");
        mini.git(&["tag", "-a", "-m", "the first", "v6.0"]);
        // Kernel builds ask for these; the kernel in miniature only needs them to be there.
        let stubs = mini.root.path().join("stubs");
        std::fs::create_dir(&stubs).unwrap();
        for name in ["flex", "bison", "bc"] {
            mini.script(&stubs.join(name), "exit 1");
        }
        mini
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.root.path().join("my linux tree")
    }

    pub(crate) fn cache(&self) -> PathBuf {
        self.root.path().join("cache")
    }

    pub(crate) fn search_path(&self) -> OsString {
        let mut path = std::env::var_os("PATH").unwrap();
        path.push(":");
        path.push(self.root.path().join("stubs"));
        path
    }

    pub(crate) fn kernels(&self) -> Kernels {
        self.kernels_with(|_| {})
    }

    pub(crate) fn kernels_with(&self, change: impl FnOnce(&mut Settings)) -> Kernels {
        let lifeline = Lifeline::from_program(env!("CARGO_BIN_EXE_kernels-probe"));
        let mut settings =
            Settings { free_space: 1, ..Settings::new(self.cache(), lifeline, self.search_path()) };
        change(&mut settings);
        Kernels::new(settings)
    }

    /// Runs git in the user's repository, as a user with an identity.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let output = Command::new("git")
            .current_dir(self.repo())
            .args(["-c", "user.name=Uma User", "-c", "user.email=uma@example.com"])
            .args(args)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Commits everything that lies in the user's repository.
    pub(crate) fn commit(&self, subject: &str) {
        self.git(&["add", "-A", "-f"]);
        self.git(&["commit", "--quiet", "-m", subject]);
    }

    /// Replaces text in a file of the user's repository.
    pub(crate) fn edit(&self, file: &str, from: &str, to: &str) {
        let path = self.repo().join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{file} lacks {from}");
        std::fs::write(path, text.replace(from, to)).unwrap();
    }

    /// Makes patches of the last `count` commits in a new folder and removes the commits.
    pub(crate) fn series(&self, name: &str, count: usize) -> PathBuf {
        let folder = self.root.path().join(name);
        self.git(&["format-patch", "-q", "-o", folder.to_str().unwrap(), &format!("-{count}")]);
        self.git(&["reset", "--quiet", "--hard", &format!("HEAD~{count}")]);
        folder
    }

    pub(crate) fn script(&self, path: &Path, body: &str) {
        use std::os::unix::fs::PermissionsExt;
        std::fs::write(path, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }

    /// `main` of the user's repository with the smaller configuration.
    pub(crate) fn spec(&self) -> KernelSpec {
        KernelSpec {
            repo: self.repo().to_str().unwrap().to_owned(),
            base: Base::Ref("main".to_owned()),
            changes: Vec::new(),
            ladder: false,
            config: vec![ConfigItem::Base("tinyconfig".to_owned())],
            toolchain: Toolchain::Gcc,
            overlay: None,
            placebo: false,
        }
    }

    pub(crate) async fn resolve(&self, spec: &KernelSpec) -> Result<Resolved, ResolveError> {
        let mut all = self.kernels().resolve(spec, &|_| {}, &CancellationToken::new()).await?;
        assert_eq!(all.len(), 1, "{all:?}");
        Ok(all.remove(0))
    }

    /// Resolves and builds; the artifact and what was reported.
    pub(crate) async fn build(&self, spec: &KernelSpec) -> Result<(Artifact, Vec<Progress>), BuildError> {
        let variant = planned(spec, self.resolve(spec).await.unwrap());
        let seen = Mutex::new(Vec::new());
        let report = |progress| seen.lock().unwrap().push(progress);
        let artifact =
            self.kernels().build(&variant, Arch::X86_64, &report, &CancellationToken::new()).await?;
        Ok((artifact, seen.into_inner().unwrap()))
    }

    /// Every file of the user's repository, `.git` included, with its content and time.
    pub(crate) fn everything(&self) -> BTreeMap<PathBuf, (Vec<u8>, std::time::SystemTime)> {
        let mut files = BTreeMap::new();
        walk(&self.repo(), &mut |path| {
            // git renews the time of an object that it would write and finds: what is in use is not pruned.
            let is_object = path.components().any(|part| part.as_os_str() == "objects");
            let time = if is_object {
                std::time::SystemTime::UNIX_EPOCH
            } else {
                path.metadata().unwrap().modified().unwrap()
            };
            files.insert(path.to_owned(), (std::fs::read(path).unwrap(), time));
        });
        files
    }

    /// Runs git in kab's mirror.
    pub(crate) fn mirror(&self, args: &[&str]) -> String {
        let mirror = self.cache().join("mirror.git");
        let output = Command::new("git").arg("--git-dir").arg(mirror).args(args).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }
}

/// The variant of a spec.
pub(crate) fn planned(spec: &KernelSpec, resolved: Resolved) -> PlannedVariant {
    PlannedVariant {
        name: VariantName("with a / slash".to_owned()),
        stamp: "0".to_owned(),
        kernel: PlannedKernel::Built(Box::new(PinnedKernel {
            repo: spec.repo.clone(),
            reference: "main".to_owned(),
            base_commit: resolved.base_commit,
            commit: resolved.commit,
            tree: resolved.tree,
            describe: resolved.describe,
            changes: resolved.changes,
            config: spec.config.clone(),
            toolchain: spec.toolchain.clone(),
            overlay: spec.overlay.as_deref().map(|path| kab_kernels::pin(path).unwrap()),
            placebo: spec.placebo,
        })),
        changed_files: Vec::new(),
        cmdline: None,
        knobs: Vec::new(),
        fio: Vec::new(),
    }
}

/// A whole series from a file or folder.
pub(crate) fn patches(path: PathBuf) -> Vec<Change> {
    vec![Change::Series(SeriesSpec { source: SeriesSource::Path(path), upto: None, pick: Vec::new() })]
}

/// The series that was applied.
pub(crate) fn applied(resolved: &Resolved) -> SeriesInfo {
    match resolved.changes.as_slice() {
        [Applied::Series(series)] => series.clone(),
        other => panic!("{other:?}"),
    }
}

/// One entry of `config:`.
pub(crate) fn option(symbol: &str, value: ConfigValue, optional: bool) -> ConfigItem {
    ConfigItem::Option { symbol: symbol.to_owned(), value, optional }
}

/// Steps of make that a build reported.
pub(crate) fn steps(progress: &[Progress]) -> usize {
    let steps = progress.iter().filter_map(|progress| match progress {
        Progress::Compiling { steps, .. } => Some(*steps),
        _ => None,
    });
    steps.max().unwrap_or(0)
}

pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    walk(from, &mut |path| {
        let target = to.join(path.strip_prefix(from).unwrap());
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::copy(path, target).unwrap();
    });
}

fn walk(folder: &Path, visit: &mut dyn FnMut(&Path)) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { walk(&path, visit) } else { visit(&path) }
    }
}
