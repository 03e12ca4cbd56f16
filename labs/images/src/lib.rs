//! Images that boards boot: initramfs archives, and boot images of [`android`] boards. Bytes in, bytes out: no file is read or written here,
//! and nobody has to be root.
//!
//! An [`Archive`] is a tree of folders, files, symbolic links and device nodes; [`Archive::to_bytes`] renders it in the
//! kernel's `newc` format (Documentation/driver-api/early-userspace/buffer-format.rst). The same tree gives the same bytes: entries
//! are sorted, inode numbers count from 1, times are 0 and everything belongs to root.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod android;

use std::collections::BTreeMap;

const FOLDER: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const SYMLINK: u32 = 0o120_000;
const CHARACTER_DEVICE: u32 = 0o020_000;

/// A file tree to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Archive {
    /// By path without a leading slash. A folder sorts before what it holds, as the kernel needs it.
    entries: BTreeMap<String, Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    /// File type and permissions, as in `st_mode`.
    mode: u32,
    /// Content of a file, target of a link.
    bytes: Vec<u8>,
    /// Major and minor number of a device.
    device: (u32, u32),
}

/// Why an entry cannot be added.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveError {
    /// The path is empty, or has an empty, `.` or `..` component.
    #[error("{path:?} is no path for an archive")]
    Path {
        /// The path as given.
        path: String,
    },
    /// Something else is there already, at the path or where a folder on the way should be.
    #[error("{path:?} is in the archive already, as something else")]
    Taken {
        /// Where.
        path: String,
    },
    /// The format has 32 bits for a size.
    #[error("{path:?} is too large for an archive: {size} bytes")]
    Size {
        /// Where.
        path: String,
        /// Its size in bytes.
        size: usize,
    },
}

impl Archive {
    /// An empty tree.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a folder. Folders on the way to an entry come into being by themselves, with mode 0755.
    pub fn folder(&mut self, path: &str, permissions: u32) -> Result<(), ArchiveError> {
        self.add(path, FOLDER | permissions, Vec::new(), (0, 0))
    }

    /// Adds a file.
    pub fn file(&mut self, path: &str, permissions: u32, content: Vec<u8>) -> Result<(), ArchiveError> {
        self.add(path, FILE | permissions, content, (0, 0))
    }

    /// Adds a symbolic link.
    pub fn symlink(&mut self, path: &str, target: &str) -> Result<(), ArchiveError> {
        self.add(path, SYMLINK | 0o777, target.as_bytes().to_vec(), (0, 0))
    }

    /// Adds a character device.
    pub fn device(
        &mut self,
        path: &str,
        permissions: u32,
        major: u32,
        minor: u32,
    ) -> Result<(), ArchiveError> {
        self.add(path, CHARACTER_DEVICE | permissions, Vec::new(), (major, minor))
    }

    /// Whether the path is taken.
    pub fn contains(&self, path: &str) -> bool {
        self.entries.contains_key(path.trim_start_matches('/'))
    }

    /// The paths of all entries, sorted, without a leading slash.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// The archive. It is left uncompressed: who boots it under emulation is faster so.
    pub fn to_bytes(&self) -> Vec<u8> {
        let size: usize = self.entries.iter().map(|(path, entry)| path.len() + entry.bytes.len() + 120).sum();
        let mut out = Vec::with_capacity(size + 128);
        for (inode, (path, entry)) in (1..).zip(&self.entries) {
            let header = cpio::newc::Builder::new(path)
                .ino(inode)
                .mode(entry.mode)
                .nlink(if entry.mode & FOLDER == FOLDER { 2 } else { 1 })
                .rdev_major(entry.device.0)
                .rdev_minor(entry.device.1);
            let length = u32::try_from(entry.bytes.len()).expect("`add` has checked the size");
            let mut writer = header.write(&mut out, length);
            std::io::Write::write_all(&mut writer, &entry.bytes).expect("memory takes every write");
            writer.finish().expect("memory takes every write");
        }
        cpio::newc::trailer(&mut out).expect("memory takes every write");
        out
    }

    fn add(&mut self, path: &str, mode: u32, bytes: Vec<u8>, device: (u32, u32)) -> Result<(), ArchiveError> {
        let path = path.trim_start_matches('/');
        if path.split('/').any(|part| matches!(part, "" | "." | "..")) || path.contains('\0') {
            return Err(ArchiveError::Path { path: path.to_owned() });
        }
        if u32::try_from(bytes.len()).is_err() {
            return Err(ArchiveError::Size { path: path.to_owned(), size: bytes.len() });
        }
        for (end, _) in path.match_indices('/') {
            let on_the_way = Entry { mode: FOLDER | 0o755, bytes: Vec::new(), device: (0, 0) };
            let there = self.entries.entry(path[..end].to_owned()).or_insert(on_the_way);
            if there.mode & FOLDER != FOLDER {
                return Err(ArchiveError::Taken { path: path[..end].to_owned() });
            }
        }
        let entry = Entry { mode, bytes, device };
        match self.entries.get(path) {
            Some(there) if *there != entry => Err(ArchiveError::Taken { path: path.to_owned() }),
            _ => {
                self.entries.insert(path.to_owned(), entry);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::Read;

    fn sample() -> Archive {
        let mut archive = Archive::new();
        archive.file("/usr/bin/tool", 0o755, b"tool".to_vec()).unwrap();
        archive.device("dev/console", 0o600, 5, 1).unwrap();
        archive.symlink("bin", "usr/bin").unwrap();
        archive.folder("tmp", 0o1777).unwrap();
        archive
    }

    /// Path, mode, content and device of every entry, read back by the library's reader.
    fn read(bytes: &[u8]) -> Vec<(String, u32, String, (u32, u32))> {
        let mut entries = Vec::new();
        let mut rest = bytes;
        loop {
            let mut reader = cpio::newc::Reader::new(rest).unwrap();
            let entry = reader.entry().clone();
            if entry.is_trailer() {
                return entries;
            }
            let mut content = String::new();
            reader.read_to_string(&mut content).unwrap();
            assert_eq!((entry.mtime(), entry.uid(), entry.gid()), (0, 0, 0));
            entries.push((
                entry.name().to_owned(),
                entry.mode(),
                content,
                (entry.rdev_major(), entry.rdev_minor()),
            ));
            rest = reader.finish().unwrap();
        }
    }

    #[test]
    fn entries_read_back_sorted_with_their_folders() {
        let plain = (0, 0);
        let expected = [
            ("bin", 0o120_777, "usr/bin", plain),
            ("dev", 0o040_755, "", plain),
            ("dev/console", 0o020_600, "", (5, 1)),
            ("tmp", 0o041_777, "", plain),
            ("usr", 0o040_755, "", plain),
            ("usr/bin", 0o040_755, "", plain),
            ("usr/bin/tool", 0o100_755, "tool", plain),
        ];
        let expected =
            expected.map(|(path, mode, content, device)| (path.to_owned(), mode, content.to_owned(), device));
        assert_eq!(read(&sample().to_bytes()), expected);
    }

    #[test]
    fn order_of_adding_does_not_show() {
        let mut other = Archive::new();
        other.folder("tmp", 0o1777).unwrap();
        other.symlink("/bin", "usr/bin").unwrap();
        other.device("dev/console", 0o600, 5, 1).unwrap();
        other.file("usr/bin/tool", 0o755, b"tool".to_vec()).unwrap();
        assert_eq!(other.to_bytes(), sample().to_bytes());
    }

    #[test]
    fn bad_paths_and_collisions_are_refused() {
        let mut archive = sample();
        for path in ["", "/", "a//b", "a/../b", "./a", "a/"] {
            assert!(matches!(archive.file(path, 0o644, vec![]), Err(ArchiveError::Path { .. })), "{path:?}");
        }
        let taken = |path: &str| Err(ArchiveError::Taken { path: path.to_owned() });
        assert_eq!(archive.file("bin/x", 0o644, vec![]), taken("bin"));
        assert_eq!(archive.file("usr/bin/tool", 0o755, b"other".to_vec()), taken("usr/bin/tool"));
        assert_eq!(archive.file("usr/bin/tool", 0o755, b"tool".to_vec()), Ok(()));
        assert!(archive.contains("/usr/bin") && !archive.contains("usr/lib"));
    }
}
