//! Experiment, lab and seed become a plan.
#![allow(clippy::unwrap_used)]

mod support;

use kab_model::{
    Arch, ConfigItem, Experiment, Knob, Order, PinnedFile, PinnedKernel, Plan, PlannedKernel, Toolchain,
    VariantName,
};
use kab_plan::{PlanError, ResolvedVariant, cell_of, estimate, make_plan};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::time::Duration;
use support::{Shape, experiment, lab, plan, resolved, workload};

const SHAPE: Shape =
    Shape { variants: 3, boards: 2, visits: 4, cells: 2, trials: 3, warmup: 1, order: Order::Random };

fn made(experiment: &Experiment) -> Result<Plan, PlanError> {
    make_plan(experiment, "digest", &lab(4), &resolved(experiment.variants.len()), 1)
}

prop_compose! {
    fn shape()(variants in 1usize..6, boards in 1usize..4, visits in 1u32..10) -> Shape {
        Shape { variants, boards, visits, cells: 1, trials: 1, warmup: 0, order: Order::Random }
    }
}

proptest! {
    #[test]
    fn the_same_input_and_seed_give_the_same_plan(shape in shape(), seed: u64) {
        let one = plan(shape, seed);
        prop_assert_eq!(&one, &plan(shape, seed));
        // Also after the plan was stored.
        let stored: Plan = serde_json::from_str(&serde_json::to_string(&one).unwrap()).unwrap();
        prop_assert_eq!(stored, one);
    }

    #[test]
    fn every_round_visits_every_variant_once(shape in shape(), seed: u64) {
        let plan = plan(shape, seed);
        let all: BTreeSet<&VariantName> = plan.variants.iter().map(|variant| &variant.name).collect();
        for board in &plan.boards {
            prop_assert_eq!(board.rounds.len(), shape.visits as usize);
            for round in &board.rounds {
                prop_assert_eq!(round.len(), shape.variants);
                prop_assert_eq!(&round.iter().collect::<BTreeSet<_>>(), &all);
            }
        }
    }

    #[test]
    fn a_further_board_or_round_does_not_reshuffle_the_others(shape in shape(), seed: u64) {
        let before = plan(shape, seed);
        let larger = Shape { boards: shape.boards + 1, visits: shape.visits + 1, ..shape };
        let after = plan(larger, seed);
        for (before, after) in before.boards.iter().zip(&after.boards) {
            prop_assert_eq!(&before.spec.name, &after.spec.name);
            prop_assert_eq!(&before.rounds[..], &after.rounds[..before.rounds.len()]);
        }
    }
}

#[test]
fn rounds_boards_and_seeds_differ_in_their_order() {
    let shape = Shape { variants: 4, visits: 24, ..SHAPE };
    let one = plan(shape, 1);
    for board in &one.boards {
        let orders: BTreeSet<_> = board.rounds.iter().collect();
        assert!(orders.len() > 8, "only {} orders in 24 rounds", orders.len());
        // Each variant is first about as often as any other: 6 times of 24, six standard deviations wide.
        for variant in &one.variants {
            let first = board.rounds.iter().filter(|round| round[0] == variant.name).count();
            assert!((1..=18).contains(&first), "{} is first {first} times", variant.name);
        }
    }
    assert_ne!(one.boards[0].rounds, one.boards[1].rounds);
    assert_ne!(one.boards[0].rounds, plan(shape, 2).boards[0].rounds);
}

#[test]
fn abba_turns_round_and_sequential_stays_as_in_the_file() {
    let names = |order: Order| -> Vec<String> {
        let shape = Shape { variants: 3, boards: 1, visits: 3, order, ..SHAPE };
        let rounds = &plan(shape, 1).boards[0].rounds;
        rounds
            .iter()
            .map(|round| round.iter().map(|name| name.0.as_str()).collect::<Vec<_>>().join(" "))
            .collect()
    };
    assert_eq!(names(Order::Abba), ["v0 v1 v2", "v2 v1 v0", "v0 v1 v2"]);
    assert_eq!(names(Order::Sequential), ["v0 v1 v2", "v0 v1 v2", "v0 v1 v2"]);
}

#[test]
fn every_variant_is_judged_against_the_baseline_and_then_the_further_pairs() {
    let mut experiment = experiment(SHAPE);
    experiment.baseline = "v1".into();
    experiment.against = vec![("v2".into(), "v0".into()), ("v0".into(), "v1".into())];
    let pairs = made(&experiment).unwrap().pairs;
    let pairs: Vec<(&str, &str)> = pairs.iter().map(|(a, b)| (&*a.0, &*b.0)).collect();
    assert_eq!(pairs, [("v0", "v1"), ("v2", "v1"), ("v2", "v0")]);
}

#[test]
fn boards_are_chosen_once_by_name_or_tag_in_the_order_asked_for() {
    let mut experiment = experiment(SHAPE);
    experiment.boards = vec!["b2".into(), "even".into(), "b1".into()];
    let plan = made(&experiment).unwrap();
    let names: Vec<&str> = plan.boards.iter().map(|board| &*board.spec.name.0).collect();
    assert_eq!(names, ["b2", "b0", "b1"]);
    experiment.boards = vec!["b7".into()];
    let error = made(&experiment).unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"no board of the lab is named or tagged "b7"; the lab has b0, b1, b2, b3"#
    );
    experiment.boards = Vec::new();
    assert_eq!(made(&experiment).unwrap_err(), PlanError::NoBoards);
}

#[test]
fn targets_must_be_named_and_listed() {
    let mut experiment = experiment(SHAPE);
    experiment.target = Some("other".into());
    let error = made(&experiment).unwrap_err();
    assert_eq!(error.to_string(), r#"board "b0" has no scratch target "other"; it has disk"#);
    experiment.target = None;
    assert_eq!(made(&experiment).unwrap_err(), PlanError::NoTarget { workload: "w".into() });
}

/// `v1` is a ladder of two steps.
fn with_ladder() -> Vec<ResolvedVariant> {
    let kernel = |variant, step, number| ResolvedVariant {
        variant,
        step,
        kernel: PlannedKernel::Built(Box::new(support::pinned(number))),
    };
    vec![
        kernel(0, None, 0),
        kernel(1, Some(0), 1),
        kernel(1, Some(1), 2),
        kernel(1, Some(2), 3),
        kernel(2, None, 4),
    ]
}

#[test]
fn a_ladder_becomes_a_variant_a_step() {
    let mut experiment = experiment(SHAPE);
    experiment.baseline = "v1".into();
    experiment.against =
        vec![("v1 +2".into(), "v1 +1".into()), ("v1".into(), "v0".into()), ("v0".into(), "v1 +1".into())];
    let plan = make_plan(&experiment, "digest", &lab(2), &with_ladder(), 1).unwrap();
    let names: Vec<&str> = plan.variants.iter().map(|variant| &*variant.name.0).collect();
    assert_eq!(names, ["v0", "v1 base", "v1 +1", "v1 +2", "v2"]);
    assert_eq!(plan.baseline, "v1 base".into());
    let pairs: Vec<(&str, &str)> = plan.pairs.iter().map(|(a, b)| (&*a.0, &*b.0)).collect();
    let base = "v1 base";
    let against = [("v1 +2", "v1 +1"), ("v1 +2", "v0"), ("v0", "v1 +1")];
    let expected = [("v0", base), ("v1 +1", base), ("v1 +2", base), ("v2", base)].into_iter().chain(against);
    assert_eq!(pairs, expected.collect::<Vec<_>>());
    for round in &plan.boards[0].rounds {
        assert_eq!(round.iter().collect::<BTreeSet<_>>().len(), 5, "{round:?}");
    }
    let stamps: BTreeSet<&str> = plan.variants.iter().map(|variant| &*variant.stamp).collect();
    assert_eq!(stamps.len(), 5);
}

#[test]
fn steps_that_a_ladder_does_not_have_are_told() {
    for (baseline, against) in [("v1 +3", None), ("v0", Some("v1 +7")), ("v2 base", None)] {
        let mut experiment = experiment(SHAPE);
        experiment.baseline = baseline.into();
        experiment.against = against.map(|name| (name.into(), "v2".into())).into_iter().collect();
        let error = make_plan(&experiment, "digest", &lab(2), &with_ladder(), 1).unwrap_err();
        let told = format!(
            "no variant is named {:?}; there are v0, v1 base, v1 +1, v1 +2, v2",
            against.unwrap_or(baseline)
        );
        assert_eq!(error.to_string(), told);
    }
}

#[test]
fn boards_of_two_architectures_need_two_runs() {
    let mut lab = lab(2);
    lab.boards[1].arch = Arch::Arm64;
    let error = make_plan(&experiment(SHAPE), "digest", &lab, &resolved(3), 1).unwrap_err();
    assert!(
        error.to_string().starts_with(r#"board "b0" is x86_64 and board "b1" is arm64: a run builds"#),
        "{error}"
    );
}

#[test]
fn a_variant_changes_the_options_of_a_cell_and_not_its_identity() {
    let mut experiment = experiment(SHAPE);
    let own = [("iodepth", "8"), ("rw", "randwrite"), ("runtime", "3s"), ("time_based", "1")];
    experiment.variants[1].fio = own.map(|(name, value)| support::option(name, value)).to_vec();
    let plan = made(&experiment).unwrap();
    let cell = &plan.cells[0];
    assert_eq!(&cell_of(&plan.variants[0], cell), cell);
    let changed = cell_of(&plan.variants[1], cell);
    assert_eq!((&changed.id, &changed.label, &changed.axes), (&cell.id, &cell.label, &cell.axes));
    let options: Vec<(&str, &str)> = changed.fio.iter().map(|o| (&*o.name, &*o.value)).collect();
    let expected =
        [("rw", "randwrite"), ("bs", "4k"), ("iodepth", "8"), ("runtime", "3s"), ("time_based", "1")];
    assert_eq!(options, expected);
    assert!(changed.writes && !cell.writes);
    assert_eq!(changed.planned_ms, Some(3000));
}

#[test]
fn an_axis_cannot_be_a_variants_own_option() {
    let mut experiment = experiment(SHAPE);
    experiment.variants[1].fio = vec![support::option("bs", "8k")];
    let error = made(&experiment).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with(r#"variant "v1" sets the fio option "bs", which is an axis of workload "w""#),
        "{error}"
    );
}

#[test]
fn a_plan_without_cells_is_refused() {
    let mut experiment = experiment(Shape { cells: 1, ..SHAPE });
    experiment.workloads[0].exclude = vec![vec![support::option("bs", "4k")]];
    assert_eq!(made(&experiment).unwrap_err(), PlanError::NoCells);
}

#[test]
fn whatever_distinguishes_a_variant_changes_its_stamp() {
    let of = |experiment: &Experiment, kernel: PlannedKernel| {
        let mut resolved = resolved(3);
        resolved[0].kernel = kernel;
        make_plan(experiment, "digest", &lab(2), &resolved, 1).unwrap().variants[0].stamp.clone()
    };
    let built = |change: &dyn Fn(&mut PinnedKernel)| {
        let mut kernel = support::pinned(0);
        change(&mut kernel);
        PlannedKernel::Built(Box::new(kernel))
    };
    let file = |digest: &str| PinnedFile { path: "/f".into(), digest: digest.to_owned() };
    let prebuilt = |image, dtb: Option<&str>, modules: Option<&str>| PlannedKernel::Prebuilt {
        image: file(image),
        dtb: dtb.map(file),
        modules: modules.map(file),
    };
    let base = experiment(SHAPE);
    let changed = |change: &dyn Fn(&mut Experiment)| {
        let mut experiment = base.clone();
        change(&mut experiment);
        of(&experiment, built(&|_| {}))
    };
    let stamps = [
        changed(&|_| {}),
        changed(&|e| e.variants[0].cmdline = Some("quiet".into())),
        changed(&|e| e.variants[0].knobs.push(Knob { name: "queue.x".into(), value: "1".into() })),
        changed(&|e| e.variants[0].fio.push(support::option("iodepth", "8"))),
        changed(&|e| {
            e.variants[0].name = "other".into();
            e.baseline = "other".into();
        }),
        of(&base, built(&|k| k.tree = "f00".into())),
        of(&base, built(&|k| k.config.push(ConfigItem::Base("defconfig".into())))),
        of(&base, built(&|k| k.toolchain = Toolchain::Llvm)),
        of(&base, built(&|k| k.toolchain = Toolchain::Cross("x-".into()))),
        of(&base, built(&|k| k.placebo = true)),
        of(&base, built(&|k| k.overlay = Some(file("1")))),
        of(&base, prebuilt("1", None, None)),
        of(&base, prebuilt("2", None, None)),
        of(&base, prebuilt("1", Some("2"), None)),
        of(&base, prebuilt("1", None, Some("2"))),
        of(&base, PlannedKernel::Running),
    ];
    assert_eq!(stamps.iter().collect::<BTreeSet<_>>().len(), stamps.len(), "{stamps:?}");
    for stamp in &stamps {
        assert!(stamp.len() == 12 && stamp.bytes().all(|byte| byte.is_ascii_hexdigit()), "{stamp}");
    }
    assert_eq!(changed(&|e| e.schedule.visits = 9), stamps[0], "the schedule is not the variant's");
    assert_eq!(of(&base, built(&|k| k.commit = "f00".into())), stamps[0], "only the tree is built");
}

#[test]
fn the_estimate_counts_everything_that_is_planned() {
    let mut experiment = experiment(SHAPE);
    let options = [("rw", "randwrite"), ("runtime", "10s"), ("time_based", "1")];
    experiment.workloads.push(workload::<&str>("write", &options, &[]));
    let plan = made(&experiment).unwrap();
    let boot = Duration::from_secs(20);
    let estimate = estimate(&plan, boot);
    // 2 boards, 4 rounds, 3 variants; 3 cells, 3 trials and a warm-up.
    assert_eq!((estimate.visits, estimate.trials, estimate.writing_trials), (24, 24 * 12, 24 * 4));
    assert_eq!(estimate.total, (estimate.visit + boot) * 24);
    assert!(estimate.visit > Duration::from_millis(12 * (10_000 + 1_500)), "{estimate:?}");
}

#[test]
fn an_absurd_plan_is_estimated_without_an_overflow() {
    let mut plan = plan(SHAPE, 1);
    (plan.trials, plan.warmup, plan.cooldown_ms) = (u32::MAX, u32::MAX, u64::MAX);
    plan.cells[0].planned_ms = Some(u64::MAX);
    assert!(estimate(&plan, Duration::MAX).total >= Duration::from_millis(u64::MAX));
}
