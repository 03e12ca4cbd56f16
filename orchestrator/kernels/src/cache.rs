//! Finished kernels, by the digest of everything that went in. An entry is renamed into place whole.

use crate::config::Config;
use crate::extras::{Extras, digest_of_folder, files};
use kab_model::Artifact;
use std::fs::File;
use std::io::ErrorKind::NotFound;
use std::path::{Path, PathBuf};

/// Description of an entry; its paths are replaced on reading, so that a cache may be moved.
const RECORD: &str = "artifact.json";
const IMAGE: &str = "image";
const CONFIG: &str = "config";
const LOG: &str = "build.log";
const MODULES: &str = "modules.cpio";
const DTBS: &str = "dtbs";

/// Why the cache cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// A file or folder of it cannot be read or written.
    #[error("cannot use {}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// The kernel's Makefile refuses source and output folders whose path has a blank or a colon.
    #[error("{}: the kernel cannot be built below a folder with blanks or colons in its name", path.display())]
    Path {
        /// The cache folder.
        path: PathBuf,
    },
    /// The disk is nearly full.
    #[error("{} has {} MiB free, a build needs {} MiB", path.display(), free >> 20, needed >> 20)]
    NoSpace {
        /// The cache folder.
        path: PathBuf,
        /// Bytes free to ordinary users.
        free: u64,
        /// Bytes that should be.
        needed: u64,
    },
}

impl CacheError {
    /// For `map_err`: names the path.
    pub(crate) fn at(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::File { path: path.to_owned(), source }
    }
}

/// The folder of finished kernels.
#[derive(Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
}

/// Where the files of an entry come from, and what is known about it.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) image: &'a Path,
    pub(crate) config: &'a Path,
    pub(crate) log: &'a Path,
    pub(crate) extras: &'a Extras,
    /// Everything but paths and digests of the files, which publishing fills in.
    pub(crate) artifact: Artifact,
}

impl Cache {
    pub(crate) fn new(cache: &Path) -> Self {
        Self { folder: cache.join("artifacts") }
    }

    /// The entry of a key, its image checked against its digest. A damaged one is removed.
    pub(crate) fn find(&self, key: &str) -> Result<Option<Artifact>, CacheError> {
        let folder = self.folder.join(key);
        if !folder.exists() {
            return Ok(None);
        }
        if let Some(artifact) = read(&folder) {
            return Ok(Some(artifact));
        }
        std::fs::remove_dir_all(&folder).map_err(CacheError::at(&folder))?;
        Ok(None)
    }

    /// Puts an entry together in `scratch` (on the same disk) and renames it into place. Where another process was faster,
    /// its entry stays.
    pub(crate) fn publish(&self, entry: Entry<'_>, scratch: &Path) -> Result<Artifact, CacheError> {
        let scratch = scratch.join("entry");
        std::fs::create_dir(&scratch).map_err(CacheError::at(&scratch))?;
        for (from, name) in [(entry.image, IMAGE), (entry.config, CONFIG), (entry.log, LOG)] {
            let to = scratch.join(name);
            std::fs::copy(from, &to).and_then(|_| sync(&to)).map_err(CacheError::at(from))?;
        }
        if let Some(modules) = &entry.extras.modules {
            let to = scratch.join(MODULES);
            std::fs::copy(modules, &to).and_then(|_| sync(&to)).map_err(CacheError::at(modules))?;
        }
        if let Some(dtbs) = &entry.extras.dtbs {
            copy_folder(dtbs, &scratch.join(DTBS)).map_err(CacheError::at(dtbs))?;
        }
        let place = self.folder.join(&entry.artifact.key);
        let digest = |name: &str| digest_of(&scratch.join(name)).map_err(CacheError::at(&scratch));
        let artifact = Artifact {
            image_digest: digest(IMAGE)?,
            config_digest: digest(CONFIG)?,
            dtbs: entry.extras.dtbs.is_some().then(|| place.join(DTBS)),
            dtbs_digest: match &entry.extras.dtbs {
                Some(dtbs) => Some(digest_of_folder(dtbs).map_err(CacheError::at(dtbs))?),
                None => None,
            },
            modules: entry.extras.modules.is_some().then(|| place.join(MODULES)),
            modules_digest: entry.extras.modules.is_some().then(|| digest(MODULES)).transpose()?,
            ..with_paths(entry.artifact, &place)
        };
        let record = scratch.join(RECORD);
        let write =
            || std::fs::write(&record, serde_json::to_vec_pretty(&artifact)?).and_then(|()| sync(&record));
        write().map_err(CacheError::at(&record))?;
        let rename = || {
            sync(&scratch)?;
            std::fs::create_dir_all(&self.folder)?;
            match std::fs::rename(&scratch, &place) {
                // A folder that is not empty is another's finished entry.
                Err(_) if place.exists() => Ok(()),
                other => other,
            }?;
            sync(&self.folder)
        };
        rename().map_err(CacheError::at(&place))?;
        Ok(artifact)
    }
}

/// Fails unless make can work below `folder`.
pub(crate) fn check_path(folder: &Path) -> Result<(), CacheError> {
    let bad = |byte: &u8| byte.is_ascii_whitespace() || *byte == b':';
    let path = folder.to_owned();
    if folder.as_os_str().as_encoded_bytes().iter().any(bad) {
        Err(CacheError::Path { path })
    } else {
        Ok(())
    }
}

/// Fails unless the disk of `folder` has that much free, bytes.
pub(crate) fn check_space(folder: &Path, needed: u64) -> Result<(), CacheError> {
    let stat = rustix::fs::statvfs(folder).map_err(|errno| CacheError::at(folder)(errno.into()))?;
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    if free >= needed { Ok(()) } else { Err(CacheError::NoSpace { path: folder.to_owned(), free, needed }) }
}

fn read(folder: &Path) -> Option<Artifact> {
    let record = std::fs::read(folder.join(RECORD)).ok()?;
    let artifact = with_paths(serde_json::from_slice::<Artifact>(&record).ok()?, folder);
    let whole = digest_of(&artifact.image).ok()? == artifact.image_digest
        && digest_of(&artifact.config).ok()? == artifact.config_digest
        && is_whole(&artifact.modules, &artifact.modules_digest, digest_of)
        && is_whole(&artifact.dtbs, &artifact.dtbs_digest, digest_of_folder)
        // An earlier kab left modules out.
        && (artifact.modules.is_some() || !Config::read(&artifact.config).ok()?.has_modules());
    whole.then_some(Artifact { cached: true, build_ms: 0, ..artifact })
}

fn with_paths(artifact: Artifact, folder: &Path) -> Artifact {
    Artifact {
        image: folder.join(IMAGE),
        config: folder.join(CONFIG),
        log: folder.join(LOG),
        modules: artifact.modules.is_some().then(|| folder.join(MODULES)),
        dtbs: artifact.dtbs.is_some().then(|| folder.join(DTBS)),
        ..artifact
    }
}

/// Whether something that may be absent is as it was published.
fn is_whole(
    path: &Option<PathBuf>,
    digest: &Option<String>,
    compute: impl Fn(&Path) -> std::io::Result<String>,
) -> bool {
    match (path, digest) {
        (None, None) => true,
        (Some(path), Some(digest)) => compute(path).is_ok_and(|found| found == *digest),
        _ => false,
    }
}

fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for (name, path) in files(from)? {
        let target = to.join(name);
        if let Some(parent) = target.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::copy(path, &target)?;
        sync(&target)?;
    }
    Ok(())
}

/// BLAKE3 of a file, hexadecimal.
pub(crate) fn digest_of(path: &Path) -> std::io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    std::io::copy(&mut File::open(path)?, &mut hasher)?;
    Ok(hasher.finalize().to_hex().to_string())
}

fn sync(path: &Path) -> std::io::Result<()> {
    match File::open(path)?.sync_all() {
        Err(error) if error.kind() == NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use kab_model::Arch;

    fn publish(root: &Path) -> Artifact {
        let file = root.join("file");
        std::fs::write(&file, "content").unwrap();
        let artifact = Artifact {
            key: "k".into(),
            arch: Arch::X86_64,
            image: PathBuf::new(),
            image_digest: String::new(),
            build_id: Some("ab".into()),
            dtbs: None,
            dtbs_digest: None,
            modules: None,
            modules_digest: None,
            tree: "t".into(),
            config_digest: String::new(),
            config: PathBuf::new(),
            compiler: "gcc".into(),
            release: "6.12".into(),
            log: PathBuf::new(),
            cached: false,
            build_ms: 5,
        };
        let scratch = tempfile::tempdir_in(root).unwrap();
        let entry = Entry { image: &file, config: &file, log: &file, extras: &Extras::default(), artifact };
        Cache::new(root).publish(entry, scratch.path()).unwrap()
    }

    #[test]
    fn entries_are_found_and_may_be_published_twice() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(Cache::new(root.path()).find("k").unwrap(), None);
        let published = publish(root.path());
        publish(root.path());
        let found = Cache::new(root.path()).find("k").unwrap().unwrap();
        assert_eq!(found, Artifact { cached: true, build_ms: 0, ..published });
    }

    #[test]
    fn damaged_entries_are_not_used() {
        let root = tempfile::tempdir().unwrap();
        let published = publish(root.path());
        std::fs::write(&published.image, "conten").unwrap();
        assert_eq!(Cache::new(root.path()).find("k").unwrap(), None);
        assert!(!root.path().join("artifacts/k").exists());
    }

    #[test]
    fn blanks_in_the_path_are_noticed_beforehand() {
        assert!(check_path(Path::new("/home/u/.cache/kab")).is_ok());
        assert!(matches!(check_path(Path::new("/home/u/my cache")), Err(CacheError::Path { .. })));
    }

    #[test]
    fn a_full_disk_is_noticed_beforehand() {
        let root = tempfile::tempdir().unwrap();
        assert!(check_space(root.path(), 1).is_ok());
        assert!(matches!(check_space(root.path(), u64::MAX), Err(CacheError::NoSpace { .. })));
    }
}
