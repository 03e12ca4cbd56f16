//! Whole runs on scripted boards: what happens becomes exactly these events.
#![allow(clippy::unwrap_used)]

mod support;

use kab_board::{BootError, HostLease};
use kab_engine::{EngineError, judge_again};
use kab_model::{BlobId, Event, Outcome};
use kab_wire::ErrorCode;
use support::board::Fate;
use support::peer::TrialFate;
use support::plan::{board, cell, plan};
use support::{Bench, every_place_is_settled, files, kinds};

fn trials<const N: usize>(fates: [TrialFate; N]) -> Fate {
    Fate::Trials(fates.into())
}

#[tokio::test(start_paused = true)]
async fn a_run_without_trouble() {
    let mut bench = Bench::new(plan(1), []);
    let run = bench.engine().await.unwrap();
    let visit = |number: u32, name: &str, stamp: &str| {
        [
            &format!("visit {number} of b round 1 {name:?}"),
            &format!("proved {stamp}"),
            "trial w/randread warmup=true 0.0",
            "ok counts",
            "trial w/randread warmup=false 0.0",
            "ok counts",
            "trial w/randread warmup=false 1.0",
            "ok counts",
            "visit ended",
        ]
        .map(str::to_owned)
    };
    let expected = [
        &[
            "opened",
            "built one",
            "built two",
            "compared two: CONFIG_KEY key-one -> key-two",
            "accelerated b Tcg",
        ]
        .map(str::to_owned)[..],
        &visit(0, "one", "stamp-one"),
        &visit(1, "two", "stamp-two"),
        &["finished".to_owned()],
    ];
    assert_eq!(kinds(&bench.watcher.events()), expected.concat());
    every_place_is_settled(&plan(1), &run);
    let cmdlines: Vec<String> = bench.world.boots().into_iter().map(|boot| boot.cmdline).collect();
    assert_eq!(cmdlines, ["kab=stamp-one", "mitigations=off kab=stamp-two"]);
    assert!(
        bench.world.boots().iter().all(|boot| boot.emulator == "double 1"),
        "what was prepared is booted"
    );
    assert_eq!(bench.world.shut_down(), 2);
    assert_eq!(files(&bench.work()), files(&bench.run.join("nothing")), "work files are left");
    let progress = bench.watcher.progress();
    for wanted in ["one: building one", "preparing b", "booting b round 1 \"two\""] {
        assert!(progress.iter().any(|line| line == wanted), "{wanted:?} in {progress:?}");
    }
    let running = progress.iter().filter(|line| line.ends_with(", 1000 of Some(2000)")).count();
    assert_eq!(running, 6, "{progress:?}");
}

#[tokio::test(start_paused = true)]
async fn evidence_and_consoles_are_kept_and_judged_again_alike() {
    let mut bench = Bench::new(plan(1), [trials([TrialFate::Noted, TrialFate::Killed, TrialFate::Hang])]);
    let run = bench.engine().await.unwrap();
    let reader = bench.reader();
    let mut words = Vec::new();
    for trial in run.visits().flat_map(|visit| &visit.trials) {
        let again = judge_again(trial.record.as_ref().unwrap(), &reader).unwrap();
        assert_eq!(again, (trial.outcome.clone().unwrap(), trial.sample.clone()));
        words.push(again.0.word());
    }
    assert_eq!(words, ["noted", "void", "failed", "ok", "ok", "ok", "ok"]);
    let console =
        |id: &Option<BlobId>| String::from_utf8(reader.blob(id.as_ref().unwrap()).unwrap()).unwrap();
    let consoles: Vec<String> = run.visits().map(|visit| console(&visit.console)).collect();
    assert_eq!(consoles, ["console of boot 1\n", "console of boot 2\n"]);
}

#[tokio::test(start_paused = true)]
async fn a_void_trial_is_repeated_and_a_failed_one_is_not() {
    let fates =
        trials([TrialFate::Well, TrialFate::Killed, TrialFate::Killed, TrialFate::Well, TrialFate::Hang]);
    let mut bench = Bench::new(plan(1), [fates]);
    bench.engine().await.unwrap();
    let events = kinds(&bench.watcher.events());
    let first: Vec<&str> =
        events.iter().skip_while(|event| !event.starts_with("proved")).map(|e| &**e).collect();
    assert_eq!(
        first[1..12],
        [
            "trial w/randread warmup=true 0.0",
            "ok counts",
            "trial w/randread warmup=false 0.0",
            "void has no number",
            "trial w/randread warmup=false 0.1",
            "void has no number",
            "trial w/randread warmup=false 0.2",
            "ok counts",
            "trial w/randread warmup=false 1.0",
            "failed has no number",
            "visit ended",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_trial_that_is_always_void_makes_the_visit_void() {
    let mut bench = Bench::new(plan(1), [trials([TrialFate::Killed, TrialFate::Killed, TrialFate::Killed])]);
    bench.engine().await.unwrap();
    let visits = bench.visits();
    assert!(
        visits[0].starts_with("one void: void-trials: w/randread was void 3 times, last: fio-killed"),
        "{visits:?}"
    );
    assert_eq!(visits[1..], ["one ended", "two ended"]);
}

#[tokio::test(start_paused = true)]
async fn a_cell_that_is_always_void_is_left_and_the_others_are_measured() {
    use TrialFate::{Killed, Well};
    let mut plan = plan(2);
    plan.cells.push(cell("randwrite"));
    let refused = || trials([Well, Well, Well, Killed, Killed, Killed]);
    let mut bench = Bench::new(plan, [refused(), refused()]);
    let run = bench.engine().await.unwrap();
    assert_eq!(bench.visits(), ["one ended", "two ended", "one ended", "two ended"]);
    assert_eq!(run.visits().map(|visit| visit.trials.len()).collect::<Vec<_>>(), [6, 6, 3, 3]);
    assert!(run.visits().all(|visit| visit.counted().count() == 2));
}

#[tokio::test(start_paused = true)]
async fn a_panic_under_load_is_a_result() {
    let mut bench = Bench::new(plan(1), [trials([TrialFate::Well, TrialFate::Panic])]);
    let run = bench.engine().await.unwrap();
    let visits = bench.visits();
    assert!(visits[0].starts_with("one Crash: crash: the agent's channel closed"), "{visits:?}");
    assert!(visits[0].ends_with("; Kernel panic; last console lines:\na patch"), "{visits:?}");
    assert_eq!(visits[1..], ["two ended"]);
    let last = run.visits().next().unwrap().trials.last().unwrap();
    assert_eq!((&last.outcome, &last.record), (&None, &None), "the trial has no end");
}

#[tokio::test(start_paused = true)]
async fn a_kernel_that_stops_answering_is_a_result() {
    let mut bench = Bench::new(plan(1), [trials([TrialFate::Silence])]);
    bench.engine().await.unwrap();
    let expected =
        "one Crash: hang: no sign of life during the trial within 60 s; last console lines:\nthe last line";
    assert_eq!(bench.visits(), [expected, "two ended"]);
    for fate in [TrialFate::LinkLost, TrialFate::CutOff] {
        let mut bench = Bench::new(plan(1), [trials([TrialFate::Well, fate])]);
        bench.engine().await.unwrap();
        let expected = "one Crash: hang: the agent's channel closed; last console lines:\nthe last line";
        assert_eq!(bench.visits(), [expected, "two ended"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_the_kernel_does_not_bring_up_is_a_result() {
    for (code, how) in [
        (ErrorCode::TargetMissing, "did not appear: refused: TargetMissing"),
        (ErrorCode::TargetMismatch, "appeared as something else: refused: TargetMismatch"),
    ] {
        let mut bench = Bench::new(plan(1), [Fate::NoTarget(code)]);
        bench.engine().await.unwrap();
        assert_eq!(bench.visits(), [format!("one Boot: target: disk \"disk\" {how}"), "two ended".into()]);
        // That it was there before makes it no boot that failed.
        let mut bench = Bench::new(plan(1), [trials([TrialFate::Well, TrialFate::Refused(code)])]);
        bench.engine().await.unwrap();
        assert_eq!(bench.visits(), [format!("one Crash: target: disk \"disk\" {how}"), "two ended".into()]);
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_lab_does_is_void_and_replaced() {
    let closed = "the agent's channel closed";
    for (fate, rule) in [
        (Fate::LabFault, "lab: no emulator".to_owned()),
        (Fate::NoShell, "agent: cannot bring the agent onto the board: no channel".to_owned()),
        (
            Fate::OtherKernel,
            "wrong-kernel: the running kernel has build-id id-other; id-one was meant".to_owned(),
        ),
        (Fate::NoStamp, "wrong-kernel: the command line has no stamp; kab=stamp-one was meant".to_owned()),
        (Fate::NoFio, "fio-missing: there is no fio on board b: install it there".to_owned()),
        (Fate::NoTarget(ErrorCode::TargetAmbiguous), "target: refused: TargetAmbiguous".to_owned()),
        (trials([TrialFate::AgentLost]), format!("agent-lost: {closed}")),
        (trials([TrialFate::MachineKilled]), format!("machine: {closed}; somebody killed the emulator")),
        (trials([TrialFate::Well, TrialFate::CutEvidence]), format!("agent-lost: {closed}")),
        (trials([TrialFate::Refused(ErrorCode::TargetBusy)]), "target: refused: TargetBusy".to_owned()),
        (trials([TrialFate::Refused(ErrorCode::Board)]), "agent: refused: Board".to_owned()),
    ] {
        let mut bench = Bench::new(plan(1), [fate.clone()]);
        let run = bench.engine().await.unwrap();
        assert_eq!(
            bench.visits(),
            [format!("one void: {rule}"), "one ended".into(), "two ended".into()],
            "{fate:?}"
        );
        assert!(run.visits().all(|visit| visit.console.is_some()), "{fate:?}");
        every_place_is_settled(&plan(1), &run);
    }
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_did_not_boot_again_is_caught() {
    let mut bench = Bench::new(plan(1), [Fate::Well, Fate::OldBoot]);
    bench.engine().await.unwrap();
    let caught = "two void: wrong-kernel: the machine did not boot again: boot id boot-1 was seen before";
    assert_eq!(bench.visits(), ["one ended", caught, "two ended"]);
}

#[tokio::test(start_paused = true)]
async fn a_variant_that_does_not_boot_is_given_up_and_the_other_goes_on() {
    let mut bench = Bench::new(plan(3), [Fate::NoBoot, Fate::Well, Fate::NoBoot]);
    let run = bench.engine().await.unwrap();
    let panicked = "one Boot: boot: it panicked\nKernel panic";
    assert_eq!(bench.visits(), [panicked, "two ended", panicked, "two ended", "two ended"]);
    assert_eq!(bench.given_up(), ["one: failed-boots: 2 boots in a row failed"]);
    every_place_is_settled(&plan(3), &run);
}

#[tokio::test(start_paused = true)]
async fn a_board_that_does_not_work_is_given_up_variant_by_variant() {
    let mut plan = plan(2);
    plan.boards.push(board("c", plan.boards[0].rounds.clone()));
    let mut bench = Bench::new(plan.clone(), vec![Fate::LabFault; 6]);
    let run = bench.engine().await.unwrap();
    let why = |name| format!("{name}: void-visits: 3 visits of {name:?} were void, last: lab: no emulator");
    assert_eq!(bench.given_up(), [why("one"), why("two")]);
    assert_eq!(run.boards[&"c".into()].visits.len(), 4, "the other board goes on");
    every_place_is_settled(&plan, &run);
}

#[tokio::test(start_paused = true)]
async fn what_the_host_lacks_is_found_before_anything_is_built_and_the_run_goes_on_later() {
    let mut bench = Bench::new(plan(1), []);
    bench.world.lacks("no QEMU");
    let error = bench.engine().await.unwrap_err();
    assert_eq!(error.to_string(), "board b cannot be used: no QEMU");
    assert_eq!(kinds(&bench.watcher.events()), ["opened"]);
    let run = bench.engine().await.unwrap();
    every_place_is_settled(&plan(1), &run);
}

#[tokio::test(start_paused = true)]
async fn a_board_that_cannot_be_prepared_is_given_up_without_a_visit() {
    let mut bench = Bench::new(plan(1), []);
    bench.world.cannot_prepare(BootError::Lab { cause: "no QEMU".into() });
    bench.engine().await.unwrap();
    assert_eq!(bench.given_up(), ["board: board: no QEMU"]);
    assert!(bench.visits().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_kernel_that_fails_the_preparation_is_a_result_of_its_variant() {
    let mut bench = Bench::new(plan(1), []);
    bench.world.cannot_prepare(BootError::Kernel { cause: "it panicked".into(), console: "oops".into() });
    bench.engine().await.unwrap();
    assert_eq!(bench.visits(), ["one Boot: boot: it panicked\noops", "two ended"]);
    assert!(bench.given_up().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_built_is_left_out() {
    let mut three = plan(2);
    three.variants.push(kab_model::PlannedVariant { name: "three".into(), ..three.variants[0].clone() });
    three.pairs.push(("three".into(), "two".into()));
    three.boards[0].rounds.iter_mut().for_each(|round| round.push("three".into()));
    let mut bench = Bench::new(three.clone(), []);
    bench.world.cannot_build("one");
    let run = bench.engine().await.unwrap();
    assert_eq!(bench.visits(), ["two ended", "three ended", "two ended", "three ended"]);
    assert_eq!(kinds(&bench.watcher.events())[1], "build failed one: a.c:1: error: no");
    every_place_is_settled(&three, &run);

    let mut bench = Bench::new(plan(2), []);
    bench.world.cannot_build("one");
    bench.engine().await.unwrap();
    assert_eq!(kinds(&bench.watcher.events())[3..], ["finished"], "nothing to compare \"two\" with");

    let mut bench = Bench::new(plan(2), []);
    bench.world.cannot_build("one");
    bench.world.cannot_build("two");
    bench.engine().await.unwrap();
    assert_eq!(kinds(&bench.watcher.events())[3..], ["finished"]);
}

#[tokio::test(start_paused = true)]
async fn all_cells_run_in_their_order() {
    let mut plan = plan(1);
    plan.cells.push(cell("randwrite"));
    let mut bench = Bench::new(plan.clone(), []);
    let run = bench.engine().await.unwrap();
    let cells: Vec<&str> =
        run.visits().next().unwrap().trials.iter().map(|trial| &*trial.key.cell.0).collect();
    assert_eq!(cells, [["w/randread"; 3], ["w/randwrite"; 3]].concat());
    every_place_is_settled(&plan, &run);
}

#[tokio::test(start_paused = true)]
async fn another_kab_on_the_host_is_waited_for() {
    let mut bench = Bench::new(plan(1), []);
    let other = HostLease::acquire(&bench.world.lease, "run 123, measuring", |_| {}).await.unwrap();
    let waiting = bench.watcher.on_waiting();
    let ends = async {
        let owner = waiting.await.unwrap();
        assert!(owner.ends_with("run 123, measuring"), "{owner}");
        drop(other);
    };
    let (run, ()) = tokio::join!(bench.engine(), ends);
    assert!(run.unwrap().finished);
}

#[tokio::test(start_paused = true)]
async fn a_trial_that_the_board_cannot_do_does_not_end_kab() {
    let mut plan = plan(1);
    plan.cells[0].target = "nowhere".into();
    let mut bench = Bench::new(plan, []);
    bench.engine().await.unwrap();
    assert_eq!(
        bench.visits()[0],
        "one void: target: the agent broke the protocol: board b has no target nowhere"
    );
}

#[tokio::test]
async fn a_run_without_plan_or_driver_does_not_begin() {
    let mut bench = Bench::new(plan(1), []);
    let error = bench.engine_with([].into()).await.unwrap_err();
    assert!(matches!(&error, EngineError::NoDriver(board) if board.0 == "b"), "{error:?}");
    support::cut(&bench.run, 0);
    let error = bench.engine_with([].into()).await.unwrap_err();
    assert!(matches!(error, EngineError::NoPlan), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn outcomes_reach_the_log_with_their_reasons() {
    let mut bench = Bench::new(plan(1), [trials([TrialFate::Noted])]);
    bench.engine().await.unwrap();
    let outcomes = bench.watcher.events().into_iter().filter_map(|event| match event {
        Event::TrialEnded { outcome, .. } => Some(outcome),
        _ => None,
    });
    let Some(Outcome::Noted { reasons }) = outcomes.into_iter().next() else { panic!("not noted") };
    assert_eq!(reasons[0].rule, "hung-task");
}
