//! The lease on the host's capacity: measuring is exclusive (invariant 13).
//!
//! Whatever of kab's loads a host takes this lease first: a build, a visit to a virtual board. It is a lock on a
//! file, so it ends with the process that holds it, however that ends.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often a waiting process asks again.
const RETRY: Duration = Duration::from_millis(500);

/// The right to load this host. Released on drop.
#[derive(Debug)]
pub struct HostLease {
    _file: File,
}

/// Why there is no lease.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the host lease {}", path.display())]
pub struct LeaseError {
    /// The lock file.
    pub path: PathBuf,
    /// Why.
    pub source: io::Error,
}

impl HostLease {
    /// Waits until nobody else holds the lease. `waiting` is told once who holds it. `purpose` is what others will
    /// read meanwhile. Cancelled by dropping the future.
    pub async fn acquire(
        path: &Path,
        purpose: &str,
        mut waiting: impl FnMut(&str),
    ) -> Result<Self, LeaseError> {
        let error = |source| LeaseError { path: path.to_owned(), source };
        let mut told = false;
        loop {
            match try_acquire(path, purpose).map_err(error)? {
                Ok(lease) => return Ok(lease),
                Err(owner) if !told => {
                    waiting(&owner);
                    told = true;
                }
                Err(_) => {}
            }
            tokio::time::sleep(RETRY).await;
        }
    }
}

/// The lease, or what its holder wrote about itself.
fn try_acquire(path: &Path, purpose: &str) -> io::Result<Result<HostLease, String>> {
    let mut file = open(path)?;
    match file.try_lock() {
        Ok(()) => {
            // Another user's file may be read-only here: the lock holds all the same, only the name is missing.
            let _ =
                file.set_len(0).and_then(|()| writeln!(file, "process {}, {purpose}", std::process::id()));
            Ok(Ok(HostLease { _file: file }))
        }
        Err(TryLockError::WouldBlock) => {
            Ok(Err(fs::read_to_string(path).unwrap_or_default().trim().to_owned()))
        }
        Err(TryLockError::Error(source)) => Err(source),
    }
}

/// Opens the lock file, which belongs to whoever made it first. It is opened without creating where it exists, because
/// kernels refuse to "create" another user's file in a folder that is open to all.
fn open(path: &Path) -> io::Result<File> {
    let existing = OpenOptions::new().read(true).write(true).open(path);
    match existing.or_else(|_| File::open(path)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let file = OpenOptions::new().create(true).read(true).write(true).truncate(false).open(path)?;
            let _ = file.set_permissions(fs::Permissions::from_mode(0o666));
            Ok(file)
        }
        opened => opened,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[tokio::test]
    async fn a_second_holder_waits_and_is_told_who_holds_it() {
        let folder = std::env::temp_dir().join(format!("kab-lease-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("host.lock");
        let first = HostLease::acquire(&path, "measuring a", |_| panic!("nobody holds it")).await.unwrap();
        let (sender, told) = tokio::sync::oneshot::channel();
        let mut sender = Some(sender);
        let second_path = path.clone();
        let second = tokio::spawn(async move {
            let told = |owner: &str| sender.take().unwrap().send(owner.to_owned()).unwrap();
            HostLease::acquire(&second_path, "measuring b", told).await.unwrap();
        });
        assert!(told.await.unwrap().ends_with("measuring a"));
        assert!(!second.is_finished());
        drop(first);
        second.await.unwrap();
        fs::remove_dir_all(folder).unwrap();
    }
}
