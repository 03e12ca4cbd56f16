//! The `git` program, called so that neither the user's settings nor the surroundings change what it does.

use crate::process::{Finished, OnLine, ProcessError, Stream, capture, stream};
use kab_lifeline::{Command, Lifeline};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use tokio_util::sync::CancellationToken;

/// Variables that would point git at another repository, or make commits differ.
const FOREIGN: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_GRAFT_FILE",
    "GIT_REPLACE_REF_BASE",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
    "GIT_EXTERNAL_DIFF",
    "GIT_DIFF_OPTS",
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_DATE",
    "GIT_QUARANTINE_PATH",
    "GIT_TRACE",
    "GIT_DEFAULT_HASH",
];

/// Variables that carry settings.
const SETTINGS: &[&str] = &["GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT", "GIT_CONFIG_SYSTEM"];

/// Committer of every commit that kab makes. The date is as fixed as the name, so that the same series on the same base has the
/// same hash everywhere.
const COMMITTER: [(&str, &str); 3] = [
    ("GIT_COMMITTER_NAME", "kab"),
    ("GIT_COMMITTER_EMAIL", "kab@localhost"),
    ("GIT_COMMITTER_DATE", "1700000000 +0000"),
];

/// Settings of every call.
const ALWAYS: &[&str] =
    &["core.hooksPath=/dev/null", "gc.auto=0", "maintenance.auto=false", "core.fsmonitor=false"];

/// Settings of calls in kab's own repositories.
const OWN: &[&str] = &[
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "commit.gpgSign=false",
    "advice.detachedHead=false",
    "core.autocrlf=false",
    "core.quotePath=false",
];

/// A call of git that failed.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// It has no exit code: not installed, cancelled …
    #[error("git {command}")]
    Process {
        /// The subcommand.
        command: String,
        /// Why.
        source: ProcessError,
    },
    /// It answered with an error.
    #[error("git {command}: {message}")]
    Failed {
        /// The subcommand.
        command: String,
        /// What it wrote to standard error, progress meters left out.
        message: String,
    },
}

impl GitError {
    /// Whether the caller's own cancellation was the reason.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Process { source: ProcessError::Cancelled, .. })
    }
}

/// Whose settings apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rules {
    /// The user's: to reach a repository (credentials, proxies, `insteadOf`, `safe.directory`). Nothing that depends on them
    /// may change a result.
    Users,
    /// None but kab's.
    Own,
}

/// How to start git.
#[derive(Clone, Debug)]
pub(crate) struct Git {
    pub(crate) lifeline: Lifeline,
    pub(crate) search_path: OsString,
}

/// One call, being put together.
pub(crate) struct Call<'a> {
    git: &'a Git,
    name: String,
    command: Command,
}

impl Git {
    /// A call of a subcommand in the repository `git_dir`.
    pub(crate) fn call(&self, git_dir: &Path, rules: Rules, subcommand: &str) -> Call<'_> {
        self.prepare(rules, subcommand, Command::new("git")).env("GIT_DIR", git_dir)
    }

    /// A call of a subcommand in whatever repository `folder` belongs to.
    pub(crate) fn call_in(&self, folder: &Path, rules: Rules, subcommand: &str) -> Call<'_> {
        self.prepare(rules, subcommand, Command::new("git").current_dir(folder))
    }

    /// A call of a subcommand that needs no repository.
    pub(crate) fn call_anywhere(&self, rules: Rules, subcommand: &str) -> Call<'_> {
        self.prepare(rules, subcommand, Command::new("git"))
    }

    fn prepare(&self, rules: Rules, subcommand: &str, mut command: Command) -> Call<'_> {
        for name in FOREIGN {
            command = command.env_remove(*name);
        }
        command = command
            .env("PATH", &self.search_path)
            .env("LC_ALL", "C")
            .env("LANGUAGE", "C")
            .env("TZ", "UTC")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            // Reading must not make a partial clone of the user's fetch.
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_EDITOR", "false");
        if rules == Rules::Own {
            command = isolate(command);
        }
        let own: &[&str] = if rules == Rules::Own { OWN } else { &[] };
        for setting in ALWAYS.iter().chain(own) {
            command = command.args(["-c", *setting]);
        }
        Call { git: self, name: subcommand.to_owned(), command: command.arg(subcommand) }
    }
}

/// Keeps settings and identities of user and system out.
fn isolate(mut command: Command) -> Command {
    for name in SETTINGS {
        command = command.env_remove(*name);
    }
    command = command
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_ATTR_NOSYSTEM", "1");
    for (name, value) in COMMITTER {
        command = command.env(name, value);
    }
    command
}

impl Call<'_> {
    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command = self.command.arg(arg);
        self
    }

    pub(crate) fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.command = self.command.args(args);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.command = self.command.env(name, value);
        self
    }

    pub(crate) fn folder(mut self, folder: &Path) -> Self {
        self.command = self.command.current_dir(folder);
        self
    }

    /// Runs it, whatever its exit code.
    pub(crate) async fn finish(self, cancel: &CancellationToken) -> Result<Finished, GitError> {
        let name = self.name;
        capture(&self.git.lifeline, self.command, cancel)
            .await
            .map_err(|source| GitError::Process { command: name, source })
    }

    /// Runs it; its standard output. An exit code other than 0 is an error.
    pub(crate) async fn output(self, cancel: &CancellationToken) -> Result<Vec<u8>, GitError> {
        let name = self.name.clone();
        let finished = self.finish(cancel).await?;
        if finished.ended.success() {
            return Ok(finished.stdout);
        }
        Err(GitError::Failed { command: name, message: complaint(&finished.stderr) })
    }

    /// Like [`Call::output`], as text without the last line feed.
    pub(crate) async fn text(self, cancel: &CancellationToken) -> Result<String, GitError> {
        let output = self.output(cancel).await?;
        Ok(String::from_utf8_lossy(&output).trim_end_matches('\n').to_owned())
    }

    /// Runs it and hands on each line; whether it succeeded, and what it complained about.
    pub(crate) async fn lines(
        self,
        cancel: &CancellationToken,
        on_line: OnLine<'_>,
    ) -> Result<(bool, String), GitError> {
        let name = self.name;
        let mut stderr = String::new();
        let mut both = |stream: Stream, line: &[u8]| {
            if stream == Stream::Err {
                stderr.push_str(&String::from_utf8_lossy(line));
                stderr.push('\n');
            }
            on_line(stream, line)
        };
        let ended = stream(&self.git.lifeline, self.command, cancel, &mut both)
            .await
            .map_err(|source| GitError::Process { command: name, source })?;
        Ok((ended.success(), complaint(&stderr)))
    }
}

/// Standard error without hints and progress meters, on one line.
fn complaint(stderr: &str) -> String {
    let lines: Vec<&str> = stderr
        .split(['\n', '\r'])
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("hint:") && !line.contains("% ("))
        .map(|line| line.strip_prefix("fatal: ").or(line.strip_prefix("error: ")).unwrap_or(line))
        .collect();
    if lines.is_empty() { "no reason given".to_owned() } else { lines.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_are_short() {
        let stderr = "Receiving objects:  45% (5/11)\rfatal: no such thing\nhint: try again\n";
        assert_eq!(complaint(stderr), "no such thing");
        assert_eq!(complaint(""), "no reason given");
    }
}
