//! What ends a session, and nightly series: A14 to A16 and A18.

use super::simulate::{Layout, Noise, Random, Session, Shape, means, one, rule};
use super::single::PAIR;
use super::{Effort, Line};
use kab_stats::change::{ScanRule, changes};
use kab_stats::sequential::{DEFAULT_LOOKS, Sequential, Step};
use kab_stats::{Interval, Verdict, judge, t};

/// A14 (fixed number of rounds) and A15.
pub(super) fn same(effort: Effort) -> Vec<Line> {
    let reps = effort.reps(10_000);
    let share = |cv, rounds, effect: f64| {
        let [share] = means(reps, 14, |random| {
            let session = Session::new(random, rounds, Layout::Rounds);
            let mut cell = session.cell(random, &Noise::new(Shape::Normal, cv), 1, effect, 0.0);
            cell.rows.iter_mut().for_each(|row| row.seq = None);
            [one(judge(&[cell], &[PAIR])[0].verdict == Verdict::Same)]
        });
        share
    };
    let mut lines = Vec::new();
    for rounds in [5, 8, 16, 25] {
        let measured = share(0.01, rounds, 0.98_f64.ln());
        let what = format!("false same at the margin: CV 1 %, n={rounds}");
        lines.push(effort.line("A14", what, measured, (0.0, 0.03), reps));
    }
    for (rounds, least) in [(8, 0.77), (10, 0.92)] {
        let measured = share(0.01, rounds, 0.0);
        lines.push(effort.line("A15", format!("same: CV 1 %, n={rounds}"), measured, (least, 1.0), reps));
    }
    lines
}

/// A14 (adaptive) and A16. As in the method's table, A16 takes the sequential test alone, without a margin.
pub(super) fn adaptive(effort: Effort) -> Vec<Line> {
    let reps = effort.reps(40_000);
    let plan = Sequential::new(&DEFAULT_LOOKS, 0.05).expect("the default looks are in order");
    let point = Interval::new(0.0, 0.0);
    let outcome = |cv: f64, effect: f64, zone: Interval| {
        means(reps, 16, |random| {
            let (step, rounds) = stop(random, &plan, cv, effect, &zone);
            [one(step == Step::Same), one(step == Step::Different), f64::from(rounds)]
        })
    };
    let [same, _, _] = outcome(0.01, 0.98_f64.ln(), rule().zone());
    let [_, alarms, _] = outcome(0.03, 0.0, point);
    let [_, power, rounds] = outcome(0.03, 0.97_f64.ln(), point);
    vec![
        effort
            .line("A14", "false same at the margin: CV 1 %, adaptive".into(), same, (0.0, 0.025), reps)
            .known(0.0266, REPEATED),
        effort.line("A16", "false positives: CV 3 %, adaptive".into(), alarms, (0.0, 0.057), reps),
        effort.line("A16", "power: CV 3 %, -3 %, adaptive".into(), power, (0.88, 1.0), reps),
        Line {
            id: "A16",
            what: "rounds used: CV 3 %, -3 %, adaptive".into(),
            measured: rounds,
            // A session's length deviates by about 6 rounds.
            bounds: (0.0, 17.5 + if effort.0 < 1.0 { 24.0 / f64::from(reps).sqrt() } else { 0.0 }),
            reps,
            known: None,
        },
    ]
}

/// 400,000 repetitions of S9 in other code gave 2.66 %.
const REPEATED: &str = "The looks spend 2.5 % on each side, exactly so for a known deviation. With an estimated one, from five rounds \
    on, the levels of S9 come to 5.35 % instead of 5 % (the method says so in its section 2.5), half of it on each side: 2.67 %.";

/// Runs one session to its end.
fn stop(random: &mut Random, plan: &Sequential, cv: f64, effect: f64, zone: &Interval) -> (Step, u32) {
    let differences: Vec<f64> = (0..25).map(|_| effect + cv * (random.normal() - random.normal())).collect();
    for nominal in plan.nominal() {
        let test = t::paired(&differences[..nominal.rounds as usize]).expect("five rounds have a variance");
        if let Some(look) = plan.look(nominal.rounds, &test, zone)
            && look.step != Step::Continue
        {
            return (look.step, nominal.rounds);
        }
    }
    (Step::Cap, 25)
}

/// A18.
pub(super) fn nightly(effort: Effort) -> Vec<Line> {
    let reps = effort.reps(2000);
    let (clean, outliers) = (Nights { outliers: 0.0, ar: 0.0 }, Nights { outliers: 0.05, ar: 0.0 });
    let mut lines = Vec::new();
    for (name, nights) in
        [("clean", clean), ("5 % outliers", outliers), ("AR(1) 0.3", Nights { outliers: 0.0, ar: 0.3 })]
    {
        let [share] = means(reps, 18, |random| {
            let series = nights.series(random, 60, 0.0);
            [one((12..=60).any(|night| !scan(&series[..night]).is_empty()))]
        });
        lines.push(effort.line("A18", format!("series with an alarm: {name}"), share, (0.0, 0.03), reps));
    }
    for (name, nights, least) in [("clean", clean, 0.97), ("5 % outliers", outliers, 0.9)] {
        let [share] = means(reps, 19, |random| {
            let series = nights.series(random, 60, 0.97_f64.ln());
            [one((41..=60).any(|night| scan(&series[..night]).iter().any(|at| at.abs_diff(40) <= 5)))]
        });
        let what = format!("3 % step found within 20 nights: {name}");
        lines.push(effort.line("A18", what, share, (least, 1.0), reps));
    }
    lines
}

fn scan(series: &[f64]) -> Vec<usize> {
    changes(series, &ScanRule::default(), 1).into_iter().map(|change| change.at).collect()
}

/// Nights of CV 1 %.
#[derive(Clone, Copy)]
struct Nights {
    outliers: f64,
    ar: f64,
}

impl Nights {
    /// `n` nights with a step after the 40th.
    fn series(self, random: &mut Random, n: usize, step: f64) -> Vec<f64> {
        let mut chain = random.normal();
        let night = |night: usize| {
            chain = self.ar * chain + (1.0 - self.ar * self.ar).sqrt() * random.normal();
            let outlier = if random.uniform() < self.outliers { 0.8_f64.ln() } else { 0.0 };
            0.01 * chain + outlier + if night >= 40 { step } else { 0.0 }
        };
        (0..n).map(night).collect()
    }
}
