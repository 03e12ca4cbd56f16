//! Runs that several tests report on.

#![allow(dead_code)]

use super::{Lab, middle, source};
use kab_model::{Applied, SeriesInfo};
use kab_report::{HostFact, Latencies, Meta};

pub(crate) fn meta() -> Meta {
    Meta {
        run_id: "7f3a9c1b2d3e".to_owned(),
        data_digest: format!("blake3:{}", "3fb1".repeat(16)),
        kab_version: "0.1.0".to_owned(),
        host: vec![HostFact { name: "cpu".to_owned(), value: "2 x Some Processor".to_owned() }],
    }
}

/// The three kernels of the mailing list's thread on two boards.
pub(crate) fn three_kernels() -> Lab {
    let mut lab = Lab::new(&["sm8650-qrd", "sm8650-hdk"], &["v6.15", "v6.16", "v6.16 + this commit"], 8);
    let plan = &mut lab.plan;
    source(&mut plan.variants[2]).base_commit = source(&mut plan.variants[1]).commit.clone();
    source(&mut plan.variants[2]).changes = vec![Applied::Series(SeriesInfo {
        source: "v2-ufs-hardirq.mbox".to_owned(),
        subjects: vec![
            "scsi: ufs: core: complete polled requests also from interrupt context".to_owned(),
            "scsi: ufs: core: move some irq handling back to hardirq (with time limit)".to_owned(),
        ],
        ..SeriesInfo::default()
    })];
    plan.variants[1].changed_files = vec!["x".to_owned(); 1000];
    plan.variants[2].changed_files = vec!["x".to_owned(); 1000];
    plan.pairs = vec![
        (plan.variants[2].name.clone(), plan.variants[1].name.clone()),
        (plan.variants[2].name.clone(), plan.variants[0].name.clone()),
    ];
    lab.level = Box::new(|board, variant, cell| {
        let qrd = [
            [4526.0, 6295.0, 4321.0],
            [64_315.0, 62_137.0, 52_506.0],
            [6577.0, 8580.0, 6727.0],
            [97_911.0, 105_927.0, 87_239.0],
        ];
        let hdk = [
            [5126.0, 5848.0, 4370.0],
            [53_609.0, 44_397.0, 53_621.0],
            [7676.0, 8992.0, 6905.0],
            [97_419.0, 103_790.0, 88_468.0],
        ];
        [qrd, hdk][board][cell][variant]
    });
    lab
}

/// One board, two variants; `change` is the candidate's factor in each of the four cells.
pub(crate) fn two_kernels(rounds: usize, change: [f64; 4]) -> Lab {
    let mut lab = Lab::new(&["vm-ufs"], &["v6.16", "v6.16 + series"], rounds);
    let plan = &mut lab.plan;
    source(&mut plan.variants[1]).base_commit = source(&mut plan.variants[0]).commit.clone();
    source(&mut plan.variants[1]).changes = vec![Applied::Series(SeriesInfo {
        source: "series.mbox".to_owned(),
        subjects: vec!["scsi: ufs: core: spare a lock".to_owned()],
        ..SeriesInfo::default()
    })];
    let level = [4_526.0, 64_315.0, 6_577.0, 97_911.0];
    lab.level = Box::new(move |_, variant, cell| level[cell] * if variant == 1 { change[cell] } else { 1.0 });
    lab
}

/// Histograms for every cell of `lab`, with a tail that is heavier for later variants.
pub(crate) fn latencies(lab: &Lab) -> Latencies {
    let mut latencies = Latencies::default();
    for (at, board) in lab.plan.boards.iter().enumerate() {
        for (cell, planned) in lab.plan.cells.iter().enumerate() {
            for (variant, named) in lab.plan.variants.iter().enumerate() {
                let typical = 1e9 / (lab.level)(at, variant, cell);
                let bins: Vec<(u64, u64)> = (0..160)
                    .map(|step| {
                        let x = f64::from(step) / 20.0 - 1.0;
                        let weight =
                            (-x * x * 6.0).exp() * 1e6 + (-2.2 * x).exp() * 80.0 * (1.0 + variant as f64);
                        (middle(typical * x.exp()), weight as u64)
                    })
                    .collect();
                latencies.add(&board.spec.name.0, &planned.id.0, &named.name.0, &bins);
            }
        }
    }
    latencies
}
