//! Where the agent keeps files for as long as it needs them: memory, not the disk under test.

use crate::log::note;
use crate::refusal::Refusal;
use rustix::process::geteuid;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Readable by the agent's user alone.
const PRIVATE: u32 = 0o700;

/// Names that end in the id of the process that they belong to: a trial's folder, a half-pushed agent, and the file by
/// which the bootstrap tries whether programs may be run from here.
const OWNED: [&str; 3] = ["trial-", "push-", "probe-"];

/// A folder for one trial; goes with its value.
#[derive(Debug)]
pub(crate) struct TrialFolder(PathBuf);

impl TrialFolder {
    /// Makes an empty one.
    pub(crate) fn create() -> Result<Self, Refusal> {
        let path = base().map_err(Refusal::file("/run/kab"))?.join(format!("trial-{}", std::process::id()));
        if path.exists() {
            fs::remove_dir_all(&path).map_err(Refusal::file(&path))?;
        }
        DirBuilder::new().mode(PRIVATE).create(&path).map_err(Refusal::file(&path))?;
        Ok(Self(path))
    }

    /// Its place.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TrialFolder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            note(format_args!("{}: {error}", self.0.display()));
        }
    }
}

/// Removes what agents and pushes that were killed have left.
pub(crate) fn sweep() {
    if let Ok(base) = base()
        && let Ok(entries) = fs::read_dir(base)
    {
        for entry in entries.flatten().filter(|entry| is_orphan(&entry.file_name().to_string_lossy())) {
            let path = entry.path();
            let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            if let Err(error) = removed {
                note(format_args!("{}: {error}", path.display()));
            }
        }
    }
}

fn is_orphan(name: &str) -> bool {
    OWNED
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix)?.parse::<u32>().ok())
        .is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists())
}

/// The agent's own folder, the first of the two places that the bootstrap tries as well.
fn base() -> io::Result<PathBuf> {
    let second = || PathBuf::from(format!("/tmp/kab-{}", geteuid().as_raw()));
    own_folder(PathBuf::from("/run/kab")).or_else(|_| own_folder(second()))
}

/// Makes a folder that nobody else can reach into, or checks that it is one.
fn own_folder(path: PathBuf) -> io::Result<PathBuf> {
    match DirBuilder::new().mode(PRIVATE).create(&path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let metadata = fs::symlink_metadata(&path)?;
    if !metadata.is_dir() || metadata.uid() != geteuid().as_raw() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "belongs to somebody else"));
    }
    if metadata.mode() & 0o7777 != PRIVATE {
        fs::set_permissions(&path, Permissions::from_mode(PRIVATE))?;
    }
    Ok(path)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_what_belongs_to_the_dead_is_an_orphan() {
        // Process ids end well below this on every kernel.
        assert!(is_orphan("trial-4294967295") && is_orphan("push-4294967295"));
        assert!(!is_orphan(&format!("trial-{}", std::process::id())));
        assert!(!is_orphan("trial-x") && !is_orphan("7f3a") && !is_orphan("other-4294967295"));
    }

    #[test]
    fn a_link_in_place_of_the_folder_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let real = own_folder(place.path().join("real")).unwrap();
        fs::set_permissions(&real, Permissions::from_mode(0o755)).unwrap();
        own_folder(real.clone()).unwrap();
        assert_eq!(fs::metadata(&real).unwrap().mode() & 0o777, PRIVATE);
        let link = place.path().join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        assert!(own_folder(link).is_err());
    }
}
