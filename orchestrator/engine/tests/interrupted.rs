//! Interruptions at every event, and resuming from every beginning of a log.
#![allow(clippy::unwrap_used)]

mod support;

use kab_engine::{EngineError, judge_again};
use kab_model::{Event, Plan, Run, VisitState};
use kab_store::RunLog;
use kab_wire::ErrorCode;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;
use support::board::Fate;
use support::peer::TrialFate;
use support::plan::plan;
use support::{Bench, cut, every_place_is_settled, files, kinds};
use tokio::time::Instant;

/// Four places, one trial each.
fn short() -> Plan {
    Plan { trials: 1, warmup: 0, ..plan(2) }
}

/// All kinds of trouble; then all goes well.
fn fates() -> Vec<Fate> {
    vec![
        Fate::Trials(vec![TrialFate::Killed, TrialFate::AgentLost]),
        Fate::NoBoot,
        Fate::Trials(vec![TrialFate::Panic]),
        Fate::LabFault,
    ]
}

#[tokio::test(start_paused = true)]
async fn an_interruption_at_any_event_closes_the_visit_and_the_run_goes_on() {
    let mut whole = Bench::new(short(), fates());
    whole.engine().await.unwrap();
    let events = whole.watcher.events().len();
    for after in 1..=events {
        let mut bench = Bench::new(short(), fates());
        bench.watcher.interrupt_after(after);
        let ended = bench.engine().await;
        if after >= events - 2 {
            // There was nothing left to do but to shut down and say so.
            assert!(ended.unwrap().finished);
            continue;
        }
        let cancelled = matches!(ended, Err(EngineError::Cancelled));
        assert!(cancelled, "after event {after}: {:?}", kinds(&bench.watcher.events()));
        let run = bench.reader().run().unwrap();
        assert!(run.visits().all(|visit| visit.state != VisitState::Open), "after event {after}");
        assert!(!run.finished && bench.given_up().is_empty());
        assert!(files(&bench.work()).is_empty(), "after event {after}");
        bench.again();
        every_place_is_settled(&short(), &bench.engine().await.unwrap());
        let interrupted = bench.visits().iter().filter(|visit| visit.contains("void: interrupted")).count();
        assert!(interrupted <= 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_running_trial_is_dropped_with_its_board() {
    let mut bench = Bench::new(plan(1), [Fate::Trials(vec![TrialFate::Silence])]);
    // Opened, two builds, the accelerator, the visit, its proof, the trial.
    bench.watcher.interrupt_after(7);
    let before = Instant::now();
    assert!(matches!(bench.engine().await, Err(EngineError::Cancelled)));
    assert!(before.elapsed().as_secs() < 20, "it waited for the silent agent");
    assert_eq!(bench.world.shut_down(), 1, "the machine was switched off in order");
    assert_eq!(bench.visits(), ["one void: interrupted: kab ended during this visit"]);
    let run = bench.reader().run().unwrap();
    assert!(run.visits().next().unwrap().console.is_some(), "its console is kept");
}

#[tokio::test(start_paused = true)]
async fn a_user_in_a_hurry_does_not_wait_for_the_board() {
    let patient = |hurry: bool| async move {
        let mut bench = Bench::new(plan(1), [Fate::NoEnd]);
        bench.watcher.interrupt_after(7);
        if hurry {
            bench.hurry.cancel();
        }
        let before = Instant::now();
        assert!(matches!(bench.engine().await, Err(EngineError::Cancelled)));
        assert_eq!(bench.world.shut_down(), 0);
        assert_eq!(bench.visits(), ["one void: interrupted: kab ended during this visit"]);
        before.elapsed()
    };
    assert!(patient(false).await >= Duration::from_secs(60));
    assert!(patient(true).await < Duration::from_secs(20), "there is a pause before the trial");
}

#[tokio::test(start_paused = true)]
async fn a_time_budget_ends_between_rounds_and_the_run_goes_on() {
    let rounds = |run: &Run| {
        let mut ended: BTreeMap<u32, usize> = BTreeMap::new();
        for visit in run.visits().filter(|visit| visit.state == VisitState::Ended) {
            *ended.entry(visit.key.round).or_default() += 1;
        }
        ended.into_values().collect::<Vec<usize>>()
    };
    let long = || Plan { cooldown_ms: 60_000, ..plan(4) };
    let mut whole = Bench::new(long(), []);
    let before = Instant::now();
    whole.engine().await.unwrap();
    let round = before.elapsed() / 4;
    assert!(round > Duration::from_secs(10), "visits take time here: {round:?}");

    let mut bench = Bench::new(long(), []);
    bench.time = Some(round * 5 / 2);
    let run = bench.engine().await.unwrap();
    assert!(!run.finished);
    assert_eq!(rounds(&run), [2, 2], "two whole rounds fit");
    assert_eq!(bench.watcher.progress().last().unwrap(), "out of time, 4 left");

    // Too short for a round at the plan's own pace: nothing begins.
    bench.again();
    bench.time = Some(Duration::from_secs(1));
    assert_eq!(rounds(&bench.engine().await.unwrap()), [2, 2]);

    // A round that was interrupted is finished whatever the time, since half a round is of no use.
    bench.again();
    bench.time = None;
    let visit_ended = 3 + usize::try_from(long().trials_per_visit()).unwrap() * 2 + 1;
    bench.watcher.interrupt_after(visit_ended);
    assert!(matches!(bench.engine().await, Err(EngineError::Cancelled)));
    assert_eq!(rounds(&bench.reader().run().unwrap()), [2, 2, 1]);
    bench.again();
    bench.time = Some(Duration::from_secs(1));
    assert_eq!(rounds(&bench.engine().await.unwrap()), [2, 2, 2]);

    bench.again();
    bench.time = Some(Duration::from_secs(3600));
    every_place_is_settled(&long(), &bench.engine().await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_builder_that_was_cancelled_has_not_failed() {
    let mut bench = Bench::new(plan(1), []);
    bench.world.interrupted_while_building(bench.cancel.clone());
    assert!(matches!(bench.engine().await, Err(EngineError::Cancelled)));
    assert!(bench.reader().run().unwrap().builds.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_host_that_cannot_build_leaves_the_run_unfinished() {
    let mut bench = Bench::new(plan(1), []);
    bench.world.host_cannot_build(true);
    let error = bench.engine().await.unwrap_err();
    assert_eq!(error.to_string(), "cannot build variant \"one\" on this host: there is no gcc");
    let run = bench.reader().run().unwrap();
    assert!(run.builds.is_empty() && !run.finished);
    bench.world.host_cannot_build(false);
    bench.again();
    every_place_is_settled(&plan(1), &bench.engine().await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn an_image_that_was_removed_is_built_again() {
    for drift in [false, true] {
        let mut bench = Bench::new(plan(1), []);
        // Opened, two builds.
        bench.watcher.interrupt_after(3);
        assert!(matches!(bench.engine().await, Err(EngineError::Cancelled)));
        std::fs::remove_dir_all(bench.world.cache()).unwrap();
        bench.again();
        if drift {
            bench.world.builds_drift();
            let error = bench.engine().await.unwrap_err();
            assert!(
                matches!(&error, EngineError::OtherKernel { expected, found, .. }
                    if expected == "id-one" && found == "id-one-other"),
                "{error:?}"
            );
            assert!(!bench.reader().run().unwrap().finished);
            continue;
        }
        every_place_is_settled(&plan(1), &bench.engine().await.unwrap());
        let events = kinds(&bench.watcher.events());
        assert_eq!(events[..2], ["opened", "built one"]);
        assert_eq!(events.iter().filter(|event| event.starts_with("built")).count(), 2);
        let stored = bench.watcher.events().into_iter().find_map(|event| match event {
            Event::Built { config, .. } => config,
            _ => None,
        });
        assert_eq!(bench.reader().blob(&stored.unwrap()).unwrap(), b"CONFIG_A=y\n");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_resumes_from_every_beginning_of_its_log() {
    let mut whole = Bench::new(short(), fates());
    whole.engine().await.unwrap();
    let events: Vec<Event> =
        whole.reader().events().unwrap().into_iter().map(|logged| logged.event).collect();
    let log = std::fs::read(whole.run.join("events.jsonl")).unwrap();
    for kept in 1..=events.len() {
        // The world has gone on: the boots that the log tells of are over.
        let boots = events[..kept].iter().filter(|event| matches!(event, Event::VisitStarted { .. })).count();
        let mut bench = Bench::new(short(), fates().into_iter().skip(boots));
        std::fs::write(bench.run.join("events.jsonl"), &log).unwrap();
        for blob in files(&whole.run.join("blobs")) {
            std::fs::copy(whole.run.join("blobs").join(&blob), bench.run.join("blobs").join(&blob)).unwrap();
        }
        cut(&bench.run, kept);
        bench.world.skip_boots(boots);
        let run = bench.engine().await.unwrap();
        every_place_is_settled(&short(), &run);
        let after: Vec<Event> =
            bench.reader().events().unwrap().into_iter().map(|logged| logged.event).collect();
        assert_eq!(after[..kept], events[..kept], "the log is append only");
        let reason = "void: interrupted: kab ended during this visit";
        let interrupted = bench.visits().iter().filter(|visit| visit.ends_with(reason)).count();
        let open = Run::from_events(&events[..kept]).visits().any(|v| v.state == VisitState::Open);
        assert_eq!(interrupted, usize::from(open), "after {kept} events: {:?}", kinds(&after));
    }
}

#[tokio::test(start_paused = true)]
async fn the_console_of_a_killed_kab_is_found() {
    let mut bench = Bench::new(plan(1), []);
    bench.engine().await.unwrap();
    // Killed within the second visit, and between the two last steps of the first.
    let visit_started =
        kinds(&bench.watcher.events()).iter().rposition(|event| event.starts_with("visit 1")).unwrap();
    cut(&bench.run, visit_started + 2);
    std::fs::create_dir_all(bench.work()).unwrap();
    std::fs::write(bench.work().join("console-b-0.log"), "stored already").unwrap();
    std::fs::write(bench.work().join("console-b-1.log"), "last words").unwrap();
    bench.again();
    let run = bench.engine().await.unwrap();
    let void = run.visits().nth(1).unwrap();
    assert!(matches!(void.state, VisitState::Void(_)));
    assert_eq!(bench.reader().blob(void.console.as_ref().unwrap()).unwrap(), b"last words");
    assert!(files(&bench.work()).is_empty());
}

fn fate() -> impl Strategy<Value = Fate> {
    let trial = prop::sample::select(vec![
        TrialFate::Well,
        TrialFate::Well,
        TrialFate::Noted,
        TrialFate::Hang,
        TrialFate::Killed,
        TrialFate::Panic,
        TrialFate::AgentLost,
        TrialFate::LinkLost,
        TrialFate::MachineKilled,
        TrialFate::CutEvidence,
        TrialFate::Silence,
    ]);
    prop_oneof![
        6 => prop::collection::vec(trial, 0..5).prop_map(Fate::Trials),
        1 => prop::sample::select(vec![
            Fate::NoBoot, Fate::LabFault, Fate::NoShell, Fate::OtherKernel, Fate::NoStamp, Fate::NoFio,
            Fate::NoTarget(ErrorCode::TargetMissing), Fate::NoTarget(ErrorCode::TargetBusy),
        ]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    #[test]
    fn whatever_happens_the_run_ends(
        fates in prop::collection::vec(fate(), 0..12),
        interruptions in prop::collection::vec(1usize..30, 0..4),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mut bench = Bench::new(plan(2), fates);
            for after in interruptions {
                bench.watcher.interrupt_after(after);
                let _ = bench.engine().await;
                bench.again();
            }
            let run = bench.engine().await.unwrap();
            every_place_is_settled(&plan(2), &run);
            let reader = bench.reader();
            for trial in run.visits().flat_map(|visit| &visit.trials) {
                if let Some(record) = &trial.record {
                    let judged = (trial.outcome.clone().unwrap(), trial.sample.clone());
                    assert_eq!(judge_again(record, &reader).unwrap(), judged);
                }
            }
            RunLog::open(&bench.run).unwrap();
        });
    }
}
