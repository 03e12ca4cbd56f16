//! A run as one compressed file, and back.
//!
//! The file is a tar archive in zstd. Its first member, `export.json`, names every other one with its BLAKE3 digest. The same run gives
//! the same bytes: members are sorted and carry neither times nor owners. An archive may come from anyone, so importing takes plain
//! files with known kinds of names only, checks each digest, and shows the run to the store when all is well and on the disk.

use crate::log::{self, FORMAT, LogError, RunReader, io_error, sync_folder};
use crate::runs::Store;
use crate::{blobs, events};
use kab_model::RunId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

/// Name of the first member.
const INDEX: &str = "export.json";
/// Largest index that is read, bytes.
const LARGEST_INDEX: u64 = 256 << 20;
/// Largest member that is unpacked, bytes: a small archive must not fill the disk.
const LARGEST: u64 = 4 << 30;
/// Largest run that is unpacked, bytes.
const LARGEST_RUN: u64 = 64 << 30;
/// Effort of the compression; blobs are compressed already.
const EFFORT: i32 = 6;

/// Why a run cannot be exported or imported.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The run cannot be used.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The archive cannot be read or written.
    #[error("cannot {action} the archive")]
    Io {
        /// `read` or `write`.
        action: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The archive is none of kab's, or was changed.
    #[error("this is no archive of a run: {0}")]
    Wrong(String),
    /// A newer kab wrote it.
    #[error("the archive has format {found}, newer than this kab's {FORMAT}: use a newer one")]
    Newer {
        /// Its format.
        found: u32,
    },
    /// The store has another run of this id.
    #[error("run {id} is in the store already, with other data")]
    Other {
        /// The run.
        id: RunId,
    },
}

/// What the archive holds.
#[derive(Debug, Serialize, Deserialize)]
struct Index {
    format: u32,
    run: RunId,
    /// Digest by name.
    members: BTreeMap<String, String>,
}

impl RunReader {
    /// Writes the whole run to `out`.
    ///
    /// # Errors
    /// When a file of the run or `out` fails.
    pub fn export(&self, out: impl Write) -> Result<(), ArchiveError> {
        let log = events::bytes(&self.folder().join("events.jsonl"))?;
        let mut names = files(self.folder(), "")?;
        names.extend(files(&self.folder().join("blobs"), "blobs/")?);
        let mut members = BTreeMap::new();
        let read = |name: &str| match name {
            // Only whole events: another kab may be writing the next one.
            "events.jsonl" => Ok(log.clone()),
            name => {
                let path = self.folder().join(name);
                fs::read(&path).map_err(io_error("read", &path))
            }
        };
        for name in names {
            members.insert(name.clone(), blobs::name(&read(&name)?).0);
        }
        let index = Index { format: FORMAT, run: self.header().id.clone(), members };
        let failed = |source| ArchiveError::Io { action: "write", source };
        let mut archive = tar::Builder::new(zstd::Encoder::new(out, EFFORT).map_err(failed)?);
        let text = serde_json::to_vec_pretty(&index).map_err(|error| failed(error.into()))?;
        append(&mut archive, INDEX, &text).map_err(failed)?;
        for name in index.members.keys() {
            append(&mut archive, name, &read(name)?).map_err(failed)?;
        }
        let mut out = archive.into_inner().and_then(zstd::Encoder::finish).map_err(failed)?;
        out.flush().map_err(failed)
    }
}

impl Store {
    /// Takes in a run that [`RunReader::export`] wrote. One that is there already, with the same data, is left as it is.
    ///
    /// # Errors
    /// When the archive is damaged or holds anything but a run; nothing of it stays then.
    pub fn import(&self, input: impl Read) -> Result<RunReader, ArchiveError> {
        fs::create_dir_all(self.folder()).map_err(io_error("create", self.folder()))?;
        let place = tempfile::Builder::new()
            .prefix(".import-")
            .tempdir_in(self.folder())
            .map_err(io_error("create a folder in", self.folder()))?;
        let index = unpack(input, place.path())?;
        let reader = RunReader::open(place.path())?;
        let id = reader.header().id.clone();
        if id != index.run || !is_id(&id) {
            return Err(ArchiveError::Wrong(format!(
                "it says that it is run {:?} and holds {:?}",
                index.run.0, id.0
            )));
        }
        reader.run()?;
        let home = self.folder().join(&id.0);
        if home.exists() {
            let there = RunReader::open(&home)?;
            let same = there.data_digest()? == reader.data_digest()?;
            return if same { Ok(there) } else { Err(ArchiveError::Other { id }) };
        }
        sync_folder(&place.path().join("blobs"))?;
        sync_folder(place.path())?;
        let unpacked = place.keep();
        fs::rename(&unpacked, &home).map_err(io_error("create", &home))?;
        sync_folder(self.folder())?;
        Ok(RunReader::open(&home)?)
    }

    /// Removes a run that nobody writes to.
    ///
    /// # Errors
    /// When another process uses the run, or its files cannot be removed.
    pub fn remove(&self, reader: &RunReader) -> Result<(), LogError> {
        let lock = log::lock(reader.folder(), &reader.header().id)?;
        // What is left after a crash on the way has another name, so it is no run.
        let aside = self.folder().join(format!(".removed-{}", reader.header().id));
        fs::rename(reader.folder(), &aside).map_err(io_error("rename", reader.folder()))?;
        drop(lock);
        fs::remove_dir_all(&aside).map_err(io_error("remove", &aside))
    }
}

/// Names of the plain files that make a run, hidden ones and the lock left out.
fn files(folder: &Path, prefix: &str) -> Result<Vec<String>, LogError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(io_error("list", folder))? {
        let entry = entry.map_err(io_error("list", folder))?;
        let plain = entry.file_type().is_ok_and(|kind| kind.is_file());
        match entry.file_name().into_string() {
            Ok(name) if plain && is_member(&format!("{prefix}{name}")) => {
                names.push(format!("{prefix}{name}"));
            }
            _ => {}
        }
    }
    Ok(names)
}

/// Whether a run has files of this name: a blob, or a file beside the log.
fn is_member(name: &str) -> bool {
    let plain = |c: char| c != '/' && !c.is_control();
    match name.strip_prefix("blobs/") {
        Some(digest) => {
            digest.len() == 64 && digest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        }
        None => {
            !name.is_empty()
                && name.len() < 200
                && !name.starts_with('.')
                && name != "lock"
                && name != INDEX
                && name.chars().all(plain)
        }
    }
}

fn is_id(id: &RunId) -> bool {
    (6..=64).contains(&id.0.len()) && id.0.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn append(archive: &mut tar::Builder<impl Write>, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut header = tar::Header::new_ustar();
    header.set_size(bytes.len() as u64);
    header.set_mode(0o644);
    header.set_mtime(0);
    archive.append_data(&mut header, name, bytes)
}

/// Unpacks into the empty folder `place` what the index names, and nothing else.
fn unpack(input: impl Read, place: &Path) -> Result<Index, ArchiveError> {
    let failed = |source| ArchiveError::Io { action: "read", source };
    let mut archive = tar::Archive::new(zstd::Decoder::new(input).map_err(failed)?);
    let mut entries = archive.entries().map_err(failed)?;
    let first =
        entries.next().ok_or_else(|| ArchiveError::Wrong("it is empty".to_owned()))?.map_err(failed)?;
    let index = index(first)?;
    let blobs = place.join("blobs");
    fs::create_dir(&blobs).map_err(io_error("create", &blobs))?;
    let mut missing = index.members.clone();
    let mut room = LARGEST_RUN;
    for entry in entries {
        let mut entry = entry.map_err(failed)?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let expected = missing.remove(&name).filter(|_| is_member(&name));
        let (Some(expected), true) = (expected, entry.header().entry_type().is_file()) else {
            return Err(ArchiveError::Wrong(format!("a run has no member {name:?}")));
        };
        room = room
            .checked_sub(entry.size())
            .filter(|_| entry.size() <= LARGEST)
            .ok_or_else(|| ArchiveError::Wrong(format!("{name:?} is larger than any file of a run")))?;
        let found = write(&mut entry, &place.join(&name))?;
        if found != expected {
            return Err(ArchiveError::Wrong(format!("{name:?} holds other bytes than its digest says")));
        }
    }
    match missing.keys().next() {
        Some(name) => Err(ArchiveError::Wrong(format!("{name:?} is missing"))),
        None => Ok(index),
    }
}

fn index(entry: tar::Entry<'_, impl Read>) -> Result<Index, ArchiveError> {
    if entry.path_bytes().as_ref() != INDEX.as_bytes() {
        return Err(ArchiveError::Wrong(format!("it does not begin with {INDEX}")));
    }
    let mut text = Vec::new();
    entry
        .take(LARGEST_INDEX)
        .read_to_end(&mut text)
        .map_err(|source| ArchiveError::Io { action: "read", source })?;
    let index: Index =
        serde_json::from_slice(&text).map_err(|error| ArchiveError::Wrong(format!("{INDEX}: {error}")))?;
    if index.format > FORMAT {
        return Err(ArchiveError::Newer { found: index.format });
    }
    Ok(index)
}

/// Writes a member, synced; its digest.
fn write(entry: &mut impl Read, path: &Path) -> Result<String, ArchiveError> {
    let mut file =
        File::options().write(true).create_new(true).open(path).map_err(io_error("create", path))?;
    let mut hasher = blake3::Hasher::new();
    let mut piece = vec![0; 1 << 16];
    loop {
        let length = entry.read(&mut piece).map_err(|source| ArchiveError::Io { action: "read", source })?;
        if length == 0 {
            break;
        }
        hasher.update(&piece[..length]);
        file.write_all(&piece[..length]).map_err(io_error("write", path))?;
    }
    file.sync_all().map_err(io_error("sync", path))?;
    Ok(hasher.finalize().to_hex().to_string())
}
