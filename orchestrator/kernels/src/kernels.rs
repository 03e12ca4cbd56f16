//! [`Kernels`]: one cache and the programs that fill it.

use crate::git::{Git, GitError, Rules};
use crate::mirror::Mirror;
use crate::tools::{ToolError, check_git_version};
use kab_lifeline::Lifeline;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// Free space that a build in a new output folder is allowed to need, bytes: a distribution's configuration
/// without debug information stays below it.
const NEW_OUTPUT_SPACE: u64 = 4 << 30;

/// The archive of the kernel's mailing lists, all of them.
const ARCHIVE: &str = "https://lore.kernel.org/all";

/// What a [`Kernels`] is made of. The library reads no environment: the caller passes in what it takes from there.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Folder of the cache; created when needed, may be removed between runs.
    pub cache: PathBuf,
    /// Who watches over git and make.
    pub lifeline: Lifeline,
    /// `PATH` for git, make and compilers.
    pub search_path: OsString,
    /// Jobs that make runs at once.
    pub jobs: NonZeroUsize,
    /// Free space that must be left when a build in a new output folder starts, bytes. A quarter is asked for where the
    /// folder exists.
    pub free_space: u64,
    /// Where a series is looked for that is named by a message-id alone: URL of a public archive, to which `MESSAGE-ID/t.mbox.gz` is
    /// added.
    pub archive: String,
    /// Whether compilers are called through ccache where it is installed. What is built does not depend on it.
    pub ccache: bool,
}

impl Settings {
    /// As many jobs as the machine has processors, 4 GiB of free space, ccache where it is installed.
    pub fn new(cache: impl Into<PathBuf>, lifeline: Lifeline, search_path: impl Into<OsString>) -> Self {
        Self {
            cache: cache.into(),
            lifeline,
            search_path: search_path.into(),
            jobs: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            free_space: NEW_OUTPUT_SPACE,
            archive: ARCHIVE.to_owned(),
            ccache: true,
        }
    }
}

/// Resolves variants and builds their kernels in one cache folder.
#[derive(Clone, Debug)]
pub struct Kernels {
    settings: Settings,
    mirror: Mirror,
}

impl Kernels {
    /// Uses a cache folder; touches nothing yet.
    pub fn new(mut settings: Settings) -> Self {
        // git and make run in folders of their own. An error leaves the path to fail where it is used.
        settings.cache = std::path::absolute(&settings.cache).unwrap_or(settings.cache);
        let git = Git { lifeline: settings.lifeline.clone(), search_path: settings.search_path.clone() };
        let mirror = Mirror::new(git, settings.cache.join("mirror.git"));
        Self { settings, mirror }
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn cache(&self) -> &Path {
        &self.settings.cache
    }

    pub(crate) fn mirror(&self) -> &Mirror {
        &self.mirror
    }

    pub(crate) fn git(&self) -> &Git {
        self.mirror.git()
    }

    /// Fails unless there is a git that does all that is asked of it.
    pub(crate) async fn check_git(&self, cancel: &CancellationToken) -> Result<(), ToolError> {
        match self.git().call_anywhere(Rules::Own, "version").text(cancel).await {
            Ok(version) => check_git_version(&version),
            Err(error @ GitError::Process { .. }) if !error.is_cancelled() => Err(ToolError::no_git()),
            Err(error) => Err(ToolError::Git(error)),
        }
    }

    /// A new temporary folder; those that a killed process has left are removed. The caller holds the lock that
    /// goes with `kind`.
    pub(crate) fn fresh_folder(&self, kind: &str) -> std::io::Result<tempfile::TempDir> {
        let parent = self.cache().join(format!("tmp-{kind}"));
        match std::fs::remove_dir_all(&parent) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        std::fs::create_dir_all(&parent)?;
        tempfile::Builder::new().prefix("").tempdir_in(parent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kab_model::{Arch, KernelSpec, PlannedVariant};

    /// Work may be spawned on a runtime with several threads.
    #[allow(dead_code)]
    fn futures_are_send(
        kernels: &Kernels,
        spec: &KernelSpec,
        variant: &PlannedVariant,
        cancel: &CancellationToken,
    ) {
        fn check(_: impl Send) {}
        check(kernels.resolve(spec, &|_| {}, cancel));
        check(kernels.build(variant, Arch::X86_64, &|_| {}, cancel));
        check(kernels.cached(variant, Arch::X86_64, cancel));
    }

    #[test]
    fn a_relative_cache_becomes_absolute() {
        let kernels = Kernels::new(Settings::new("cache", Lifeline::this_program(), ""));
        assert!(kernels.cache().is_absolute());
    }
}
