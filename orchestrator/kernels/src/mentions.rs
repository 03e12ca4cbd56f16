//! What patches speak of: files, and the contents that those had on the author's side.
//!
//! A three-way merge starts from the file that the author had, which the `index` lines of a patch name by the hash of
//! its content. The mirror holds the base without history and often lacks it; a local repository with its
//! history mostly has it.

use crate::git::{GitError, Rules};
use crate::mirror::Mirror;
use std::collections::BTreeSet;
use std::path::Path;
use tokio_util::sync::CancellationToken;

/// Fewer digits are no hash that git writes.
const SHORTEST: usize = 7;

/// Collected from any number of patches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mentions {
    /// Paths in the source tree.
    files: BTreeSet<String>,
    /// Abbreviated hashes of contents before a patch.
    blobs: BTreeSet<String>,
}

impl Mentions {
    /// Adds what a patch or mail speaks of; whether any of it is news. A mail in base64 says nothing.
    pub(crate) fn add(&mut self, patch: &[u8]) -> bool {
        let before = self.files.len() + self.blobs.len();
        for line in String::from_utf8_lossy(patch).lines() {
            if let Some(name) = line.strip_prefix("--- ").or(line.strip_prefix("+++ ")) {
                let name = name.split('\t').next().unwrap_or(name).trim_end();
                let path = name.split_once('/').map(|(_, path)| path).filter(|_| name != "/dev/null");
                self.files.extend(path.map(str::to_owned));
            } else if let Some(name) = line.strip_prefix("rename from ") {
                self.files.insert(name.trim_end().to_owned());
            } else if let Some((old, _)) = line.strip_prefix("index ").and_then(|rest| rest.split_once(".."))
            {
                self.blobs.extend(Some(old).filter(|old| is_hash(old)).map(str::to_owned));
            }
        }
        self.files.len() + self.blobs.len() > before
    }

    /// The files as lines of git's `sparse-checkout`: just these are to lie in the work tree.
    pub(crate) fn sparse_patterns(&self) -> String {
        // Without any line git would check out everything.
        let mut patterns = "/.nothing-at-all\n".to_owned();
        for file in &self.files {
            patterns.push('/');
            for char in file.chars() {
                if "*?[\\ ".contains(char) {
                    patterns.push('\\');
                }
                patterns.push(char);
            }
            patterns.push('\n');
        }
        patterns
    }

    /// Copies the contents that the mirror lacks and the user's repository has; how many.
    pub(crate) async fn import(
        &self,
        mirror: &Mirror,
        repo: &Path,
        scratch: &Path,
        cancel: &CancellationToken,
    ) -> Result<usize, GitError> {
        let mut count = 0;
        for id in &self.blobs {
            if mirror.call("cat-file").args(["-e", id]).finish(cancel).await?.ended.success() {
                continue;
            }
            let read = mirror.git().call_in(repo, Rules::Users, "cat-file").args(["blob", id]);
            let blob = read.finish(cancel).await?;
            let file = scratch.join("blob");
            if blob.ended.success() && std::fs::write(&file, blob.stdout).is_ok() {
                let write = mirror.call("hash-object").args(["-w", "--no-filters", "--"]).arg(&file);
                write.output(cancel).await?;
                count += 1;
            }
        }
        Ok(count)
    }
}

/// A hash or the beginning of one; the old side of a new file is all zeros.
fn is_hash(text: &str) -> bool {
    let digits = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    digits && text.len() >= SHORTEST && text.bytes().any(|byte| byte != b'0')
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &[u8] = b"diff --git a/fs/a b.c b/fs/a b.c\nindex 1234567..89abcde 100644\n--- a/fs/a b.c\t\n+++ b/fs/a b.c\t\n\
index 0000000..1111111\n--- /dev/null\n+++ b/new.c\nindex of..things\n text index 7654321..1\n-- \n";

    #[test]
    fn files_and_old_contents_are_found() {
        let mut mentions = Mentions::default();
        assert!(mentions.add(PATCH));
        assert!(!mentions.add(PATCH));
        assert_eq!(mentions.blobs.iter().collect::<Vec<_>>(), ["1234567"]);
        assert_eq!(mentions.sparse_patterns(), "/.nothing-at-all\n/fs/a\\ b.c\n/new.c\n");
    }
}
