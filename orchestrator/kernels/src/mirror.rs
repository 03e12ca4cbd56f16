//! kab's own bare repository: base commits without their history, and the series applied to them.

use crate::git::{Call, Git, GitError, Rules};
use crate::process::Stream;
use crate::progress::{Progress, Report};
use kab_model::CommitInfo;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// Serves a local repository: without searching for deltas, which takes minutes where objects are loose and saves
/// nothing between two folders of one disk. A partial clone may get what it lacks from where it came from, which git refuses to
/// servers of others' repositories; this one is the user's own.
const UPLOAD_PACK: &str =
    "GIT_NO_LAZY_FETCH=0 git -c pack.window=0 -c pack.compression=1 -c core.hooksPath=/dev/null upload-pack";

/// The mirror of one cache.
#[derive(Clone, Debug)]
pub(crate) struct Mirror {
    git: Git,
    folder: PathBuf,
}

impl Mirror {
    pub(crate) fn new(git: Git, folder: PathBuf) -> Self {
        Self { git, folder }
    }

    /// The repository's folder, git's `GIT_DIR`.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn git(&self) -> &Git {
        &self.git
    }

    /// A call inside the mirror.
    pub(crate) fn call(&self, subcommand: &str) -> Call<'_> {
        self.git.call(&self.folder, Rules::Own, subcommand)
    }

    /// Creates the repository unless it is there. Repeatable.
    pub(crate) async fn ensure(&self, cancel: &CancellationToken) -> Result<(), GitError> {
        // `git init` writes HEAD last of what makes a repository.
        if self.folder.join("HEAD").exists() && self.folder.join("objects").exists() {
            return Ok(());
        }
        let call = self.git.call_anywhere(Rules::Own, "init");
        call.args(["--quiet", "--bare", "--template=", "--"]).arg(&self.folder).output(cancel).await.map(drop)
    }

    /// Whether a ref of ours exists, which stands for all objects below it.
    pub(crate) async fn commit_of(
        &self,
        reference: &str,
        cancel: &CancellationToken,
    ) -> Result<Option<String>, GitError> {
        let call = self.call("rev-parse").args(["--verify", "--quiet", "--end-of-options"]);
        let finished = call.arg(format!("{reference}^{{commit}}")).finish(cancel).await?;
        let text = String::from_utf8_lossy(&finished.stdout).trim().to_owned();
        Ok((finished.ended.success() && !text.is_empty()).then_some(text))
    }

    /// Brings a commit in from a path or URL, unless it is there already.
    pub(crate) async fn fetch(
        &self,
        repo: &str,
        commit: &str,
        report: Report<'_>,
        cancel: &CancellationToken,
    ) -> Result<(), GitError> {
        let reference = base_ref(commit);
        if self.commit_of(&reference, cancel).await?.is_some() {
            return Ok(());
        }
        self.transfer(repo, commit, (&reference, "--depth=1"), report, cancel).await
    }

    /// Like [`Mirror::fetch`], with the commits before it.
    pub(crate) async fn fetch_with_parents(
        &self,
        repo: &str,
        commit: &str,
        report: Report<'_>,
        cancel: &CancellationToken,
    ) -> Result<(), GitError> {
        let reference = format!("refs/kab/revert/{commit}");
        if self.commit_of(&reference, cancel).await?.is_some() {
            return Ok(());
        }
        self.transfer(repo, commit, (&reference, "--depth=2"), report, cancel).await
    }

    async fn transfer(
        &self,
        repo: &str,
        commit: &str,
        (reference, depth): (&str, &str),
        report: Report<'_>,
        cancel: &CancellationToken,
    ) -> Result<(), GitError> {
        report(Progress::Fetching { repo: repo.to_owned(), percent: None });
        let mut call = self
            .git
            .call(&self.folder, Rules::Users, "fetch")
            .args([depth, "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance"])
            .args(["--no-write-fetch-head", "--no-write-commit-graph", "--progress"]);
        if Path::new(repo).is_absolute() {
            call = call.arg(format!("--upload-pack={UPLOAD_PACK}"));
        }
        let call = call.arg("--").arg(repo).arg(format!("+{commit}:{reference}"));
        let mut last = None;
        let mut on_line = |_: Stream, line: &[u8]| {
            let percent = percent(&String::from_utf8_lossy(line));
            if percent.is_some() && percent != last {
                last = percent;
                report(Progress::Fetching { repo: repo.to_owned(), percent });
            }
            Ok(())
        };
        let (success, message) = call.lines(cancel, &mut on_line).await?;
        if success { Ok(()) } else { Err(GitError::Failed { command: "fetch".to_owned(), message }) }
    }

    /// Points a ref of ours at a commit.
    pub(crate) async fn keep(
        &self,
        reference: &str,
        commit: &str,
        cancel: &CancellationToken,
    ) -> Result<(), GitError> {
        self.call("update-ref").args([reference, commit]).output(cancel).await.map(drop)
    }

    /// The tree of a commit, hexadecimal.
    pub(crate) async fn tree_of(&self, commit: &str, cancel: &CancellationToken) -> Result<String, GitError> {
        self.call("rev-parse")
            .args(["--verify", "--end-of-options"])
            .arg(format!("{commit}^{{tree}}"))
            .text(cancel)
            .await
    }

    /// The commits after `base` up to `commit`, oldest first.
    pub(crate) async fn commits_after(
        &self,
        base: &str,
        commit: &str,
        cancel: &CancellationToken,
    ) -> Result<Vec<CommitInfo>, GitError> {
        let call = self.call("log").args(["--reverse", "--format=%H %s", "--end-of-options"]);
        let text = call.arg(format!("{base}..{commit}")).arg("--").text(cancel).await?;
        Ok(commits(&text))
    }

    /// First line of a commit's message.
    pub(crate) async fn subject_of(
        &self,
        commit: &str,
        cancel: &CancellationToken,
    ) -> Result<String, GitError> {
        self.call("log").args(["-1", "--format=%s", "--end-of-options", commit, "--"]).text(cancel).await
    }

    /// Parents of a commit that [`Mirror::fetch_with_parents`] brought in.
    pub(crate) async fn parents_of(
        &self,
        commit: &str,
        cancel: &CancellationToken,
    ) -> Result<Vec<String>, GitError> {
        let call =
            self.call("rev-list").args(["--parents", "--max-count=1", "--end-of-options", commit, "--"]);
        let text = call.text(cancel).await?;
        Ok(text.split_whitespace().skip(1).map(str::to_owned).collect())
    }

    /// Files that differ between two commits or trees, sorted, at most `limit`.
    pub(crate) async fn changed_files(
        &self,
        from: &str,
        to: &str,
        limit: usize,
        cancel: &CancellationToken,
    ) -> Result<Vec<String>, GitError> {
        let call =
            self.call("diff-tree").args(["-r", "-z", "--name-only", "--no-renames", "--end-of-options"]);
        let output = call.args([from, to, "--"]).output(cancel).await?;
        let names = output.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.take(limit).map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }
}

/// The ref that holds a base commit.
pub(crate) fn base_ref(commit: &str) -> String {
    format!("refs/kab/base/{commit}")
}

/// Lines of a hash, a blank and a subject.
pub(crate) fn commits(text: &str) -> Vec<CommitInfo> {
    let pair = |line: &str| {
        let (commit, subject) = line.split_once(' ').unwrap_or((line, ""));
        CommitInfo { commit: commit.to_owned(), subject: subject.to_owned() }
    };
    text.lines().map(pair).collect()
}

/// The percentage of one of git's meters for a transfer.
fn percent(line: &str) -> Option<u8> {
    let (_, rest) = line.split_once("Receiving objects:")?;
    rest.split_once('%')?.0.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_meter_is_understood() {
        assert_eq!(percent("Receiving objects:  45% (5/11), 1.2 MiB"), Some(45));
        assert_eq!(percent("remote: Counting objects: 45% (5/11)"), None);
    }
}
