//! The two keys by which host and virtual boards know each other, made once for each user.
//!
//! Both are Ed25519, kept in OpenSSH's format and readable by their owner only. The host key also goes into every
//! initramfs, in Dropbear's format.

use russh::keys::ssh_key::LineEnding;
use russh::keys::ssh_key::private::{Ed25519Keypair, KeypairData};
use russh::keys::{PrivateKey, PublicKey};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const KEY_TYPE: &str = "ssh-ed25519";

/// What host and virtual boards prove themselves with.
#[derive(Clone, Debug)]
pub struct BoardKeys {
    /// kab's, to log in with.
    pub client: Arc<PrivateKey>,
    /// The boards', to be recognised by.
    pub host: Arc<PrivateKey>,
}

/// Why there are no keys.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// The file cannot be read or made.
    #[error("cannot read or make the SSH key {}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// The file is there, but is no Ed25519 key in OpenSSH's format.
    #[error("{} is no SSH key of ours: remove it", path.display())]
    Content {
        /// Which.
        path: PathBuf,
    },
}

impl BoardKeys {
    /// Reads the keys in `folder`, and makes those that are missing. Safe against others who do the same meanwhile.
    pub fn load_or_make(folder: &Path) -> Result<Self, KeysError> {
        std::fs::create_dir_all(folder)
            .map_err(|source| KeysError::File { path: folder.to_owned(), source })?;
        Ok(Self {
            client: Arc::new(key(&folder.join("client_ed25519"))?),
            host: Arc::new(key(&folder.join("host_ed25519"))?),
        })
    }

    /// The line for `authorized_keys`.
    pub fn authorized(&self) -> String {
        self.client.public_key().to_openssh().expect("an Ed25519 key has an OpenSSH form") + "\n"
    }

    /// What a board's server must have.
    pub fn host_public(&self) -> PublicKey {
        self.host.public_key().clone()
    }

    /// The host key as Dropbear reads it: type name, then private and public half as one string, each behind its length in
    /// four bytes (buf_put_ed25519_priv_key of Dropbear).
    pub fn host_for_dropbear(&self) -> Vec<u8> {
        let pair = ed25519(&self.host).expect("checked when it was read").to_bytes();
        let mut out = Vec::new();
        for part in [KEY_TYPE.as_bytes(), pair.as_slice()] {
            out.extend(u32::try_from(part.len()).expect("11 and 64 fit").to_be_bytes());
            out.extend(part);
        }
        out
    }
}

/// The key in a file, which is made first if it is missing.
fn key(path: &Path) -> Result<PrivateKey, KeysError> {
    let failed = |source| KeysError::File { path: path.to_owned(), source };
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            make(path).map_err(failed)?;
            std::fs::read_to_string(path).map_err(failed)?
        }
        read => read.map_err(failed)?,
    };
    let key = PrivateKey::from_openssh(text).ok().filter(|key| ed25519(key).is_some());
    key.ok_or_else(|| KeysError::Content { path: path.to_owned() })
}

/// Makes a key under another name and links it into place, so that nobody reads half a key and the first of two
/// makers wins.
fn make(path: &Path) -> std::io::Result<()> {
    let mut seed = [0; 32];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut seed)?;
    let key = PrivateKey::from(Ed25519Keypair::from_seed(&seed));
    let text = key.to_openssh(LineEnding::LF).map_err(std::io::Error::other)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    // Temporary files have mode 0600.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Err(error) if error.error.kind() != ErrorKind::AlreadyExists => Err(error.error),
        _ => Ok(()),
    }
}

fn ed25519(key: &PrivateKey) -> Option<&Ed25519Keypair> {
    match key.key_data() {
        KeypairData::Ed25519(pair) => Some(pair),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn keys_are_made_once_and_are_private() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("keys");
        let first = BoardKeys::load_or_make(&inside).unwrap();
        let second = BoardKeys::load_or_make(&inside).unwrap();
        assert_eq!(first.authorized(), second.authorized());
        assert_eq!(first.host_public(), second.host_public());
        assert_ne!(first.client.public_key().key_data(), first.host.public_key().key_data());
        for entry in std::fs::read_dir(&inside).unwrap() {
            assert_eq!(entry.unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert!(first.authorized().starts_with("ssh-ed25519 AAAA"));
    }

    #[test]
    fn makers_at_the_same_time_agree() {
        let folder = tempfile::tempdir().unwrap();
        let lines: Vec<String> = std::thread::scope(|scope| {
            let make = || BoardKeys::load_or_make(folder.path()).unwrap().authorized();
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(make)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(lines.iter().all(|line| *line == lines[0]), "{lines:?}");
    }

    #[test]
    fn dropbear_reads_the_host_key_as_we_do() {
        let folder = tempfile::tempdir().unwrap();
        let keys = BoardKeys::load_or_make(folder.path()).unwrap();
        let file = folder.path().join("dropbear");
        std::fs::write(&file, keys.host_for_dropbear()).unwrap();
        let output =
            std::process::Command::new("dropbearkey").args(["-y", "-f"]).arg(&file).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let ours = keys.host_public().to_openssh().unwrap();
        let ours = ours.split_whitespace().nth(1).unwrap();
        assert!(said.contains(ours), "{said}{}", String::from_utf8_lossy(&output.stderr));
    }

    #[test]
    fn foreign_content_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("client_ed25519");
        std::fs::write(&path, "hello").unwrap();
        assert!(matches!(BoardKeys::load_or_make(folder.path()), Err(KeysError::Content { .. })));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "hello");
    }
}
