//! Device tree overlays: compiled where they are sources, and applied to the trees that the kernel builds.
//!
//! Only device trees are built for one: with symbols (`dtc -@`), so that an overlay may name what it changes by its label. It goes
//! onto every tree that it fits; a board takes its own of them.

use crate::build::BuildError;
use crate::cache::CacheError;
use crate::compile::Make;
use crate::extras::files;
use crate::prebuilt::{PrebuiltError, pin};
use crate::process::{ProcessError, capture};
use crate::tools::{ToolError, Tools, clean};
use kab_lifeline::Command;
use kab_model::PinnedFile;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// Passed to make: trees with symbols. It replaces the kernel's own flags, which only silence warnings.
pub(crate) const WITH_SYMBOLS: &str = "DTC_FLAGS=-@";
/// Programs, with their Debian package.
const PROGRAMS: [(&str, &str); 2] = [("dtc", "device-tree-compiler"), ("fdtoverlay", "device-tree-compiler")];
/// Begins a blob.
const MAGIC: [u8; 4] = [0xd0, 0x0d, 0xfe, 0xed];

/// Why an overlay has no effect.
#[derive(Debug, thiserror::Error)]
pub enum OverlayError {
    /// A program is not installed.
    #[error(transparent)]
    Tools(#[from] ToolError),
    /// The kernel builds no device tree.
    #[error("{} cannot be applied: this configuration builds no device tree", overlay.display())]
    NoTrees {
        /// The overlay.
        overlay: PathBuf,
    },
    /// The source does not compile.
    #[error("{} does not compile: {message}", overlay.display())]
    Source {
        /// The overlay.
        overlay: PathBuf,
        /// What the compiler said, up to a few lines.
        message: String,
    },
    /// No tree has what it changes.
    #[error("{} fits none of the {trees} device trees that were built: {message}", overlay.display())]
    FitsNone {
        /// The overlay.
        overlay: PathBuf,
        /// How many there are.
        trees: usize,
        /// What fdtoverlay said of the last.
        message: String,
    },
    /// A program did not run to its end.
    #[error("{program}")]
    Process {
        /// The program.
        program: &'static str,
        /// Why.
        source: ProcessError,
    },
}

impl OverlayError {
    /// Whether the caller's own cancellation was the reason.
    pub(crate) fn is_cancelled(&self) -> bool {
        matches!(self, Self::Process { source: ProcessError::Cancelled, .. })
    }

    /// Whether the overlay or the kernel is at fault, rather than this host.
    pub fn is_the_variants(&self) -> bool {
        matches!(self, Self::NoTrees { .. } | Self::Source { .. } | Self::FitsNone { .. })
    }
}

/// Fails before minutes go into a build unless the overlay is as it was when the plan was made and can be applied here.
pub(crate) fn check(overlay: &PinnedFile, tools: &Tools) -> Result<(), BuildError> {
    tools.require(&PROGRAMS).map_err(OverlayError::from)?;
    if pin(&overlay.path)?.digest == overlay.digest {
        Ok(())
    } else {
        Err(PrebuiltError::Changed { path: overlay.path.clone() }.into())
    }
}

/// Applies an overlay to the trees of a folder.
pub(crate) async fn apply(
    overlay: &Path,
    trees: Option<&Path>,
    make: &Make<'_>,
    scratch: &Path,
    cancel: &CancellationToken,
) -> Result<(), BuildError> {
    let trees = trees.ok_or_else(|| OverlayError::NoTrees { overlay: overlay.to_owned() })?;
    std::fs::create_dir_all(scratch).map_err(CacheError::at(scratch))?;
    let blob = compiled(overlay, make, scratch, cancel).await?;
    let all = files(trees).map_err(CacheError::at(trees))?;
    let (mut fits, mut message) = (0, String::new());
    let new = scratch.join("new.dtb");
    for tree in all.values() {
        let command = clean(Command::new("fdtoverlay"), &make.tools.search_path);
        let command = command.arg("-i").arg(tree).arg("-o").arg(&new).arg(&blob);
        let said = run(make.tools, "fdtoverlay", command, cancel).await?;
        match said {
            Ok(()) => {
                std::fs::rename(&new, tree).map_err(CacheError::at(tree))?;
                fits += 1;
            }
            Err(text) => message = text,
        }
    }
    if fits == 0 {
        let overlay = overlay.to_owned();
        return Err(OverlayError::FitsNone { overlay, trees: all.len(), message }.into());
    }
    Ok(())
}

/// The blob of an overlay: itself, or what its source compiles to, with the kernel's own headers.
async fn compiled(
    overlay: &Path,
    make: &Make<'_>,
    scratch: &Path,
    cancel: &CancellationToken,
) -> Result<PathBuf, BuildError> {
    let bytes = std::fs::read(overlay).map_err(CacheError::at(overlay))?;
    if bytes.starts_with(&MAGIC) {
        return Ok(overlay.to_owned());
    }
    let wrong = |message| OverlayError::Source { overlay: overlay.to_owned(), message };
    let (source, blob) = (scratch.join("overlay.dts"), scratch.join("overlay.dtbo"));
    let beside = overlay.parent().unwrap_or(Path::new("/"));
    // As scripts/Makefile.lib calls it.
    let command = clean(Command::new("gcc"), &make.tools.search_path)
        .args(["-E", "-nostdinc", "-undef", "-D__DTS__", "-x", "assembler-with-cpp", "-I"])
        .arg(make.source().join("scripts/dtc/include-prefixes"))
        .arg("-I")
        .arg(beside)
        .arg("-o")
        .arg(&source)
        .arg(overlay);
    run(make.tools, "gcc", command, cancel).await?.map_err(wrong)?;
    let command = clean(Command::new("dtc"), &make.tools.search_path)
        .args(["-@", "-q", "-I", "dts", "-O", "dtb", "-i"])
        .arg(beside)
        .arg("-o")
        .arg(&blob)
        .arg(&source);
    run(make.tools, "dtc", command, cancel).await?.map_err(wrong)?;
    Ok(blob)
}

/// Runs a program; what it said where it failed.
async fn run(
    tools: &Tools,
    program: &'static str,
    command: Command,
    cancel: &CancellationToken,
) -> Result<Result<(), String>, OverlayError> {
    let finished = capture(&tools.lifeline, command, cancel).await;
    let finished = finished.map_err(|source| OverlayError::Process { program, source })?;
    if finished.ended.success() {
        return Ok(Ok(()));
    }
    let lines: Vec<&str> = finished.stderr.lines().filter(|line| !line.trim().is_empty()).take(3).collect();
    Ok(Err(lines.join("; ")))
}
