//! Applies the changes of a variant to its base, one after the other.

use crate::git::{GitError, Rules};
use crate::kernels::Kernels;
use crate::patches::Patches;
use crate::progress::Report;
use crate::resolve::{ResolveError, Wanted, find};
use crate::series::{Onto, Series, SeriesError};
use kab_model::{Applied, Change, CommitInfo, SeriesInfo, SeriesSource, SeriesSpec};
use std::path::Path;
use tokio_util::sync::CancellationToken;

/// A change, applied.
#[derive(Debug)]
pub(crate) struct Made {
    /// What it was.
    pub(crate) applied: Applied,
    /// Its commits with their subjects, oldest first.
    pub(crate) commits: Vec<CommitInfo>,
}

/// Where changes come from and go to.
pub(crate) struct Site<'a> {
    pub(crate) kernels: &'a Kernels,
    /// Path or URL of the repository.
    pub(crate) repo: &'a str,
    pub(crate) report: Report<'a>,
    pub(crate) cancel: &'a CancellationToken,
}

impl Site<'_> {
    /// Applies one change on top of `onto`. Warnings are added to `warnings`.
    pub(crate) async fn apply(
        &self,
        change: &Change,
        onto: &str,
        scratch: &Path,
        warnings: &mut Vec<String>,
    ) -> Result<Vec<Made>, ResolveError> {
        match change {
            Change::Series(spec) => {
                let patches = self.kernels.fetch_series(spec, self.report, self.cancel).await?;
                warnings.extend(patches.warnings.iter().cloned());
                if let Some(made_on) = &patches.made_on {
                    warnings.extend(self.contradiction(&patches.info.source, made_on, onto).await?);
                }
                let commits = self.commits(&patches.series, onto, scratch).await?;
                let subjects = commits.iter().map(|commit| commit.subject.clone()).collect();
                let applied = Applied::Series(SeriesInfo { subjects, ..patches.info });
                Ok(vec![Made { applied, commits }])
            }
            Change::DeviceTree(path) => {
                let whole =
                    SeriesSpec { source: SeriesSource::Path(path.clone()), upto: None, pick: Vec::new() };
                let patches = Patches::read(path, &whole)?;
                let commits = self.commits(&patches.series, onto, scratch).await?;
                let last = commits.last().map_or(onto, |commit| commit.commit.as_str());
                let touched =
                    self.kernels.mirror().changed_files(onto, last, usize::MAX, self.cancel).await?;
                let series = patches.info.source;
                if let Some(file) = touched.iter().find(|file| !is_device_tree(file)) {
                    return Err(SeriesError::NotDeviceTree { series, file: file.clone() }.into());
                }
                Ok(vec![Made { applied: Applied::DeviceTree { source: series }, commits }])
            }
            Change::Revert(names) => {
                let mut all = Vec::new();
                let mut onto = onto.to_owned();
                for (index, name) in names.iter().enumerate() {
                    let made = self.revert(name, &onto, &scratch.join(format!("revert-{index}"))).await?;
                    onto = made.commits.last().map_or(onto, |commit| commit.commit.clone());
                    all.push(made);
                }
                Ok(all)
            }
        }
    }

    async fn commits(
        &self,
        series: &Series,
        onto: &str,
        scratch: &Path,
    ) -> Result<Vec<CommitInfo>, ResolveError> {
        let mirror = self.kernels.mirror();
        let local = Some(Path::new(self.repo)).filter(|path| path.is_absolute());
        let place = Onto { commit: onto, local };
        let commit = series.apply(mirror, place, scratch, self.report, self.cancel).await?;
        Ok(mirror.commits_after(onto, &commit, self.cancel).await?)
    }

    /// What to say where a series names another base than the one it is applied to.
    async fn contradiction(
        &self,
        series: &str,
        made_on: &str,
        onto: &str,
    ) -> Result<Option<String>, ResolveError> {
        if onto.starts_with(made_on) {
            return Ok(None);
        }
        let (short, here) = (made_on.get(..12).unwrap_or(made_on), onto.get(..12).unwrap_or(onto));
        let folder = Path::new(self.repo);
        if !folder.is_absolute() {
            return Ok(Some(format!(
                "{series} was made on {short} (its base-commit) and is applied to {here}"
            )));
        }
        let git = self.kernels.git();
        let call = |subcommand| git.call_in(folder, Rules::Users, subcommand);
        let known =
            call("cat-file").args(["-e", &format!("{made_on}^{{commit}}")]).finish(self.cancel).await?;
        if !known.ended.success() {
            return Ok(Some(format!(
                "{series} was made on {short} (its base-commit), which {} does not have; it is applied to {here}",
                folder.display()
            )));
        }
        let inside = call("merge-base").args(["--is-ancestor", made_on, onto]).finish(self.cancel).await?;
        let relation =
            if inside.ended.success() { "which contains that" } else { "which does not contain that" };
        Ok(Some(format!(
            "{series} was made on {short} (its base-commit) and is applied to {here}, {relation}"
        )))
    }

    /// A revert is the reversed difference, applied as a patch: it merges three ways and a conflict names file and hunk.
    async fn revert(&self, name: &str, onto: &str, scratch: &Path) -> Result<Made, ResolveError> {
        let wanted = Wanted { repo: self.repo, reference: name };
        let commit = find(self.kernels.git(), wanted, self.cancel).await?.commit;
        let mirror = self.kernels.mirror();
        mirror
            .fetch_with_parents(self.repo, &commit, self.report, self.cancel)
            .await
            .map_err(|source| ResolveError::Repository { repo: self.repo.to_owned(), source })?;
        let parents = mirror.parents_of(&commit, self.cancel).await?;
        let [parent] = parents.as_slice() else {
            return Err(ResolveError::NotRevertable { commit: name.to_owned(), parents: parents.len() });
        };
        let subject = mirror.subject_of(&commit, self.cancel).await?;
        let diff = mirror
            .call("diff-tree")
            .args(["-p", "--full-index", "--binary", "--no-renames", &commit, parent])
            .output(self.cancel)
            .await?;
        let quoted = subject.replace('"', "'");
        let head = format!(
            "From: kab <kab@localhost>\nDate: Tue, 14 Nov 2023 22:13:20 +0000\nSubject: [PATCH] Revert \"{quoted}\"\n\
             MIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\n\n\
             This reverts commit {commit}.\n---\n"
        );
        let short = commit.get(..12).unwrap_or(&commit);
        let source = format!("the revert of {short}");
        let series = Series::new(source.clone(), vec![(source, [head.as_bytes(), &diff].concat())]);
        let commits = self.commits(&series, onto, scratch).await?;
        Ok(Made { applied: Applied::Revert(CommitInfo { commit, subject }), commits })
    }
}

/// Sources of device trees, their headers, and the documents that describe them.
fn is_device_tree(file: &str) -> bool {
    let source = [".dts", ".dtsi", ".dtso"].iter().any(|ending| file.ends_with(ending));
    (file.starts_with("arch/") && file.contains("/boot/dts/"))
        || source
        || file.starts_with("include/dt-bindings/")
        || file.starts_with("Documentation/devicetree/")
}

impl From<crate::snapshot::SnapshotError> for ResolveError {
    fn from(error: crate::snapshot::SnapshotError) -> Self {
        match error {
            crate::snapshot::SnapshotError::Git(source) => Self::Snapshot { source },
            crate::snapshot::SnapshotError::File { path, source } => Self::Cache { path, source },
        }
    }
}

/// For `?` on git's own failures in the user's repository.
pub(crate) fn unreadable(repo: &str) -> impl FnOnce(GitError) -> ResolveError + '_ {
    move |source| ResolveError::Repository { repo: repo.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_tree_files_are_told_from_others() {
        for file in [
            "arch/arm64/boot/dts/qcom/sm8650.dtsi",
            "arch/arm/boot/dts/Makefile",
            "Documentation/devicetree/bindings/ufs/qcom,ufs.yaml",
            "include/dt-bindings/clock/qcom,gcc.h",
        ] {
            assert!(is_device_tree(file), "{file}");
        }
        for file in
            ["drivers/ufs/core/ufshcd.c", "arch/arm64/kernel/setup.c", "Documentation/admin-guide/x.rst"]
        {
            assert!(!is_device_tree(file), "{file}");
        }
    }
}
