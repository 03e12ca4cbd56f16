//! make: how it is called, what its output says.

use crate::process::{ProcessError, Stream, stream};
use crate::surroundings::Surroundings;
use crate::tools::{Tools, clean};
use kab_lifeline::{Command, Ended};
use kab_model::{Arch, Toolchain};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// Lines of an error that are shown; the log has the rest.
const SHOWN: usize = 10;

/// What the kernel would otherwise take from clock, user, host and counter: part of every build key.
const PINNED: [&str; 5] = [
    "KBUILD_BUILD_TIMESTAMP=Tue Nov 14 22:13:20 UTC 2023",
    "KBUILD_BUILD_USER=kab",
    "KBUILD_BUILD_HOST=kab",
    "KBUILD_BUILD_VERSION=1",
    "LOCALVERSION=",
];

/// Why make gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    /// It ended with an error.
    #[error(transparent)]
    Failed(#[from] Box<FailedBuild>),
    /// It did not run to its end.
    #[error("make {target}")]
    Process {
        /// What was to be made.
        target: String,
        /// Why.
        source: ProcessError,
    },
    /// The log cannot be written.
    #[error("cannot write the log {}", log.display())]
    Log {
        /// The log.
        log: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
}

impl MakeError {
    /// Whether the caller's own cancellation was the reason.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Process { source: ProcessError::Cancelled, .. })
    }

    /// Whether make had no chance to remove what it had half made.
    pub(crate) fn is_torn(&self) -> bool {
        match self {
            Self::Failed(failed) => failed.signaled,
            Self::Process { .. } | Self::Log { .. } => true,
        }
    }
}

/// A make that ended with an error.
#[derive(Debug, thiserror::Error)]
#[error("make {target} failed ({ended}), see {}:\n{}", log.display(), lines.join("\n"))]
pub struct FailedBuild {
    /// What was to be made.
    pub target: String,
    /// Exit code or signal.
    pub ended: String,
    /// The first error, as far as it can be told from the output.
    pub lines: Vec<String>,
    /// The whole output.
    pub log: PathBuf,
    signaled: bool,
}

/// Moves every function that is shorter than that, and so what shares a cache line with what: the kernel's own alignment is 4 to
/// 16 bytes. Comes after the kernel's flags.
const PLACEBO: &str = "KCFLAGS=-falign-functions=64";

/// The arguments of make that say what is built, in the order in which a build key has them.
pub(crate) fn arguments(arch: Arch, toolchain: &Toolchain, placebo: bool) -> Vec<String> {
    let mut arguments = vec![format!("ARCH={}", arch.kernel_name())];
    arguments.extend(PINNED.map(str::to_owned));
    match toolchain {
        Toolchain::Gcc => {}
        Toolchain::Llvm => arguments.push("LLVM=1".to_owned()),
        Toolchain::Cross(prefix) => arguments.push(format!("CROSS_COMPILE={prefix}")),
    }
    if placebo {
        arguments.push(PLACEBO.to_owned());
    }
    arguments
}

/// The make target of the boot image, and where it lies in the output folder.
pub(crate) fn image(arch: Arch) -> (&'static str, &'static str) {
    match arch {
        Arch::X86_64 => ("bzImage", "arch/x86/boot/bzImage"),
        Arch::Arm64 => ("Image", "arch/arm64/boot/Image"),
    }
}

/// make in one source tree and output folder.
#[derive(Debug)]
pub(crate) struct Make<'a> {
    pub(crate) tools: &'a Tools,
    pub(crate) source: &'a Path,
    pub(crate) output: &'a Path,
    pub(crate) arguments: &'a [String],
    pub(crate) surroundings: &'a Surroundings,
    pub(crate) jobs: NonZeroUsize,
    pub(crate) log: Log,
}

impl Make<'_> {
    pub(crate) fn source(&self) -> &Path {
        self.source
    }

    pub(crate) fn output(&self) -> &Path {
        self.output
    }

    /// Makes a configuration target.
    pub(crate) async fn configure(&self, target: &str, cancel: &CancellationToken) -> Result<(), MakeError> {
        self.run(&[target], cancel, &mut |_| {}).await
    }

    /// Makes targets, with variables that go with them; `on_step` learns how many steps are done.
    pub(crate) async fn run(
        &self,
        words: &[&str],
        cancel: &CancellationToken,
        on_step: &mut (dyn FnMut(usize) + Send),
    ) -> Result<(), MakeError> {
        let log_failed = |source| MakeError::Log { log: self.log.path.clone(), source };
        let mut assignment = std::ffi::OsString::from("O=");
        assignment.push(self.output);
        let command = clean(Command::new("make"), &self.surroundings.path(&self.tools.search_path));
        let command = self.surroundings.with_ccache(command);
        let command = command
            .current_dir(self.source)
            // The version scripts must not find a repository around the cache.
            .env("GIT_CEILING_DIRECTORIES", self.source.parent().unwrap_or(self.source))
            .arg(format!("-j{}", self.jobs))
            .arg(assignment)
            .arg(self.surroundings.seed_argument())
            .args(self.arguments)
            .args(words);
        let target = words.first().copied().unwrap_or_default();
        let mut steps = 0;
        let mut errors = FirstError::default();
        let mut on_line = |_: Stream, line: &[u8]| {
            self.log.write(line)?;
            let line = String::from_utf8_lossy(line);
            if is_step(&line) {
                steps += 1;
                on_step(steps);
            } else {
                errors.line(&line);
            }
            Ok(())
        };
        let ended = match stream(&self.tools.lifeline, command, cancel, &mut on_line).await {
            Ok(ended) => ended,
            Err(ProcessError::Output(source)) => return Err(log_failed(source)),
            Err(source) => return Err(MakeError::Process { target: target.to_owned(), source }),
        };
        self.log.flush().map_err(log_failed)?;
        self.judge(target, ended, errors)
    }

    fn judge(&self, target: &str, ended: Ended, errors: FirstError) -> Result<(), MakeError> {
        if ended.success() {
            return Ok(());
        }
        let failed = FailedBuild {
            target: target.to_owned(),
            ended: ended.to_string(),
            lines: errors.lines(),
            log: self.log.path.clone(),
            signaled: matches!(ended, Ended::Signaled(_)),
        };
        Err(Box::new(failed).into())
    }
}

/// The log of a build.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    file: Mutex<BufWriter<File>>,
}

impl Log {
    pub(crate) fn create(path: PathBuf) -> std::io::Result<Self> {
        let file = Mutex::new(BufWriter::new(File::create(&path)?));
        Ok(Self { path, file })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn write(&self, line: &[u8]) -> std::io::Result<()> {
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.write_all(line)?;
        file.write_all(b"\n")
    }

    fn flush(&self) -> std::io::Result<()> {
        self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner).flush()
    }
}

/// Whether a line is one of kbuild's short commands: `  CC      init/main.o`, `  CC [M]  fs/x.o`.
fn is_step(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("  ") else { return false };
    let word = rest.split(' ').next().unwrap_or_default();
    word.len() > 1
        && word
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || b"_+".contains(&byte))
}

/// Finds the first error in the mixed output of many jobs, and what is printed around it.
#[derive(Default)]
struct FirstError {
    /// The line before, which compilers use to say where they are.
    before: Option<String>,
    /// From the first diagnosis on.
    diagnosis: Vec<String>,
    /// From make's own first complaint on, for where nothing better comes.
    complaint: Vec<String>,
    /// The last lines, for where not even make complains.
    tail: std::collections::VecDeque<String>,
}

impl FirstError {
    fn line(&mut self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        if self.diagnosis.is_empty() && is_diagnosis(line) {
            self.diagnosis.extend(
                self.before.take().filter(|before| before.contains(": In ") || before.contains(": in ")),
            );
        }
        if !self.diagnosis.is_empty() || is_diagnosis(line) {
            keep(&mut self.diagnosis, line);
        }
        if !self.complaint.is_empty() || line.contains("*** ") {
            keep(&mut self.complaint, line);
        }
        if self.tail.len() == SHOWN {
            self.tail.pop_front();
        }
        self.tail.push_back(line.to_owned());
        self.before = Some(line.to_owned());
    }

    fn lines(self) -> Vec<String> {
        match (self.diagnosis.is_empty(), self.complaint.is_empty()) {
            (false, _) => self.diagnosis,
            (true, false) => self.complaint,
            (true, true) => self.tail.into(),
        }
    }
}

fn keep(lines: &mut Vec<String>, line: &str) {
    if lines.len() < SHOWN {
        lines.push(line.to_owned());
    }
}

fn is_diagnosis(line: &str) -> bool {
    let signs = [
        "error: ",
        "ERROR: ",
        "Error: ",
        "undefined reference to",
        "undefined symbol",
        ": not found",
        "syntax error",
    ];
    signs.iter().any(|sign| line.contains(sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(lines: &[&str]) -> Vec<String> {
        let mut error = FirstError::default();
        lines.iter().for_each(|line| error.line(line));
        error.lines()
    }

    #[test]
    fn steps_are_kbuilds_short_commands() {
        for step in ["  CC      init/main.o", "  CC [M]  fs/x.o", "  LDS     a.lds", "  VDSO2C  x"] {
            assert!(is_step(step), "{step}");
        }
        for other in ["make[1]: Entering directory", "  int x;", "    5 | CC", "  "] {
            assert!(!is_step(other), "{other}");
        }
    }

    #[test]
    fn the_first_diagnosis_wins_over_makes_complaint() {
        let shown = first(&[
            "a.c: In function 'f':",
            "a.c:3:5: error: 'x' undeclared",
            "make[2]: *** [Makefile:1: a.o] Error 1",
        ]);
        assert_eq!(shown.len(), 3);
        assert_eq!(shown[0], "a.c: In function 'f':");
        assert_eq!(
            first(&["noise", "make: *** No rule to make target 'x'.  Stop."]),
            ["make: *** No rule to make target 'x'.  Stop."]
        );
        assert_eq!(first(&["Killed"]), ["Killed"]);
    }
}
