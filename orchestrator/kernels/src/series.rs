//! A series of patches, applied as `git am` does.
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
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// Why a series cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
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
    #[error("{} has no file that ends in {}", path.display(), crate::patches::endings())]
    EmptyFolder {
        /// The folder.
        path: PathBuf,
    },
    /// Damaged or oversized input.
    #[error("cannot read {file}")]
    Unreadable {
        /// The file's name.
        file: String,
        /// What is wrong with it.
        source: kab_mail::ReadError,
    },
    /// Nothing in it.
    #[error("{file} is empty: was its download cut off?")]
    Empty {
        /// The file's name.
        file: String,
    },
    /// A page of an archive in place of the mails.
    #[error("{file} is a web page: save the thread as an mbox (archives offer it as mbox.gz)")]
    WebPage {
        /// The file's name.
        file: String,
    },
    /// No mail with a patch in it.
    #[error("{series} has no patch")]
    NoPatch {
        /// Name of the file or folder.
        series: String,
    },
    /// More than one series of the same version.
    #[error("{series} holds several series: {}; keep one of them", titles.join("; "))]
    Several {
        /// Name of the file or folder.
        series: String,
        /// Their titles.
        titles: Vec<String>,
    },
    /// Patches that are missing, damaged, doubled or attached.
    #[error("{series} cannot be applied: {}", problems.join("; "))]
    Unusable {
        /// Name of the file or folder.
        series: String,
        /// What is wrong, in the order of the patches.
        problems: Vec<String>,
    },
    /// A patch made without the folders `a` and `b`.
    #[error(
        "the paths in \"{title}\" of {series} lack the leading a/ and b/, such as {path}: make it again without --no-prefix"
    )]
    StripLevel {
        /// Name of the file or folder.
        series: String,
        /// Title of the patch.
        title: String,
        /// The path as it is.
        path: String,
    },
    /// `upto` or `pick` names a patch that is not there.
    #[error("{series} has {count} patches, and patch {number} is asked for")]
    NoSuchPatch {
        /// Name of the file or folder.
        series: String,
        /// The number.
        number: u32,
        /// How many there are.
        count: u32,
    },
    /// A device tree patch touches something else.
    #[error("{series} is to change device trees only, and touches {file}: write it as `series:`")]
    NotDeviceTree {
        /// Name of the file or folder.
        series: String,
        /// The first other file.
        file: String,
    },
    /// The base has all of it already.
    #[error("{series} changes nothing: the base has it already")]
    AlreadyApplied {
        /// Name of the file or folder.
        series: String,
    },
    /// git failed in another way that is no conflict.
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

/// A series, read and put in order.
#[derive(Debug)]
pub(crate) struct Series {
    source: String,
    /// Name of the file that each patch came from, and the mail as `git am` reads it.
    patches: Vec<(String, Vec<u8>)>,
}

impl Series {
    pub(crate) fn new(source: String, patches: Vec<(String, Vec<u8>)>) -> Self {
        Self { source, patches }
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
        self.patches.iter().for_each(|(_, bytes)| _ = mentions.add(bytes));
        let mut attempt = 0;
        let commit = loop {
            let folder = folder.join(attempt.to_string());
            let scratch = Scratch::create(mirror, &folder, onto.commit, &mentions, cancel).await?;
            let mails = self.write(&scratch)?;
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
        for (_, bytes) in &self.patches {
            hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
        }
        format!("refs/kab/series/{}", hasher.finalize().to_hex())
    }

    /// Each patch in a file of its own, so that a conflict can be traced to where it came from.
    fn write(&self, scratch: &Scratch<'_>) -> Result<Vec<Mail>, ResolveError> {
        let write = |(index, (name, bytes)): (usize, &(String, Vec<u8>))| {
            let path = scratch.folder.join(format!("mail-{index:06}"));
            std::fs::write(&path, bytes)
                .map_err(|source| SeriesError::File { path: path.clone(), source })?;
            Ok(Mail { file: name.clone(), path })
        };
        self.patches.iter().enumerate().map(write).collect()
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
