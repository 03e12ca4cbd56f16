//! From the trials of a cell to the rows that kab-stats judges.

use crate::places::Placed;
use crate::tallies::INTERRUPTED;
use kab_model::{Metric, Outcome, Plan, ReportSpec, Sample, TrialState, VisitState};
use kab_stats::{Better, CellInput, CellRule, Histogram, Quantile, Row, Scale};
use std::collections::BTreeMap;

/// Margin for a specification that kab-stats refuses; the experiment's parser lets none through.
const FALLBACK_MARGIN: f64 = 0.02;

/// I/Os a visit below which the noise of a 99.9th percentile within the visit is not known (statistics.md, "Limits").
pub(crate) const MIN_IOS_FOR_P999: u64 = 100_000;

/// Relative width of the widest of fio's buckets, as a logarithm.
const BUCKET: f64 = 0.015_504;

/// Which trials enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trials {
    /// All that count.
    Counted,
    /// Only those with nothing to note: for the question whether a verdict rests on the others.
    WithoutNoted,
}

/// One metric of one cell.
#[derive(Clone, Debug)]
pub(crate) struct Samples {
    /// What is judged. A percentile of a visit is that of its merged histogram and stands in each of its rows, so that trials are
    /// still counted as trials.
    pub(crate) judged: CellInput,
    /// Each trial with its own value, for plots and flags; absent where these are the judged rows.
    single: Option<CellInput>,
    /// The fewest I/Os of a visit, where they are too few for the metric.
    pub(crate) too_few_ios: Option<u64>,
}

impl Samples {
    /// The rows of `metric` from the trials of a cell.
    pub(crate) fn of(plan: &Plan, placed: &[Placed], metric: Metric, trials: Trials) -> Self {
        let chosen: Vec<Chosen> = placed.iter().filter_map(|placed| choose(placed, trials)).collect();
        match metric.quantile() {
            Some(quantile) => percentiles(|step| rule(&plan.report, metric, step), metric, quantile, &chosen),
            None => {
                let value = |sample: &Sample| sample.metric(metric);
                Self {
                    judged: input(rule(&plan.report, metric, 0.0), &chosen, value),
                    single: None,
                    too_few_ios: None,
                }
            }
        }
    }

    /// Rows whose trials nobody has; a percentile is taken for one of fio's, whose buckets are 64 to an octave.
    pub(crate) fn of_rows(report: &ReportSpec, metric: Metric, rows: Vec<Row>) -> Self {
        let step = if metric.quantile().is_some() { BUCKET } else { 0.0 };
        Self { judged: CellInput { rule: rule(report, metric, step), rows }, single: None, too_few_ios: None }
    }

    /// Every trial with its own value.
    pub(crate) fn single(&self) -> &CellInput {
        self.single.as_ref().unwrap_or(&self.judged)
    }
}

/// A trial that is counted: with its sample, or as void.
struct Chosen<'a> {
    row: Row,
    sample: Option<&'a Sample>,
}

/// Nothing for warm-ups and for trials that failed, are open, or were interrupted.
fn choose<'a>(placed: &Placed<'a>, trials: Trials) -> Option<Chosen<'a>> {
    let &Placed { variant, visit, trial } = placed;
    if trial.key.warmup {
        return None;
    }
    let void_visit = match &visit.state {
        VisitState::Void(reason) if reason.rule == INTERRUPTED => return None,
        VisitState::Void(_) => true,
        _ => false,
    };
    let sample = sample_of(trial, trials, void_visit)?;
    let (round, visit) = (Some(visit.key.round), visit.key.visit);
    let row = Row { variant, round, visit, seq: Some(visit), value: 0.0, void: sample.is_none() };
    Some(Chosen { row, sample })
}

/// The sample of a trial, `Some(None)` where it is void.
fn sample_of(trial: &TrialState, trials: Trials, void_visit: bool) -> Option<Option<&Sample>> {
    match trial.outcome.as_ref()? {
        Outcome::Void { .. } => Some(None),
        _ if void_visit => Some(None),
        Outcome::Noted { .. } if trials == Trials::WithoutNoted => None,
        _ => trial.sample.as_ref().map(Some),
    }
}

/// Rows with the value of each sample; samples without the metric are left out.
fn input(rule: CellRule, chosen: &[Chosen], value: impl Fn(&Sample) -> Option<f64>) -> CellInput {
    let row = |chosen: &Chosen| match chosen.sample {
        None => Some(chosen.row),
        Some(sample) => value(sample).map(|value| Row { value, ..chosen.row }),
    };
    CellInput { rule, rows: chosen.iter().filter_map(row).collect() }
}

/// `rule` makes the cell's rule from the width of the widest bucket in which a quantile lies.
fn percentiles(rule: impl Fn(f64) -> CellRule, metric: Metric, quantile: f64, chosen: &[Chosen]) -> Samples {
    let mut visits: BTreeMap<(usize, u32), Histogram> = BTreeMap::new();
    for (row, sample) in chosen.iter().filter_map(|c| Some((c.row, c.sample?))) {
        let bins = sample.clat_bins.bins().iter().copied();
        visits.entry((row.variant, row.visit)).or_default().add(bins);
    }
    let of_visit: BTreeMap<(usize, u32), Quantile> = visits
        .iter()
        .filter_map(|(visit, histogram)| Some((*visit, histogram.quantile(quantile)?)))
        .collect();
    let step = of_visit.values().map(|found| found.step).fold(0.0, f64::max);
    let own = |sample: &Sample| {
        let histogram = Histogram::new(sample.clat_bins.bins().iter().copied());
        histogram.quantile(quantile).map(|found| found.value_ns)
    };
    let mut judged = input(rule(step), chosen, own);
    let single = judged.clone();
    for row in judged.rows.iter_mut().filter(|row| !row.void) {
        if let Some(found) = of_visit.get(&(row.variant, row.visit)) {
            row.value = found.value_ns;
        }
    }
    let fewest = visits.values().map(Histogram::total).filter(|ios| *ios > 0).min();
    let too_few_ios = fewest.filter(|ios| metric == Metric::ClatP999 && *ios < MIN_IOS_FOR_P999);
    Samples { judged, single: Some(single), too_few_ios }
}

/// `step` is the measurement step of the metric, as a logarithm.
fn rule(report: &ReportSpec, metric: Metric, step: f64) -> CellRule {
    let better = if metric.higher_is_better() { Better::Higher } else { Better::Lower };
    CellRule::new(Scale::Log, better, report.margin(metric), step)
        .or_else(|_| CellRule::new(Scale::Log, better, FALLBACK_MARGIN, step))
        .expect("the fallback margin and the step are in range")
}

#[cfg(test)]
mod tests {
    use super::*;
    use kab_model::LatencyBins;

    fn sample(bins: &[(u64, u64)]) -> Sample {
        Sample {
            total_ios: bins.iter().map(|bin| bin.1).sum(),
            io_bytes: 4096,
            runtime_ms: 1000,
            iops: 1.0,
            bw: 4096.0,
            usr_pct: 1.0,
            sys_pct: 1.0,
            cpu_per_io: None,
            clat_mean: None,
            clat_bins: LatencyBins::new(bins.to_vec()),
        }
    }

    fn chosen(visit: u32, sample: Option<&Sample>) -> Chosen<'_> {
        let row =
            Row { variant: 0, round: Some(visit), visit, seq: None, value: 0.0, void: sample.is_none() };
        Chosen { row, sample }
    }

    fn p99(chosen: &[Chosen]) -> Samples {
        let rule = |step| CellRule::new(Scale::Log, Better::Lower, 0.03, step).expect("a valid rule");
        percentiles(rule, Metric::ClatP99, 0.99, chosen)
    }

    /// One trial of three had a slow hundredth: of the three together the 99th percentile is the fast one. The mean of their
    /// percentiles would be 4 us, which no I/O took.
    #[test]
    fn a_visit_has_the_percentile_of_its_merged_bins() {
        let (fast, slow) = (sample(&[(1004, 1000)]), sample(&[(1004, 980), (10_048, 20)]));
        let samples = p99(&[
            chosen(0, Some(&fast)),
            chosen(0, Some(&slow)),
            chosen(0, Some(&fast)),
            chosen(1, Some(&slow)),
        ]);
        let values: Vec<f64> = samples.judged.rows.iter().map(|row| row.value).collect();
        assert!(values[..3].iter().all(|v| *v == values[0] && (1000.0..=1008.0).contains(v)), "{values:?}");
        assert!((9_984.0..=10_112.0).contains(&values[3]), "{values:?}");
        let own: Vec<bool> = samples.single().rows.iter().map(|row| row.value > 5000.0).collect();
        assert_eq!(own, [false, true, false, true]);
    }

    #[test]
    fn the_step_is_the_width_of_the_widest_bucket() {
        // 1004 lies in a bucket from 1000 to 1008, 10048 in one from 9984 to 10112.
        let (fast, slow) = (sample(&[(1004, 9)]), sample(&[(10_048, 9)]));
        let samples = p99(&[chosen(0, Some(&fast)), chosen(1, Some(&slow))]);
        assert!((samples.judged.rule.step() - (10_112.0_f64 / 9_984.0).ln()).abs() < 1e-12);
    }

    #[test]
    fn void_trials_stay_rows_and_trials_without_bins_have_none() {
        let (some, none) = (sample(&[(1004, 9)]), sample(&[]));
        let samples = p99(&[chosen(0, Some(&some)), chosen(0, None), chosen(0, Some(&none))]);
        let void: Vec<bool> = samples.judged.rows.iter().map(|row| row.void).collect();
        assert_eq!(void, [false, true]);
        assert_eq!(samples.too_few_ios, None);
        let rule = |step| CellRule::new(Scale::Log, Better::Lower, 0.1, step).expect("a valid rule");
        let rare = percentiles(rule, Metric::ClatP999, 0.999, &[chosen(0, Some(&some))]);
        assert_eq!(rare.too_few_ios, Some(9));
    }
}
