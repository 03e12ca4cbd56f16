//! The folder that holds all runs.

use crate::log::{self, LogError, RunHeader, RunLog, RunReader, io_error, now_ms};
use kab_model::{Event, Plan, RunId};
use std::fs;
use std::path::{Path, PathBuf};

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
        let unique = format!("{} {created_ms} {}", plan.experiment_digest, std::process::id());
        let id = RunId(blake3::hash(unique.as_bytes()).to_hex()[..12].to_owned());
        let header = RunHeader {
            format: log::FORMAT,
            id: id.clone(),
            name: plan.name.clone(),
            experiment_digest: plan.experiment_digest.clone(),
            lab_digest: lab_digest.to_owned(),
            created_ms,
            kab: kab.to_owned(),
        };
        let folder = self.folder.join(&id.0);
        log::create(&folder, &header, Event::Planned { plan: Box::new(plan) }, files)?;
        RunLog::open(&folder)
    }

    /// All runs, newest first. Folders that are no runs are passed over.
    pub fn list(&self) -> Result<Vec<RunReader>, LogError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
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
            0 => Err(StoreError::Unknown { wanted: wanted.to_owned(), folder: self.folder.clone() }),
            1 => Ok(runs.remove(0)),
            _ => {
                let matches: Vec<&str> = runs.iter().map(|run| run.header().id.0.as_str()).collect();
                Err(StoreError::Ambiguous { wanted: wanted.to_owned(), matches: matches.join(", ") })
            }
        }
    }

    /// The newest run of this experiment and lab that is not finished.
    pub fn unfinished(
        &self,
        experiment_digest: &str,
        lab_digest: &str,
    ) -> Result<Option<RunReader>, LogError> {
        for run in self.list()? {
            let header = run.header();
            let same = header.experiment_digest == experiment_digest && header.lab_digest == lab_digest;
            if same && !run.run()?.finished {
                return Ok(Some(run));
            }
        }
        Ok(None)
    }
}
