//! An output folder of make, reused by later builds of the same configuration.
//!
//! make believes that a file which is there and newer than its sources is whole. A compiler that was killed may leave
//! half a file, so a marker beside the folder says that make runs; where it is found, the files written last
//! are removed before make sees them.

use serde::{Deserialize, Serialize};
use std::io::ErrorKind::NotFound;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Files written this long before the last one may be torn: longer than any one program writes at its file without a
/// pause, and little work to do again.
const SUSPECT: Duration = Duration::from_secs(30);

/// Folder whose empty files carry nothing but their time, which must survive: they say when an option changed.
const OPTION_TIMES: &str = "include/config";

/// Changes again with each boot of the host.
const HOST_BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// What the folder holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LastBuild {
    /// The tree that was built last.
    pub(crate) tree: String,
    /// BLAKE3 of the `.config` it was built with.
    pub(crate) config_digest: String,
    /// Steps of the last build that had (nearly) everything to do.
    pub(crate) full_steps: usize,
    /// Wall time of that build, milliseconds; 0 where no kab has noted it.
    #[serde(default)]
    pub(crate) full_ms: u64,
    /// Wall time of the last build that had little to do, milliseconds; 0 as long as there was none.
    #[serde(default)]
    pub(crate) partial_ms: u64,
}

/// One output folder.
#[derive(Debug)]
pub(crate) struct Output {
    folder: PathBuf,
    marker: PathBuf,
    notes: PathBuf,
}

impl Output {
    /// The folder `name` below `parent`.
    pub(crate) fn new(parent: &Path, name: &str) -> Self {
        let beside = |ending: &str| parent.join(format!("{name}.{ending}"));
        Self { folder: parent.join(name), marker: beside("building"), notes: beside("json") }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether nothing was built here yet.
    pub(crate) fn is_new(&self) -> bool {
        !self.folder.exists()
    }

    /// Gets the folder ready for make and notes that make runs.
    pub(crate) fn begin(&self) -> std::io::Result<()> {
        let boot = std::fs::read_to_string(HOST_BOOT_ID).unwrap_or_default();
        match std::fs::read_to_string(&self.marker) {
            Ok(earlier) if earlier == boot => scrub(&self.folder)?,
            // The host went down meanwhile: what the disk holds of the last minutes is anybody's guess.
            Ok(_) => remove(&self.folder)?,
            Err(error) if error.kind() == NotFound => {}
            Err(error) => return Err(error),
        }
        std::fs::create_dir_all(&self.folder)?;
        std::fs::write(&self.marker, boot)
    }

    /// Notes that make ended by itself.
    pub(crate) fn end(&self) -> std::io::Result<()> {
        std::fs::remove_file(&self.marker)
    }

    pub(crate) fn last(&self) -> Option<LastBuild> {
        serde_json::from_slice(&std::fs::read(&self.notes).ok()?).ok()
    }

    pub(crate) fn remember(&self, last: &LastBuild) -> std::io::Result<()> {
        std::fs::write(&self.notes, serde_json::to_vec(last)?)
    }
}

fn remove(folder: &Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Removes the files that were written last.
fn scrub(folder: &Path) -> std::io::Result<()> {
    let mut files = Vec::new();
    if folder.exists() {
        collect(folder, &folder.join(OPTION_TIMES), &mut files)?;
    }
    let Some(newest) = files.iter().map(|(time, _)| *time).max() else { return Ok(()) };
    for (time, path) in files {
        if newest.duration_since(time).is_ok_and(|age| age <= SUSPECT) {
            std::fs::remove_file(path)?;
        }
    }
    Ok(())
}

fn collect(folder: &Path, except: &Path, files: &mut Vec<(SystemTime, PathBuf)>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let (path, metadata) = (entry.path(), entry.metadata()?);
        if metadata.is_dir() && path != except {
            collect(&path, except, files)?;
        } else if metadata.is_file() {
            files.push((metadata.modified()?, path));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn after_a_kill_only_the_last_files_go() {
        let parent = tempfile::tempdir().unwrap();
        let output = Output::new(parent.path(), "x");
        output.begin().unwrap();
        let folder = output.folder();
        std::fs::create_dir_all(folder.join(OPTION_TIMES)).unwrap();
        for name in ["old.o", "torn.o", "include/config/SMP"] {
            std::fs::write(folder.join(name), name).unwrap();
        }
        let old = std::fs::File::options().write(true).open(folder.join("old.o")).unwrap();
        old.set_modified(SystemTime::now() - SUSPECT * 2).unwrap();
        // No `end`: the process was killed here.
        output.begin().unwrap();
        assert!(folder.join("old.o").exists() && folder.join("include/config/SMP").exists());
        assert!(!folder.join("torn.o").exists());
        std::fs::write(folder.join("whole.o"), "").unwrap();
        output.end().unwrap();
        output.begin().unwrap();
        assert!(folder.join("whole.o").exists());
    }

    #[test]
    fn after_a_reboot_of_the_host_all_goes() {
        let parent = tempfile::tempdir().unwrap();
        let output = Output::new(parent.path(), "x");
        output.begin().unwrap();
        std::fs::write(output.folder().join("a.o"), "").unwrap();
        std::fs::write(&output.marker, "another boot").unwrap();
        output.begin().unwrap();
        assert!(!output.folder().join("a.o").exists());
    }
}
