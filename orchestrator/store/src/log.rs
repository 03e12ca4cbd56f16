//! One run's log, opened for writing by one process at a time, and for reading by anyone.

use crate::blobs::{self, BlobError};
use kab_model::{BlobId, Event, Logged, Run, RunId};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Version of the run folder's format. A newer one is opened for reading only.
pub const FORMAT: u32 = 1;

/// `run.json`: what identifies a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunHeader {
    /// Version of the folder's format.
    pub format: u32,
    /// The run.
    pub id: RunId,
    /// The experiment's short name.
    pub name: String,
    /// BLAKE3 over the experiment file and every file it names.
    pub experiment_digest: String,
    /// BLAKE3 of the lab file.
    pub lab_digest: String,
    /// Wall clock at creation, milliseconds since the Unix epoch.
    pub created_ms: i64,
    /// Version of kab that created it.
    pub kab: String,
}

/// Something that is on disk, synced. Only the store can make one.
#[derive(Clone, Debug, PartialEq)]
pub struct Durable<T>(T);

impl<T> Deref for Durable<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// Why a log cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// A file operation failed.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried, such as `append to`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line in the middle of the log is no event.
    #[error("{}:{line}: not an event of this format", path.display())]
    Line {
        /// The log.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// Why.
        source: serde_json::Error,
    },
    /// Sequence numbers have a gap: lines are missing or doubled.
    #[error("{}:{line}: expected event {expected}, found {found}", path.display())]
    Sequence {
        /// The log.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// Next number.
        expected: u64,
        /// Number there.
        found: u64,
    },
    /// Another process writes to this run.
    #[error("run {id} is in use by another kab ({owner}); wait for it or stop it")]
    InUse {
        /// The run.
        id: RunId,
        /// Who, as written in the lock file.
        owner: String,
    },
    /// A newer kab wrote this run.
    #[error("run {id} has format {found}, newer than this kab's {FORMAT}: it can be read, not continued")]
    Newer {
        /// The run.
        id: RunId,
        /// Its format.
        found: u32,
    },
}

/// A run folder for reading.
#[derive(Clone, Debug)]
pub struct RunReader {
    folder: PathBuf,
    header: RunHeader,
}

impl RunReader {
    /// Opens a run folder.
    pub fn open(folder: &Path) -> Result<Self, LogError> {
        let path = folder.join("run.json");
        let bytes = fs::read(&path).map_err(io_error("read", &path))?;
        let header =
            serde_json::from_slice(&bytes).map_err(|source| LogError::Line { path, line: 1, source })?;
        Ok(Self { folder: folder.to_owned(), header })
    }

    /// `run.json`.
    pub fn header(&self) -> &RunHeader {
        &self.header
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// All whole events of the log.
    pub fn events(&self) -> Result<Vec<Logged>, LogError> {
        Ok(read_events(&self.folder.join("events.jsonl"))?.0)
    }

    /// The folded log.
    pub fn run(&self) -> Result<Run, LogError> {
        Ok(Run::from_events(self.events()?.iter().map(|logged| &logged.event)))
    }

    /// A blob, checked against its name.
    pub fn blob(&self, id: &BlobId) -> Result<Vec<u8>, BlobError> {
        blobs::get(&self.folder.join("blobs"), id)
    }

    /// BLAKE3 of the whole events of the log: names the data that a report speaks of.
    pub fn data_digest(&self) -> Result<String, LogError> {
        let path = self.folder.join("events.jsonl");
        let bytes = fs::read(&path).map_err(io_error("read", &path))?;
        Ok(blobs::name(&bytes[..whole_lines(&bytes)]).0)
    }
}

/// A run folder for writing. Holds the run's lock until dropped.
#[derive(Debug)]
pub struct RunLog {
    reader: RunReader,
    file: File,
    next: u64,
    run: Run,
    _lock: File,
}

impl RunLog {
    /// Opens a run for appending: takes its lock, drops a torn last line, folds the events.
    pub fn open(folder: &Path) -> Result<Self, LogError> {
        let reader = RunReader::open(folder)?;
        if reader.header.format > FORMAT {
            return Err(LogError::Newer { id: reader.header.id, found: reader.header.format });
        }
        let lock = lock(folder, &reader.header.id)?;
        let path = folder.join("events.jsonl");
        let (events, whole) = read_events(&path)?;
        let mut file =
            OpenOptions::new().read(true).write(true).open(&path).map_err(io_error("open", &path))?;
        file.set_len(whole).map_err(io_error("shorten", &path))?;
        file.seek(SeekFrom::End(0)).map_err(io_error("seek in", &path))?;
        let next = events.last().map_or(0, |last| last.seq + 1);
        let run = Run::from_events(events.iter().map(|logged| &logged.event));
        Ok(Self { reader, file, next, run, _lock: lock })
    }

    /// Appends an event, syncs it and only then folds it in. On an error nothing of the event stays in the file,
    /// or the next open drops it.
    pub fn append(&mut self, event: Event) -> Result<Durable<Logged>, LogError> {
        let path = self.reader.folder.join("events.jsonl");
        let logged = Logged { v: FORMAT, seq: self.next, at_ms: now_ms(), event };
        let mut line = serde_json::to_vec(&logged).map_err(|source| LogError::Line {
            path: path.clone(),
            line: 0,
            source,
        })?;
        line.push(b'\n');
        let start = self.file.stream_position().map_err(io_error("append to", &path))?;
        if let Err(source) = self.file.write_all(&line).and_then(|()| self.file.sync_data()) {
            // A full disk may have taken half the line: take it back, so that a later append does not glue to it.
            let _ = self.file.set_len(start).and_then(|()| self.file.seek(SeekFrom::Start(start)));
            return Err(LogError::Io { action: "append to", path, source });
        }
        self.next += 1;
        self.run.apply(&logged.event);
        Ok(Durable(logged))
    }

    /// Stores a blob; synced when this returns, so that an event may name it.
    pub fn put(&self, bytes: &[u8]) -> Result<BlobId, LogError> {
        let folder = self.reader.folder.join("blobs");
        blobs::put(&folder, bytes).map_err(io_error("store a blob in", &folder))
    }

    /// The folded log.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The run for reading.
    pub fn reader(&self) -> &RunReader {
        &self.reader
    }
}

/// Writes the folder of a new run, `run.json` last, so that a half-made folder is no run.
pub(crate) fn create(
    folder: &Path,
    header: &RunHeader,
    first: Event,
    files: &[(&str, &[u8])],
) -> Result<(), LogError> {
    let blobs = folder.join("blobs");
    fs::create_dir_all(&blobs).map_err(io_error("create", &blobs))?;
    for (name, bytes) in files {
        write_synced(&folder.join(name), bytes)?;
    }
    let path = folder.join("events.jsonl");
    let logged = Logged { v: FORMAT, seq: 0, at_ms: header.created_ms, event: first };
    write_synced(&path, &line(&logged, &path)?)?;
    let text = serde_json::to_vec_pretty(header).map_err(|source| LogError::Line {
        path: folder.join("run.json"),
        line: 0,
        source,
    })?;
    let temporary = folder.join(".run.json");
    write_synced(&temporary, &text)?;
    let path = folder.join("run.json");
    fs::rename(&temporary, &path).map_err(io_error("create", &path))?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(io_error("sync", folder))
}

/// An event as a line of the log.
fn line(logged: &Logged, path: &Path) -> Result<Vec<u8>, LogError> {
    let mut line = serde_json::to_vec(logged).map_err(|source| LogError::Line {
        path: path.to_owned(),
        line: 0,
        source,
    })?;
    line.push(b'\n');
    Ok(line)
}

/// Milliseconds since the Unix epoch.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

pub(crate) fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> LogError {
    let path = path.to_owned();
    move |source| LogError::Io { action, path, source }
}

fn write_synced(path: &Path, bytes: &[u8]) -> Result<(), LogError> {
    let write = || {
        let mut file = File::create(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(io_error("write", path))
}

fn lock(folder: &Path, id: &RunId) -> Result<File, LogError> {
    let path = folder.join("lock");
    let mut file = OpenOptions::new()
        .create(true)
        .read(true)
        .write(true)
        .truncate(false)
        .open(&path)
        .map_err(io_error("open", &path))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let owner = fs::read_to_string(&path).unwrap_or_default().trim().to_owned();
            return Err(LogError::InUse { id: id.clone(), owner });
        }
        Err(TryLockError::Error(source)) => return Err(LogError::Io { action: "lock", path, source }),
    }
    file.set_len(0)
        .and_then(|()| writeln!(file, "process {}", std::process::id()))
        .map_err(io_error("write", &path))?;
    Ok(file)
}

/// Whole events of a log and the length of the bytes that they take.
fn read_events(path: &Path) -> Result<(Vec<Logged>, u64), LogError> {
    let bytes = fs::read(path).map_err(io_error("read", path))?;
    let whole = whole_lines(&bytes);
    let mut events = Vec::new();
    for (index, line) in bytes[..whole].split_inclusive(|byte| *byte == b'\n').enumerate() {
        let line_number = index + 1;
        let logged: Logged = serde_json::from_slice(line).map_err(|source| LogError::Line {
            path: path.to_owned(),
            line: line_number,
            source,
        })?;
        let expected = index as u64;
        if logged.seq != expected {
            let found = logged.seq;
            return Err(LogError::Sequence { path: path.to_owned(), line: line_number, expected, found });
        }
        events.push(logged);
    }
    Ok((events, whole as u64))
}

/// Length of the bytes up to and with the last newline.
fn whole_lines(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1)
}
