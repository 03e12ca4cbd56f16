//! Verdicts on the trials of a run: what kab-stats answers, in the words of the glossary.

use crate::boots::{Boot, Boots, PValues};
use crate::findings::{Change, CpuPerIo, Geomean, Mean, Outliers, Verdict};
use crate::places::{Placed, Places};
use crate::quantity::letter;
use crate::samples::{MIN_IOS_FOR_P999, Samples, Trials};
use kab_model::{Metric, Plan};
use kab_stats::cell::{Gate, LEVEL, MIN_VISITS, Method};
use kab_stats::outliers::{modes, outliers};
use kab_stats::{CellInput, CellVerdict, Evidence, NoVerdict, Pair, Row, Scale, ShownBy, Unit, Units, judge};
use std::collections::BTreeMap;

/// One metric over all boards and cells, judged as one family.
pub(crate) struct Judged {
    /// `[board][cell]`.
    samples: Vec<Vec<Samples>>,
    units: Vec<Vec<Units>>,
    /// `[board][cell][pair]`.
    changes: Vec<Vec<Vec<Change>>>,
    /// Comparisons with a p-value.
    pub(crate) comparisons: usize,
}

impl Judged {
    /// Judges `metric`. `same` tells the pairs that are identical by construction; they are no part of the family.
    pub(crate) fn new(
        places: &Places,
        plan: &Plan,
        metric: Metric,
        trials: Trials,
        pairs: &[(usize, usize)],
        same: &[bool],
    ) -> Self {
        let of_board = |cells: &Vec<Vec<Placed>>| {
            cells.iter().map(|placed| Samples::of(plan, placed, metric, trials)).collect()
        };
        Self::of_samples(places.boards.iter().map(of_board).collect(), pairs, same)
    }

    /// Judges the rows of cells, `[board][cell]`.
    pub(crate) fn of_samples(samples: Vec<Vec<Samples>>, pairs: &[(usize, usize)], same: &[bool]) -> Self {
        let units: Vec<Vec<Units>> =
            samples.iter().map(|cells| cells.iter().map(|s| Units::of_cell(&s.judged)).collect()).collect();
        let flat: Vec<CellInput> = samples.iter().flatten().map(judgeable).collect();
        let (mut changes, comparisons) = judge_all(&flat, pairs, same);
        let every = samples.iter().flatten().zip(units.iter().flatten());
        for (changes, (samples, units)) in changes.iter_mut().zip(every) {
            if let Some(ios) = samples.too_few_ios {
                changes.iter_mut().zip(pairs).for_each(|(change, pair)| refuse(change, *pair, units, ios));
            }
        }
        let mut changes = changes.into_iter();
        let changes = samples.iter().map(|cells| changes.by_ref().take(cells.len()).collect()).collect();
        Self { samples, units, changes, comparisons }
    }

    /// The changes of a cell, one a pair.
    pub(crate) fn changes(&self, board: usize, cell: usize) -> &[Change] {
        &self.changes[board][cell]
    }

    /// Geometric mean over the visits of a variant.
    pub(crate) fn mean(&self, board: usize, cell: usize, variant: usize) -> Option<f64> {
        average(&self.units[board][cell].values(variant)).map(f64::exp)
    }

    /// The visits of a variant, each as one value in the metric's own unit.
    pub(crate) fn visits(&self, board: usize, cell: usize, variant: usize) -> Vec<f64> {
        self.units[board][cell].values(variant).iter().map(|value| value.exp()).collect()
    }

    /// The boots of each of `count` variants with their trials. `noted` counts the noted trials of a visit.
    pub(crate) fn boots(
        &self,
        board: usize,
        cell: usize,
        count: usize,
        noted: &BTreeMap<u32, usize>,
    ) -> Vec<Boots> {
        let mut trials: BTreeMap<(usize, u32), Vec<f64>> = BTreeMap::new();
        for row in self.samples[board][cell].single().rows.iter().filter(|row| !row.void) {
            trials.entry((row.variant, row.visit)).or_default().push(row.value);
        }
        let boot = |variant: usize, unit: &Unit| Boot {
            round: unit.round.unwrap_or_default(),
            visit: unit.visit,
            value: unit.value.exp(),
            trials: trials.get(&(variant, unit.visit)).cloned().unwrap_or_default(),
            noted: noted.get(&unit.visit).copied().unwrap_or_default(),
        };
        let of_variant = |variant: usize| {
            let units = self.units[board][cell].of(variant);
            let mut values: Vec<Boot> = units.iter().map(|unit| boot(variant, unit)).collect();
            values.sort_by_key(|boot| boot.visit);
            let logs: Vec<f64> = units.iter().map(|unit| unit.value).collect();
            let interval = kab_stats::t::paired(&logs).map(|test| test.interval(LEVEL));
            Boots { values, interval: interval.map(|range| (range.low.exp(), range.high.exp())) }
        };
        (0..count).map(of_variant).collect()
    }

    /// Geometric mean of the change over some cells of a board, which both variants must have.
    pub(crate) fn geomean(&self, board: usize, pair: (usize, usize), cells: &[usize]) -> Option<Geomean> {
        if cells.len() < 2 {
            return None;
        }
        let inputs: Vec<CellInput> =
            cells.iter().map(|cell| self.samples[board][*cell].judged.clone()).collect();
        let percent = |log: f64| Scale::Log.to_percent(log);
        if let Some(summary) = kab_stats::geomean(&inputs, Pair::from(pair)) {
            return Some(Geomean {
                percent: percent(summary.estimate),
                interval: Some((percent(summary.interval.low), percent(summary.interval.high))),
                cells: summary.cells.len(),
                rounds: summary.rounds,
            });
        }
        // Too few rounds for an interval: the number alone follows from the means in the table.
        let logs = |variant| {
            let means = cells.iter().map(|cell| average(&self.units[board][*cell].values(variant)));
            means.collect::<Option<Vec<f64>>>().and_then(|means| average(&means))
        };
        let change = logs(pair.0)? - logs(pair.1)?;
        Some(Geomean { percent: percent(change), interval: None, cells: cells.len(), rounds: 0 })
    }

    /// Geometric mean over some cells of a board, one for each of `count` variants; its changes are not judged yet.
    pub(crate) fn over_cells(&self, board: usize, count: usize, cells: &[usize]) -> Option<CpuPerIo> {
        let value = |variant: usize| {
            let means: Option<Vec<f64>> =
                cells.iter().map(|cell| average(&self.units[board][*cell].values(variant))).collect();
            average(&means?).map(f64::exp)
        };
        let values = (0..count).map(value).collect();
        (!cells.is_empty()).then(|| CpuPerIo { values, changes: Vec::new(), cells: cells.len() })
    }

    /// Judges the means over `groups` of cells, given for each board, as one family: `[board][group][pair]`. A visit counts where
    /// it has a number in every cell of the group.
    pub(crate) fn judge_groups(
        &self,
        groups: &[Vec<Vec<usize>>],
        pairs: &[(usize, usize)],
        same: &[bool],
    ) -> Vec<Vec<Vec<Change>>> {
        let of_board = |(board, groups): (usize, &Vec<Vec<usize>>)| {
            groups.iter().map(|cells| self.pooled(board, cells)).collect::<Vec<CellInput>>()
        };
        let inputs: Vec<CellInput> = groups.iter().enumerate().flat_map(of_board).collect();
        let mut changes = judge_all(&inputs, pairs, same).0.into_iter();
        groups.iter().map(|groups| changes.by_ref().take(groups.len()).collect()).collect()
    }

    /// Some cells as one: a trial for each visit that all of them have, with the geometric mean.
    fn pooled(&self, board: usize, cells: &[usize]) -> CellInput {
        let rule = self.samples[board][cells.first().copied().unwrap_or(0)].judged.rule;
        let Some((first, rest)) = cells.split_first() else { return CellInput { rule, rows: Vec::new() } };
        let units = |cell: &usize| &self.units[board][*cell];
        let variants: Vec<usize> = units(first).variants().collect();
        let row = |variant: usize, unit: &Unit| {
            let others = rest.iter().map(|cell| {
                units(cell)
                    .of(variant)
                    .iter()
                    .find(|other| other.visit == unit.visit)
                    .map(|other| other.value)
            });
            let logs: Vec<f64> = std::iter::once(Some(unit.value)).chain(others).collect::<Option<_>>()?;
            let value = average(&logs)?.exp();
            Some(Row { variant, round: unit.round, visit: unit.visit, seq: unit.seq, value, void: false })
        };
        let of_variant = |variant: usize| {
            units(first).of(variant).iter().filter_map(move |unit| row(variant, unit)).collect::<Vec<Row>>()
        };
        CellInput { rule, rows: variants.into_iter().flat_map(of_variant).collect() }
    }

    /// Variants with at least one visit in at least one cell of the board.
    pub(crate) fn measured(&self, board: usize, count: usize) -> Vec<usize> {
        (0..count).filter(|v| self.units[board].iter().any(|units| !units.of(*v).is_empty())).collect()
    }

    /// Trials of each variant that lie far from the others, over all cells of a board: how many, and of how many.
    pub(crate) fn outliers(&self, board: usize, count: usize) -> Vec<Outliers> {
        let mut totals = vec![Outliers::default(); count];
        for (variant, found) in self.samples[board].iter().flat_map(|samples| outliers(samples.single())) {
            totals[variant].low += found.low as usize;
            totals[variant].high += found.high as usize;
            totals[variant].of += found.of as usize;
        }
        totals
    }

    /// Sizes of the slow and the fast group where the boots of a variant fall into two.
    pub(crate) fn modes(&self, board: usize, cell: usize, variant: usize) -> Option<(usize, usize)> {
        modes(&self.units[board][cell].values(variant)).map(|found| (found.low, found.high))
    }

    /// Those of `cells` that all of `variants` have.
    pub(crate) fn common(&self, board: usize, cells: &[usize], variants: &[usize]) -> Vec<usize> {
        let has = |cell: &usize, variant: &usize| !self.units[board][*cell].of(*variant).is_empty();
        cells.iter().copied().filter(|cell| variants.iter().all(|variant| has(cell, variant))).collect()
    }
}

/// The rows of a cell, none where they cannot carry a verdict.
fn judgeable(samples: &Samples) -> CellInput {
    let judged = &samples.judged;
    match samples.too_few_ios {
        None => judged.clone(),
        Some(_) => CellInput { rule: judged.rule, rows: Vec::new() },
    }
}

/// The numbers of a pair whose visits have too few I/Os for its percentile.
fn refuse(change: &mut Change, (candidate, reference): (usize, usize), units: &Units, ios: u64) {
    let logs = average(&units.values(candidate)).zip(average(&units.values(reference)));
    change.percent = logs.map(|(candidate, reference)| Scale::Log.to_percent(candidate - reference));
    change.visits = (units.of(candidate).len(), units.of(reference).len());
    if change.verdict == Verdict::NoVerdict && logs.is_some() {
        change.why = Some(format!(
            "a boot with {ios} I/Os: below {MIN_IOS_FOR_P999} the noise of a 99.9th percentile is not known"
        ));
    }
}

/// The changes of every cell, one a pair, and the number of comparisons with a p-value. Pairs that are the same by construction are
/// no part of the family.
fn judge_all(cells: &[CellInput], pairs: &[(usize, usize)], same: &[bool]) -> (Vec<Vec<Change>>, usize) {
    let mut comparisons = 0;
    let mut verdicts: Vec<Option<CellVerdict>> = vec![None; cells.len() * pairs.len()];
    for identical in [false, true] {
        let chosen: Vec<usize> = (0..pairs.len()).filter(|pair| same[*pair] == identical).collect();
        let stats: Vec<Pair> = chosen.iter().map(|pair| Pair::from(pairs[*pair])).collect();
        for (at, verdict) in judge(cells, &stats).into_iter().enumerate() {
            if !identical {
                comparisons = verdict.evidence.family;
            }
            verdicts[verdict.cell * pairs.len() + chosen[at % chosen.len()]] = Some(verdict);
        }
    }
    let mut changes = vec![Vec::new(); cells.len()];
    for (at, verdict) in verdicts.into_iter().enumerate() {
        let (cell, pair) = (at / pairs.len(), at % pairs.len());
        changes[cell].extend(verdict.map(|verdict| change(&verdict, same[pair])));
    }
    (changes, comparisons)
}

/// A number where there is one, else whether the variant is to blame.
pub(crate) fn mean(value: Option<f64>, failed: bool) -> Mean {
    match (value, failed) {
        (Some(value), _) if value.is_finite() => Mean::Value(value),
        (_, true) => Mean::Failed,
        (_, false) => Mean::Missing,
    }
}

fn change(judged: &CellVerdict, identical: bool) -> Change {
    let evidence = &judged.evidence;
    let percent = |log: f64| Some(Scale::Log.to_percent(log)).filter(|percent| percent.is_finite());
    let shown = evidence.shown;
    let paired = evidence.method() == Some(Method::BlockT);
    let verdict = if identical { Verdict::Identical } else { word(judged.verdict) };
    let robust = shown.is_some_and(|shown| shown.by == ShownBy::HodgesLehmann);
    let partial = paired && (evidence.rounds != evidence.visits.0 || evidence.rounds != evidence.visits.1);
    Change {
        percent: shown.map(|shown| shown.estimate).or(evidence.estimate).and_then(percent),
        interval: shown.and_then(|shown| percent(shown.interval.low).zip(percent(shown.interval.high))),
        verdict,
        p: p_values(evidence).filter(|_| !identical),
        why: (verdict == Verdict::NoVerdict).then(|| why(judged)).flatten(),
        rounds: partial.then_some(evidence.rounds),
        visits: evidence.visits,
        robust,
        more_rounds: match evidence.more_blocks {
            Some(kab_stats::MoreBlocks::About(more)) => Some(more),
            _ => None,
        },
    }
}

fn p_values(evidence: &Evidence) -> Option<PValues> {
    let raw = evidence.test?.p?.get();
    Some(PValues { raw, holm: evidence.p_holm?.get(), benjamini_hochberg: evidence.q_bh?.get() })
}

/// The word of the glossary for a verdict of the statistics.
pub fn word(verdict: kab_stats::Verdict) -> Verdict {
    match verdict {
        kab_stats::Verdict::Better => Verdict::Better,
        kab_stats::Verdict::Worse => Verdict::Worse,
        kab_stats::Verdict::LikelyBetter => Verdict::LikelyBetter,
        kab_stats::Verdict::LikelyWorse => Verdict::LikelyWorse,
        kab_stats::Verdict::Same => Verdict::Same,
        kab_stats::Verdict::Undecided => Verdict::Undecided,
        kab_stats::Verdict::NoVerdict(_) => Verdict::NoVerdict,
        kab_stats::Verdict::Identical => Verdict::Identical,
    }
}

/// The reason of a verdict that is none, for a footnote.
pub fn why(judged: &CellVerdict) -> Option<String> {
    let kab_stats::Verdict::NoVerdict(reason) = judged.verdict else { return None };
    let (candidate, reference) = (letter(judged.pair.candidate), letter(judged.pair.reference));
    let evidence = &judged.evidence;
    Some(match reason {
        NoVerdict::Undefined => {
            "all values of each are equal, and the boots are too few for ranks".to_owned()
        }
        NoVerdict::Gate(Gate::Missing { variant }) => format!("{} has no number here", letter(variant)),
        NoVerdict::Gate(Gate::BadValue(bad)) if bad.value.is_finite() => {
            format!("{} has a trial that measured {:.0}", letter(bad.variant), bad.value)
        }
        NoVerdict::Gate(Gate::BadValue(bad)) => {
            format!("{} has a trial whose value is no number", letter(bad.variant))
        }
        NoVerdict::Gate(Gate::TooFewVisits) => format!(
            "boots: {candidate} {}, {reference} {}; the noise between boots is unknown below {MIN_VISITS}",
            evidence.visits.0, evidence.visits.1
        ),
        NoVerdict::Gate(Gate::TooManyVoid) => format!(
            "void trials: {candidate} {} of {}, {reference} {} of {}; at most 20% may be",
            evidence.void.candidate.hits,
            evidence.void.candidate.of,
            evidence.void.reference.hits,
            evidence.void.reference.of
        ),
        NoVerdict::Gate(Gate::Order) => {
            format!("{candidate} and {reference} did not alternate: drift would look like a change")
        }
    })
}

fn average(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
