//! The real agent, pushed through the real bootstrap command into this machine's shell.
#![allow(clippy::unwrap_used)]

mod support;

use kab_engine::{Engine, Parts};
use kab_link::AgentBinary;
use kab_store::RunLog;
use std::path::{Path, PathBuf};
use support::Bench;
use support::board::ThisMachine;
use support::plan::plan;

fn agent() -> AgentBinary {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/agents");
    let folder = std::env::var_os("KAB_AGENTS").map_or(built, PathBuf::from);
    let path = folder.join("kab-agent-x86_64");
    match std::fs::read(&path) {
        Ok(bytes) => AgentBinary::new(bytes),
        Err(error) => panic!("cannot read {}: {error}; `make agent` builds it", path.display()),
    }
}

/// This machine was not booted by kab, so its command line has no stamp: nothing may be measured on it.
#[tokio::test]
async fn a_machine_that_runs_something_else_is_not_measured() {
    let bench = Bench::new(plan(1), []);
    let parts = Parts {
        log: RunLog::open(&bench.run).unwrap(),
        boards: [("b".into(), Box::new(ThisMachine) as Box<dyn kab_board::Board>)].into(),
        builder: bench.world.builder(),
        agent: agent(),
        observer: Box::new(bench.watcher.clone()),
        host_lease: bench.world.lease.clone(),
        work: bench.work(),
    };
    let run = Engine::new(parts, bench.cancel.clone()).unwrap().run().await.unwrap();
    assert!(run.finished);
    let caught = |name| {
        format!("{name} void: wrong-kernel: the command line has no stamp; kab=stamp-{name} was meant")
    };
    assert_eq!(bench.visits(), [["one"; 3].map(caught), ["two"; 3].map(caught)].concat());
    assert_eq!(bench.given_up().len(), 2);
}
