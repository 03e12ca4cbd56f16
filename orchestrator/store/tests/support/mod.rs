//! A small plan and a store in a folder of its own.
#![allow(clippy::unwrap_used, dead_code, unreachable_pub)]

use kab_model::{
    Event, Limits, Metric, Order, PinnedKernel, Plan, PlannedKernel, PlannedVariant, Reason, ReportSpec,
    Toolchain, VariantName, VisitKey,
};
use kab_store::{RunLog, Store};
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};

/// A store that is removed with its folder.
pub struct Bench {
    folder: tempfile::TempDir,
    pub store: Store,
}

impl Bench {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().join("runs"));
        Self { folder, store }
    }

    /// A new run of this experiment.
    pub fn create(&self, experiment_digest: &str) -> RunLog {
        self.store.create(plan(experiment_digest), "lab", "0.1.0", &[("lab.yaml", b"boards: {}\n")]).unwrap()
    }

    /// A run that nobody has open, with these events after its plan.
    pub fn written(&self, events: &[Event]) -> PathBuf {
        let mut log = self.create("e");
        for event in events {
            log.append(event.clone()).unwrap();
        }
        log.reader().folder().to_owned()
    }
}

pub fn plan(experiment_digest: &str) -> Plan {
    let variant = PlannedVariant {
        name: VariantName::from("a"),
        stamp: "0123456789ab".into(),
        kernel: PlannedKernel::Built(Box::new(PinnedKernel {
            repo: "https://git.example/linux".into(),
            reference: "v6.15".into(),
            base_commit: "1".repeat(40),
            commit: "1".repeat(40),
            tree: "2".repeat(40),
            describe: None,
            changes: Vec::new(),
            config: Vec::new(),
            toolchain: Toolchain::Gcc,
            overlay: None,
            placebo: false,
        })),
        changed_files: Vec::new(),
        cmdline: None,
        knobs: Vec::new(),
        fio: Vec::new(),
    };
    Plan {
        name: "e".into(),
        title: None,
        experiment_digest: experiment_digest.to_owned(),
        seed: 1,
        baseline: variant.name.clone(),
        variants: vec![variant],
        pairs: Vec::new(),
        order: Order::Random,
        boards: Vec::new(),
        cells: Vec::new(),
        trials: 1,
        warmup: 0,
        cooldown_ms: 0,
        limits: Limits::default(),
        report: ReportSpec { primary: Metric::Iops, metrics: Vec::new(), same_within: Vec::new() },
    }
}

pub fn opened(pid: u32) -> Event {
    Event::Opened { kab: "0.1.0".into(), pid }
}

/// Events with any text in them: line breaks, quotes, zeros.
pub fn event() -> impl Strategy<Value = Event> {
    let visit = || VisitKey { board: "b".into(), round: 0, variant: "a".into(), visit: 0 };
    prop_oneof![
        any::<u32>().prop_map(opened),
        Just(Event::Finished),
        Just(Event::VisitStarted { visit: visit() }),
        any::<String>().prop_map(|error| Event::BuildFailed {
            variant: "a".into(),
            arch: kab_model::Arch::X86_64,
            error
        }),
        (any::<String>(), "[\n\r\"\\\\\0{}a]{0,20}").prop_map(|(rule, detail)| Event::GaveUp {
            board: "b".into(),
            variant: None,
            reason: Reason { rule, detail },
        }),
        any::<String>().prop_map(move |detail| Event::VisitVoided {
            visit: visit(),
            reason: Reason { rule: "lab".into(), detail },
            console: None,
        }),
    ]
}

pub fn events_file(run: &Path) -> PathBuf {
    run.join("events.jsonl")
}

pub fn read(run: &Path) -> Vec<u8> {
    fs::read(events_file(run)).unwrap()
}

pub fn write(run: &Path, bytes: &[u8]) {
    fs::write(events_file(run), bytes).unwrap();
}

/// An error with all its causes.
pub fn told(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
