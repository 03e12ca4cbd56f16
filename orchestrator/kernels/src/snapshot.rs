//! A working tree as it is: uncommitted changes and files that git does not know, as a commit in kab's mirror.
//!
//! The user's repository is only read. Its index is copied, so that git need not hash what has not changed, and new objects go
//! into a scratch repository that borrows the user's; the mirror fetches the commit from there.

use crate::git::{Call, Git, GitError, Rules};
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// Author of the snapshot; the date is fixed, so that the same tree gives the same commit.
const AUTHOR: [(&str, &str); 6] = [
    ("GIT_AUTHOR_NAME", "kab"),
    ("GIT_AUTHOR_EMAIL", "kab@localhost"),
    ("GIT_AUTHOR_DATE", "1700000000 +0000"),
    ("GIT_COMMITTER_NAME", "kab"),
    ("GIT_COMMITTER_EMAIL", "kab@localhost"),
    ("GIT_COMMITTER_DATE", "1700000000 +0000"),
];

/// A commit in a scratch repository, to be fetched before the folder goes.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// The scratch repository.
    pub(crate) repo: PathBuf,
    /// The commit; its parent is the last commit of the working tree.
    pub(crate) commit: String,
    /// Files that differ from the last commit; without any, `commit` is that one.
    pub(crate) files: usize,
}

/// Why there is no snapshot.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SnapshotError {
    /// git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The scratch folder or the index cannot be used.
    #[error("cannot use {}", path.display())]
    File { path: PathBuf, source: std::io::Error },
}

/// Takes one of the working tree `folder`, whose last commit is `head`.
pub(crate) async fn take(
    git: &Git,
    folder: &Path,
    head: &str,
    scratch: &Path,
    cancel: &CancellationToken,
) -> Result<Snapshot, SnapshotError> {
    let users = |subcommand: &str| git.call_in(folder, Rules::Users, subcommand);
    let path_of = async |name: &str| -> Result<PathBuf, GitError> {
        let call = users("rev-parse").args(["--path-format=absolute", "--git-path", name]);
        Ok(PathBuf::from(call.text(cancel).await?))
    };
    let top = PathBuf::from(users("rev-parse").arg("--show-toplevel").text(cancel).await?);
    let repo = scratch.join("snapshot.git");
    let init = git.call_anywhere(Rules::Own, "init").args(["--quiet", "--bare", "--template=", "--"]);
    init.arg(&repo).output(cancel).await?;
    let index = scratch.join("index");
    copy(&path_of("index").await?, &index)?;
    copy(&path_of("shallow").await?, &repo.join("shallow"))?;
    let alternates = repo.join("objects/info/alternates");
    let objects = path_of("objects").await?;
    let borrow = std::fs::create_dir_all(repo.join("objects/info"))
        .and_then(|()| std::fs::write(&alternates, format!("{}\n", objects.display())));
    borrow.map_err(|source| SnapshotError::File { path: alternates, source })?;

    let call = |subcommand: &str| {
        let call = git.call_in(&top, Rules::Users, subcommand);
        let call = call.env("GIT_INDEX_FILE", &index).env("GIT_OBJECT_DIRECTORY", repo.join("objects"));
        AUTHOR.iter().fold(call, |call: Call<'_>, (name, value)| call.env(name, *value))
    };
    // A half-copied index of an exotic kind is made anew from the last commit, which takes longer.
    if !call("ls-files")
        .args(["--cached", "--error-unmatch", "--", ":/"])
        .finish(cancel)
        .await?
        .ended
        .success()
    {
        call("read-tree").arg(head).output(cancel).await?;
    }
    call("add").args(["--all", "--", ":/"]).output(cancel).await?;
    let tree = call("write-tree").text(cancel).await?;
    let changed =
        call("diff-tree").args(["-r", "--name-only", "--no-renames", head, &tree]).text(cancel).await?;
    let files = changed.lines().count();
    let commit = if files == 0 {
        head.to_owned()
    } else {
        call("commit-tree").args(["-p", head, "-m", "kab: working tree", &tree]).text(cancel).await?
    };
    let keep = git.call(&repo, Rules::Own, "update-ref").args(["refs/heads/snapshot", &commit]);
    keep.output(cancel).await?;
    Ok(Snapshot { repo, commit, files })
}

/// A file that need not be there. Its time goes along: by it git knows which entries of an index are too young to be trusted.
fn copy(from: &Path, to: &Path) -> Result<(), SnapshotError> {
    let copy = || {
        let time = from.metadata()?.modified()?;
        std::fs::copy(from, to)?;
        std::fs::File::options().write(true).open(to)?.set_modified(time)
    };
    match copy() {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(SnapshotError::File { path: from.to_owned(), source })
        }
        _ => Ok(()),
    }
}
