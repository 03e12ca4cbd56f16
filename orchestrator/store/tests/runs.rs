//! The folder of all runs: new ones, half-made ones, finding them.
#![allow(clippy::unwrap_used)]

mod support;

use kab_model::Event;
use kab_store::{LogError, RunHeader, RunLog, RunReader, Store, StoreError};
use std::fs;
use support::{Bench, opened, plan};

fn id(log: &RunLog) -> String {
    log.reader().header().id.0.clone()
}

/// Changes the header of a run that nobody has open.
fn change(store: &Store, from: &str, change: impl FnOnce(&mut RunHeader)) {
    let path = store.folder().join(from).join("run.json");
    let mut header: RunHeader = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut header);
    fs::write(&path, serde_json::to_vec(&header).unwrap()).unwrap();
}

#[test]
fn a_new_run_has_its_plan_and_its_files() {
    let bench = Bench::new();
    let log = bench.create("e");
    assert_eq!(log.run().plan, Some(plan("e")));
    let reader = RunReader::open(log.reader().folder()).unwrap();
    assert_eq!(reader.events().unwrap()[0].event, Event::Planned { plan: Box::new(plan("e")) });
    assert_eq!(fs::read(reader.folder().join("lab.yaml")).unwrap(), b"boards: {}\n");
    let header = reader.header();
    assert_eq!((&*header.name, &*header.experiment_digest, &*header.lab_digest), ("e", "e", "lab"));
}

#[test]
fn half_made_folders_and_other_things_are_no_runs() {
    let bench = Bench::new();
    assert!(bench.store.list().unwrap().is_empty(), "the folder need not exist");
    let run = id(&bench.create("e"));
    let folder = bench.store.folder();
    let half = folder.join("0123456789ab");
    fs::create_dir_all(half.join("blobs")).unwrap();
    fs::write(folder.join("notes"), "mine").unwrap();
    for (name, bytes) in [("events.jsonl", &b"{"[..]), (".run.json", b"{}")] {
        fs::write(half.join(name), bytes).unwrap();
        let listed = bench.store.list().unwrap();
        assert_eq!(listed.iter().map(|run| &*run.header().id.0).collect::<Vec<_>>(), [&run]);
        assert!(matches!(bench.store.find("0123"), Err(StoreError::Unknown { .. })));
    }
}

#[test]
fn a_run_with_a_damaged_header_is_passed_over_but_not_denied() {
    let bench = Bench::new();
    let run = id(&bench.create("e"));
    fs::write(bench.store.folder().join(&run).join("run.json"), "{}").unwrap();
    assert!(bench.store.list().unwrap().is_empty());
    let error = bench.store.find(&run[..5]).unwrap_err();
    assert!(matches!(error, StoreError::Log(LogError::Header { .. })), "{error:?}");
}

#[test]
fn runs_are_found_by_their_first_digits() {
    let bench = Bench::new();
    assert!(matches!(bench.store.find("last"), Err(StoreError::Unknown { .. })));
    let made: Vec<String> = (0..2).map(|_| id(&bench.create("e"))).collect();
    // Two ids with a common beginning, the second one newer.
    for (run, name, created_ms) in [(&made[0], "abc000000000", 1), (&made[1], "abc111111111", 2)] {
        change(&bench.store, run, |header| {
            header.id.0 = name.to_owned();
            header.created_ms = created_ms;
        });
        fs::rename(bench.store.folder().join(run), bench.store.folder().join(name)).unwrap();
    }
    let found = |wanted: &str| bench.store.find(wanted).map(|run| run.header().id.0.clone());
    assert_eq!(found("abc0").unwrap(), "abc000000000");
    assert_eq!(found("abc111111111").unwrap(), "abc111111111");
    assert_eq!(found("last").unwrap(), "abc111111111");
    let error = found("ab").unwrap_err();
    assert_eq!(error.to_string(), r#""ab" could be any of abc111111111, abc000000000; give more digits"#);
    for wanted in ["", "b", "abc1111111111", "../runs"] {
        assert!(matches!(found(wanted), Err(StoreError::Unknown { .. })), "{wanted:?}");
    }
}

#[test]
fn unfinished_runs_come_newest_first_and_damaged_ones_do_not_hide_them() {
    let bench = Bench::new();
    let unfinished = || bench.store.unfinished("e").unwrap();
    let ids = || unfinished().runs.iter().map(|(run, _)| run.header().id.0.clone()).collect::<Vec<_>>();
    assert_eq!(ids(), Vec::<String>::new());
    let made: Vec<String> = (1..=4)
        .map(|created_ms| {
            let run = id(&bench.create("e"));
            change(&bench.store, &run, |header| header.created_ms = created_ms);
            run
        })
        .collect();
    change(&bench.store, &made[0], |header| header.name = "other".into());
    assert_eq!(ids(), [&made[3], &made[2], &made[1]].map(String::clone));
    // Nobody could go on with it here.
    change(&bench.store, &made[3], |header| header.format += 1);
    let mut log = RunLog::open(&bench.store.folder().join(&made[2])).unwrap();
    for event in [opened(1), Event::Finished] {
        log.append(event).unwrap();
    }
    assert_eq!(ids(), [made[1].clone()]);
    let damaged = id(&bench.create("e"));
    fs::write(bench.store.folder().join(&damaged).join("events.jsonl"), "no event\n").unwrap();
    assert_eq!(ids(), [made[1].clone()]);
    assert_eq!(unfinished().damaged.len(), 1);
}
