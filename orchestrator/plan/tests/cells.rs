//! Workloads and matrices become cells.
#![allow(clippy::unwrap_used)]

mod support;

use kab_model::{Cell, Experiment, Order, Workload};
use kab_plan::expand;
use proptest::prelude::*;
use std::collections::BTreeSet;
use support::{Shape, experiment, option, workload};

fn with(workloads: Vec<Workload>) -> Experiment {
    let shape =
        Shape { variants: 1, boards: 1, visits: 1, cells: 1, trials: 1, warmup: 0, order: Order::Random };
    Experiment { workloads, ..experiment(shape) }
}

fn ids(workloads: Vec<Workload>) -> Vec<String> {
    expand(&with(workloads)).into_iter().map(|cell| cell.id.0).collect()
}

fn labels(workloads: Vec<Workload>) -> Vec<String> {
    expand(&with(workloads)).into_iter().map(|cell| cell.label).collect()
}

const RW: (&str, &[&str]) = ("rw", &["randread", "randwrite"]);
const JOBS: (&str, &[&str]) = ("numjobs", &["1", "8"]);

#[test]
fn a_map_is_multiplied_out_with_its_last_axis_fastest() {
    let one = || vec![workload("rand", &[("bs", "4k")], &[&[RW, JOBS]])];
    assert_eq!(ids(one()), ["rand/randread/1", "rand/randread/8", "rand/randwrite/1", "rand/randwrite/8"]);
    assert_eq!(labels(one()), ["randread/1", "randread/8", "randwrite/1", "randwrite/8"]);
    let cell: &Cell = &expand(&with(one()))[3];
    assert_eq!(cell.axes, [option("rw", "randwrite"), option("numjobs", "8")]);
    assert_eq!(cell.fio, [option("bs", "4k"), option("rw", "randwrite"), option("numjobs", "8")]);
    assert_eq!((&*cell.workload, &*cell.target.0, cell.planned_ms), ("rand", "disk", None));
}

#[test]
fn several_workloads_are_told_apart_in_labels() {
    let two = || vec![workload("a", &[], &[&[JOBS]]), workload::<&str>("b", &[], &[])];
    assert_eq!(ids(two()), ["a/1", "a/8", "b"]);
    assert_eq!(labels(two()), ["a 1", "a 8", "b"]);
}

#[test]
fn a_workload_may_have_a_target_of_its_own() {
    let mut own = workload("own", &[], &[&[JOBS]]);
    own.target = Some("other".into());
    let mut experiment = with(vec![own, workload("shared", &[], &[&[JOBS]])]);
    let targets: Vec<String> = expand(&experiment).into_iter().map(|cell| cell.target.0).collect();
    assert_eq!(targets, ["other", "other", "disk", "disk"]);
    experiment.target = None;
    assert_eq!(expand(&experiment).len(), 2, "without a target there is no cell");
}

#[test]
fn several_maps_are_put_one_after_the_other_and_repeats_are_left_out() {
    let small: (&str, &[&str]) = ("bs", &["4k", "8k"]);
    let large: (&str, &[&str]) = ("bs", &["8k", "512k"]);
    let maps = workload("w", &[], &[&[RW, small], &[RW, large]]);
    assert_eq!(
        ids(vec![maps]),
        [
            "w/randread/4k",
            "w/randread/8k",
            "w/randwrite/4k",
            "w/randwrite/8k",
            "w/randread/512k",
            "w/randwrite/512k"
        ]
    );
    // The same in another order is the same.
    let turned = workload("w", &[], &[&[RW, JOBS], &[JOBS, RW]]);
    assert_eq!(ids(vec![turned]).len(), 4);
}

#[test]
fn equal_values_of_different_options_are_different_cells() {
    let depth: (&str, &[&str]) = ("iodepth", &["8", "32"]);
    let maps = || vec![workload("w", &[], &[&[RW, JOBS], &[RW, depth]])];
    let expected = [
        "randread/1",
        "rw=randread/numjobs=8",
        "randwrite/1",
        "rw=randwrite/numjobs=8",
        "rw=randread/iodepth=8",
        "randread/32",
        "rw=randwrite/iodepth=8",
        "randwrite/32",
    ];
    assert_eq!(labels(maps()), expected);
    assert_eq!(ids(maps()), expected.map(|label| format!("w/{label}")));
}

#[test]
fn excluded_points_are_left_out() {
    let mut one = workload("w", &[], &[&[RW, JOBS]]);
    one.exclude = vec![vec![option("rw", "randwrite"), option("numjobs", "8")]];
    assert_eq!(ids(vec![one.clone()]), ["w/randread/1", "w/randread/8", "w/randwrite/1"]);
    one.exclude.push(vec![option("numjobs", "1")]);
    assert_eq!(ids(vec![one.clone()]), ["w/randread/8"]);
    one.exclude = vec![Vec::new()];
    assert_eq!(ids(vec![one]).len(), 4, "a map that names nothing excludes nothing");
}

#[test]
fn what_writes_is_known_from_rw() {
    for (name, value, writes) in [
        ("rw", "read", false),
        ("rw", "randread:8", false),
        ("rw", "write", true),
        ("rw", "rw", true),
        ("rw", "randrw", true),
        ("readwrite", "randwrite:4", true),
        ("rw", "randtrim", true),
        ("rw", "trimwrite", true),
        ("rwmixwrite", "write", false),
    ] {
        let cells = expand(&with(vec![workload::<&str>("w", &[(name, value)], &[])]));
        assert_eq!(cells[0].writes, writes, "{name}={value}");
    }
    let cells = expand(&with(vec![workload("w", &[], &[&[RW]])]));
    assert_eq!(cells.iter().map(|cell| cell.writes).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn the_time_that_options_ask_for_is_planned() {
    let options = [("runtime", "30s"), ("ramp_time", "2s"), ("time_based", "1")];
    let cells = expand(&with(vec![workload::<&str>("w", &options, &[])]));
    assert_eq!(cells[0].planned_ms, Some(32_000));
}

prop_compose! {
    fn maps()(
        maps in prop::collection::vec(
            prop::collection::btree_map("[abc]", prop::collection::vec("[12/=a]{1,3}", 1..4), 0..3),
            0..4,
        )
    ) -> Vec<Vec<(String, Vec<String>)>> {
        maps.into_iter().map(|map| map.into_iter().collect()).collect()
    }
}

proptest! {
    #[test]
    fn every_point_has_one_cell_and_every_cell_an_id_of_its_own(maps in maps()) {
        let mut one = workload::<&str>("w", &[], &[]);
        one.matrix = maps.iter().map(|axes| kab_model::MatrixMap { axes: axes.clone() }).collect();
        let cells = expand(&with(vec![one.clone(), workload::<&str>("v", &[], &[])]));
        prop_assert_eq!(&cells, &expand(&with(vec![one, workload::<&str>("v", &[], &[])])));
        let points: BTreeSet<BTreeSet<(&str, &str)>> = cells
            .iter()
            .map(|cell| cell.axes.iter().map(|axis| (&*axis.name, &*axis.value)).collect())
            .collect();
        // The cell of `v` has no axes, as a map without axes has none.
        let bare = cells.iter().filter(|cell| cell.axes.is_empty()).count();
        prop_assert_eq!(points.len() + bare - 1, cells.len());
        let expected: BTreeSet<BTreeSet<(String, String)>> = maps.iter().flat_map(|map| multiplied(map)).collect();
        let missing = expected.iter().find(|point| {
            !points.contains(&point.iter().map(|(name, value)| (&**name, &**value)).collect())
        });
        prop_assert_eq!(missing, None);
        for what in [|cell: &Cell| cell.id.0.clone(), |cell: &Cell| cell.label.clone()] {
            prop_assert_eq!(cells.iter().map(what).collect::<BTreeSet<_>>().len(), cells.len());
        }
    }
}

fn multiplied(map: &[(String, Vec<String>)]) -> Vec<BTreeSet<(String, String)>> {
    map.iter().fold(vec![BTreeSet::new()], |points, (name, values)| {
        let longer = |point: &BTreeSet<(String, String)>, value: &String| {
            let mut point = point.clone();
            point.insert((name.clone(), value.clone()));
            point
        };
        points.iter().flat_map(|point| values.iter().map(move |value| longer(point, value))).collect()
    })
}
