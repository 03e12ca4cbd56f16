//! One pair in one cell: the gates that refuse a verdict (S4) and the test (S5).

use crate::combine::cauchy;
use crate::counts::{Count, fisher};
use crate::hl::{self, HodgesLehmann};
use crate::ranks::{mann_whitney, min_p_mann_whitney, min_p_signed_rank, signed_rank};
use crate::sample::{mean, variance};
use crate::t::{self, TTest};
use crate::types::{CellRule, Interval, PValue, Pair};
use crate::units::{BadValue, Units};

/// Visits per variant below which there is no verdict.
pub const MIN_VISITS: usize = 3;
/// Complete rounds from which the analysis is paired.
pub const MIN_ROUNDS: usize = 5;
/// Largest share of void trials per variant.
pub const MAX_VOID_SHARE: f64 = 0.2;
/// Confidence of every printed interval.
pub const LEVEL: f64 = 0.95;
/// Rank tests that cannot reach these p-values could only dilute the t test.
const MAX_MIN_P_PAIRED: f64 = 0.04;
const MAX_MIN_P_UNPAIRED: f64 = 0.02;
/// p at which two variants' places in the session count as not interleaved.
const ORDER_ALPHA: f64 = 0.05;

/// Which test was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Paired t on the differences of complete rounds.
    BlockT,
    /// Welch's t on all units.
    WelchT,
}

/// Why a pair is not tested.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Gate {
    /// A variant has no usable visit in this cell.
    Missing {
        /// Which.
        variant: usize,
    },
    /// A trial has a value that the scale has no place for.
    BadValue(BadValue),
    /// Fewer than [`MIN_VISITS`] visits of a variant, so the noise between visits is unknown.
    TooFewVisits,
    /// More than [`MAX_VOID_SHARE`] of a variant's trials are void.
    TooManyVoid,
    /// The variants were not interleaved in time, so drift cannot be told from a difference.
    Order,
}

/// Void trials of both variants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VoidCounts {
    /// Of the candidate.
    pub candidate: Count,
    /// Of the reference.
    pub reference: Count,
    /// Fisher's p that the two share one rate; a finding of its own when small.
    pub p: PValue,
}

/// The test of a pair (S5).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairTest {
    /// The test used.
    pub method: Method,
    /// Estimate, standard error (measurement step included) and degrees of freedom.
    pub t: TTest,
    /// Interval of [`LEVEL`]; a point when both variants are constant.
    pub interval: Interval,
    /// p of the t test; `None` when the data are constant and differ.
    pub p_t: Option<PValue>,
    /// p of the exact rank test, when it can say something at this size.
    pub p_rank: Option<PValue>,
    /// The p that decides: Cauchy combination of the two, or the only one there is. `None` when the test is undefined.
    pub p: Option<PValue>,
    /// Hodges-Lehmann estimate and rank interval, with the rank test.
    pub robust: Option<HodgesLehmann>,
    /// Standard deviation of one observation of the test (round difference, or pooled unit), measurement step included.
    pub deviation: f64,
}

/// What a cell says about a pair before the family is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CellTest {
    /// Counted visits of candidate and reference.
    pub visits: (usize, usize),
    /// Rounds that have both variants.
    pub rounds: usize,
    /// Void trials.
    pub void: VoidCounts,
    /// Difference of the means of all units; shown even when a gate refuses the verdict.
    pub estimate: Option<f64>,
    /// The test, or why there is none.
    pub outcome: Result<PairTest, Gate>,
}

impl CellTest {
    /// Gates and tests `pair` on the units of a cell under its rule.
    pub fn new(rule: &CellRule, units: &Units, pair: Pair) -> Self {
        let (x, y) = (units.values(pair.reference), units.values(pair.candidate));
        let (reference, candidate) = (units.void(pair.reference), units.void(pair.candidate));
        let differences: Vec<f64> =
            units.differences(pair.candidate, pair.reference).iter().map(|(_, d)| *d).collect();
        let outcome = match gate(units, pair) {
            Some(gate) => Err(gate),
            None => test(rule, units, pair, &differences).ok_or(Gate::TooFewVisits),
        };
        Self {
            visits: (y.len(), x.len()),
            rounds: differences.len(),
            void: VoidCounts { candidate, reference, p: fisher(candidate, reference) },
            estimate: mean(&y).zip(mean(&x)).map(|(y, x)| y - x),
            outcome,
        }
    }
}

/// S4, in the order in which a user should fix things.
fn gate(units: &Units, pair: Pair) -> Option<Gate> {
    let both = [pair.reference, pair.candidate];
    if let Some(bad) = both.iter().find_map(|v| units.bad(*v)) {
        return Some(Gate::BadValue(bad));
    }
    if let Some(&variant) = both.iter().find(|v| units.of(**v).is_empty()) {
        return Some(Gate::Missing { variant });
    }
    if both.iter().any(|v| units.of(*v).len() < MIN_VISITS) {
        return Some(Gate::TooFewVisits);
    }
    if both.iter().any(|v| units.void(*v).share() > MAX_VOID_SHARE) {
        return Some(Gate::TooManyVoid);
    }
    order_confounded(units, pair).then_some(Gate::Order)
}

/// Whether the two variants' visits fail to interleave: complete separation, or an exact Mann-Whitney on their places. Unknown
/// places refuse nothing.
fn order_confounded(units: &Units, pair: Pair) -> bool {
    let places =
        |variant| -> Option<Vec<f64>> { units.of(variant).iter().map(|u| u.seq.map(f64::from)).collect() };
    let (Some(x), Some(y)) = (places(pair.reference), places(pair.candidate)) else { return false };
    let span =
        |v: &[f64]| (v.iter().copied().fold(f64::MAX, f64::min), v.iter().copied().fold(0.0, f64::max));
    let ((x_first, x_last), (y_first, y_last)) = (span(&x), span(&y));
    x_last < y_first || y_last < x_first || mann_whitney(&x, &y).get() <= ORDER_ALPHA
}

/// S5. `None` only for samples without a variance, which the gates exclude.
fn test(rule: &CellRule, units: &Units, pair: Pair, differences: &[f64]) -> Option<PairTest> {
    let (x, y) = (units.values(pair.reference), units.values(pair.candidate));
    let in_rounds =
        [pair.reference, pair.candidate].iter().all(|v| units.of(*v).iter().all(|u| u.round.is_some()));
    let step = rule.step() * rule.step() / 12.0;
    let part = if differences.len() >= MIN_ROUNDS && in_rounds {
        block(differences, step)?
    } else {
        unpaired(&x, &y, step)?
    };
    Some(finish(&part, &x, &y))
}

/// The pieces of a test before its p-values are combined.
struct Part {
    method: Method,
    t: TTest,
    p_rank: Option<PValue>,
    robust: Option<HodgesLehmann>,
    deviation: f64,
}

fn block(d: &[f64], step: f64) -> Option<Part> {
    let ranked = min_p_signed_rank(d.len()) <= MAX_MIN_P_PAIRED;
    Some(Part {
        method: Method::BlockT,
        t: t::paired(d)?.widened(step * 2.0 / d.len() as f64),
        p_rank: ranked.then(|| signed_rank(d)),
        robust: if ranked { hl::one_sample(d, LEVEL) } else { None },
        deviation: (variance(d)? + 2.0 * step).sqrt(),
    })
}

fn unpaired(x: &[f64], y: &[f64], step: f64) -> Option<Part> {
    let (n1, n2) = (x.len() as f64, y.len() as f64);
    let ranked = min_p_mann_whitney(x.len(), y.len()) <= MAX_MIN_P_UNPAIRED;
    let pooled = (variance(x)? * (n1 - 1.0) + variance(y)? * (n2 - 1.0)) / (n1 + n2 - 2.0);
    Some(Part {
        method: Method::WelchT,
        t: t::welch(x, y)?.widened(step * (1.0 / n1 + 1.0 / n2)),
        p_rank: ranked.then(|| mann_whitney(x, y)),
        robust: if ranked { hl::two_sample(x, y, LEVEL) } else { None },
        deviation: (pooled + step).sqrt(),
    })
}

fn finish(part: &Part, x: &[f64], y: &[f64]) -> PairTest {
    let &Part { method, t, mut p_rank, mut robust, deviation } = part;
    let p_t = t.p();
    let p = match (p_t, p_rank) {
        (Some(p_t), Some(p_rank)) => Some(cauchy(&[p_t, p_rank])),
        (Some(p_t), None) => Some(p_t),
        (None, _) => {
            // Constant and different: only ranks of the units themselves can speak.
            robust = None;
            p_rank = (min_p_mann_whitney(x.len(), y.len()) <= MAX_MIN_P_UNPAIRED).then(|| mann_whitney(x, y));
            p_rank
        }
    };
    let interval = if t.se > 0.0 { t.interval(LEVEL) } else { Interval::new(t.estimate, t.estimate) };
    PairTest { method, t, interval, p_t, p_rank, p, robust, deviation }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::types::{Better, CellInput, Row, Scale};

    const PAIR: Pair = Pair { candidate: 1, reference: 0 };

    /// One visit per variant and round, alternating which goes first.
    fn cell(values: &[(f64, f64)], scale: Scale, step: f64) -> CellInput {
        let mut rows = Vec::new();
        for (i, &(reference, candidate)) in values.iter().enumerate() {
            let round = u32::try_from(i).unwrap();
            for (variant, value) in [(0, reference), (1, candidate)] {
                let late = (variant == 1) != (i % 2 == 1);
                let seq = Some(2 * round + u32::from(late));
                rows.push(Row { variant, round: Some(round), visit: round, seq, value, void: false });
            }
        }
        CellInput { rule: CellRule::new(scale, Better::Higher, 0.02, step).unwrap(), rows }
    }

    fn run(cell: &CellInput) -> CellTest {
        CellTest::new(&cell.rule, &Units::of_cell(cell), PAIR)
    }

    #[test]
    fn five_complete_rounds_are_paired_and_four_are_not() {
        let values = [(100.0, 97.0), (101.0, 98.0), (99.0, 97.0), (102.0, 98.0), (100.0, 96.0)];
        assert_eq!(run(&cell(&values, Scale::Log, 0.0)).outcome.unwrap().method, Method::BlockT);
        let mut short = cell(&values, Scale::Log, 0.0);
        short.rows.retain(|r| !(r.variant == 1 && r.round == Some(2)));
        let test = run(&short);
        assert_eq!((test.rounds, test.visits), (4, (4, 5)));
        assert_eq!(test.outcome.unwrap().method, Method::WelchT);
    }

    #[test]
    fn constant_and_different_leaves_the_rank_test() {
        let test = run(&cell(&[(50.0, 40.0); 5], Scale::Linear, 0.0)).outcome.unwrap();
        assert_eq!(test.interval, Interval::new(-10.0, -10.0));
        assert_eq!(test.p_t, None);
        assert!((test.p.unwrap().get() - 2.0 / 252.0).abs() < 1e-12);
    }

    #[test]
    fn constant_and_different_with_too_few_visits_is_undefined() {
        assert_eq!(run(&cell(&[(50.0, 40.0); 3], Scale::Linear, 0.0)).outcome.unwrap().p, None);
    }

    #[test]
    fn a_measurement_step_keeps_a_constant_difference_from_being_certain() {
        let test = run(&cell(&[(50.0, 50.5); 5], Scale::Linear, 1.0)).outcome.unwrap();
        assert!((test.t.se - (1.0_f64 / 12.0 * 2.0 / 5.0).sqrt()).abs() < 1e-12);
        assert!(test.interval.contains(0.0));
    }

    #[test]
    fn gates_name_what_is_wrong() {
        let good = cell(&[(100.0, 97.0); 6], Scale::Log, 0.0);
        let gate = |change: &dyn Fn(&mut Vec<Row>)| {
            let mut cell = good.clone();
            change(&mut cell.rows);
            run(&cell).outcome.unwrap_err()
        };
        assert_eq!(gate(&|rows| rows.retain(|r| r.variant == 0)), Gate::Missing { variant: 1 });
        assert_eq!(gate(&|rows| rows.truncate(4)), Gate::TooFewVisits);
        assert!(matches!(gate(&|rows| rows[3].value = 0.0), Gate::BadValue(b) if b.value == 0.0));
        let void =
            gate(&|rows| rows.iter_mut().filter(|r| r.variant == 1).take(2).for_each(|r| r.void = true));
        assert_eq!(void, Gate::TooManyVoid);
        let order = gate(&|rows| rows.iter_mut().for_each(|r| r.seq = Some(r.variant as u32 * 10 + r.visit)));
        assert_eq!(order, Gate::Order);
    }

    #[test]
    fn unknown_places_in_the_session_refuse_nothing() {
        let mut cell = cell(&[(100.0, 97.0); 6], Scale::Log, 0.0);
        cell.rows[0].seq = None;
        assert!(run(&cell).outcome.is_ok());
    }
}
