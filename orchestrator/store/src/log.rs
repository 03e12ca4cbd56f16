//! One run's log, opened for writing by one process at a time, and for reading by anyone.

use crate::blobs::{self, BlobError};
use crate::events::{self, Whole};
use kab_model::{BlobId, Event, Logged, Run, RunId};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Version of the run folder's format. A newer one is opened for reading only; 1 was never released and is refused.
pub const FORMAT: u32 = 2;

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
    /// The run's header cannot be understood.
    #[error("{}: not the header of a run", path.display())]
    Header {
        /// `run.json`.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// A newer kab wrote something that this one does not know.
    #[error("{}:{line}: {what} of format {found}; this kab reads up to {FORMAT}: use a newer one", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// What it is, such as `event "paused"`.
        what: String,
        /// Its format.
        found: u32,
    },
    /// Another process writes to this run.
    #[error("run {id} is in use by another kab ({owner}); wait for it or stop it")]
    InUse {
        /// The run.
        id: RunId,
        /// Who, as written in the lock file.
        owner: String,
    },
    /// An unreleased kab wrote this run.
    #[error(
        "run {id} has format {found}, which no released kab wrote and this one cannot read (its format is {FORMAT}); \
         remove {} and run the experiment again",
        folder.display()
    )]
    Older {
        /// The run.
        id: RunId,
        /// Its format.
        found: u32,
        /// Its folder.
        folder: PathBuf,
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
        match serde_json::from_slice(&bytes) {
            Ok(RunHeader { id, format, .. }) if format < FORMAT => {
                Err(LogError::Older { id, found: format, folder: folder.to_owned() })
            }
            Ok(header) => Ok(Self { folder: folder.to_owned(), header }),
            Err(source) => Err(bad_header(path, &bytes, source)),
        }
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
        Ok(events::read(&self.events_path())?.events)
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
        Ok(blobs::name(&events::bytes(&self.events_path())?).0)
    }

    fn events_path(&self) -> PathBuf {
        self.folder.join("events.jsonl")
    }
}

fn bad_header(path: PathBuf, bytes: &[u8], source: serde_json::Error) -> LogError {
    #[derive(Deserialize)]
    struct Format {
        format: u32,
    }
    match serde_json::from_slice(bytes) {
        Ok(Format { format }) if format > FORMAT => {
            LogError::Unknown { path, line: 1, what: "the header of a run".to_owned(), found: format }
        }
        _ => LogError::Header { path, source },
    }
}

/// A run folder for writing. Holds the run's lock until dropped.
#[derive(Debug)]
pub struct RunLog {
    reader: RunReader,
    file: File,
    /// Length of the whole events, bytes.
    end: u64,
    /// Something may stand behind them.
    torn: bool,
    /// Number of the next event.
    next: u64,
    run: Run,
    _lock: File,
}

impl RunLog {
    /// Opens a run for appending: takes its lock, drops a torn last line, folds the events.
    pub fn open(folder: &Path) -> Result<Self, LogError> {
        let reader = RunReader::open(folder)?;
        refuse_newer(&reader, reader.header.format)?;
        let lock = lock(folder, &reader.header.id)?;
        let path = reader.events_path();
        let Whole { events, bytes } = events::read(&path)?;
        refuse_newer(&reader, events.iter().map(|logged| logged.v).max().unwrap_or(FORMAT))?;
        let file = OpenOptions::new().read(true).write(true).open(&path).map_err(io_error("open", &path))?;
        let run = Run::from_events(events.iter().map(|logged| &logged.event));
        let mut log = Self {
            reader,
            file,
            end: bytes.len() as u64,
            torn: true,
            next: events.len() as u64,
            run,
            _lock: lock,
        };
        log.mend().map_err(io_error("shorten", &path))?;
        Ok(log)
    }

    /// Appends an event, syncs it and only then folds it in. On an error nothing of the event stays in the file,
    /// or the next append or open drops it.
    pub fn append(&mut self, event: Event) -> Result<Durable<Logged>, LogError> {
        let path = self.reader.events_path();
        let logged = Logged { v: FORMAT, seq: self.next, at_ms: now_ms(), event };
        let line = events::line(&logged, &path)?;
        if let Err(source) = self.mend().and_then(|()| self.write(&line)) {
            // A full disk may have taken half the line: take it back now where that is possible, so that readers see
            // none of it.
            let _ = self.mend();
            return Err(LogError::Io { action: "append to", path, source });
        }
        self.next += 1;
        self.run.apply(&logged.event);
        Ok(Durable(logged))
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        self.torn = true;
        self.file.write_all(line)?;
        self.file.sync_data()?;
        self.torn = false;
        self.end += line.len() as u64;
        Ok(())
    }

    /// Cuts off what an earlier append may have left behind the last whole event.
    fn mend(&mut self) -> io::Result<()> {
        if self.torn {
            self.file.set_len(self.end)?;
            self.file.seek(SeekFrom::Start(self.end))?;
            self.torn = false;
        }
        Ok(())
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
    fs::create_dir(&blobs).map_err(io_error("create", &blobs))?;
    for (name, bytes) in files {
        write_synced(&folder.join(name), bytes)?;
    }
    let path = folder.join("events.jsonl");
    let logged = Logged { v: FORMAT, seq: 0, at_ms: header.created_ms, event: first };
    write_synced(&path, &events::line(&logged, &path)?)?;
    let text = serde_json::to_vec_pretty(header)
        .map_err(|source| LogError::Header { path: folder.join("run.json"), source })?;
    let temporary = folder.join(".run.json");
    write_synced(&temporary, &text)?;
    let path = folder.join("run.json");
    fs::rename(&temporary, &path).map_err(io_error("create", &path))?;
    sync_folder(folder)
}

/// Makes the names within a folder durable.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), LogError> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(io_error("sync", folder))
}

fn refuse_newer(reader: &RunReader, found: u32) -> Result<(), LogError> {
    if found > FORMAT {
        return Err(LogError::Newer { id: reader.header.id.clone(), found });
    }
    Ok(())
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

pub(crate) fn lock(folder: &Path, id: &RunId) -> Result<File, LogError> {
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
            // The owner has the lock before its name is in the file.
            let owner = if owner.is_empty() { "it just started".to_owned() } else { owner };
            return Err(LogError::InUse { id: id.clone(), owner });
        }
        Err(TryLockError::Error(source)) => return Err(LogError::Io { action: "lock", path, source }),
    }
    file.set_len(0)
        .and_then(|()| writeln!(file, "process {}", std::process::id()))
        .map_err(io_error("write", &path))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// As after an append that failed on a disk that could not even be truncated.
    #[test]
    fn half_an_event_that_could_not_be_taken_back_is_taken_back_later() {
        let folder = tempfile::tempdir().unwrap();
        let header = RunHeader {
            format: FORMAT,
            id: "0123456789ab".into(),
            name: "e".into(),
            experiment_digest: "e".into(),
            lab_digest: "l".into(),
            created_ms: 1,
            kab: "0.1.0".into(),
        };
        let opened = |pid| Event::Opened { kab: "0.1.0".into(), pid };
        let run = folder.path().join("run");
        fs::create_dir(&run).unwrap();
        create(&run, &header, opened(1), &[]).unwrap();
        let mut log = RunLog::open(&run).unwrap();
        log.file.write_all(b"{\"v\":1,\"seq\":1,").unwrap();
        log.torn = true;
        log.append(opened(2)).unwrap();
        let events = log.reader().events().unwrap();
        assert_eq!(events.into_iter().map(|logged| logged.event).collect::<Vec<_>>(), [opened(1), opened(2)]);
    }
}
