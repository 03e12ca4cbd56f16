//! An observer that believes nothing: whatever it is shown must be on disk.

use kab_engine::{Observer, Progress};
use kab_model::{BlobId, Event, Logged, Run};
use kab_store::{Durable, RunReader};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tokio_util::sync::CancellationToken;

#[derive(Clone)]
pub struct Watcher {
    run: PathBuf,
    cancel: CancellationToken,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    events: Vec<Event>,
    progress: Vec<String>,
    /// The event after which the user interrupts.
    last: Option<usize>,
    waiting: Option<tokio::sync::oneshot::Sender<String>>,
}

impl Watcher {
    pub fn new(run: PathBuf, cancel: CancellationToken) -> Self {
        Self { run, cancel, seen: Arc::default() }
    }

    /// Interrupts as soon as that many events were seen.
    pub fn interrupt_after(&self, events: usize) {
        self.seen.lock().unwrap().last = Some(events);
    }

    /// Is told when the engine waits for another kab.
    pub fn on_waiting(&self) -> tokio::sync::oneshot::Receiver<String> {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        self.seen.lock().unwrap().waiting = Some(sender);
        receiver
    }

    pub fn events(&self) -> Vec<Event> {
        self.seen.lock().unwrap().events.clone()
    }

    pub fn progress(&self) -> Vec<String> {
        self.seen.lock().unwrap().progress.clone()
    }
}

impl Observer for Watcher {
    fn event(&self, event: &Durable<Logged>, run: &Run) {
        let reader = RunReader::open(&self.run).unwrap();
        let stored = reader.events().unwrap();
        assert_eq!(stored.last(), Some(&**event), "an event was shown that is not stored");
        assert_eq!(&Run::from_events(stored.iter().map(|logged| &logged.event)), run);
        for blob in blobs(&event.event) {
            reader.blob(blob).unwrap();
        }
        let mut seen = self.seen.lock().unwrap();
        seen.events.push(event.event.clone());
        if seen.last == Some(seen.events.len()) {
            self.cancel.cancel();
        }
    }

    fn progress(&self, progress: Progress<'_>) {
        let mut seen = self.seen.lock().unwrap();
        if let Progress::Waiting { owner } = &progress
            && let Some(waiting) = seen.waiting.take()
        {
            let _ = waiting.send(owner.clone());
        }
        seen.progress.push(match progress {
            Progress::Building { variant, line } => format!("{variant}: {line}"),
            Progress::Preparing { board } => format!("preparing {board}"),
            Progress::Waiting { owner } => format!("waiting for {owner}"),
            Progress::Booting { visit } => format!("booting {visit}"),
            Progress::OutOfTime { left } => format!("out of time, {left} left"),
            Progress::Running { trial, elapsed_ms, planned_ms } => {
                format!("running {trial}, {elapsed_ms} of {planned_ms:?}")
            }
        });
    }
}

fn blobs(event: &Event) -> Vec<&BlobId> {
    match event {
        Event::TrialEnded { record, .. } => {
            vec![&record.output, &record.stdout, &record.stderr, &record.kernel_log]
        }
        Event::Built { config, .. } => config.iter().collect(),
        Event::VisitEnded { console, .. }
        | Event::VisitFailed { console, .. }
        | Event::VisitVoided { console, .. } => console.iter().collect(),
        _ => Vec::new(),
    }
}

/// An event in a few words.
pub fn short(event: &Event) -> String {
    match event {
        Event::Planned { .. } => "planned".into(),
        Event::Imported { .. } => "imported".into(),
        Event::Opened { .. } => "opened".into(),
        Event::Accelerated { board, accel, .. } => format!("accelerated {board} {accel:?}"),
        Event::Built { variant, .. } => format!("built {variant}"),
        Event::Compared { variant, difference } => {
            let symbols: Vec<String> = difference.symbols.iter().map(ToString::to_string).collect();
            format!("compared {variant}: {}", symbols.join(", "))
        }
        Event::BuildFailed { variant, error, .. } => format!("build failed {variant}: {error}"),
        Event::VisitStarted { visit } => format!("visit {} of {visit}", visit.visit),
        Event::BootProved { proof, .. } => format!("proved {}", proof.stamp),
        Event::TrialStarted { trial } => {
            format!("trial {} warmup={} {}.{}", trial.cell, trial.warmup, trial.index, trial.attempt)
        }
        Event::TrialEnded { outcome, sample, .. } => {
            format!("{} {}", outcome.word(), if sample.is_some() { "counts" } else { "has no number" })
        }
        Event::VisitEnded { .. } => "visit ended".into(),
        Event::VisitFailed { class, reason, .. } => format!("visit failed {class:?} {}", reason.rule),
        Event::VisitVoided { reason, .. } => format!("visit void {}", reason.rule),
        Event::GaveUp { board, variant, reason } => format!("gave up {board} {variant:?} {}", reason.rule),
        Event::Finished => "finished".into(),
    }
}
