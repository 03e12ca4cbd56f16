//! Numbers to verdicts.

use crate::gather::{Gathering, Sample};
use kab_report::Verdict;
use kab_stats::{Better, CellInput, CellRule, Pair, Row, Scale, judge};
use serde::Serialize;
use std::collections::HashMap;

/// Relative width of fio's percentile buckets, as a logarithm: 64 to an octave.
const PERCENTILE_STEP: f64 = 0.015_504;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// I/Os a second.
    Iops,
    /// Bytes a second.
    Bw,
    /// Mean completion latency, nanoseconds.
    ClatMean,
    /// A percentile of completion latency, nanoseconds.
    Percentile(f64),
}

impl Metric {
    /// How a table calls it.
    pub fn title(self) -> String {
        match self {
            Self::Iops => "IOPS".to_owned(),
            Self::Bw => "bandwidth".to_owned(),
            Self::ClatMean => "clat mean".to_owned(),
            Self::Percentile(percent) => format!("clat p{percent}"),
        }
    }

    /// The change within which two variants are the same, where the caller names none.
    pub fn default_margin(self) -> f64 {
        match self {
            Self::Iops | Self::Bw => 0.02,
            Self::ClatMean => 0.03,
            Self::Percentile(_) => 0.05,
        }
    }

    fn of(self, sample: &Sample) -> Option<f64> {
        match self {
            Self::Iops => sample.numbers.iops,
            Self::Bw => sample.numbers.bw,
            Self::ClatMean => sample.numbers.clat_mean,
            Self::Percentile(_) => sample.numbers.percentile,
        }
    }

    fn rule(self, margin: f64) -> Option<CellRule> {
        let better = if matches!(self, Self::Iops | Self::Bw) { Better::Higher } else { Better::Lower };
        let step = if matches!(self, Self::Percentile(_)) { PERCENTILE_STEP } else { 0.0 };
        CellRule::new(Scale::Log, better, margin, step).ok()
    }
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// What was compared.
    pub metric: Metric,
    /// The change within which two variants are the same, as a fraction.
    pub margin: f64,
    /// The first is what the others are held against.
    pub variants: Vec<Variant>,
    /// Cells in the order in which they came.
    pub cells: Vec<Cell>,
    /// What should be known of the inputs.
    pub remarks: Vec<Remark>,
    /// Why there are no verdicts at all, and what to do.
    pub hint: Option<String>,
}

/// One side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Variant {
    /// `A`, `B`, …
    pub letter: String,
    /// Its name.
    pub name: String,
    /// Boots that count; 1 where nobody said which results belong to one.
    pub boots: usize,
    /// Results that count, each of one cell.
    pub results: usize,
    /// Versions of fio that wrote them.
    pub fio: Vec<String>,
}

/// One cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// What was measured, such as `randread 4k qd32`.
    pub label: String,
    /// Geometric mean over the boots of each variant, in the metric's own unit.
    pub values: Vec<Option<f64>>,
    /// Every variant but the first against the first.
    pub changes: Vec<Change>,
}

/// A variant against the first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Relative change, percent.
    pub percent: Option<f64>,
    /// 95 % interval of it, percent.
    pub interval: Option<(f64, f64)>,
    /// The verdict.
    pub verdict: Verdict,
    /// p after the correction for all cells.
    pub p: Option<f64>,
    /// Why there is no verdict.
    pub why: Option<String>,
}

/// Something about an input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// The file, or `-`.
    pub input: String,
    /// Its line, from 1; 0 where it has none.
    pub line: usize,
    /// What.
    pub text: String,
}

impl Comparison {
    /// Judges what was gathered. `margin` is a fraction between 0 and 1; out of that range the metric's own is taken.
    pub fn of(gathering: &Gathering, metric: Metric, margin: f64) -> Self {
        let rule = metric.rule(margin).or_else(|| metric.rule(metric.default_margin()));
        let rule = rule.expect("the default margins are in range");
        let mut labels: Vec<&str> = Vec::new();
        let mut samples: Vec<Vec<&Sample>> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for sample in &gathering.samples {
            let place = *places.entry(&sample.cell).or_insert_with(|| {
                labels.push(&sample.cell);
                samples.push(Vec::new());
                labels.len() - 1
            });
            samples[place].push(sample);
        }
        let inputs: Vec<CellInput> =
            samples.iter().map(|samples| CellInput { rule, rows: rows(samples, metric) }).collect();
        let count = gathering.names.len();
        let pairs: Vec<Pair> = (1..count).map(|candidate| Pair { candidate, reference: 0 }).collect();
        let mut judged = judge(&inputs, &pairs).into_iter();
        let cell = |(label, input): (&&str, &CellInput)| Cell {
            label: (*label).to_owned(),
            values: (0..count).map(|variant| mean(input, variant)).collect(),
            changes: judged.by_ref().take(pairs.len()).map(|verdict| change(&verdict)).collect(),
        };
        let cells = labels.iter().zip(&inputs).map(cell).collect();
        let variants: Vec<Variant> = (0..count).map(|variant| side(gathering, metric, variant)).collect();
        let hint = hint(gathering, &variants);
        Self { metric, margin: rule.margin(), variants, cells, remarks: remarks(gathering), hint }
    }

    /// Whether there can be verdicts: two variants, and boots that are known to be boots.
    pub fn can_judge(&self) -> bool {
        self.hint.is_none()
    }

    /// Whether any variant is worse than the first in some cell, beyond the margin.
    pub fn any_worse(&self) -> bool {
        self.cells.iter().flat_map(|cell| &cell.changes).any(|change| change.verdict == Verdict::Worse)
    }
}

fn rows(samples: &[&Sample], metric: Metric) -> Vec<Row> {
    let row = |sample: &&Sample| {
        let visit = u32::try_from(sample.boot).unwrap_or(u32::MAX);
        let value = metric.of(sample)?;
        Some(Row { variant: sample.variant, round: None, visit, seq: None, value, void: false })
    };
    samples.iter().filter_map(row).collect()
}

fn mean(input: &CellInput, variant: usize) -> Option<f64> {
    let values = kab_stats::Units::of_cell(input).values(variant);
    let mean = (!values.is_empty()).then(|| (values.iter().sum::<f64>() / values.len() as f64).exp());
    mean.map(plain)
}

/// Without the last digits, which are the logarithm's.
fn plain(value: f64) -> f64 {
    format!("{value:.11e}").parse().unwrap_or(value)
}

fn change(judged: &kab_stats::CellVerdict) -> Change {
    let percent = |log: f64| Scale::Log.to_percent(log);
    let evidence = &judged.evidence;
    Change {
        percent: evidence.shown.map(|shown| shown.estimate).or(evidence.estimate).map(percent),
        interval: evidence.shown.map(|shown| (percent(shown.interval.low), percent(shown.interval.high))),
        verdict: kab_report::verdict_of(judged.verdict),
        p: evidence.p_holm.map(kab_stats::PValue::get),
        why: kab_report::why_no_verdict(judged),
    }
}

fn side(gathering: &Gathering, metric: Metric, variant: usize) -> Variant {
    let results = gathering.samples.iter().filter(|s| s.variant == variant && metric.of(s).is_some()).count();
    Variant {
        letter: kab_report::letter(variant),
        name: gathering.names[variant].clone(),
        boots: gathering.boots[variant].len(),
        results,
        fio: gathering.versions[variant].iter().cloned().collect(),
    }
}

/// What differs between the sides beside what is compared stands first.
fn remarks(gathering: &Gathering) -> Vec<Remark> {
    let told: Vec<_> = gathering.versions.iter().filter(|versions| !versions.is_empty()).collect();
    let differ = told.windows(2).any(|pair| pair[0] != pair[1]);
    let versions = differ.then(|| Remark {
        input: String::new(),
        line: 0,
        text: "the variants were measured with different versions of fio".to_owned(),
    });
    versions.into_iter().chain(gathering.remarks.iter().cloned()).collect()
}

fn hint(gathering: &Gathering, variants: &[Variant]) -> Option<String> {
    if variants.len() < 2 {
        return Some("one variant: nothing to compare; give a second one, such as patched=FILES".to_owned());
    }
    if gathering.boots_told || variants.iter().all(|variant| variant.results == 0) {
        return None;
    }
    Some(
        "no verdict: one boot per variant. Results of one boot share its luck, so that their agreement says nothing about \
         the next boot. Say which files belong to one boot: --boot-from directory, --boot-from file, or a pattern with a \
         group, such as --boot-from 'boot([0-9]+)'."
            .to_owned(),
    )
}
