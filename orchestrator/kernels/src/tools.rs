//! Programs and headers that a build needs, and which package has them.

use crate::git::GitError;
use crate::process::{ProcessError, capture};
use kab_lifeline::{Command, Lifeline};
use kab_model::{Arch, Toolchain};
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use tokio_util::sync::CancellationToken;

/// The first git whose `am` can drop mails without a patch.
const OLDEST_GIT: (u32, u32) = (2, 35);

/// Programs of every kernel build, with their Debian packages.
const PROGRAMS: &[(&str, &str)] = &[("make", "make"), ("flex", "flex"), ("bison", "bison"), ("bc", "bc")];
/// Programs for the host's gcc.
const GCC: &[(&str, &str)] = &[("gcc", "gcc"), ("ld", "binutils"), ("objcopy", "binutils")];
/// Programs for `LLVM=1`.
const LLVM: &[(&str, &str)] =
    &[("clang", "clang"), ("ld.lld", "lld"), ("llvm-ar", "llvm"), ("llvm-objcopy", "llvm")];

/// The toolchain that builds for an architecture where gcc is asked for: a cross compiler, unless the host is of that
/// architecture itself.
pub(crate) fn for_arch(toolchain: &Toolchain, arch: Arch) -> Toolchain {
    let (machine, prefix) = match arch {
        Arch::X86_64 => ("x86_64", "x86_64-linux-gnu-"),
        Arch::Arm64 => ("aarch64", "aarch64-linux-gnu-"),
    };
    match toolchain {
        Toolchain::Gcc if std::env::consts::ARCH != machine => Toolchain::Cross(prefix.to_owned()),
        other => other.clone(),
    }
}

/// The compiler of a toolchain, then the one for programs that run on the host.
pub(crate) fn compilers(toolchain: &Toolchain) -> [String; 2] {
    match toolchain {
        Toolchain::Gcc => ["gcc".to_owned(), "gcc".to_owned()],
        Toolchain::Llvm => ["clang".to_owned(), "clang".to_owned()],
        Toolchain::Cross(prefix) => [format!("{prefix}gcc"), "gcc".to_owned()],
    }
}

/// Something that is not installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingTool {
    /// A program, or a header as C names it.
    pub name: String,
    /// Debian package that has it.
    pub package: String,
}

/// Why nothing can be built here.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// Programs or headers are missing.
    #[error("not installed: {}; Debian has them in: {}", names(.0), packages(.0))]
    Missing(Vec<MissingTool>),
    /// git is too old.
    #[error("git {found} is too old: {}.{} is needed", OLDEST_GIT.0, OLDEST_GIT.1)]
    OldGit {
        /// What `git version` says.
        found: String,
    },
    /// git does not tell its version.
    #[error("git does not run")]
    Git(#[source] GitError),
    /// The compiler does not tell its version.
    #[error("{program} does not run")]
    Program {
        /// The program.
        program: String,
        /// Why.
        source: ProcessError,
    },
}

impl ToolError {
    /// Whether the caller's own cancellation was the reason.
    pub fn is_cancelled(&self) -> bool {
        match self {
            Self::Git(source) => source.is_cancelled(),
            Self::Program { source, .. } => matches!(source, ProcessError::Cancelled),
            _ => false,
        }
    }

    pub(crate) fn no_git() -> Self {
        Self::Missing(vec![MissingTool { name: "git".to_owned(), package: "git".to_owned() }])
    }
}

/// Where programs are looked for and who runs them.
#[derive(Clone, Debug)]
pub(crate) struct Tools {
    pub(crate) lifeline: Lifeline,
    pub(crate) search_path: OsString,
}

/// A compiler as a build key knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Compiler {
    /// First line of its `--version`.
    pub(crate) version: String,
    /// First line of the linker's.
    pub(crate) linker: String,
}

impl Tools {
    /// Fails with everything that is missing for a toolchain.
    pub(crate) fn check(&self, toolchain: &Toolchain) -> Result<(), ToolError> {
        let compilers = match toolchain {
            // Helpers that run on the host are built by the host's gcc.
            Toolchain::Gcc | Toolchain::Cross(_) => GCC,
            // Helpers that run on the host (kconfig, objtool) are built by clang too.
            Toolchain::Llvm => LLVM,
        };
        let missing = PROGRAMS.iter().chain(compilers).filter(|(program, _)| !self.has(program));
        let mut missing: Vec<MissingTool> =
            missing.map(|(name, package)| MissingTool::new(name, package)).collect();
        if let Toolchain::Cross(prefix) = toolchain {
            let triple = prefix.rsplit('/').next().unwrap_or(prefix).trim_end_matches('-').replace('_', "-");
            let programs = [("gcc", "gcc"), ("ld", "binutils"), ("objcopy", "binutils")];
            let programs = programs.map(|(name, package)| (format!("{prefix}{name}"), package));
            let lacking = programs.iter().filter(|(program, _)| !self.has(program));
            missing.extend(
                lacking.map(|(name, package)| MissingTool::new(name, &format!("{package}-{triple}"))),
            );
        }
        fail_if_any(missing)
    }

    /// Fails with the headers that the helpers of a configuration need and that are missing.
    pub(crate) async fn check_headers(
        &self,
        config: &crate::config::Config,
        toolchain: &Toolchain,
        cancel: &CancellationToken,
    ) -> Result<(), ToolError> {
        let objtool = config.is_enabled("CONFIG_OBJTOOL");
        let signs = config.is_enabled("CONFIG_MODULE_SIG_FORMAT")
            || config.is_enabled("CONFIG_SYSTEM_TRUSTED_KEYRING");
        let wanted = [(objtool, "gelf.h", "libelf-dev"), (signs, "openssl/opensslv.h", "libssl-dev")];
        let mut missing = Vec::new();
        for (_, header, package) in wanted.into_iter().filter(|(needed, _, _)| *needed) {
            if !self.has_header(header, toolchain, cancel).await? {
                missing.push(MissingTool::new(header, package));
            }
        }
        fail_if_any(missing)
    }

    /// Versions of the compiler and linker of a toolchain.
    pub(crate) async fn compiler(
        &self,
        toolchain: &Toolchain,
        cancel: &CancellationToken,
    ) -> Result<Compiler, ToolError> {
        self.check(toolchain)?;
        let [compiler, _] = compilers(toolchain);
        let linker = match toolchain {
            Toolchain::Gcc => "ld".to_owned(),
            Toolchain::Llvm => "ld.lld".to_owned(),
            Toolchain::Cross(prefix) => format!("{prefix}ld"),
        };
        Ok(Compiler {
            version: self.version(&compiler, cancel).await?,
            linker: self.version(&linker, cancel).await?,
        })
    }

    /// Fails with those of the programs, each with its Debian package, that are missing.
    pub(crate) fn require(&self, programs: &[(&str, &str)]) -> Result<(), ToolError> {
        let missing = programs.iter().filter(|(program, _)| !self.has(program));
        fail_if_any(missing.map(|(name, package)| MissingTool::new(name, package)).collect())
    }

    fn has(&self, program: &str) -> bool {
        self.find(program).is_some()
    }

    /// Where a program is.
    pub(crate) fn find(&self, program: &str) -> Option<PathBuf> {
        std::env::split_paths(&self.search_path).map(|folder| folder.join(program)).find(|path| {
            let metadata = path.metadata();
            metadata.is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
        })
    }

    async fn has_header(
        &self,
        header: &str,
        toolchain: &Toolchain,
        cancel: &CancellationToken,
    ) -> Result<bool, ToolError> {
        let compiler = match toolchain {
            Toolchain::Gcc | Toolchain::Cross(_) => "gcc",
            Toolchain::Llvm => "clang",
        };
        let args = ["-E", "-include", header, "-x", "c", "/dev/null", "-o", "/dev/null"];
        Ok(self.run(compiler, &args, cancel).await?.0)
    }

    async fn version(&self, program: &str, cancel: &CancellationToken) -> Result<String, ToolError> {
        let (_, text) = self.run(program, &["--version"], cancel).await?;
        Ok(text.lines().next().unwrap_or_default().trim().to_owned())
    }

    async fn run(
        &self,
        program: &str,
        args: &[&str],
        cancel: &CancellationToken,
    ) -> Result<(bool, String), ToolError> {
        let command = clean(Command::new(program), &self.search_path).args(args);
        let finished = capture(&self.lifeline, command, cancel)
            .await
            .map_err(|source| ToolError::Program { program: program.to_owned(), source })?;
        Ok((finished.ended.success(), String::from_utf8_lossy(&finished.stdout).into_owned()))
    }
}

impl MissingTool {
    fn new(name: &str, package: &str) -> Self {
        Self { name: name.to_owned(), package: package.to_owned() }
    }
}

/// An environment in which nothing but the search path comes from outside: `CFLAGS`, `ARCH`, `MAKEFLAGS` and many others
/// would change a kernel.
pub(crate) fn clean(command: Command, search_path: &OsStr) -> Command {
    command
        .env_clear()
        .env("PATH", search_path)
        .env("LC_ALL", "C")
        .env("TZ", "UTC")
        .env("HOME", "/nonexistent")
}

/// Compares the answer of `git version` with what is needed.
pub(crate) fn check_git_version(version: &str) -> Result<(), ToolError> {
    let number = version.rsplit(' ').next().unwrap_or_default();
    let mut parts = number.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let found = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    if found >= OLDEST_GIT { Ok(()) } else { Err(ToolError::OldGit { found: version.to_owned() }) }
}

fn fail_if_any(missing: Vec<MissingTool>) -> Result<(), ToolError> {
    if missing.is_empty() { Ok(()) } else { Err(ToolError::Missing(missing)) }
}

fn names(missing: &[MissingTool]) -> String {
    missing.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn packages(missing: &[MissingTool]) -> String {
    let mut packages: Vec<&str> = missing.iter().map(|tool| tool.package.as_str()).collect();
    packages.dedup();
    packages.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_git_are_compared_as_numbers() {
        assert!(check_git_version("git version 2.39.5").is_ok());
        assert!(check_git_version("git version 10.1").is_ok());
        assert!(matches!(check_git_version("git version 2.9.0"), Err(ToolError::OldGit { .. })));
    }

    #[test]
    fn everything_missing_is_named_with_its_package() {
        let tools = Tools { lifeline: Lifeline::this_program(), search_path: "/nowhere".into() };
        let message = tools.check(&Toolchain::Gcc).err().map(|error| error.to_string());
        let wanted = "not installed: make, flex, bison, bc, gcc, ld, objcopy; Debian has them in: make flex bison bc gcc binutils";
        assert_eq!(message.as_deref(), Some(wanted));
    }

    #[test]
    fn a_foreign_architecture_is_built_by_a_cross_compiler() {
        let host = match std::env::consts::ARCH {
            "x86_64" => Arch::X86_64,
            _ => Arch::Arm64,
        };
        assert_eq!(for_arch(&Toolchain::Gcc, host), Toolchain::Gcc);
        assert_eq!(for_arch(&Toolchain::Llvm, Arch::Arm64), Toolchain::Llvm);
        let tools = Tools { lifeline: Lifeline::this_program(), search_path: "/nowhere".into() };
        let cross = Toolchain::Cross("aarch64-linux-gnu-".into());
        let message = tools.check(&cross).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(
            message.contains("aarch64-linux-gnu-gcc") && message.contains(" gcc-aarch64-linux-gnu"),
            "{message}"
        );
    }
}
