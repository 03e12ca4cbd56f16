//! From what the experiment names to commits: refs pinned, series applied.

use crate::changes::{Made, Site, unreadable};
use crate::conflict::Conflict;
use crate::git::{Git, GitError, Rules};
use crate::kernels::Kernels;
use crate::lock::{Lock, LockError};
use crate::progress::{Progress, Report};
use crate::series::SeriesError;
use crate::tools::ToolError;
use crate::{mirror, snapshot};
use kab_model::{Applied, Base, CommitInfo, KernelSpec, SeriesInfo};
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
    #[error("{repo} has no ref {reference}{}{}", similar_names(.similar), history(.reference))]
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
    /// A series cannot be had from an archive.
    #[error("cannot get the series {name}: {reason}")]
    Fetch {
        /// Message-id or URL.
        name: String,
        /// Why, and what to do.
        reason: String,
    },
    /// Only the commit that one other commit led to can be reverted.
    #[error("{commit} cannot be reverted: it {}", no_revert(*parents))]
    NotRevertable {
        /// As the experiment has it.
        commit: String,
        /// How many commits it follows.
        parents: usize,
    },
    /// A working tree or a range of a repository that is not on this disk.
    #[error("{what} needs a repository on this host, and {repo} is a URL: clone it")]
    NotLocal {
        /// `a working tree` or `a range`.
        what: &'static str,
        /// The URL.
        repo: String,
    },
    /// A range whose end does not follow its begin, or that is empty.
    #[error("there is no commit in {from}..{to} of {repo}")]
    EmptyRange {
        /// Path of the repository.
        repo: String,
        /// As the experiment has it.
        from: String,
        /// As the experiment has it.
        to: String,
    },
    /// Too many variants from one line.
    #[error("a ladder of {steps} steps: {most} at most; build fewer, or use `upto:` and `pick:`")]
    LongLadder {
        /// What was asked for.
        steps: usize,
        /// The limit.
        most: usize,
    },
    /// The caller gave up.
    #[error("cancelled")]
    Cancelled,
    /// The working tree cannot be read.
    #[error("cannot take a snapshot of the working tree")]
    Snapshot {
        /// What git said.
        source: GitError,
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
            Self::Repository { source, .. } | Self::Mirror(source) | Self::Snapshot { source } => {
                source.is_cancelled()
            }
            Self::Series(source) => source.is_cancelled(),
            Self::Tools(source) => source.is_cancelled(),
            Self::Cancelled | Self::Lock(LockError::Cancelled { .. }) => true,
            _ => false,
        }
    }
}

impl Kernels {
    /// Pins a ref and applies the changes to it. The user's repository is only read. More than one result comes from a
    /// ladder: the base first, then one for each patch or commit.
    pub async fn resolve(
        &self,
        spec: &KernelSpec,
        report: Report<'_>,
        cancel: &CancellationToken,
    ) -> Result<Vec<Resolved>, ResolveError> {
        self.check_git(cancel).await?;
        let cache = |path: &Path, source| ResolveError::Cache { path: path.to_owned(), source };
        std::fs::create_dir_all(self.cache()).map_err(|source| cache(self.cache(), source))?;
        let wait = |holder| report(Progress::Waiting { holder });
        let purpose = format!("reading {}", spec.repo);
        let _lock = Lock::take(&self.cache().join("mirror.lock"), &purpose, cancel, &wait).await?;
        self.mirror().ensure(cancel).await?;
        let scratch = self.fresh_folder("am").map_err(|source| cache(self.cache(), source))?;
        let site = Site { kernels: self, repo: &spec.repo, report, cancel };
        let (base, mut made) = site.base(spec, scratch.path()).await?;
        let mut warnings = Vec::new();
        let mut onto = last(&made).unwrap_or(&base.commit).to_owned();
        for (index, change) in spec.changes.iter().enumerate() {
            let folder = scratch.path().join(format!("change-{index}"));
            made.extend(site.apply(change, &onto, &folder, &mut warnings).await?);
            last(&made).unwrap_or(&base.commit).clone_into(&mut onto);
        }
        let mut all = Vec::new();
        for (step, commit, changes) in steps(spec.ladder, &base.commit, made)? {
            let tree = self.mirror().tree_of(&commit, cancel).await?;
            let (base_commit, describe, warnings) =
                (base.commit.clone(), base.describe.clone(), warnings.clone());
            all.push(Resolved { step, base_commit, commit, tree, describe, changes, warnings });
        }
        Ok(all)
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

/// Most kernels of one ladder.
const LONGEST_LADDER: usize = 64;

/// The commit of the last change.
fn last(made: &[Made]) -> Option<&str> {
    made.iter().rev().find_map(|made| made.commits.last()).map(|commit| commit.commit.as_str())
}

type Kernel = (Option<Step>, String, Vec<Applied>);

/// One kernel with all changes, or the rungs of a ladder.
fn steps(ladder: bool, base: &str, made: Vec<Made>) -> Result<Vec<Kernel>, ResolveError> {
    if !ladder {
        let commit = last(&made).unwrap_or(base).to_owned();
        return Ok(vec![(None, commit, made.into_iter().map(|made| made.applied).collect())]);
    }
    let count: usize = made.iter().map(|made| made.commits.len()).sum();
    if count > LONGEST_LADDER {
        return Err(ResolveError::LongLadder { steps: count, most: LONGEST_LADDER });
    }
    let mut all = vec![(Some(Step { index: 0, subject: None }), base.to_owned(), Vec::new())];
    let mut before: Vec<Applied> = Vec::new();
    for made in made {
        for (done, commit) in (1..).zip(&made.commits) {
            let step = Step { index: all.len() as u32, subject: Some(commit.subject.clone()) };
            let mut changes = before.clone();
            changes.push(partly(&made.applied, done));
            all.push((Some(step), commit.commit.clone(), changes));
        }
        before.push(made.applied);
    }
    Ok(all)
}

/// The first `count` patches of a series; anything else is one step.
fn partly(applied: &Applied, count: usize) -> Applied {
    match applied {
        Applied::Series(series) if count < series.subjects.len() => Applied::Series(SeriesInfo {
            subjects: series.subjects[..count].to_vec(),
            of: series.of.or(u32::try_from(series.subjects.len()).ok()),
            ..series.clone()
        }),
        other => other.clone(),
    }
}

impl Site<'_> {
    /// The base, and the commits of a range or a working tree on top of it.
    async fn base(&self, spec: &KernelSpec, scratch: &Path) -> Result<(Found, Vec<Made>), ResolveError> {
        match &spec.base {
            Base::Ref(reference) => {
                let base = find(self.kernels.git(), self.wanted(reference), self.cancel).await?;
                self.fetch(self.repo, &base.commit).await?;
                Ok((base, Vec::new()))
            }
            Base::Tree => self.working_tree(scratch).await,
            Base::Range { from, to } => self.range(from, to, spec.ladder).await,
        }
    }

    async fn working_tree(&self, scratch: &Path) -> Result<(Found, Vec<Made>), ResolveError> {
        let folder = self.local("a working tree")?;
        let base = find(self.kernels.git(), self.wanted("HEAD"), self.cancel).await?;
        self.fetch(self.repo, &base.commit).await?;
        let taken = snapshot::take(self.kernels.git(), folder, &base.commit, scratch, self.cancel).await?;
        if taken.files == 0 {
            return Ok((base, Vec::new()));
        }
        self.fetch(&taken.repo.to_string_lossy(), &taken.commit).await?;
        let commit = CommitInfo { commit: taken.commit, subject: "working tree".to_owned() };
        let applied = Applied::Uncommitted { files: taken.files };
        Ok((base, vec![Made { applied, commits: vec![commit] }]))
    }

    async fn range(&self, from: &str, to: &str, ladder: bool) -> Result<(Found, Vec<Made>), ResolveError> {
        let folder = self.local("a range")?;
        let git = self.kernels.git();
        let base = find(git, self.wanted(from), self.cancel).await?;
        let end = find(git, self.wanted(to), self.cancel).await?;
        let call = |subcommand| git.call_in(folder, Rules::Users, subcommand);
        let follows = call("merge-base").args(["--is-ancestor", &base.commit, &end.commit]);
        let follows = follows.finish(self.cancel).await.map_err(unreadable(self.repo))?.ended.success();
        let list = call("log").args(["--reverse", "--first-parent", "--format=%H %s", "--end-of-options"]);
        let list = list.arg(format!("{}..{}", base.commit, end.commit)).arg("--").text(self.cancel).await;
        let commits = mirror::commits(&list.map_err(unreadable(self.repo))?);
        if !follows || commits.is_empty() {
            let (from, to) = (from.to_owned(), to.to_owned());
            return Err(ResolveError::EmptyRange { repo: self.repo.to_owned(), from, to });
        }
        if ladder && commits.len() > LONGEST_LADDER {
            return Err(ResolveError::LongLadder { steps: commits.len(), most: LONGEST_LADDER });
        }
        self.fetch(self.repo, &base.commit).await?;
        let needed = if ladder { &commits[..] } else { &commits[commits.len() - 1..] };
        for commit in needed {
            self.fetch(self.repo, &commit.commit).await?;
        }
        let made =
            |commit: CommitInfo| Made { applied: Applied::Commit(commit.clone()), commits: vec![commit] };
        Ok((base, commits.into_iter().map(made).collect()))
    }

    fn local(&self, what: &'static str) -> Result<&Path, ResolveError> {
        let folder = Path::new(self.repo);
        let not_local = || ResolveError::NotLocal { what, repo: self.repo.to_owned() };
        folder.is_absolute().then_some(folder).ok_or_else(not_local)
    }

    fn wanted<'a>(&'a self, reference: &'a str) -> Wanted<'a> {
        Wanted { repo: self.repo, reference }
    }

    async fn fetch(&self, from: &str, commit: &str) -> Result<(), ResolveError> {
        let fetched = self.kernels.mirror().fetch(from, commit, self.report, self.cancel).await;
        fetched.map_err(unreadable(self.repo))
    }
}

/// A ref of a repository.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) repo: &'a str,
    pub(crate) reference: &'a str,
}

/// What a ref names.
pub(crate) struct Found {
    pub(crate) commit: String,
    describe: Option<String>,
}

pub(crate) async fn find(
    git: &Git,
    wanted: Wanted<'_>,
    cancel: &CancellationToken,
) -> Result<Found, ResolveError> {
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

fn no_revert(parents: usize) -> &'static str {
    if parents == 0 {
        "has no commit before it"
    } else {
        "is a merge, and git cannot tell which side to undo"
    }
}

/// Where old tags of linux-next are: the tree itself keeps those of some months.
fn history(reference: &str) -> &'static str {
    let is_next = reference
        .strip_prefix("next-")
        .is_some_and(|day| day.len() == 8 && day.bytes().all(|b| b.is_ascii_digit()));
    if is_next {
        "; older tags of linux-next are in \
         https://git.kernel.org/pub/scm/linux/kernel/git/next/linux-next-history.git"
    } else {
        ""
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
