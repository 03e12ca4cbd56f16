//! Locks between processes that share a cache.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How often a taken lock is tried again: short beside a build, and cheap.
const AGAIN: Duration = Duration::from_millis(200);

/// Why a lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// The lock file cannot be used.
    #[error("cannot lock {}", path.display())]
    File {
        /// The lock file.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// The caller gave up waiting.
    #[error("cancelled while {holder} used the cache")]
    Cancelled {
        /// Who had it.
        holder: String,
    },
}

/// A lock, released on drop. The kernel releases it too when the process dies.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of the file `path`, waiting for its holder if need be; `on_wait` learns once who that is.
    pub(crate) async fn take(
        path: &Path,
        purpose: &str,
        cancel: &CancellationToken,
        on_wait: &(dyn Fn(String) + Send + Sync),
    ) -> Result<Self, LockError> {
        let fail = |source| LockError::File { path: path.to_owned(), source };
        let mut file =
            File::options().read(true).write(true).create(true).truncate(false).open(path).map_err(fail)?;
        let mut told = false;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(source)) => return Err(fail(source)),
                Err(TryLockError::WouldBlock) => {}
            }
            if !std::mem::replace(&mut told, true) {
                on_wait(holder(&mut file));
            }
            tokio::select! {
                () = tokio::time::sleep(AGAIN) => {}
                () = cancel.cancelled() => return Err(LockError::Cancelled { holder: holder(&mut file) }),
            }
        }
        sign(&mut file, purpose).map_err(fail)?;
        Ok(Self { _file: file })
    }
}

/// What the holder wrote about itself.
fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.rewind().and_then(|()| file.read_to_string(&mut text));
    match read {
        Ok(_) if !text.trim().is_empty() => text.trim().to_owned(),
        _ => "another process".to_owned(),
    }
}

fn sign(file: &mut File, purpose: &str) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "process {} ({purpose})", std::process::id())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::sync::Mutex;

    #[tokio::test]
    async fn a_second_taker_waits_and_learns_for_whom() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let cancel = CancellationToken::new();
        let first = Lock::take(&path, "building 6.12", &cancel, &|_| {}).await.unwrap();
        let holder = Mutex::new(String::new());
        let note = |text: String| {
            *holder.lock().unwrap() = text;
            cancel.cancel();
        };
        let second = Lock::take(&path, "other", &cancel, &note).await;
        assert!(matches!(second, Err(LockError::Cancelled { .. })));
        assert!(holder.lock().unwrap().ends_with("(building 6.12)"));
        drop(first);
        Lock::take(&path, "third", &CancellationToken::new(), &|_| {}).await.unwrap();
    }
}
