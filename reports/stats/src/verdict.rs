//! From tests to verdicts: corrections over the family (S6) and the decision (S7).

use crate::cell::{CellTest, Gate, Method, PairTest, VoidCounts};
use crate::multiplicity::{benjamini_hochberg, holm};
use crate::planning::{self, Design};
use crate::types::{Better, CellInput, CellRule, Interval, PValue, Pair};
use crate::units::Units;
use std::f64::consts::SQRT_2;

pub use crate::planning::MoreBlocks;

/// Error rate of every claim.
pub const ALPHA: f64 = 0.05;

/// What may be said about a pair in a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    /// Better by more than the margin (Holm).
    Better,
    /// Worse by more than the margin (Holm).
    Worse,
    /// Probably better; about one in twenty of these is false (BH).
    LikelyBetter,
    /// Probably worse; about one in twenty of these is false (BH).
    LikelyWorse,
    /// The whole interval lies inside the margin.
    Same,
    /// The data allow both a difference and none.
    Undecided,
    /// The data cannot carry a verdict at all.
    NoVerdict(NoVerdict),
    /// Equal by construction (same image, same settings). Never computed here: callers that know it set it.
    Identical,
}

/// Why there is no verdict.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NoVerdict {
    /// A gate refused the pair.
    Gate(Gate),
    /// Both variants are constant, differ, and have too few visits for a rank test.
    Undefined,
}

/// Which estimate and interval the verdict rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownBy {
    /// The t test.
    T,
    /// Hodges-Lehmann and the rank interval ("robust interval"): the rank test decided while an outlier ruined the t interval.
    HodgesLehmann,
}

/// The numbers to print.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shown {
    /// Effect on the scale of analysis.
    pub estimate: f64,
    /// Its 95 % interval.
    pub interval: Interval,
    /// Where they come from.
    pub by: ShownBy,
}

/// What a verdict rests on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// Counted visits of candidate and reference.
    pub visits: (usize, usize),
    /// Rounds that have both variants.
    pub rounds: usize,
    /// Void trials.
    pub void: VoidCounts,
    /// Difference of means; present even without a verdict, when both variants were measured.
    pub estimate: Option<f64>,
    /// The full test, when the gates let the pair through.
    pub test: Option<PairTest>,
    /// Estimate and interval to print; `None` without a verdict.
    pub shown: Option<Shown>,
    /// p corrected by Holm over the family.
    pub p_holm: Option<PValue>,
    /// p corrected by Benjamini and Hochberg over the family.
    pub q_bh: Option<PValue>,
    /// Number of tests in the family.
    pub family: usize,
    /// Same, but the interval excludes 0: "real but below the margin".
    pub real_but_small: bool,
    /// Better or worse, and the whole interval lies outside the margin.
    pub clearly: bool,
    /// Undecided: how many more rounds would decide, one way or the other.
    pub more_blocks: Option<MoreBlocks>,
}

impl Evidence {
    /// The method, when there was a test.
    pub fn method(&self) -> Option<Method> {
        self.test.map(|t| t.method)
    }
}

/// The verdict on one pair in one cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CellVerdict {
    /// Index of the cell in the input.
    pub cell: usize,
    /// The pair.
    pub pair: Pair,
    /// The verdict.
    pub verdict: Verdict,
    /// Its evidence.
    pub evidence: Evidence,
}

/// Judges every pair in every cell as one family: one primary metric, all cells and pairs corrected together. The result is in
/// cell order, pairs in the given order within a cell.
pub fn judge(cells: &[CellInput], pairs: &[Pair]) -> Vec<CellVerdict> {
    let tests: Vec<(usize, Pair, CellTest)> = cells
        .iter()
        .enumerate()
        .flat_map(|(i, cell)| {
            let units = Units::of_cell(cell);
            pairs.iter().map(move |pair| (i, *pair, CellTest::new(&cell.rule, &units, *pair)))
        })
        .collect();
    let family: Vec<PValue> = tests.iter().filter_map(|(_, _, t)| deciding_p(t)).collect();
    let mut corrected = holm(&family).into_iter().zip(benjamini_hochberg(&family));
    tests
        .into_iter()
        .map(|(cell, pair, test)| {
            let adjusted = deciding_p(&test).and_then(|_| corrected.next());
            let (verdict, evidence) = conclude(&cells[cell].rule, &test, adjusted, family.len());
            CellVerdict { cell, pair, verdict, evidence }
        })
        .collect()
}

fn deciding_p(test: &CellTest) -> Option<PValue> {
    test.outcome.as_ref().ok()?.p
}

/// S7 for one pair, with its corrected p-values when it has any.
fn conclude(
    rule: &CellRule,
    test: &CellTest,
    adjusted: Option<(PValue, PValue)>,
    family: usize,
) -> (Verdict, Evidence) {
    let mut evidence = Evidence {
        visits: test.visits,
        rounds: test.rounds,
        void: test.void,
        estimate: test.estimate,
        test: test.outcome.ok(),
        shown: None,
        p_holm: adjusted.map(|a| a.0),
        q_bh: adjusted.map(|a| a.1),
        family,
        real_but_small: false,
        clearly: false,
        more_blocks: None,
    };
    let (pair_test, (p_holm, q_bh)) = match (test.outcome, adjusted) {
        (Ok(pair_test), Some(adjusted)) => (pair_test, adjusted),
        (Ok(_), None) => return (Verdict::NoVerdict(NoVerdict::Undefined), evidence),
        (Err(gate), _) => return (Verdict::NoVerdict(NoVerdict::Gate(gate)), evidence),
    };
    let shown = choose_shown(&pair_test, p_holm, q_bh);
    let verdict = decide(rule, &shown, p_holm, q_bh);
    evidence.estimate = Some(pair_test.t.estimate);
    evidence.real_but_small = verdict == Verdict::Same && !shown.interval.contains(0.0);
    evidence.clearly =
        matches!(verdict, Verdict::Better | Verdict::Worse) && shown.interval.is_outside(&rule.zone());
    if verdict == Verdict::Undecided {
        evidence.more_blocks = Some(more_blocks(rule, &pair_test, &evidence));
    }
    evidence.shown = Some(shown);
    (verdict, evidence)
}

fn choose_shown(test: &PairTest, p_holm: PValue, q_bh: PValue) -> Shown {
    let claimed = p_holm.get().min(q_bh.get()) <= ALPHA;
    if claimed
        && test.interval.contains(0.0)
        && let Some(robust) = test.robust
        && let Some(interval) = robust.interval
    {
        return Shown { estimate: robust.estimate, interval, by: ShownBy::HodgesLehmann };
    }
    Shown { estimate: test.t.estimate, interval: test.interval, by: ShownBy::T }
}

/// The table of S7, in its order.
fn decide(rule: &CellRule, shown: &Shown, p_holm: PValue, q_bh: PValue) -> Verdict {
    let zone = rule.zone();
    if shown.interval.is_inside(&zone) {
        return Verdict::Same;
    }
    let beyond = shown.estimate <= zone.low || shown.estimate >= zone.high;
    let better = match rule.better() {
        Better::Higher => shown.estimate > 0.0,
        Better::Lower => shown.estimate < 0.0,
    };
    let (holm, bh) = (p_holm.get() <= ALPHA, q_bh.get() <= ALPHA);
    match (beyond && (holm || bh), holm, better) {
        (false, _, _) => Verdict::Undecided,
        (true, true, true) => Verdict::Better,
        (true, true, false) => Verdict::Worse,
        (true, false, true) => Verdict::LikelyBetter,
        (true, false, false) => Verdict::LikelyWorse,
    }
}

/// Either path to a verdict ends it: an interval inside the margin, or a difference of the size seen, at the level of the family's
/// strictest test. A difference that lies inside the margin can never be claimed.
fn more_blocks(rule: &CellRule, test: &PairTest, evidence: &Evidence) -> MoreBlocks {
    let smaller = evidence.visits.0.min(evidence.visits.1);
    let (have, per_block, design, between_visits) = match test.method {
        Method::BlockT => (evidence.rounds, 1.0, Design::Blocks, test.deviation / SQRT_2),
        Method::WelchT => (smaller, 2.0, Design::TwoSample, test.deviation),
    };
    let same = planning::more_blocks(test.deviation, per_block, have, rule.zone().high);
    let (effect, zone) = (test.t.estimate, rule.zone());
    if zone.low < effect && effect < zone.high {
        return same;
    }
    let level = ALPHA / evidence.family.max(1) as f64;
    let differ = planning::more_for_effect(effect, between_visits, have, level, design);
    same.min(differ)
}
