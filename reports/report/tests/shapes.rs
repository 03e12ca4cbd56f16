//! Reports of every shape: one to six variants on one to three boards, with names of all kinds and with whatever can be missing.

#![allow(clippy::unwrap_used)]

mod support;

use kab_model::Outcome;
use kab_report::{Latencies, Options, changelog, csv, findings, html, json, markdown, text};
use support::{Fate, Lab, meta, reason};

const VARIANTS: [&str; 6] = [
    "v6.15",
    "v6.16 with a name that says much more than any column of a table has room for",
    "v6.16 r\u{e9}vis\u{e9} \u{2013} \u{4e2d}\u{6587}",
    "v6.17-rc1",
    "next-20250729|pipe_and*star",
    "last",
];
const BOARDS: [&str; 3] =
    ["sm8650-qrd", "a-board-with-a-name-that-goes-on-and-on-in-the-rack-below", "brett-\u{df}"];

/// Each variant a little slower than the one before.
fn lab(variants: usize, boards: usize) -> Lab {
    let mut lab = Lab::new(&BOARDS[..boards], &VARIANTS[..variants], 5);
    let base = [4_526.0, 64_315.0, 6_577.0, 97_911.0];
    lab.level = Box::new(move |board, variant, cell| {
        base[cell % 4] * (1.0 - 0.015 * variant as f64) * (1.0 + 0.1 * board as f64)
    });
    lab
}

/// The same with cells that only some variants have, failed boots, noted and void trials, and a variant that was given up.
fn holes(variants: usize, boards: usize) -> Lab {
    let mut lab = lab(variants, boards);
    let of = |outcome: fn(Vec<kab_model::Reason>) -> Outcome, rule: &str| {
        outcome(vec![reason(rule, "se\u{f1}al 5")])
    };
    let noted = of(|reasons| Outcome::Noted { reasons }, "rcu-stall");
    let void = of(|reasons| Outcome::Void { reasons }, "host-load");
    let failed = of(|reasons| Outcome::Failed { reasons }, "io-error");
    for round in 0..5 {
        // A crash in the first cell leaves the others without a number.
        lab.fates.insert((0, variants - 1, round), Fate::Crash);
    }
    lab.fates.insert((0, 0, 0), Fate::Trial { cell: 1, trial: 0, outcome: noted });
    lab.fates.insert((0, 0, 1), Fate::Trial { cell: 2, trial: 1, outcome: void });
    if boards > 1 {
        lab.in_round(1, 2, &Fate::Never);
        lab.fates.insert((1, 0, 3), Fate::Trial { cell: 3, trial: 0, outcome: failed });
        lab.fates.insert((1, 0, 4), Fate::NoBoot);
        lab.given_up = vec![(1, Some(0))];
    }
    lab
}

#[test]
fn shapes() {
    for (variants, boards) in [(1, 1), (2, 3), (3, 2), (4, 1), (5, 2), (6, 3)] {
        let found = findings(&lab(variants, boards).run(), &meta());
        let name = format!("{variants}_variants_on_{boards}_boards");
        insta::assert_snapshot!(name, text(&found, Options::default()).unwrap());
    }
}

#[test]
fn shapes_with_holes() {
    for (variants, boards) in [(2, 1), (3, 3), (6, 2)] {
        let found = findings(&holes(variants, boards).run(), &meta());
        let name = format!("{variants}_variants_on_{boards}_boards_with_holes");
        insta::assert_snapshot!(name, text(&found, Options { full: false, unicode: true }).unwrap());
    }
}

#[test]
fn every_shape_has_every_format() {
    for variants in 1..=6 {
        for boards in 1..=3 {
            for lab in [lab(variants, boards), holes(variants, boards)] {
                let found = findings(&lab.run(), &meta());
                for full in [false, true] {
                    let plain = text(&found, Options { full, unicode: false }).unwrap();
                    let fits = |line: &str| line.len() <= 72 && line.is_ascii() && !line.ends_with(' ');
                    assert!(plain.lines().all(fits), "{variants} {boards}: {plain}");
                    assert!(
                        markdown(&found, Options { full, unicode: true }).unwrap().contains("r\u{e9}vis")
                            == (variants > 2)
                    );
                }
                assert!(changelog(&found, Options::default()).lines().count() <= 12);
                assert!(json(&found).unwrap().ends_with("}\n"));
                assert!(csv(&found).unwrap().lines().count() > variants);
                assert!(
                    html(&found, &Latencies::default(), Options::default()).unwrap().ends_with("</html>")
                );
            }
        }
    }
}
