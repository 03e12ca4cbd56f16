//! A lab of doubles: boards, agents and builders with scripted fates under a real engine with a real store.
#![allow(clippy::unwrap_used, dead_code, unreachable_pub)]

pub mod board;
pub mod builder;
pub mod observer;
pub mod peer;
pub mod plan;

use board::{Fate, World};
use kab_engine::{Engine, EngineError, Parts};
use kab_link::AgentBinary;
use kab_model::{BoardName, Event, Plan, Run, VisitState};
use kab_store::{RunLog, RunReader, Store};
use observer::Watcher;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A run and the world that it happens in.
pub struct Bench {
    folder: tempfile::TempDir,
    pub world: Arc<World>,
    pub watcher: Watcher,
    pub cancel: CancellationToken,
    pub hurry: CancellationToken,
    /// A time budget.
    pub time: Option<Duration>,
    pub run: PathBuf,
}

impl Bench {
    /// A new run of this plan whose boots have these fates, in their order; all later ones go well.
    pub fn new(plan: Plan, fates: impl IntoIterator<Item = Fate>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().join("runs"));
        let run = store.create(plan, "lab", "0.1.0", &[]).unwrap().reader().folder().to_owned();
        let world = Arc::new(World::new(fates, folder.path().join("host.lock")));
        let cancel = CancellationToken::new();
        let watcher = Watcher::new(run.clone(), cancel.clone());
        Self { folder, world, watcher, cancel, hurry: CancellationToken::new(), time: None, run }
    }

    /// Carries the run out, or on, with boards of the world.
    pub async fn engine(&mut self) -> Result<Run, EngineError> {
        let plan = self.reader().run().unwrap().plan.unwrap();
        let board = |name: &BoardName| (name.clone(), self.world.board(name));
        let boards = plan.boards.iter().map(|planned| board(&planned.spec.name)).collect();
        let ended = self.engine_with(boards).await;
        self.world.nothing_is_left();
        ended
    }

    pub async fn engine_with(
        &mut self,
        boards: BTreeMap<BoardName, Box<dyn kab_board::Board>>,
    ) -> Result<Run, EngineError> {
        let log = RunLog::open(&self.run).unwrap();
        let parts = Parts {
            log,
            boards,
            builder: self.world.builder(),
            agent: AgentBinary::new(b"an agent".to_vec()),
            observer: Box::new(self.watcher.clone()),
            host_lease: self.world.lease.clone(),
            work: self.work(),
        };
        let engine = Engine::new(parts, self.cancel.clone())?.hurried_by(self.hurry.clone());
        let engine = match self.time {
            Some(time) => engine.within(time),
            None => engine,
        };
        engine.run().await
    }

    /// As after an interruption: another process, which nobody has interrupted yet.
    pub fn again(&mut self) {
        self.cancel = CancellationToken::new();
        self.watcher = Watcher::new(self.run.clone(), self.cancel.clone());
    }

    pub fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    pub fn reader(&self) -> RunReader {
        RunReader::open(&self.run).unwrap()
    }

    /// The states of all visits, one line each.
    pub fn visits(&self) -> Vec<String> {
        self.reader().run().unwrap().visits().map(visit).collect()
    }

    /// What was given up and why.
    pub fn given_up(&self) -> Vec<String> {
        let run = self.reader().run().unwrap();
        let all = run.boards.values().flat_map(|board| &board.given_up);
        let whom =
            |whom: &Option<kab_model::VariantName>| whom.as_ref().map_or("board".to_owned(), |v| v.0.clone());
        all.map(|(variant, reason)| format!("{}: {reason}", whom(variant))).collect()
    }
}

fn visit(visit: &kab_model::Visit) -> String {
    let state = match &visit.state {
        VisitState::Open => "open".to_owned(),
        VisitState::Ended => "ended".to_owned(),
        VisitState::Failed(class, reason) => format!("{class:?}: {reason}"),
        VisitState::Void(reason) => format!("void: {reason}"),
    };
    format!("{} {}", visit.key.variant, state)
}

/// Every place of the plan was visited once to an end, or nothing more is tried for it.
pub fn every_place_is_settled(plan: &Plan, run: &Run) {
    assert!(run.finished);
    for board in &plan.boards {
        let state = &run.boards[&board.spec.name];
        let numbers: Vec<u32> = state.visits.iter().map(|visit| visit.key.visit).collect();
        assert_eq!(numbers, (0..).take(numbers.len()).collect::<Vec<u32>>());
        for (round, variants) in (0..).zip(&board.rounds) {
            for variant in variants {
                let of_place =
                    state.visits.iter().filter(|v| v.key.round == round && &v.key.variant == variant);
                let count = of_place
                    .filter(|v| matches!(v.state, VisitState::Ended | VisitState::Failed(..)))
                    .count();
                let left = run.artifact(variant).is_none()
                    || state
                        .given_up
                        .iter()
                        .any(|(whom, _)| whom.as_ref().is_none_or(|whom| whom == variant));
                assert!(count == 1 || (count == 0 && left), "{count} visits of {variant} in round {round}");
            }
        }
        for visit in state.visits.iter().filter(|visit| visit.state == VisitState::Ended) {
            let counted =
                visit.trials.iter().filter(|t| t.outcome.as_ref().is_some_and(|o| o.word() != "void"));
            assert_eq!(counted.count(), plan.trials_per_visit() as usize);
        }
    }
}

/// Copies a run with only the first events of its log.
pub fn cut(run: &Path, events: usize) {
    let path = run.join("events.jsonl");
    let bytes = std::fs::read(&path).unwrap();
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    std::fs::write(path, lines[..events].concat()).unwrap();
}

/// The kinds of events, without their contents.
pub fn kinds(events: &[Event]) -> Vec<String> {
    events.iter().map(observer::short).collect()
}

/// Names of files in a folder; none where there is no folder.
pub fn files(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
}
