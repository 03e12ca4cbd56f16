//! The loop: ask the planner what comes next, do it, append what happened.

use crate::budget::Budget;
use crate::visit::{self, Stay};
use crate::{BuildFailure, BuildFault, Builder, Observer, Progress};
use kab_board::{Board, BootError, HostLease, LeaseError};
use kab_link::AgentBinary;
use kab_model::{
    Accel, Artifact, BlobId, BoardName, Event, Plan, PlannedBoard, PlannedVariant, Reason, Run, VariantName,
    VisitKey, VisitState,
};
use kab_plan::{INTERRUPTED, Next, next, outstanding_visits};
use kab_store::{LogError, RunLog};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Everything that an engine works with.
pub struct Parts {
    /// The run, whose first event is the plan.
    pub log: RunLog,
    /// Drivers of all boards of the plan.
    pub boards: BTreeMap<BoardName, Box<dyn Board>>,
    /// Makes artifacts.
    pub builder: Box<dyn Builder>,
    /// The agent that is pushed to the boards.
    pub agent: AgentBinary,
    /// Watches.
    pub observer: Box<dyn Observer>,
    /// Lock file of the host lease.
    pub host_lease: PathBuf,
    /// Folder for consoles while they grow; made anew, removed at the end.
    pub work: PathBuf,
}

/// Carries one run out.
pub struct Engine {
    pub(crate) parts: Parts,
    pub(crate) plan: Plan,
    pub(crate) cancel: CancellationToken,
    pub(crate) hurry: CancellationToken,
    /// Variants whose image was found by this process.
    found: BTreeSet<VariantName>,
    budget: Option<Budget>,
}

/// Why the engine itself cannot go on. What a variant or a board does is never an error.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The log cannot be written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The host lease cannot be used.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// The log does not begin with a plan.
    #[error("the run has no plan: its log was cut at the start")]
    NoPlan,
    /// A board of the plan has no driver.
    #[error("no driver for board {0}")]
    NoDriver(BoardName),
    /// This host lacks what a board needs.
    #[error("board {board} cannot be used: {message}")]
    Board {
        /// The board.
        board: BoardName,
        /// What is wrong and what to do.
        message: String,
    },
    /// This host cannot build.
    #[error("cannot build variant {:?} on this host: {message}", variant.0)]
    Build {
        /// The variant.
        variant: VariantName,
        /// Why, for people.
        message: String,
    },
    /// The image was removed since it was built, and the same source gave another kernel.
    #[error(
        "the image of variant {:?} was removed from the cache, and building it again gave another kernel: build-id \
         {found} instead of {expected}; begin a new run",
        variant.0
    )]
    OtherKernel {
        /// The variant.
        variant: VariantName,
        /// What was measured so far.
        expected: String,
        /// What was built now.
        found: String,
    },
    /// A work file cannot be used.
    #[error("cannot use {}", path.display())]
    Work {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The user interrupted; everything measured so far is kept.
    #[error("interrupted")]
    Cancelled,
}

impl Engine {
    /// An engine for a run. `cancel` ends it in order: fio is stopped, the board shut down, the visit closed.
    pub fn new(parts: Parts, cancel: CancellationToken) -> Result<Self, EngineError> {
        let plan = parts.log.run().plan.clone().ok_or(EngineError::NoPlan)?;
        let driven = |board: &&PlannedBoard| parts.boards.contains_key(&board.spec.name);
        if let Some(board) = plan.boards.iter().find(|board| !driven(board)) {
            return Err(EngineError::NoDriver(board.spec.name.clone()));
        }
        Ok(Self {
            parts,
            plan,
            cancel,
            hurry: CancellationToken::new(),
            found: BTreeSet::new(),
            budget: None,
        })
    }

    /// Begins no round that would not be over by then. The run is left unfinished where the time does not suffice.
    #[must_use]
    pub fn within(mut self, time: Duration) -> Self {
        self.budget = Some(Budget::new(time));
        self
    }

    /// `hurry` ends a cancelled run without waiting for an orderly end of the board: its power is cut.
    #[must_use]
    pub fn hurried_by(mut self, hurry: CancellationToken) -> Self {
        self.hurry = hurry;
        self
    }

    /// Goes on until the plan is finished as far as it can be. Returns the folded log.
    pub async fn run(mut self) -> Result<Run, EngineError> {
        let work = self.parts.work.clone();
        std::fs::create_dir_all(&work).map_err(|source| EngineError::Work { path: work.clone(), source })?;
        self.forget_stored_consoles();
        self.append(Event::Opened { kab: env!("CARGO_PKG_VERSION").to_owned(), pid: std::process::id() })?;
        let result = self.go_on().await;
        // A console that could not be stored stays for the user to read.
        let _ = std::fs::remove_dir(&work);
        result.map(|()| self.parts.log.run().clone())
    }

    /// What the host lacks is found before hours go into builds, and leaves the run to go on once it is mended.
    async fn check_boards(&self) -> Result<(), EngineError> {
        for planned in &self.plan.boards {
            let name = &planned.spec.name;
            let checked = tokio::select! {
                biased;
                () = self.cancel.cancelled() => return Err(EngineError::Cancelled),
                checked = self.parts.boards[name].check() => checked,
            };
            checked
                .map_err(|error| EngineError::Board { board: name.clone(), message: error.to_string() })?;
        }
        Ok(())
    }

    async fn go_on(&mut self) -> Result<(), EngineError> {
        self.check_boards().await?;
        self.compare()?;
        loop {
            match next(&self.plan, self.parts.log.run()) {
                Next::Build(variant) => self.build(&variant).await?,
                Next::CloseInterrupted(visit) => self.close_interrupted(visit)?,
                Next::GiveUp { board, variant, reason } => {
                    self.append(Event::GaveUp { board, variant, reason })?;
                }
                Next::Visit(key) if self.is_out_of_time(&key) => {
                    let left = outstanding_visits(&self.plan, self.parts.log.run());
                    self.parts.observer.progress(Progress::OutOfTime { left });
                    return Ok(());
                }
                Next::Visit(key) => {
                    let started = Instant::now();
                    self.visit(key).await?;
                    if let Some(budget) = &mut self.budget {
                        budget.spent(started.elapsed());
                    }
                }
                Next::Finish => return self.append(Event::Finished),
            }
        }
    }

    fn is_out_of_time(&self, next: &VisitKey) -> bool {
        self.budget.as_ref().is_some_and(|budget| !budget.allows(&self.plan, self.parts.log.run(), next))
    }

    /// Appends an event and shows it to the observer.
    pub(crate) fn append(&mut self, event: Event) -> Result<(), EngineError> {
        let durable = self.parts.log.append(event)?;
        self.parts.observer.event(&durable, self.parts.log.run());
        Ok(())
    }

    pub(crate) fn planned(&self, name: &VariantName) -> PlannedVariant {
        self.plan.variant(name).cloned().expect("the planner names only variants of its plan")
    }

    async fn build(&mut self, variant: &VariantName) -> Result<(), EngineError> {
        match self.make(variant).await? {
            Ok(artifact) => {
                self.built(variant, artifact)?;
                self.compare()
            }
            Err(BuildFailure { fault: BuildFault::Variant, message }) => {
                let (variant, arch) = (variant.clone(), self.plan.boards[0].arch());
                self.append(Event::BuildFailed { variant, arch, error: message })
            }
            Err(failure) => Err(cannot_build(variant, failure)),
        }
    }

    /// Asks the builder, alone on the host.
    async fn make(&self, name: &VariantName) -> Result<Result<Artifact, BuildFailure>, EngineError> {
        let variant = self.planned(name);
        let arch = self.plan.boards[0].arch();
        let _lease = self.lease(&format!("building {}", name.0)).await?;
        let observer = &self.parts.observer;
        let report = |line: String| observer.progress(Progress::Building { variant: name, line });
        let built = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return Err(EngineError::Cancelled),
            built = self.parts.builder.build(&variant, arch, &report) => built,
        };
        // A builder that was cancelled too may be first to say so, and that is no word on the variant.
        if built.is_err() && self.cancel.is_cancelled() {
            return Err(EngineError::Cancelled);
        }
        Ok(built)
    }

    /// Records an artifact. Its configuration travels with the run, whatever becomes of the cache.
    fn built(&mut self, variant: &VariantName, artifact: Artifact) -> Result<(), EngineError> {
        let path = &artifact.config;
        let bytes = std::fs::read(path).map_err(|source| EngineError::Work { path: path.clone(), source })?;
        let config = Some(self.parts.log.put(&bytes)?);
        self.append(Event::Built { variant: variant.clone(), artifact, config })
    }

    /// Records what tells kernels from the baseline's, for those that are there and were not compared yet.
    fn compare(&mut self) -> Result<(), EngineError> {
        let run = self.parts.log.run();
        let there = |name| run.artifact(name).filter(|artifact| artifact.config.exists());
        let Some(baseline) = there(&self.plan.baseline) else { return Ok(()) };
        let names = self.plan.variants.iter().map(|variant| &variant.name);
        let new = names.filter(|name| **name != self.plan.baseline && !run.differences.contains_key(name));
        let compared = new.filter_map(|name| {
            let difference = self.parts.builder.difference(baseline, there(name)?);
            Some(Event::Compared { variant: name.clone(), difference: Box::new(difference) })
        });
        let events: Vec<Event> = compared.collect();
        events.into_iter().try_for_each(|event| self.append(event))
    }

    /// Builds an image again that was removed from the cache since it was logged. Looked at once for each variant.
    async fn require_image(&mut self, name: &VariantName) -> Result<(), EngineError> {
        if self.found.contains(name) {
            return Ok(());
        }
        let logged =
            self.parts.log.run().artifact(name).cloned().expect("the planner visits only what is built");
        let gone = |path: &PathBuf| !path.exists();
        if gone(&logged.image) || logged.modules.as_ref().is_some_and(gone) {
            // It could be built before, so that this is not the variant's fault, whatever the builder says.
            let artifact = self.make(name).await?.map_err(|failure| cannot_build(name, failure))?;
            if (&artifact.build_id, &artifact.image_digest) != (&logged.build_id, &logged.image_digest)
                && (artifact.build_id.is_none() || artifact.build_id != logged.build_id)
            {
                let name_of = |artifact: Artifact| artifact.build_id.unwrap_or(artifact.image_digest);
                let (expected, found) = (name_of(logged), name_of(artifact));
                return Err(EngineError::OtherKernel { variant: name.clone(), expected, found });
            }
            self.built(name, artifact)?;
        }
        self.found.insert(name.clone());
        Ok(())
    }

    fn close_interrupted(&mut self, visit: VisitKey) -> Result<(), EngineError> {
        self.close(visit, Stay::Interrupted)
    }

    async fn visit(&mut self, key: VisitKey) -> Result<(), EngineError> {
        self.require_image(&key.variant).await?;
        let _lease = self.lease(&format!("measuring on {}", key.board)).await?;
        let unbootable = match self.prepare(&key).await? {
            Ok(()) => None,
            Err(error @ BootError::Kernel { .. }) => Some(visit::not_booted(error)),
            Err(BootError::Lab { cause }) => {
                let reason = Reason { rule: "board".to_owned(), detail: cause };
                return self.append(Event::GaveUp { board: key.board, variant: None, reason });
            }
        };
        self.append(Event::VisitStarted { visit: key.clone() })?;
        if let Some(stay) = unbootable {
            return self.close(key, stay);
        }
        let stay = visit::stay(self, &key).await?;
        let interrupted = matches!(stay, Stay::Interrupted);
        self.close(key, stay)?;
        if interrupted { Err(EngineError::Cancelled) } else { Ok(()) }
    }

    /// Ends a visit in the log, with its console.
    fn close(&mut self, visit: VisitKey, stay: Stay) -> Result<(), EngineError> {
        let path = self.console_path(&visit);
        let console = self.keep_console(&path)?;
        self.append(match stay {
            Stay::Complete => Event::VisitEnded { visit, console },
            Stay::Failed(class, reason) => Event::VisitFailed { visit, class, reason, console },
            Stay::Void(reason) => Event::VisitVoided { visit, reason, console },
            Stay::Interrupted => {
                let detail = "kab ended during this visit".to_owned();
                let reason = Reason { rule: INTERRUPTED.to_owned(), detail };
                Event::VisitVoided { visit, reason, console }
            }
        })?;
        forget(&path)
    }

    /// Finds what must stay the same through the run, once for each board.
    async fn prepare(&mut self, key: &VisitKey) -> Result<Result<(), BootError>, EngineError> {
        if self.prepared(&key.board).is_some() {
            return Ok(Ok(()));
        }
        self.parts.observer.progress(Progress::Preparing { board: &key.board });
        let board = &self.parts.boards[&key.board];
        let image = self
            .parts
            .log
            .run()
            .artifact(&key.variant)
            .map(|artifact| artifact.image.clone())
            .unwrap_or_default();
        let prepared = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return Err(EngineError::Cancelled),
            prepared = board.prepare(&image) => prepared,
        };
        match prepared {
            Ok(prepared) => {
                let (accel, emulator, reason) = (prepared.accel, prepared.emulator, prepared.reason);
                self.append(Event::Accelerated { board: key.board.clone(), accel, emulator, reason })?;
                Ok(Ok(()))
            }
            Err(error) => Ok(Err(error)),
        }
    }

    /// Accelerator and emulator that the run was begun with on a board.
    pub(crate) fn prepared(&self, board: &BoardName) -> Option<(Accel, &str)> {
        let (accel, emulator, _) = self.parts.log.run().boards.get(board)?.accel.as_ref()?;
        Some((*accel, emulator))
    }

    pub(crate) fn console_path(&self, key: &VisitKey) -> PathBuf {
        // Board names are checked to be plain words by the parser, so this stays inside the folder.
        self.parts.work.join(format!("console-{}-{}.log", key.board, key.visit))
    }

    /// Puts a console into the store. Its file stays until an event names the blob.
    fn keep_console(&self, path: &Path) -> Result<Option<BlobId>, EngineError> {
        let Some(bytes) = read_console(path)? else { return Ok(None) };
        Ok(Some(self.parts.log.put(&bytes)?))
    }

    /// Removes what a kab that was killed between these two steps left behind.
    fn forget_stored_consoles(&self) {
        for visit in self.parts.log.run().visits().filter(|visit| visit.state != VisitState::Open) {
            // What cannot be removed is only in the way.
            let _ = forget(&self.console_path(&visit.key));
        }
    }

    async fn lease(&self, purpose: &str) -> Result<HostLease, EngineError> {
        let observer = &self.parts.observer;
        let waiting = |owner: &str| observer.progress(Progress::Waiting { owner: owner.to_owned() });
        let purpose = format!("run {}, {purpose}", self.parts.log.reader().header().id);
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(EngineError::Cancelled),
            lease = HostLease::acquire(&self.parts.host_lease, &purpose, waiting) => Ok(lease?),
        }
    }
}

fn cannot_build(variant: &VariantName, failure: BuildFailure) -> EngineError {
    EngineError::Build { variant: variant.clone(), message: failure.message }
}

/// Most of a console that is kept, bytes: a kernel that prints without end must not fill the disk.
const MAX_CONSOLE: usize = 16 << 20;

fn read_console(path: &Path) -> Result<Option<Vec<u8>>, EngineError> {
    match std::fs::read(path) {
        Ok(mut bytes) => {
            bytes.truncate(MAX_CONSOLE);
            Ok(Some(bytes))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(EngineError::Work { path: path.to_owned(), source }),
    }
}

fn forget(path: &Path) -> Result<(), EngineError> {
    match std::fs::remove_file(path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(EngineError::Work { path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}
