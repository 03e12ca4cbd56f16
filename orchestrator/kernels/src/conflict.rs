//! Why a patch does not apply: which mail, which files, which hunks.

use crate::git::GitError;
use crate::resolve::ResolveError;
use crate::series::{Scratch, SeriesError};
use std::path::PathBuf;
use tokio_util::sync::CancellationToken;

/// A patch that does not apply.
#[derive(Debug, thiserror::Error)]
#[error("patch {number} of {total} in {series}, \"{subject}\", does not apply{}", places(.rejects))]
pub struct Conflict {
    /// Name of the series' file or folder.
    pub series: String,
    /// Name of the file that holds the patch; equals `series` unless that is a folder.
    pub file: String,
    /// Place of the mail in the series, from 1; cover letters count.
    pub number: usize,
    /// Mails in the series.
    pub total: usize,
    /// Its subject without `[PATCH]`.
    pub subject: String,
    /// What does not fit.
    pub rejects: Vec<Reject>,
}

/// A file in which a patch does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reject {
    /// Path in the source tree.
    pub file: String,
    /// Head of the first hunk that does not fit, `@@ -12,7 +12,8 @@ function`; absent where the file as a whole is the problem.
    pub hunk: Option<String>,
    /// What git says about it.
    pub reason: String,
}

/// A mail of the series, cut out.
#[derive(Debug)]
pub(crate) struct Mail {
    /// Name of the user's file that it came from.
    pub(crate) file: String,
    /// The cut-out.
    pub(crate) path: PathBuf,
}

impl Conflict {
    /// Looks at the scratch repository in which `git am` stopped.
    pub(crate) async fn examine(
        scratch: &Scratch<'_>,
        series: &str,
        mails: &[Mail],
        message: String,
        cancel: &CancellationToken,
    ) -> Result<ResolveError, ResolveError> {
        let state = scratch.git_dir().join("rebase-apply");
        let read = |name: &str| std::fs::read(state.join(name)).unwrap_or_default();
        let number = String::from_utf8_lossy(&read("next")).trim().parse::<usize>().unwrap_or(0);
        let patch = String::from_utf8_lossy(&read("patch")).into_owned();
        let (Some(mail), false) =
            (number.checked_sub(1).and_then(|index| mails.get(index)), patch.is_empty())
        else {
            let source = GitError::Failed { command: "am".to_owned(), message };
            return Ok(SeriesError::Apply { series: series.to_owned(), source }.into());
        };
        let commit_message = String::from_utf8_lossy(&read("final-commit")).into_owned();
        let rejects = rejects(&check(scratch, cancel).await?, &patch);
        if rejects.is_empty() {
            let source = GitError::Failed { command: "am".to_owned(), message };
            return Ok(SeriesError::Apply { series: mail.file.clone(), source }.into());
        }
        let conflict = Self {
            series: series.to_owned(),
            file: mail.file.clone(),
            number,
            total: mails.len(),
            subject: commit_message.lines().next().unwrap_or_default().to_owned(),
            rejects,
        };
        Ok(Box::new(conflict).into())
    }
}

/// What `git apply` has against the patch, tried on an index of its own: the failed merge has left the real one in
/// pieces.
async fn check(scratch: &Scratch<'_>, cancel: &CancellationToken) -> Result<String, GitError> {
    let index = scratch.git_dir().join("check.index");
    scratch.call("read-tree").arg("HEAD").env("GIT_INDEX_FILE", &index).output(cancel).await?;
    let patch = scratch.git_dir().join("rebase-apply").join("patch");
    let call = scratch.call("apply").args(["--cached", "--check", "--"]).arg(patch);
    Ok(call.env("GIT_INDEX_FILE", &index).finish(cancel).await?.stderr)
}

/// Reads git's complaints: `error: patch failed: FILE:LINE` names a hunk by the first line of its old side,
/// `error: FILE: REASON` a file.
fn rejects(complaints: &str, patch: &str) -> Vec<Reject> {
    let mut rejects: Vec<Reject> = Vec::new();
    let mut hunk: Option<(String, String)> = None;
    for line in complaints.lines().filter_map(|line| line.strip_prefix("error: ")) {
        if let Some((file, start)) =
            line.strip_prefix("patch failed: ").and_then(|place| place.rsplit_once(':'))
        {
            hunk = Some((file.to_owned(), start.to_owned()));
        } else if let Some((file, reason)) = line.split_once(": ") {
            let start = hunk.take().filter(|(failed, _)| failed == file).map(|(_, start)| start);
            let hunk = start.map(|start| hunk_at(patch, file, &start).unwrap_or(format!("line {start}")));
            rejects.push(Reject { file: file.to_owned(), hunk, reason: reason.to_owned() });
        }
    }
    rejects
}

/// The head of the hunk of `file` whose old side starts at line `start`.
fn hunk_at(patch: &str, file: &str, start: &str) -> Option<String> {
    let mut in_file = false;
    for line in patch.lines() {
        if let Some(name) = line.strip_prefix("+++ ").or(line.strip_prefix("--- ")) {
            let name = name.split('\t').next().unwrap_or(name);
            let inside = name.split_once('/').map_or(name, |(_, inside)| inside);
            // The old name of a deleted file counts, /dev/null never does.
            in_file = inside == file || (in_file && name == "/dev/null");
        } else if let Some(range) = line.strip_prefix("@@ -")
            && in_file
            && range.split([',', ' ']).next() == Some(start)
        {
            return Some(line.to_owned());
        }
    }
    None
}

/// `: FILE @@ … @@ (reason); …`
fn places(rejects: &[Reject]) -> String {
    let place = |reject: &Reject| match &reject.hunk {
        Some(hunk) => format!("{} {hunk}", reject.file),
        None => format!("{}: {}", reject.file, reject.reason),
    };
    if rejects.is_empty() {
        return String::new();
    }
    format!(": {}", rejects.iter().map(place).collect::<Vec<_>>().join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "--- a/one.c\n+++ b/one.c\n@@ -3,2 +3,2 @@ f\n-a\n+b\n--- a/two.c\n+++ b/two.c\n@@ -3,7 +4,8 @@ int g(void)\n-c\n+d\n";

    #[test]
    fn hunks_and_missing_files_are_named() {
        let complaints = "error: patch failed: two.c:3\nerror: two.c: patch does not apply\nerror: three.c: does not exist in index\n";
        let hunk = Reject {
            file: "two.c".into(),
            hunk: Some("@@ -3,7 +4,8 @@ int g(void)".into()),
            reason: "patch does not apply".into(),
        };
        let file = Reject { file: "three.c".into(), hunk: None, reason: "does not exist in index".into() };
        let found = rejects(complaints, PATCH);
        assert_eq!(found, [hunk, file]);
        assert_eq!(places(&found), ": two.c @@ -3,7 +4,8 @@ int g(void); three.c: does not exist in index");
    }
}
