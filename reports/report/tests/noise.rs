//! What runs tell of the noise of a board.
#![allow(clippy::unwrap_used)]

mod support;

use kab_report::{known_noise, noise};
use support::two_kernels;

#[test]
fn a_slower_variant_is_no_noise() {
    let (even, uneven) = (two_kernels(8, [1.0; 4]), two_kernels(8, [0.5, 1.0, 1.0, 1.0]));
    let of = |lab: &support::Lab| noise(&lab.run(), &lab.plan, lab.plan.report.primary, 1);
    for (even, uneven) in of(&even).iter().zip(of(&uneven)) {
        assert!((even.deviation_percent - uneven.deviation_percent).abs() < 0.05, "{even:?} {uneven:?}");
        assert_eq!((even.boots, even.baseline_boots), (16, 8));
        // More rounds see more.
        assert!(even.visible(4).unwrap() > 1.5 * even.visible(16).unwrap());
        assert_eq!(even.visible(1), None);
    }
}

#[test]
fn only_the_same_board_with_the_same_options_is_known() {
    let lab = two_kernels(8, [1.0; 4]);
    let run = lab.run();
    let mut plan = lab.plan.clone();
    assert_eq!(known_noise(&run, &plan, 1).len(), plan.cells.len());
    plan.cells[0].fio.push(kab_model::FioOption { name: "direct".into(), value: "0".into() });
    plan.cells[1].id = "renamed".into();
    let known = known_noise(&run, &plan, 1);
    assert_eq!(known.len(), plan.cells.len() - 1);
    assert_eq!(known[0].cell, "renamed");
    plan.boards[0].spec.boot_timeout *= 2;
    assert!(known_noise(&run, &plan, 1).is_empty(), "another board");
    assert!(known_noise(&two_kernels(1, [1.0; 4]).run(), &lab.plan, 1).is_empty(), "two boots are few");
}
