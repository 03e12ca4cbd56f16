//! Whatever happens in a run, its report renders within the rules of a mail.

#![allow(clippy::unwrap_used)]

mod support;

use kab_model::{Accel, Metric, Outcome};
use kab_report::{Meta, Options, findings, markdown, text};
use proptest::prelude::*;
use support::{Fate, Lab, reason};

fn fate() -> impl Strategy<Value = Fate> {
    let outcome = prop_oneof![
        Just(Outcome::Noted {
            reasons: vec![reason(
                "stall",
                "\u{7f}a stall \u{2014} of 22 s\tand a very very very long line of evidence that goes on and on and on"
            )]
        }),
        Just(Outcome::Failed { reasons: vec![reason("io-error", "sda: I/O error"), reason("x", "")] }),
        Just(Outcome::Void { reasons: vec![reason("host-load", "loaded")] }),
    ];
    prop_oneof![
        4 => Just(Fate::Fine),
        1 => Just(Fate::NoBoot),
        1 => Just(Fate::Crash),
        1 => Just(Fate::Void),
        1 => Just(Fate::Never),
        2 => (0usize..4, 0u32..3, outcome).prop_map(|(cell, trial, outcome)| Fate::Trial { cell, trial, outcome }),
    ]
}

fn lab() -> impl Strategy<Value = Lab> {
    let shape = (1usize..=2, 1usize..=9, 1usize..=7, 1usize..=4, 1u32..=3);
    let names = prop::collection::vec("[a-zA-Z0-9 .+\u{e4}\u{4e2d}_|`-]{1,60}", 11);
    let magnitude = prop_oneof![Just(0.0), Just(1e-3), Just(7.0), Just(950.0), Just(64e3), Just(9.9e6)];
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), 0usize..7, 0f64..0.4);
    (shape, names, magnitude, flags, prop::collection::vec(fate(), 0..60), any::<u64>(), "[a-z/0-9]{1,90}")
        .prop_map(
            |((boards, variants, rounds, cells, trials), names, magnitude, flags, fates, seed, label)| {
                let (finished, tcg, broken, metric, noise) = flags;
                let unique = |prefix: &str, index: usize| format!("{prefix}{index} {}", names[index]);
                let board_names: Vec<String> = (0..boards).map(|b| unique("b", b)).collect();
                let variant_names: Vec<String> = (0..variants).map(|v| unique("v", v + boards)).collect();
                let refs = |names: &[String]| -> Vec<&'static str> {
                    names.iter().map(|name| &*name.clone().leak()).collect()
                };
                let mut lab = Lab::new(&refs(&board_names), &refs(&variant_names), rounds);
                lab.plan.cells.truncate(cells);
                lab.plan.cells[0].label = label;
                lab.plan.trials = trials;
                lab.plan.seed = seed;
                lab.plan.report.primary = Metric::ALL[metric];
                lab.plan.report.metrics = Metric::ALL.to_vec();
                lab.level =
                    Box::new(move |_, variant, cell| magnitude * (1.0 + variant as f64 * 0.3 + cell as f64));
                lab.noise = (noise, noise / 2.0);
                lab.finished = finished;
                lab.accel = if tcg { Accel::Tcg } else { Accel::Kvm };
                if broken {
                    lab.broken_builds = vec![variants - 1];
                }
                for (at, fate) in fates.into_iter().enumerate() {
                    lab.fates.insert((at % boards, at / boards % variants, at / boards / variants), fate);
                }
                lab
            },
        )
}

/// Words that a float prints when arithmetic went wrong.
fn not_a_number(text: &str) -> Option<&str> {
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .find(|word| ["nan", "inf", "infinity"].contains(&word.to_ascii_lowercase().as_str()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_run_renders_within_a_mail(lab in lab(), full in any::<bool>()) {
        let meta = Meta {
            run_id: "7f3a9c1b2d3e".to_owned(),
            data_digest: format!("blake3:{}", "0f".repeat(32)),
            kab_version: "0.1.0".to_owned(),
            host: Vec::new(),
        };
        let found = findings(&lab.run(), &meta);
        let options = Options { full, unicode: false };
        let report = text(&found, options).unwrap();
        for line in report.lines() {
            prop_assert!(line.len() <= 72, "{} columns: {line}\n{report}", line.len());
            prop_assert!(line.is_ascii(), "{line}");
            prop_assert!(!line.contains('\t') && line.trim_end() == line, "{line:?}");
        }
        // Names may hold any word; the generator's alphabet cannot be kept from it, so only numbers' places are searched.
        let numbers: String = report.lines().filter(|line| !line.contains(" = ")).collect::<Vec<_>>().join("\n");
        let odd = not_a_number(&numbers).filter(|_| !lab.plan.variants.iter().any(|v| not_a_number(&v.name.0).is_some()));
        prop_assert!(odd.is_none(), "{odd:?} in\n{report}");
        prop_assert!(report.ends_with('\n') && !report.ends_with("\n\n"));
        let marked = markdown(&found, options).unwrap();
        prop_assert!(marked.lines().all(|line| line.trim_end() == line));
    }
}
