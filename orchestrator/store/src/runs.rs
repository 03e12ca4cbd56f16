//! The folder that holds all runs.

use crate::log::{self, LogError, RunHeader, RunLog, RunReader, io_error, now_ms, sync_folder};
use kab_model::{Event, Plan, Posted, Run, RunId};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Name of the file that posted figures were read from, in the folder of their run.
pub const POSTED: &str = "table.yaml";

/// All runs of a user.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

/// Why a run is not found.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The log cannot be used.
    #[error(transparent)]
    Log(#[from] LogError),
    /// No run has this id.
    #[error("there is no run {wanted:?} in {}; `kab runs list` shows what there is", folder.display())]
    Unknown {
        /// As typed.
        wanted: String,
        /// The store.
        folder: PathBuf,
    },
    /// Several runs begin with these digits.
    #[error("{wanted:?} could be any of {matches}; give more digits")]
    Ambiguous {
        /// As typed.
        wanted: String,
        /// The candidates.
        matches: String,
    },
}

impl Store {
    /// The store in this folder, which need not exist yet.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes a new run with its plan as first event and these files in its folder (`experiment.yaml`, `lab.yaml`), and
    /// opens it. A crash on the way leaves no run.
    pub fn create(
        &self,
        plan: Plan,
        lab_digest: &str,
        kab: &str,
        files: &[(&str, &[u8])],
    ) -> Result<RunLog, LogError> {
        let created_ms = now_ms();
        let (id, folder) = self.new_folder(&format!("{} {created_ms}", plan.experiment_digest))?;
        let header = RunHeader {
            format: log::FORMAT,
            id,
            name: plan.name.clone(),
            experiment_digest: plan.experiment_digest.clone(),
            lab_digest: lab_digest.to_owned(),
            created_ms,
            kab: kab.to_owned(),
        };
        log::create(&folder, &header, Event::Planned { plan: Box::new(plan) }, files)?;
        sync_folder(&self.folder)?;
        RunLog::open(&folder)
    }

    /// Makes a finished run of figures that somebody else posted; `file` is what they were read from. The same file again gives
    /// the run that is there already.
    pub fn create_posted(&self, table: Posted, kab: &str, file: &[u8]) -> Result<RunReader, LogError> {
        let known = self.list()?.into_iter().find(|run| run.header().experiment_digest == table.digest);
        if let Some(known) = known {
            return Ok(known);
        }
        let created_ms = now_ms();
        let (id, folder) = self.new_folder(&format!("{} {created_ms}", table.digest))?;
        let header = RunHeader {
            format: log::FORMAT,
            id,
            name: table.name.clone(),
            experiment_digest: table.digest.clone(),
            lab_digest: String::new(),
            created_ms,
            kab: kab.to_owned(),
        };
        log::create(&folder, &header, Event::Imported { table: Box::new(table) }, &[(POSTED, file)])?;
        sync_folder(&self.folder)?;
        let mut log = RunLog::open(&folder)?;
        log.append(Event::Finished)?;
        Ok(log.reader().clone())
    }

    /// An empty folder under an id that nobody has.
    fn new_folder(&self, unique: &str) -> Result<(RunId, PathBuf), LogError> {
        fs::create_dir_all(&self.folder).map_err(io_error("create", &self.folder))?;
        let mut attempt = 0u64;
        loop {
            // Two runs may begin within one millisecond, and in two containers under one process id.
            let text = format!("{unique} {} {attempt}", std::process::id());
            let id = RunId(blake3::hash(text.as_bytes()).to_hex()[..12].to_owned());
            let folder = self.folder.join(&id.0);
            match fs::create_dir(&folder) {
                Ok(()) => return Ok((id, folder)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => attempt += 1,
                Err(error) => return Err(io_error("create", &folder)(error)),
            }
        }
    }

    /// All runs, newest first. Folders that are no runs are passed over.
    pub fn list(&self) -> Result<Vec<RunReader>, LogError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(io_error("list", &self.folder)(error)),
        };
        let mut runs: Vec<RunReader> =
            entries.flatten().filter_map(|entry| RunReader::open(&entry.path()).ok()).collect();
        runs.sort_by(|a, b| {
            (b.header().created_ms, &b.header().id).cmp(&(a.header().created_ms, &a.header().id))
        });
        Ok(runs)
    }

    /// The run whose id begins with these digits; `last` is the newest.
    pub fn find(&self, wanted: &str) -> Result<RunReader, StoreError> {
        let mut runs = self.list()?;
        if wanted != "last" {
            runs.retain(|run| !wanted.is_empty() && run.header().id.0.starts_with(wanted));
        } else {
            runs.truncate(1);
        }
        match runs.len() {
            0 => Err(self
                .unreadable(wanted)
                .map(StoreError::Log)
                .unwrap_or(StoreError::Unknown { wanted: wanted.to_owned(), folder: self.folder.clone() })),
            1 => Ok(runs.remove(0)),
            _ => {
                let matches: Vec<&str> = runs.iter().map(|run| run.header().id.0.as_str()).collect();
                Err(StoreError::Ambiguous { wanted: wanted.to_owned(), matches: matches.join(", ") })
            }
        }
    }

    /// Why a run that is there is in no list.
    fn unreadable(&self, wanted: &str) -> Option<LogError> {
        let entries = fs::read_dir(&self.folder).ok()?.flatten();
        let mut named = entries.filter(|entry| {
            let name = entry.file_name();
            !wanted.is_empty() && name.to_str().is_some_and(|name| name.starts_with(wanted))
        });
        named.find_map(|entry| match RunReader::open(&entry.path()) {
            // A folder without a header is no run.
            Err(LogError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => None,
            other => other.err(),
        })
    }

    /// Runs of the experiment of this name that are not finished and that this kab can go on with.
    pub fn unfinished(&self, name: &str) -> Result<Unfinished, LogError> {
        let mut found = Unfinished::default();
        for reader in self.list()? {
            if reader.header().name != name || reader.header().format > log::FORMAT {
                continue;
            }
            match reader.run() {
                Ok(run) if run.finished => {}
                Ok(run) => found.runs.push((reader, run)),
                Err(error) => found.damaged.push(error),
            }
        }
        Ok(found)
    }
}

/// What [`Store::unfinished`] finds, newest first.
#[derive(Debug, Default)]
pub struct Unfinished {
    /// Runs with their folded logs.
    pub runs: Vec<(RunReader, Run)>,
    /// Why others cannot be read.
    pub damaged: Vec<LogError>,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn runs_of_one_moment_do_not_overwrite_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().join("runs"));
        let (first, second) = (store.new_folder("e 1").unwrap(), store.new_folder("e 1").unwrap());
        assert_ne!(first, second);
        assert!(first.1.is_dir() && second.1.is_dir());
    }
}
