//! The one source tree that kernels are built in.
//!
//! Its index lies beside it and its objects in the mirror. A checkout writes the files that differ from what lies
//! there and no others: times of the rest stay, and make rebuilds little. Ignore rules play no part: some trees ignore
//! everything.

use crate::git::{Call, GitError};
use crate::mirror::Mirror;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// The source tree of a cache; whoever has one holds its lock.
#[derive(Debug)]
pub(crate) struct SourceTree<'a> {
    mirror: &'a Mirror,
    folder: PathBuf,
    index: PathBuf,
}

impl<'a> SourceTree<'a> {
    pub(crate) fn new(mirror: &'a Mirror, cache: &Path) -> Self {
        Self { mirror, folder: cache.join("tree"), index: cache.join("tree.index") }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes the folder hold exactly a tree of the mirror. Repeatable, also after it was killed half-way.
    pub(crate) async fn checkout(&self, tree: &str, cancel: &CancellationToken) -> Result<(), GitError> {
        // Left by a killed git; nobody else can hold it.
        let _ = std::fs::remove_file(self.index.with_extension("index.lock"));
        if std::fs::create_dir_all(&self.folder).is_err() {
            let message = format!("cannot create {}", self.folder.display());
            return Err(GitError::Failed { command: "read-tree".to_owned(), message });
        }
        self.call("read-tree").args(["--reset", "-u", tree]).output(cancel).await?;
        // read-tree trusts its index; a kill may have come between a file and the index, or a user into the folder.
        self.call("checkout-index").args(["--quiet", "--force", "--all", "--index"]).output(cancel).await?;
        self.call("clean").args(["--quiet", "-ffdx"]).output(cancel).await?;
        Ok(())
    }

    fn call(&self, subcommand: &str) -> Call<'_> {
        self.mirror
            .call(subcommand)
            .env("GIT_WORK_TREE", &self.folder)
            .env("GIT_INDEX_FILE", &self.index)
            .folder(&self.folder)
    }
}
