//! From what the experiment names to commits: refs pinned, series applied.

use crate::conflict::Conflict;
use crate::git::{Git, GitError, Rules};
use crate::kernels::Kernels;
use crate::lock::{Lock, LockError};
use crate::progress::{Progress, Report};
use crate::series::{Onto, Series, SeriesError};
use crate::tools::ToolError;
use kab_model::{Applied, Base, Change, KernelSpec, SeriesInfo, SeriesSource, SeriesSpec};
use std::path::Path;
use tokio_util::sync::CancellationToken;

/// Names that are suggested for an unknown ref.
const SUGGESTIONS: usize = 3;
/// Similarity from which a name is worth a suggestion; 1 is equality. `v6.99` and `v6.12` have 0.6.
const SIMILAR: f64 = 0.6;

/// Which kernel of a ladder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Changes that were applied; 0 is the base.
    pub index: u32,
    /// Subject of the last of them.
    pub subject: Option<String>,
}

/// A variant's source, pinned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Which kernel of a ladder; absent otherwise.
    pub step: Option<Step>,
    /// Commit that the ref named, hexadecimal.
    pub base_commit: String,
    /// Commit after the series; equals `base_commit` without one.
    pub commit: String,
    /// Tree of `commit`, hexadecimal.
    pub tree: String,
    /// `git describe --tags` of the base where it has one; of a URL, the tag that was named.
    pub describe: Option<String>,
    /// What was applied to the base, in order.
    pub changes: Vec<Applied>,
    /// What a user should know.
    pub warnings: Vec<String>,
}

/// Why a variant has no source.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// The path or URL cannot be read as a repository.
    #[error("cannot read the repository {repo}")]
    Repository {
        /// Path or URL.
        repo: String,
        /// What git said.
        source: GitError,
    },
    /// The repository has no such ref.
    #[error("{repo} has no ref {reference}{}", similar_names(.similar))]
    UnknownRef {
        /// Path or URL.
        repo: String,
        /// As the experiment has it.
        reference: String,
        /// Refs with a similar name, the most similar first.
        similar: Vec<String>,
    },
    /// An abbreviated hash or an expression, which only a local repository can answer.
    #[error("{reference} cannot be looked up in {repo}: name a tag, a branch or a full hash")]
    NotRemote {
        /// The URL.
        repo: String,
        /// As the experiment has it.
        reference: String,
    },
    /// A kind of source that comes later.
    #[error("{what} is not supported in this version yet")]
    Later {
        /// The kind.
        what: &'static str,
    },
    /// The series cannot be read or applied.
    #[error(transparent)]
    Series(#[from] SeriesError),
    /// A patch does not apply.
    #[error(transparent)]
    Conflict(#[from] Box<Conflict>),
    /// git is missing or too old.
    #[error(transparent)]
    Tools(#[from] ToolError),
    /// The cache is locked or cannot be written.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The cache folder cannot be used.
    #[error("cannot use the cache {}", path.display())]
    Cache {
        /// The file or folder.
        path: std::path::PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// git failed in kab's own mirror.
    #[error("the mirror of kernel sources cannot be used")]
    Mirror(#[from] GitError),
}

impl ResolveError {
    /// Whether the caller's own cancellation was the reason.
    pub fn is_cancelled(&self) -> bool {
        match self {
            Self::Repository { source, .. } | Self::Mirror(source) => source.is_cancelled(),
            Self::Series(source) => source.is_cancelled(),
            Self::Tools(source) => source.is_cancelled(),
            Self::Lock(LockError::Cancelled { .. }) => true,
            _ => false,
        }
    }
}

impl Kernels {
    /// Pins a ref and applies the changes to it. The user's repository is only read. More than one result comes from a
    /// ladder.
    pub async fn resolve(
        &self,
        spec: &KernelSpec,
        report: Report<'_>,
        cancel: &CancellationToken,
    ) -> Result<Vec<Resolved>, ResolveError> {
        self.check_git(cancel).await?;
        let (reference, series) = supported(spec)?;
        let series = series.map(Series::read).transpose()?;
        let wanted = Wanted { repo: &spec.repo, reference };
        let base = find(self.git(), wanted, cancel).await?;
        let cache = |path: &Path, source| ResolveError::Cache { path: path.to_owned(), source };
        std::fs::create_dir_all(self.cache()).map_err(|source| cache(self.cache(), source))?;
        let wait = |holder| report(Progress::Waiting { holder });
        let purpose = format!("reading {reference}");
        let _lock = Lock::take(&self.cache().join("mirror.lock"), &purpose, cancel, &wait).await?;
        let mirror = self.mirror();
        mirror.ensure(cancel).await?;
        mirror
            .fetch(&spec.repo, &base.commit, report, cancel)
            .await
            .map_err(|source| ResolveError::Repository { repo: spec.repo.clone(), source })?;
        let (commit, changes) = match &series {
            None => (base.commit.clone(), Vec::new()),
            Some(series) => {
                let scratch = self.fresh_folder("am").map_err(|source| cache(self.cache(), source))?;
                let commit =
                    series.apply(mirror, base.as_onto(&spec.repo), scratch.path(), report, cancel).await?;
                let subjects = mirror.subjects(&base.commit, &commit, cancel).await?;
                let source = series.source().to_owned();
                (commit, vec![Applied::Series(SeriesInfo { source, subjects, ..SeriesInfo::default() })])
            }
        };
        let tree = mirror.tree_of(&commit, cancel).await?;
        let (base_commit, describe, warnings) = (base.commit, base.describe, Vec::new());
        Ok(vec![Resolved { step: None, base_commit, commit, tree, describe, changes, warnings }])
    }

    /// Files that differ between two commits (or trees) that were resolved before; sorted, at most 1000.
    pub async fn changed_files(
        &self,
        from: &str,
        to: &str,
        cancel: &CancellationToken,
    ) -> Result<Vec<String>, ResolveError> {
        Ok(self.mirror().changed_files(from, to, 1000, cancel).await?)
    }
}

/// A ref and the series on top of it: what this version can resolve.
fn supported(spec: &KernelSpec) -> Result<(&str, Option<&Path>), ResolveError> {
    let later = |what| Err(ResolveError::Later { what });
    let Base::Ref(reference) = &spec.base else { return later("a working tree or a range") };
    if spec.ladder {
        return later("a ladder");
    }
    match spec.changes.as_slice() {
        [] => Ok((reference, None)),
        [Change::Series(SeriesSpec { source: SeriesSource::Path(path), upto: None, pick })]
            if pick.is_empty() =>
        {
            Ok((reference, Some(path)))
        }
        _ => later("anything but one whole series from a file"),
    }
}

/// A ref of a repository.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    repo: &'a str,
    reference: &'a str,
}

/// What a ref names.
struct Found {
    commit: String,
    describe: Option<String>,
}

impl Found {
    fn as_onto<'a>(&'a self, repo: &'a str) -> Onto<'a> {
        Onto { commit: &self.commit, local: Some(Path::new(repo)).filter(|path| path.is_absolute()) }
    }
}

async fn find(git: &Git, wanted: Wanted<'_>, cancel: &CancellationToken) -> Result<Found, ResolveError> {
    if Path::new(wanted.repo).is_absolute() {
        find_local(git, wanted, cancel).await
    } else {
        find_remote(git, wanted, cancel).await
    }
}

async fn find_local(
    git: &Git,
    wanted: Wanted<'_>,
    cancel: &CancellationToken,
) -> Result<Found, ResolveError> {
    let unreadable = |source| ResolveError::Repository { repo: wanted.repo.to_owned(), source };
    let folder = Path::new(wanted.repo);
    if !folder.is_dir() {
        let message = "there is no such folder".to_owned();
        return Err(unreadable(GitError::Failed { command: "rev-parse".to_owned(), message }));
    }
    let call = |subcommand| git.call_in(folder, Rules::Users, subcommand);
    call("rev-parse").arg("--git-dir").output(cancel).await.map_err(unreadable)?;
    let parse = call("rev-parse").args(["--verify", "--quiet", "--end-of-options"]);
    let parsed =
        parse.arg(format!("{}^{{commit}}", wanted.reference)).finish(cancel).await.map_err(unreadable)?;
    if !parsed.ended.success() {
        let names = call("for-each-ref").args([
            "--format=%(refname:strip=2)",
            "refs/heads",
            "refs/tags",
            "refs/remotes",
        ]);
        let names = names.text(cancel).await.map_err(unreadable)?;
        return Err(unknown(wanted, names.lines()));
    }
    let commit = String::from_utf8_lossy(&parsed.stdout).trim().to_owned();
    let described = call("describe").args(["--tags", &commit]).finish(cancel).await.map_err(unreadable)?;
    let text = String::from_utf8_lossy(&described.stdout).trim().to_owned();
    let describe = (described.ended.success() && !text.is_empty()).then_some(text);
    Ok(Found { commit, describe })
}

async fn find_remote(
    git: &Git,
    wanted: Wanted<'_>,
    cancel: &CancellationToken,
) -> Result<Found, ResolveError> {
    let reference = wanted.reference;
    if is_full_hash(reference) {
        return Ok(Found { commit: reference.to_ascii_lowercase(), describe: None });
    }
    let list = git.call_anywhere(Rules::Users, "ls-remote").arg("--").arg(wanted.repo).text(cancel).await;
    let list = list.map_err(|source| ResolveError::Repository { repo: wanted.repo.to_owned(), source })?;
    let refs: Vec<(&str, &str)> = list.lines().filter_map(|line| line.split_once('\t')).collect();
    let tag = format!("refs/tags/{reference}");
    // A tag object is followed by `^{}`, the commit that it names. Tags win over branches, as in rev-parse.
    let names = [format!("{tag}^{{}}"), tag.clone(), format!("refs/heads/{reference}"), reference.to_owned()];
    for name in &names {
        if let Some((commit, _)) = refs.iter().find(|(_, candidate)| candidate == name) {
            let describe = name.starts_with(&tag).then(|| reference.to_owned());
            return Ok(Found { commit: (*commit).to_owned(), describe });
        }
    }
    let expression = reference.contains(['~', '^', '@', ':']);
    let abbreviated = reference.len() >= 7 && reference.bytes().all(|byte| byte.is_ascii_hexdigit());
    if expression || abbreviated {
        return Err(ResolveError::NotRemote {
            repo: wanted.repo.to_owned(),
            reference: reference.to_owned(),
        });
    }
    let names = refs.iter().filter(|(_, name)| !name.ends_with("^{}"));
    let short = |name: &'static str| name;
    let prefixes = ["refs/tags/", "refs/heads/"].map(short);
    Err(unknown(
        wanted,
        names.filter_map(|(_, name)| prefixes.iter().find_map(|prefix| name.strip_prefix(prefix))),
    ))
}

fn is_full_hash(reference: &str) -> bool {
    matches!(reference.len(), 40 | 64) && reference.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn unknown<'a>(wanted: Wanted<'_>, names: impl Iterator<Item = &'a str>) -> ResolveError {
    ResolveError::UnknownRef {
        repo: wanted.repo.to_owned(),
        reference: wanted.reference.to_owned(),
        similar: nearest(wanted.reference, names),
    }
}

/// The names most similar to `wanted`, best first.
pub(crate) fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut scored: Vec<(f64, &str)> = names
        .map(|name| (strsim::normalized_damerau_levenshtein(wanted, name), name))
        .filter(|(score, _)| *score >= SIMILAR)
        .collect();
    scored.sort_by(|(left, a), (right, b)| right.total_cmp(left).then(a.cmp(b)));
    scored.dedup_by(|(_, a), (_, b)| a == b);
    scored.into_iter().take(SUGGESTIONS).map(|(_, name)| name.to_owned()).collect()
}

/// `; did you mean A, B or C?`
pub(crate) fn similar_names(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => format!("; did you mean {one}?"),
        [first @ .., last] => format!("; did you mean {} or {last}?", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_come_best_first() {
        let names = ["v6.12", "v6.16", "main", "v5.1-rc1"];
        assert_eq!(nearest("v6.15", names.into_iter()), ["v6.12", "v6.16"]);
        assert_eq!(nearest("mian", names.into_iter()), ["main"]);
        assert_eq!(similar_names(&["a".into(), "b".into(), "c".into()]), "; did you mean a, b or c?");
    }
}
