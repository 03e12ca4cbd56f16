//! What a verdict carries besides the test, the order gate, and the summary over cells, on data small enough to check by hand.
#![allow(clippy::unwrap_used)]

use kab_stats::geomean::common_cells;
use kab_stats::{
    Better, CellInput, CellRule, CellVerdict, Gate, MoreBlocks, NoVerdict, Pair, Row, Scale, Verdict,
    geomean, judge,
};

const PAIR: Pair = Pair { candidate: 1, reference: 0 };

/// Round i of every variant: 1000 times exp of its entry. The variants take turns in going first.
fn cell(better: Better, effects: &[&[f64]]) -> CellInput {
    let rule = CellRule::new(Scale::Log, better, 0.02, 0.0).unwrap();
    let variants = u32::try_from(effects.len()).unwrap();
    let mut rows = Vec::new();
    for (variant, effects) in (0_u32..).zip(effects) {
        for (round, effect) in (0_u32..).zip(*effects) {
            let seq = Some(round * variants + (variant + round) % variants);
            let value = 1000.0 * effect.exp();
            let (variant, round) = (variant as usize, Some(round));
            rows.push(Row { variant, round, visit: round.unwrap(), seq, value, void: false });
        }
    }
    CellInput { rule, rows }
}

fn without_rounds(mut cell: CellInput) -> CellInput {
    cell.rows.iter_mut().for_each(|r| r.round = None);
    cell
}

fn one(cell: CellInput) -> CellVerdict {
    judge(&[cell], &[PAIR])[0]
}

const FLAT: [f64; 8] = [0.0; 8];
/// Eight values with mean 0 and deviation 0.01069.
const WAVE: [f64; 8] = [0.01, -0.01, 0.01, -0.01, 0.01, -0.01, 0.01, -0.01];

fn wave(mean: f64, scale: f64) -> [f64; 8] {
    WAVE.map(|w| mean + scale * w)
}

#[test]
fn clearly_needs_the_whole_interval_beyond_the_margin() {
    let far = one(cell(Better::Higher, &[&FLAT, &wave(-0.06, 1.0)]));
    assert_eq!((far.verdict, far.evidence.clearly), (Verdict::Worse, true));
    let near = one(cell(Better::Higher, &[&FLAT, &wave(-0.025, 1.0)]));
    assert_eq!((near.verdict, near.evidence.clearly), (Verdict::Worse, false));
    let faster = one(cell(Better::Lower, &[&FLAT, &wave(-0.06, 1.0)]));
    assert_eq!((faster.verdict, faster.evidence.clearly), (Verdict::Better, true));
}

#[test]
fn a_small_difference_may_be_real() {
    let real = one(cell(Better::Higher, &[&FLAT, &wave(-0.008, 0.2)]));
    assert_eq!((real.verdict, real.evidence.real_but_small), (Verdict::Same, true));
    let none = one(cell(Better::Higher, &[&FLAT, &wave(0.0, 0.2)]));
    assert_eq!((none.verdict, none.evidence.real_but_small), (Verdict::Same, false));
}

/// More rounds by the rule of S7, counted one by one with the deviation computed by hand.
#[test]
fn undecided_pairs_say_how_much_is_missing() {
    let needed = |deviation: f64, per_block: f64| {
        let fits = |n: usize| {
            let t = kab_stats::t::critical(0.05, (n - 1) as f64);
            t * deviation * (per_block / n as f64).sqrt() <= 0.6 * 0.02_f64.ln_1p()
        };
        (9..).find(|n| fits(*n)).unwrap() - 8
    };
    let deviation = 0.03 * (8.0_f64 / 7.0).sqrt();
    let paired = cell(Better::Higher, &[&FLAT, &wave(0.0, 3.0)]);
    let found = one(paired.clone());
    assert_eq!(found.verdict, Verdict::Undecided);
    assert_eq!(found.evidence.more_blocks, Some(MoreBlocks::About(needed(deviation, 1.0))));

    // Unpaired, the pooled deviation of one constant and one noisy variant is 1/sqrt(2) of the noisy one's.
    let unpaired = one(without_rounds(paired.clone()));
    let expected = needed(deviation / 2.0_f64.sqrt(), 2.0);
    assert_eq!(unpaired.evidence.more_blocks, Some(MoreBlocks::About(expected)));

    // A measurement step is noise too.
    let mut coarse = paired;
    let step = 0.03_f64;
    coarse.rule = CellRule::new(Scale::Log, Better::Higher, 0.02, step).unwrap();
    let expected = needed((deviation.powi(2) + step * step / 6.0).sqrt(), 1.0);
    assert_eq!(one(coarse).evidence.more_blocks, Some(MoreBlocks::About(expected)));
}

/// A large change in much noise: the interval will never fit into the margin, but the change itself will be told.
#[test]
fn a_change_beyond_the_margin_needs_the_rounds_that_show_it() {
    use kab_stats::planning::{Design, blocks_for_effect};
    let noisy = cell(Better::Higher, &[&FLAT, &wave(-0.3, 40.0)]);
    let found = one(noisy.clone());
    assert_eq!(found.verdict, Verdict::Undecided);
    let test = found.evidence.test.unwrap();
    let needed = |alpha: f64| {
        blocks_for_effect(test.t.estimate, test.deviation / 2.0_f64.sqrt(), alpha, 0.8, Design::Blocks)
            .unwrap()
    };
    assert!(needed(0.05) > 8, "{}", needed(0.05));
    assert_eq!(found.evidence.more_blocks, Some(MoreBlocks::About(needed(0.05) - 8)));

    // In a family of three each claim must be surer.
    let family = judge(&[noisy.clone(), noisy.clone(), noisy], &[PAIR]);
    assert_eq!(family[0].evidence.more_blocks, Some(MoreBlocks::About(needed(0.05 / 3.0) - 8)));
    assert!(needed(0.05 / 3.0) > needed(0.05));

    // The same noise around a change within the margin leads nowhere.
    let hopeless = one(cell(Better::Higher, &[&FLAT, &wave(-0.01, 40.0)]));
    assert_eq!(hopeless.evidence.more_blocks, Some(MoreBlocks::TooMany));
}

#[test]
fn variants_that_overlap_by_one_visit_did_not_interleave() {
    let mut late = cell(Better::Higher, &[&FLAT, &wave(-0.06, 1.0)]);
    for row in &mut late.rows {
        // Reference 0..=6 and then 21, between the first two of the candidate's 20, 22, ..
        row.seq = Some(match (row.variant, row.visit) {
            (0, 7) => 21,
            (0, visit) => visit,
            (_, visit) => 20 + 2 * visit,
        });
    }
    assert_eq!(one(late).verdict, Verdict::NoVerdict(NoVerdict::Gate(Gate::Order)));
}

#[test]
fn any_pair_may_be_asked_and_all_share_the_family() {
    let three = cell(Better::Higher, &[&FLAT, &wave(-0.06, 1.0), &wave(-0.1, 0.5)]);
    let pairs: Vec<Pair> = [(1, 0), (2, 0), (2, 1)].map(Pair::from).to_vec();
    let found = judge(&[three.clone(), three], &pairs);
    let order: Vec<(usize, Pair)> = found.iter().map(|v| (v.cell, v.pair)).collect();
    assert_eq!(order, [0, 1].iter().flat_map(|c| pairs.iter().map(move |p| (*c, *p))).collect::<Vec<_>>());
    assert!(found.iter().all(|v| v.evidence.family == 6 && v.verdict == Verdict::Worse));
    assert!((found[2].evidence.estimate.unwrap() + 0.04).abs() < 1e-12);
}

#[test]
fn the_summary_names_its_extremes_and_skips_what_was_not_measured() {
    let slow = cell(Better::Higher, &[&FLAT, &wave(-0.06, 1.0)]);
    let fast = cell(Better::Higher, &[&FLAT, &wave(0.02, 1.0)]);
    let missing = cell(Better::Higher, &[&FLAT]);
    let cells = [fast, missing, slow];
    let summary = geomean(&cells, PAIR).unwrap();
    assert_eq!((summary.cells.as_slice(), summary.rounds), ([0, 2].as_slice(), 8));
    assert!((summary.estimate + 0.02).abs() < 1e-12);
    assert_eq!((summary.worst.0, summary.best.0), (2, 0));
    assert!((summary.worst.1 + 0.06).abs() < 1e-12 && (summary.best.1 - 0.02).abs() < 1e-12);
    assert_eq!(common_cells(&cells, &[0, 1]), [0, 2]);
    assert_eq!(common_cells(&cells, &[0]), [0, 1, 2]);
}

#[test]
fn the_summary_follows_the_good_direction() {
    let cells = [-0.06, 0.02].map(|effect| cell(Better::Lower, &[&FLAT, &wave(effect, 1.0)]));
    let summary = geomean(&cells, PAIR).unwrap();
    assert_eq!((summary.worst.0, summary.best.0), (1, 0));
}

#[test]
fn the_summary_mixes_nothing_and_needs_five_rounds() {
    let latency = cell(Better::Lower, &[&FLAT, &FLAT]);
    let iops = cell(Better::Higher, &[&FLAT, &FLAT]);
    assert_eq!(geomean(&[latency, iops.clone()], PAIR), None);
    let mut share = iops.clone();
    share.rule = CellRule::new(Scale::Linear, Better::Higher, 1.0, 0.0).unwrap();
    assert_eq!(geomean(&[share.clone(), share], PAIR), None);
    let short = cell(Better::Higher, &[&FLAT[..4], &FLAT[..4]]);
    assert_eq!(geomean(&[iops, short], PAIR), None);
    assert_eq!(geomean(&[], PAIR), None);
}
