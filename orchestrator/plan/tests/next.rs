//! The planner driven through whole runs in a small world, in which anything may happen at any time.
#![allow(clippy::unwrap_used)]

mod support;
#[path = "support/world.rs"]
mod world;

use kab_model::{
    Artifact, BoardName, BuildState, Cell, CellId, Event, FailureClass, FioOption, Knob, Limits, Order,
    Outcome, Plan, PlannedKernel, PlannedVariant, Run, TrialKey, TrialState, VariantName, Visit, VisitState,
};
use kab_plan::{INTERRUPTED, Next, NextTrial, next, next_trial, outstanding_visits, unmeasured};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use support::{Shape, plan};
use world::{Fate, World, live};

prop_compose! {
    fn shape()(
        variants in 1usize..4, boards in 1usize..3, visits in 1u32..4,
        cells in 1usize..3, trials in 1u32..3, warmup in 0u32..2,
        order in prop::sample::select(vec![Order::Random, Order::Abba, Order::Sequential]),
    ) -> Shape {
        Shape { variants, boards, visits, cells, trials, warmup, order }
    }
}

prop_compose! {
    fn worlds()(
        // Either everything may happen or most goes well.
        fates in prop_oneof![
            prop::collection::vec(any_fate(), 1..40),
            prop::collection::vec(prop_oneof![9 => Just(Fate::Well), 1 => any_fate()], 1..80),
        ],
        interrupted in prop::collection::btree_set(0usize..150, 0..8),
    ) -> World {
        World::new(fates, interrupted)
    }
}

fn any_fate() -> impl Strategy<Value = Fate> {
    prop::sample::select(Fate::ALL.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_run_ends_with_every_place_settled_once(shape in shape(), seed: u64, world in worlds()) {
        let plan = plan(shape, seed);
        let events = live(&plan, world);
        let run = Run::from_events(&events);
        prop_assert!(run.finished);
        prop_assert_eq!(outstanding_visits(&plan, &run), 0);
        for board in &plan.boards {
            for (round, variants) in board.rounds.iter().enumerate() {
                for variant in variants {
                    place_is_settled(&run, &board.spec.name, round, variant)?;
                }
            }
        }
        numbers_have_no_gaps(&run)?;
        limits_hold(&plan, &run)?;
        for visit in run.visits() {
            trials_are_in_order(&plan, &run, visit)?;
        }
        what_is_unmeasured_is_told(&plan, &run)?;
        order_holds(&plan, &events)?;
    }
}

fn place_is_settled(
    run: &Run,
    board: &BoardName,
    round: usize,
    variant: &VariantName,
) -> Result<(), TestCaseError> {
    let board = &run.boards[board];
    let of_place = |visit: &&Visit| visit.key.round as usize == round && &visit.key.variant == variant;
    let visits: Vec<&Visit> = board.visits.iter().filter(of_place).collect();
    prop_assert!(visits.iter().all(|visit| visit.state != VisitState::Open));
    if is_broken(run, variant) || nothing_to_compare(run) {
        prop_assert!(visits.is_empty(), "an unbuilt variant, or one without a partner, was visited");
        return Ok(());
    }
    let settled = visits.iter().filter(|visit| !matches!(visit.state, VisitState::Void(_))).count();
    let given_up = board.given_up.iter().any(|(whom, _)| whom.as_ref().is_none_or(|whom| whom == variant));
    prop_assert!(settled == 1 || (settled == 0 && given_up), "{settled} visits count");
    // The one that counts is the last one.
    let early = visits.iter().rev().skip(1).all(|visit| matches!(visit.state, VisitState::Void(_)));
    prop_assert!(early, "a place was visited again after it was settled");
    Ok(())
}

fn is_broken(run: &Run, variant: &VariantName) -> bool {
    matches!(run.builds[variant], BuildState::Failed(_))
}

fn nothing_to_compare(run: &Run) -> bool {
    let pairs = &run.plan.as_ref().unwrap().pairs;
    let whole = |(a, b): &(VariantName, VariantName)| !is_broken(run, a) && !is_broken(run, b);
    !pairs.is_empty() && !pairs.iter().any(whole)
}

fn numbers_have_no_gaps(run: &Run) -> Result<(), TestCaseError> {
    for board in run.boards.values() {
        let numbers: Vec<usize> = board.visits.iter().map(|visit| visit.key.visit as usize).collect();
        prop_assert_eq!(numbers, (0..board.visits.len()).collect::<Vec<_>>());
    }
    Ok(())
}

/// Void visits and boots of a variant, as the limits count them.
fn counts(run: &Run, board: &BoardName, variant: &VariantName) -> (usize, usize) {
    let visits = || run.boards[board].visits.iter().filter(|visit| &visit.key.variant == variant);
    let void = visits()
        .filter(|visit| matches!(&visit.state, VisitState::Void(reason) if reason.rule != INTERRUPTED))
        .count();
    let (mut row, mut longest) = (0, 0);
    for visit in visits() {
        match &visit.state {
            VisitState::Failed(FailureClass::Boot, _) => row += 1,
            VisitState::Void(_) if visit.proof.is_none() => {}
            _ => row = 0,
        }
        longest = longest.max(row);
    }
    (void, longest)
}

fn limits_hold(plan: &Plan, run: &Run) -> Result<(), TestCaseError> {
    let (void_limit, boot_limit) = (plan.limits.void_visits as usize, plan.limits.failed_boots as usize);
    for board in &plan.boards {
        let name = &board.spec.name;
        let given_up = &run.boards[name].given_up;
        if given_up.iter().any(|(whom, _)| whom.is_none()) {
            let refusals: Vec<&CellId> =
                run.boards[name].visits.iter().flat_map(|visit| refused(plan, visit)).collect();
            let twice = |cell: &Cell| refusals.iter().filter(|id| **id == &cell.id).count() >= 2;
            prop_assert!(plan.cells.iter().all(twice), "the board was given up early");
        }
        let distinct: BTreeSet<_> = given_up.iter().map(|(whom, _)| whom).collect();
        prop_assert_eq!(distinct.len(), given_up.len(), "given up twice");
        let counted: Vec<_> = plan.variants.iter().map(|v| (&v.name, counts(run, name, &v.name))).collect();
        for (variant, (void, boots)) in &counted {
            prop_assert!(
                *void <= void_limit && *boots <= boot_limit,
                "{variant}: {void} void, {boots} boots"
            );
            if given_up.iter().any(|(whom, _)| whom.as_ref() == Some(variant)) {
                prop_assert!(*boots == boot_limit || *void == void_limit, "{variant} was given up early");
            }
        }
    }
    Ok(())
}

/// Cells with a trial that was void as often as the limit allows.
fn refused<'a>(plan: &'a Plan, visit: &'a Visit) -> BTreeSet<&'a CellId> {
    let last = |key: &TrialKey| key.attempt + 1 == plan.limits.void_trials;
    let void = |trial: &&TrialState| matches!(trial.outcome, Some(Outcome::Void { .. }));
    visit
        .trials
        .iter()
        .filter(void)
        .map(|trial| &trial.key)
        .filter(|key| last(key))
        .map(|key| &key.cell)
        .collect()
}

/// Cells that were refused in two visits before this one.
fn hopeless<'a>(plan: &'a Plan, run: &'a Run, visit: &Visit) -> BTreeSet<&'a CellId> {
    let earlier = &run.boards[&visit.key.board].visits[..visit.key.visit as usize];
    let refusals: Vec<&CellId> = earlier.iter().flat_map(|visit| refused(plan, visit)).collect();
    let twice = |cell: &&&CellId| refusals.iter().filter(|other| *other == *cell).count() >= 2;
    refusals.iter().filter(twice).copied().collect()
}

fn trials_are_in_order(plan: &Plan, run: &Run, visit: &Visit) -> Result<(), TestCaseError> {
    let (refused, hopeless) = (refused(plan, visit), hopeless(plan, run, visit));
    let mut trials = visit.trials.iter().peekable();
    let mut through = 0;
    'all: for cell in plan.cells.iter().filter(|cell| !hopeless.contains(&cell.id)) {
        let of_cell = (0..plan.warmup).map(|i| (true, i)).chain((0..plan.trials).map(|i| (false, i)));
        'cell: for (warmup, index) in of_cell {
            for attempt in 0.. {
                if attempt == plan.limits.void_trials {
                    break 'cell;
                }
                let Some(trial) = trials.next() else { break 'all };
                let key = &trial.key;
                prop_assert_eq!(
                    (&key.cell, key.warmup, key.index, key.attempt),
                    (&cell.id, warmup, index, attempt)
                );
                if !matches!(trial.outcome, Some(Outcome::Void { .. })) {
                    break;
                }
            }
        }
        through += usize::from(!refused.contains(&cell.id));
    }
    prop_assert!(trials.next().is_none(), "trials beyond the plan");
    if visit.state == VisitState::Ended {
        prop_assert!(through > 0);
        prop_assert_eq!(through, plan.cells.len() - refused.len() - hopeless.len());
    }
    Ok(())
}

/// What a complete visit lacks is told, and nothing else.
fn what_is_unmeasured_is_told(plan: &Plan, run: &Run) -> Result<(), TestCaseError> {
    let mut lacking: BTreeMap<_, usize> = BTreeMap::new();
    for visit in run.visits().filter(|visit| visit.state == VisitState::Ended) {
        prop_assert_eq!(next_trial(plan, run, visit), NextTrial::End);
        let left = refused(plan, visit).union(&hopeless(plan, run, visit)).copied().collect::<BTreeSet<_>>();
        for cell in left {
            *lacking.entry((&visit.key.board, &visit.key.variant, cell)).or_default() += 1;
        }
    }
    let told = unmeasured(plan, run);
    let told: BTreeMap<_, usize> = told.iter().map(|u| ((&u.board, &u.variant, &u.cell), u.visits)).collect();
    prop_assert_eq!(told, lacking);
    Ok(())
}

/// Builds come before visits, rounds one after the other, and nothing after a board or variant was given up.
fn order_holds(plan: &Plan, events: &[Event]) -> Result<(), TestCaseError> {
    let mut run = Run::default();
    let mut last = (0, 0);
    for event in events {
        if let Event::VisitStarted { visit } = event {
            prop_assert_eq!(run.builds.len(), plan.variants.len(), "a build is missing before a visit");
            prop_assert!(run.artifact(&visit.variant).is_some());
            let place = plan.variants.iter().position(|variant| variant.name == visit.variant).unwrap();
            let now = if plan.order == Order::Sequential { (place, visit.round) } else { (0, visit.round) };
            prop_assert!(now >= last, "back to an earlier round");
            last = now;
            let given_up = &run.boards[&visit.board].given_up;
            prop_assert!(
                given_up.iter().all(|(whom, _)| whom.as_ref().is_some_and(|whom| *whom != visit.variant))
            );
        }
        run.apply(event);
    }
    Ok(())
}

const SHAPE: Shape =
    Shape { variants: 2, boards: 1, visits: 5, cells: 1, trials: 1, warmup: 0, order: Order::Random };

/// The states of the visits in their order, one letter each, and who was given up.
fn told(fates: &[Fate], interrupted: &[usize]) -> (String, Vec<String>) {
    let plan = plan(Shape { variants: 1, ..SHAPE }, 1);
    let world = World::new(fates.to_vec(), interrupted.iter().copied().collect());
    let run = Run::from_events(&live(&plan, world));
    let letter = |visit: &Visit| match &visit.state {
        VisitState::Open => '?',
        VisitState::Ended => 'e',
        VisitState::Failed(FailureClass::Boot, _) => 'b',
        VisitState::Failed(FailureClass::Crash, _) => 'c',
        VisitState::Void(reason) if reason.rule == INTERRUPTED => 'i',
        VisitState::Void(_) => 'v',
    };
    let given_up = run.boards.values().flat_map(|board| &board.given_up);
    (run.visits().map(letter).collect(), given_up.map(|(_, reason)| reason.to_string()).collect())
}

#[test]
fn what_goes_wrong_is_tried_again_up_to_its_limit() {
    use Fate::{Crash, LabFault, NoBoot, Well};
    // The first fate is that of the build; a visit that goes well takes one for its boot and one for its trial.
    let (visits, given_up) = told(&[Well, NoBoot, NoBoot], &[]);
    assert_eq!(visits, "bb");
    assert_eq!(given_up, ["failed-boots: 2 boots in a row failed"]);
    let (visits, given_up) = told(&[Well, NoBoot, LabFault, NoBoot], &[]);
    assert_eq!((visits.as_str(), given_up.len()), ("bvb", 1), "a fault of the lab says nothing of boots");
    let (visits, given_up) = told(&[Well, NoBoot, Well, Well, NoBoot, Well, Well, NoBoot], &[]);
    assert_eq!((visits.as_str(), given_up.len()), ("bebeb", 0), "not in a row");
    let crashes = [&[Well][..], &[Well, Crash].repeat(5)].concat();
    let (visits, given_up) = told(&crashes, &[]);
    assert_eq!((visits.as_str(), given_up.len()), ("ccccc", 0), "crashes are results");
}

#[test]
fn void_visits_end_a_variant_on_a_board_and_say_why() {
    let fates = [&[Fate::Well][..], &[Fate::LabFault; 20]].concat();
    let (visits, given_up) = told(&fates, &[]);
    assert_eq!(visits, "vvv");
    assert_eq!(given_up, [r#"void-visits: 3 visits of "v0" were void, last: lab: a cable"#]);
}

#[test]
fn void_visits_of_one_variant_leave_the_others_their_turn() {
    let plan = plan(SHAPE, 1);
    let fates = [&[Fate::Well; 2][..], &[Fate::LabFault; 3], &[Fate::Well; 40]].concat();
    let run = Run::from_events(&live(&plan, World::new(fates, BTreeSet::new())));
    let board = &run.boards[&"b0".into()];
    let first = plan.boards[0].rounds[0][0].clone();
    assert_eq!(
        board.given_up.iter().map(|(whom, _)| whom.clone()).collect::<Vec<_>>(),
        [Some(first.clone())]
    );
    let complete = board.visits.iter().filter(|visit| visit.state == VisitState::Ended);
    assert_eq!(complete.map(|visit| visit.key.variant != first).collect::<Vec<_>>(), [true; 5]);
}

#[test]
fn interruptions_are_not_counted() {
    // Every visit begins with three events; each of the first seven visits is interrupted at its boot.
    let interrupted: Vec<usize> = (0..7).map(|visit| 2 + 3 * visit).collect();
    let (visits, given_up) = told(&[Fate::Well], &interrupted);
    assert_eq!((visits.as_str(), given_up.len()), ("iiiiiiieeeee", 0));
}

#[test]
fn a_trial_that_is_void_too_often_ends_the_visit() {
    let fates = [&[Fate::Well; 2][..], &[Fate::VoidTrial; 3], &[Fate::Well; 40]].concat();
    let (visits, _) = told(&fates, &[]);
    assert_eq!(visits, "veeeee");
    let (visits, _) = told(&[&[Fate::Well; 2][..], &[Fate::VoidTrial; 2], &[Fate::Well; 40]].concat(), &[]);
    assert_eq!(visits, "eeeee");
}

#[test]
fn a_cell_that_is_refused_is_left_and_the_others_are_measured() {
    let plan = plan(Shape { variants: 2, cells: 2, visits: 2, ..SHAPE }, 1);
    // Two builds; in each of the first two visits a boot, a cell that goes well and one that is always void.
    let visit = [&[Fate::Well; 2][..], &[Fate::VoidTrial; 3]].concat();
    let fates = [&[Fate::Well; 2][..], &visit, &visit, &[Fate::Well; 40]].concat();
    let run = Run::from_events(&live(&plan, World::new(fates, BTreeSet::new())));
    let states: Vec<bool> = run.visits().map(|visit| visit.state == VisitState::Ended).collect();
    assert_eq!(states, [true; 4]);
    assert_eq!(run.visits().map(|visit| visit.trials.len()).collect::<Vec<_>>(), [4, 4, 1, 1]);
    let lacking = unmeasured(&plan, &run);
    let refused = &plan.cells[1].id;
    assert!(lacking.iter().all(|one| &one.cell == refused && one.visits == 2), "{lacking:?}");
    assert_eq!(lacking.iter().map(|one| &*one.variant.0).collect::<Vec<_>>(), ["v0", "v1"]);
    assert_eq!(
        lacking[0].reason.to_string(),
        format!("void-trials: {refused} was void 3 times, last: fio-killed: k")
    );
}

#[test]
fn a_board_whose_every_cell_is_refused_is_given_up() {
    let fates = [&[Fate::Well; 2][..], &[Fate::VoidTrial; 3], &[Fate::Well], &[Fate::VoidTrial; 3]].concat();
    let (visits, given_up) = told(&fates, &[]);
    assert_eq!(visits, "vv");
    assert!(given_up[0].starts_with("void-trials: w/4k was void 3 times"), "{given_up:?}");
}

#[test]
fn nothing_is_measured_that_cannot_be_compared() {
    let plan = plan(Shape { variants: 3, ..SHAPE }, 1);
    use Fate::{LabFault, Well};
    let visited = |fates: [Fate; 3]| {
        let fates = [&fates[..], &[Well; 100]].concat();
        let run = Run::from_events(&live(&plan, World::new(fates, BTreeSet::new())));
        assert!(run.finished);
        run.visits().map(|visit| visit.key.variant.0.clone()).collect::<BTreeSet<_>>().into_iter().collect()
    };
    // The baseline is built first.
    let none: Vec<String> = visited([LabFault, Well, Well]);
    assert_eq!(none, [""; 0]);
    let none: Vec<String> = visited([Well, LabFault, LabFault]);
    assert_eq!(none, [""; 0]);
    let both: Vec<String> = visited([Well, LabFault, Well]);
    assert_eq!(both, ["v0", "v2"]);
}

#[test]
fn what_cannot_be_built_is_not_visited() {
    let (visits, given_up) = told(&[Fate::LabFault], &[]);
    assert_eq!((visits.as_str(), given_up.len()), ("", 0));
}

#[test]
fn limits_are_those_of_the_plan() {
    let mut plan = plan(Shape { variants: 1, ..SHAPE }, 1);
    plan.limits = Limits { void_visits: 1, void_trials: 1, failed_boots: 1 };
    let fates = [&[Fate::Well; 2][..], &[Fate::VoidTrial; 9]].concat();
    let run = Run::from_events(&live(&plan, World::new(fates, BTreeSet::new())));
    assert_eq!(run.visits().map(|visit| visit.trials.len()).collect::<Vec<_>>(), [1]);
}

#[test]
fn boards_take_turns_within_a_round() {
    let plan = plan(Shape { boards: 2, visits: 2, ..SHAPE }, 3);
    let events = live(&plan, World::new(vec![Fate::Well], BTreeSet::new()));
    let visited: Vec<(u32, String)> = events
        .iter()
        .filter_map(|event| match event {
            Event::VisitStarted { visit } => Some((visit.round, visit.board.0.clone())),
            _ => None,
        })
        .collect();
    let expected = [(0, "b0"), (0, "b0"), (0, "b1"), (0, "b1"), (1, "b0"), (1, "b0"), (1, "b1"), (1, "b1")];
    assert_eq!(visited, expected.map(|(round, board)| (round, board.to_owned())));
    assert_eq!(outstanding_visits(&plan, &Run::default()), 8);
}

#[test]
fn a_finished_run_stays_finished() {
    let plan = plan(SHAPE, 1);
    let mut events = live(&plan, World::new(vec![Fate::Well], BTreeSet::new()));
    events.push(Event::Opened { kab: "2".into(), pid: 1 });
    assert_eq!(next(&plan, &Run::from_events(&events)), Next::Finish);
}

/// Three variants; what `change` makes of their artifacts and of the plan.
fn built(change: impl Fn(&mut Plan, &mut [Artifact])) -> (Plan, Run) {
    let mut plan = plan(
        Shape { variants: 3, boards: 1, visits: 2, cells: 1, trials: 1, warmup: 0, order: Order::Random },
        1,
    );
    let names: Vec<VariantName> = plan.variants.iter().map(|variant| variant.name.clone()).collect();
    let mut artifacts: Vec<Artifact> = names.iter().map(world::artifact).collect();
    change(&mut plan, &mut artifacts);
    let mut events = vec![Event::Planned { plan: Box::new(plan.clone()) }];
    let made = names.into_iter().zip(artifacts);
    events.extend(made.map(|(variant, artifact)| Event::Built { variant, artifact, config: None }));
    (plan, Run::from_events(&events))
}

/// For each variant the one that stands for it.
fn stands(change: impl Fn(&mut Plan, &mut [Artifact])) -> Vec<Option<String>> {
    let (plan, run) = built(change);
    plan.variants.iter().map(|variant| run.same_as(&variant.name).map(|same| same.0.clone())).collect()
}

#[test]
fn what_nothing_can_tell_apart_is_measured_once() {
    let same = |_: &mut Plan, artifacts: &mut [Artifact]| artifacts[2].image_digest = "v0".into();
    let (plan, run) = built(same);
    assert_eq!(run.same_as(&"v2".into()), Some(&"v0".into()));
    assert_eq!(outstanding_visits(&plan, &run), 4, "two rounds of v0 and v1");
    let events = live(&plan, World::same_images(&["v0", "v2"]));
    assert!(Run::from_events(&events).visits().all(|visit| visit.key.variant.0 != "v2"));
}

#[test]
fn the_baseline_stands_for_its_equals_and_whatever_differs_stands_for_itself() {
    let all = |artifacts: &mut [Artifact]| artifacts.iter_mut().for_each(|a| a.image_digest = "d".into());
    let some = |name: &str| Some(name.to_owned());
    assert_eq!(stands(|_, _| {}), [None, None, None]);
    assert_eq!(stands(|_, a| all(a)), [None, some("v0"), some("v0")]);
    let baseline = |plan: &mut Plan, a: &mut [Artifact]| {
        all(a);
        plan.baseline = "v1".into();
    };
    assert_eq!(stands(baseline), [some("v1"), None, some("v1")]);
    let changes: [fn(&mut PlannedVariant, &mut Artifact); 7] = [
        |variant, _| variant.cmdline = Some("quiet".into()),
        |variant, _| variant.knobs.push(Knob { name: "queue.x".into(), value: "1".into() }),
        |variant, _| variant.fio.push(FioOption { name: "iodepth".into(), value: "1".into() }),
        |variant, _| match &mut variant.kernel {
            PlannedKernel::Built(source) => source.placebo = true,
            other => panic!("{other:?}"),
        },
        |_, artifact| artifact.dtbs_digest = Some("d".into()),
        |_, artifact| artifact.modules_digest = Some("d".into()),
        |_, artifact| artifact.image_digest = "e".into(),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let changed = |plan: &mut Plan, a: &mut [Artifact]| {
            all(a);
            change(&mut plan.variants[1], &mut a[1]);
        };
        assert_eq!(stands(changed), [None, None, some("v0")], "change {number}");
    }
    let spaces = |plan: &mut Plan, a: &mut [Artifact]| {
        all(a);
        plan.variants[0].cmdline = Some("a  b ".into());
        plan.variants[1].cmdline = Some("a b".into());
    };
    assert_eq!(stands(spaces), [None, some("v0"), None]);
}
