//! A series of patches: read from an mbox, a folder or one file, and applied as `git am` does.
//!
//! It is applied in a scratch repository that shares the mirror's objects and checks out no file but those that the
//! patches touch. The scratch is thrown away whatever happens; what stays is a commit, and a ref to it that is named after the base
//! and the bytes of the series, so that the same series is applied once.

use crate::conflict::{Conflict, Mail};
use crate::git::{GitError, Rules};
use crate::mentions::Mentions;
use crate::mirror::Mirror;
use crate::process::Stream;
use crate::progress::{Progress, Report};
use crate::resolve::ResolveError;
use std::io::Read;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// Endings of the files of a folder that are taken for patches.
const ENDINGS: [&str; 5] = ["patch", "diff", "mbox", "eml", "gz"];

/// Size up to which a compressed mbox is unpacked, bytes; the largest series are a few MiB.
const LARGEST: u64 = 64 << 20;

/// Why a series cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SeriesError {
    /// A file or folder cannot be read, or the scratch folder not written.
    #[error("cannot use {}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// The folder has no file that looks like a patch.
    #[error("{} has no file that ends in {}", path.display(), ENDINGS.map(|ending| format!(".{ending}")).join(", "))]
    EmptyFolder {
        /// The folder.
        path: PathBuf,
    },
    /// No mail with a patch in it.
    #[error("{series} has no patch")]
    NoPatch {
        /// Name of the file or folder.
        series: String,
    },
    /// The base has all of it already.
    #[error("{series} changes nothing: the base has it already")]
    AlreadyApplied {
        /// Name of the file or folder.
        series: String,
    },
    /// A mail's patch is damaged, or git failed in another way that is no conflict.
    #[error("cannot apply {series}")]
    Apply {
        /// Name of the file or folder.
        series: String,
        /// What git said.
        source: GitError,
    },
}

impl SeriesError {
    /// Whether the caller's own cancellation was the reason.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Apply { source, .. } if source.is_cancelled())
    }
}

/// What a series is applied to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Onto<'a> {
    /// The base commit, in the mirror.
    pub(crate) commit: &'a str,
    /// The repository that it came from, unless that is a URL.
    pub(crate) local: Option<&'a Path>,
}

/// A series, read.
#[derive(Debug)]
pub(crate) struct Series {
    source: String,
    files: Vec<(String, Vec<u8>)>,
}

impl Series {
    /// Reads a file, or the patches of a folder in the order of their names.
    pub(crate) fn read(path: &Path) -> Result<Self, SeriesError> {
        let fail = |path: &Path, source| SeriesError::File { path: path.to_owned(), source };
        let paths = if path.is_dir() {
            let paths = patches_in(path).map_err(|source| fail(path, source))?;
            if paths.is_empty() {
                return Err(SeriesError::EmptyFolder { path: path.to_owned() });
            }
            paths
        } else {
            vec![path.to_owned()]
        };
        let mut files = Vec::new();
        for path in paths {
            let bytes = std::fs::read(&path).and_then(unpack).map_err(|source| fail(&path, source))?;
            let name = name_of(&path);
            files.push((name.clone(), as_mail(&name, bytes)));
        }
        Ok(Self { source: name_of(path), files })
    }

    /// Name of the file or folder, without the path to it.
    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// The commit with all patches on top of a base.
    pub(crate) async fn apply(
        &self,
        mirror: &Mirror,
        onto: Onto<'_>,
        folder: &Path,
        report: Report<'_>,
        cancel: &CancellationToken,
    ) -> Result<String, ResolveError> {
        let reference = self.reference(onto.commit);
        if let Some(commit) = mirror.commit_of(&reference, cancel).await? {
            return Ok(commit);
        }
        let mut mentions = Mentions::default();
        self.files.iter().for_each(|(_, bytes)| _ = mentions.add(bytes));
        let mut attempt = 0;
        let commit = loop {
            let folder = folder.join(attempt.to_string());
            let scratch = Scratch::create(mirror, &folder, onto.commit, &mentions, cancel).await?;
            let mails = self.split(&scratch, cancel).await?;
            let Err(message) = self.am(&scratch, onto.commit, &mails, report, cancel).await? else {
                break scratch.call("rev-parse").arg("HEAD").text(cancel).await?;
            };
            // A merge needs the files that the patch was made against, and those that it changes. Each further attempt has
            // more of them than the one before. The patch at which `git am` stopped is decoded, the mails need not be.
            let patch = std::fs::read(scratch.git_dir().join("rebase-apply/patch")).unwrap_or_default();
            let mut better = mentions.add(&patch);
            if let Some(repo) = onto.local {
                better |= mentions.import(mirror, repo, &folder, cancel).await? > 0;
            }
            if !better {
                return Err(Conflict::examine(&scratch, &self.source, &mails, message, cancel).await?);
            }
            attempt += 1;
        };
        mirror.keep(&reference, &commit, cancel).await?;
        Ok(commit)
    }

    /// Runs `git am`; what it complained about, if it stopped.
    async fn am(
        &self,
        scratch: &Scratch<'_>,
        base: &str,
        mails: &[Mail],
        report: Report<'_>,
        cancel: &CancellationToken,
    ) -> Result<Result<(), String>, ResolveError> {
        let mut already = false;
        let mut done = 0;
        let mut on_line = |stream: Stream, line: &[u8]| {
            let line = String::from_utf8_lossy(line);
            already |= line.contains("Patch already applied");
            if let (Stream::Out, Some(subject)) = (stream, line.strip_prefix("Applying: ")) {
                report(Progress::Applying { done, total: mails.len(), subject: subject.to_owned() });
                done += 1;
            }
            Ok(())
        };
        let am = scratch.call("am").args(["--3way", "--empty=drop", "--keep-non-patch", "--no-keep-cr"]);
        let am = am.args(["--no-scissors", "--patch-format=mbox", "--"]);
        let am = am.args(mails.iter().map(|mail| &mail.path)).lines(cancel, &mut on_line).await;
        let (success, message) =
            am.map_err(|source| SeriesError::Apply { series: self.source.clone(), source })?;
        if !success {
            return Ok(Err(message));
        }
        let series = self.source.clone();
        if scratch.call("rev-parse").arg("HEAD").text(cancel).await? != base {
            Ok(Ok(()))
        } else if already {
            Err(SeriesError::AlreadyApplied { series }.into())
        } else {
            Err(SeriesError::NoPatch { series }.into())
        }
    }

    /// The ref under which the result is kept.
    fn reference(&self, base: &str) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"kab series 1\0").update(base.as_bytes());
        for (_, bytes) in &self.files {
            hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
        }
        format!("refs/kab/series/{}", hasher.finalize().to_hex())
    }

    /// Cuts the files into mails, each in a file of its own, so that a conflict can be traced to where it came from.
    async fn split(
        &self,
        scratch: &Scratch<'_>,
        cancel: &CancellationToken,
    ) -> Result<Vec<Mail>, ResolveError> {
        let mut mails = Vec::new();
        for (index, (name, bytes)) in self.files.iter().enumerate() {
            let folder = scratch.folder.join(format!("mails-{index}"));
            let file = scratch.folder.join(format!("input-{index}"));
            let write = std::fs::create_dir(&folder).and_then(|()| std::fs::write(&file, bytes));
            write.map_err(|source| SeriesError::File { path: file.clone(), source })?;
            // -b: a file without a "From " line is one mail.
            let call = scratch.call("mailsplit").args(["-b", "-d6"]);
            let output = call.arg(format!("-o{}", folder.display())).arg("--").arg(&file).text(cancel).await;
            let output =
                output.map_err(|source| SeriesError::Apply { series: self.source.clone(), source })?;
            let count: usize = output.trim().parse().unwrap_or(0);
            mails.extend(
                (1..=count)
                    .map(|number| Mail { file: name.clone(), path: folder.join(format!("{number:06}")) }),
            );
        }
        if mails.is_empty() {
            return Err(SeriesError::NoPatch { series: self.source.clone() }.into());
        }
        Ok(mails)
    }
}

/// A repository that writes its objects into the mirror and everything else into a folder that will be removed.
pub(crate) struct Scratch<'a> {
    mirror: &'a Mirror,
    folder: PathBuf,
}

impl<'a> Scratch<'a> {
    async fn create(
        mirror: &'a Mirror,
        folder: &Path,
        base: &str,
        mentions: &Mentions,
        cancel: &CancellationToken,
    ) -> Result<Self, ResolveError> {
        let scratch = Self { mirror, folder: folder.to_owned() };
        let call = mirror.git().call_anywhere(Rules::Own, "init").args(["--quiet", "--template=", "--"]);
        call.arg(scratch.work_tree()).output(cancel).await?;
        let info = scratch.git_dir().join("info");
        let prepare = || {
            std::fs::create_dir_all(&info)?;
            std::fs::write(info.join("sparse-checkout"), mentions.sparse_patterns())?;
            // The base has no parents in the mirror; this file says so.
            match std::fs::copy(mirror.folder().join("shallow"), scratch.git_dir().join("shallow")) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            }
        };
        prepare().map_err(|source| SeriesError::File { path: info.clone(), source })?;
        scratch.call("config").args(["core.sparseCheckout", "true"]).output(cancel).await?;
        scratch.call("update-ref").args(["--no-deref", "HEAD", base]).output(cancel).await?;
        scratch.call("read-tree").args(["-m", "-u", base]).output(cancel).await?;
        Ok(scratch)
    }

    /// A call inside the scratch repository.
    pub(crate) fn call(&self, subcommand: &str) -> crate::git::Call<'_> {
        self.mirror
            .git()
            .call(&self.git_dir(), Rules::Own, subcommand)
            .env("GIT_OBJECT_DIRECTORY", self.mirror.folder().join("objects"))
            .env("GIT_WORK_TREE", self.work_tree())
            .folder(&self.work_tree())
    }

    pub(crate) fn git_dir(&self) -> PathBuf {
        self.work_tree().join(".git")
    }

    fn work_tree(&self) -> PathBuf {
        self.folder.join("tree")
    }
}

fn patches_in(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if path.is_file() && !hidden && ENDINGS.contains(&ending) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Archives of mailing lists offer threads as compressed mboxes.
fn unpack(bytes: Vec<u8>) -> std::io::Result<Vec<u8>> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(bytes);
    }
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(&bytes[..]).take(LARGEST + 1).read_to_end(&mut unpacked)?;
    let too_large = || std::io::Error::new(std::io::ErrorKind::FileTooLarge, "unpacks to more than 64 MiB");
    if unpacked.len() as u64 > LARGEST { Err(too_large()) } else { Ok(unpacked) }
}

/// A bare diff becomes a mail whose subject is the file's name; anything else is left alone.
fn as_mail(name: &str, bytes: Vec<u8>) -> Vec<u8> {
    let first =
        bytes.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    let bare = [&b"diff "[..], b"--- ", b"Index: "].iter().any(|start| first.starts_with(start));
    if !bare {
        return bytes;
    }
    let head = format!(
        "From: kab <kab@localhost>\nDate: Tue, 14 Nov 2023 22:13:20 +0000\nSubject: [PATCH] {name}\n\n---\n"
    );
    [head.into_bytes(), bytes].concat()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_folder_is_read_in_order_and_other_files_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["0010-b.patch", "0002-a.patch", ".hidden.patch", "notes.txt"] {
            std::fs::write(folder.path().join(name), name).unwrap();
        }
        let series = Series::read(folder.path()).unwrap();
        let names: Vec<&str> = series.files.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["0002-a.patch", "0010-b.patch"]);
    }

    #[test]
    fn compressed_mboxes_are_unpacked() {
        use std::io::Write;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.mbox.gz");
        let mut file =
            flate2::write::GzEncoder::new(std::fs::File::create(&path).unwrap(), Default::default());
        file.write_all(b"From: A\n\nbody\n").unwrap();
        file.finish().unwrap();
        assert_eq!(Series::read(&path).unwrap().files[0].1, b"From: A\n\nbody\n");
        std::fs::write(&path, [0x1f, 0x8b, 1, 2, 3]).unwrap();
        assert!(matches!(Series::read(&path), Err(SeriesError::File { .. })));
    }

    #[test]
    fn only_bare_diffs_get_a_head() {
        assert!(as_mail("x.diff", b"diff --git a/x b/x\n".to_vec()).starts_with(b"From: kab"));
        assert_eq!(as_mail("x", b"From: A\n\nbody\n".to_vec()), b"From: A\n\nbody\n");
    }
}
