//! Whole reports: A8 to A10 and A17.

use super::simulate::{Layout, Noise, Random, Session, Shape, means, one};
use super::single::PAIR;
use super::{Effort, Line};
use kab_stats::{Verdict, geomean, judge};

/// A8.
pub(super) fn false_alarms(effort: Effort) -> Vec<Line> {
    let visit = |visit, shape| Noise { visit, ..Noise::new(shape, 0.01) };
    let noises = [
        ("visits 2 %, trials 1 %", visit(0.02, Shape::Normal)),
        ("visits 0.5 %, trials 1 %", visit(0.005, Shape::Normal)),
        ("visits 1 %, drift 5 %", Noise { drift: 0.05, ..visit(0.01, Shape::Normal) }),
        ("visits 1 %, 5 % outliers", visit(0.01, Shape::Outliers)),
        ("visits 1 %, bimodal", visit(0.01, Shape::Bimodal)),
    ];
    let reps = effort.reps(2500);
    let mut lines = Vec::new();
    for (name, noise) in noises {
        for cells in [8, 16, 32] {
            for rounds in [5, 8, 10] {
                let [share] = means(reps, 8, |random| {
                    let verdicts = report(random, &noise, cells, rounds, |_| 0.0);
                    [one(verdicts.iter().any(|v| changed(*v) || likely(*v)))]
                });
                let what = format!("report with a false alarm: {name}, {cells} cells, {rounds} x 3");
                lines.push(effort.line("A8", what, share, (0.0, 0.06), reps));
            }
        }
    }
    lines
}

/// A9 and A10: a quarter of the cells is 5 % slower.
pub(super) fn power_and_discoveries(effort: Effort) -> Vec<Line> {
    let noise = Noise { visit: 0.02, ..Noise::new(Shape::Normal, 0.01) };
    let reps = effort.reps(2500);
    let mut lines = Vec::new();
    for (rounds, sure, with_likely) in [(8, 0.55, 0.80), (10, 0.82, 0.93)] {
        let slower = |cell: usize| if cell.is_multiple_of(4) { 0.95_f64.ln() } else { 0.0 };
        let [found, flagged, discoveries] = means(reps, 10, |random| {
            let verdicts = report(random, &noise, 16, rounds, slower);
            let count = |kind: fn(Verdict) -> bool, real: bool| {
                let hits =
                    verdicts.iter().enumerate().filter(|(i, v)| i.is_multiple_of(4) == real && kind(**v));
                hits.count() as f64
            };
            let true_flags = count(|v| changed(v) || likely(v), true);
            let false_flags = count(|v| changed(v) || likely(v), false);
            let share = false_flags / (false_flags + true_flags).max(1.0);
            [count(changed, true) / 4.0, true_flags / 4.0, share]
        });
        let what = |name| format!("{name}: 16 cells, {rounds} x 3, visits 2 %");
        lines.push(effort.line("A9", what("false discoveries"), discoveries, (0.0, 0.055), reps));
        lines.push(effort.line("A10", what("power at 5 %, sure"), found, (sure, 1.0), reps));
        lines.push(effort.line("A10", what("power at 5 %, with likely"), flagged, (with_likely, 1.0), reps));
    }
    lines
}

/// A17.
pub(super) fn geomean_coverage(effort: Effort) -> Vec<Line> {
    let noise = Noise { visit: 0.03, ..Noise::new(Shape::Normal, 0.0) };
    let reps = effort.reps(10_000);
    let mut lines = Vec::new();
    for cells in [8, 32] {
        for shared in [0.0, 0.5, 0.9] {
            for rounds in [5, 10] {
                let [share] = means(reps, 17, |random| {
                    let session = Session::new(random, rounds, Layout::Rounds);
                    let inputs: Vec<_> =
                        (0..cells).map(|_| session.cell(random, &noise, 1, 0.0, shared)).collect();
                    [one(geomean(&inputs, PAIR).is_some_and(|g| g.interval.contains(0.0)))]
                });
                let what = format!("geomean interval covers: {cells} cells, rho {shared}, {rounds} rounds");
                lines.push(effort.line("A17", what, share, (0.94, 0.96), reps));
            }
        }
    }
    lines
}

/// Verdicts of a report whose cells share half of the variance between visits.
fn report(
    random: &mut Random,
    noise: &Noise,
    cells: usize,
    rounds: u32,
    effect: impl Fn(usize) -> f64,
) -> Vec<Verdict> {
    let session = Session::new(random, rounds, Layout::Rounds);
    let inputs: Vec<_> = (0..cells).map(|i| session.cell(random, noise, 3, effect(i), 0.5)).collect();
    judge(&inputs, &[PAIR]).into_iter().map(|v| v.verdict).collect()
}

fn changed(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Better | Verdict::Worse)
}

fn likely(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::LikelyBetter | Verdict::LikelyWorse)
}
