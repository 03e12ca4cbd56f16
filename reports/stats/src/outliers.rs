//! Flags: outlying trials, variants that come in two modes. Annotations only; no value is ever removed because of them.

use crate::counts::{Count, fisher};
use crate::sample::median;
use crate::types::{CellInput, PValue};
use std::collections::BTreeMap;

/// Scaled median absolute deviations beyond which a trial is flagged.
const MAD_LIMIT: f64 = 5.0;
/// Makes the median absolute deviation of normal data their standard deviation.
const MAD_TO_SD: f64 = 1.4826;
/// Trials of a variant from which the middle is known well enough to call another one far away.
const MIN_TRIALS: usize = 8;
/// Visits from which two modes can be told from chance (4 % false flags at 8, 1 % at 10).
const MIN_VISITS_FOR_MODES: usize = 8;
/// Share of the variance that the split must explain. 80 % would flag a quarter of plain normal data.
const MODE_SHARE: f64 = 0.9;

/// Outlying trials of one variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OutlierCount {
    /// Usable trials.
    pub of: u64,
    /// Far below the variant's median.
    pub low: u64,
    /// Far above it.
    pub high: u64,
}

impl OutlierCount {
    /// Outliers of either kind, of all trials.
    pub fn total(&self) -> Count {
        Count { hits: self.low + self.high, of: self.of }
    }
}

/// Counts, per variant, the trials further from their variant's median than five scaled median absolute deviations (pooled over
/// the variants) and than the margin. Void trials and values without a place on the scale are left out, and so is a variant with
/// fewer than eight trials.
pub fn outliers(cell: &CellInput) -> BTreeMap<usize, OutlierCount> {
    let mut values: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for row in cell.rows.iter().filter(|r| !r.void) {
        if let Some(x) = cell.rule.scale().transform(row.value) {
            values.entry(row.variant).or_default().push(x);
        }
    }
    let deviations: BTreeMap<usize, Vec<f64>> = values
        .into_iter()
        .filter(|(_, xs)| xs.len() >= MIN_TRIALS)
        .filter_map(|(variant, xs)| {
            let centre = median(&xs)?;
            Some((variant, xs.into_iter().map(|x| x - centre).collect()))
        })
        .collect();
    let sizes: Vec<f64> = deviations.values().flatten().map(|d| d.abs()).collect();
    let limit = (MAD_LIMIT * MAD_TO_SD * median(&sizes).unwrap_or(0.0)).max(cell.rule.zone().high);
    deviations
        .into_iter()
        .map(|(variant, ds)| {
            let low = ds.iter().filter(|d| **d < -limit).count() as u64;
            let high = ds.iter().filter(|d| **d > limit).count() as u64;
            (variant, OutlierCount { of: ds.len() as u64, low, high })
        })
        .collect()
}

/// Fisher's p that two variants have one rate of outliers; a difference is a finding of its own (stalls).
pub fn compare(a: OutlierCount, b: OutlierCount) -> PValue {
    fisher(a.total(), b.total())
}

/// A variant whose visits fall into two groups.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Modes {
    /// Visits in the lower group.
    pub low: usize,
    /// Visits in the upper group.
    pub high: usize,
    /// Mean of the lower group.
    pub low_mean: f64,
    /// Mean of the upper group.
    pub high_mean: f64,
    /// Share of the variance that the split explains.
    pub explained: f64,
}

/// The best split of a variant's units into two groups of at least two, when it explains more than 90 % of their variance.
/// `None` below eight units or when they do not split.
pub fn modes(values: &[f64]) -> Option<Modes> {
    if values.len() < MIN_VISITS_FOR_MODES {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let mean = sorted.iter().sum::<f64>() / n;
    let total: f64 = sorted.iter().map(|v| (v - mean).powi(2)).sum();
    if total <= 0.0 {
        return None;
    }
    (2..=sorted.len() - 2)
        .map(|cut| {
            let (low, high) = sorted.split_at(cut);
            let low_mean = low.iter().sum::<f64>() / low.len() as f64;
            let high_mean = high.iter().sum::<f64>() / high.len() as f64;
            let between = low.len() as f64 * high.len() as f64 / n * (high_mean - low_mean).powi(2);
            Modes { low: low.len(), high: high.len(), low_mean, high_mean, explained: between / total }
        })
        .max_by(|a, b| a.explained.total_cmp(&b.explained))
        .filter(|m| m.explained > MODE_SHARE)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::types::{Better, CellRule, Row, Scale};

    fn one_variant(rule: CellRule, values: &[f64]) -> CellInput {
        let row = |&value: &f64| Row { variant: 0, round: None, visit: 0, seq: None, value, void: false };
        CellInput { rule, rows: values.iter().map(row).collect() }
    }

    #[test]
    fn a_stall_is_flagged_in_its_variant_only() {
        let rule = CellRule::new(Scale::Log, Better::Higher, 0.02, 0.0).unwrap();
        let row = |variant, i: u32, value| Row {
            variant,
            round: Some(i / 3),
            visit: i / 3,
            seq: None,
            value,
            void: false,
        };
        let mut rows: Vec<Row> = (0..24)
            .flat_map(|i| [0, 1].map(|v| row(v, i, 1000.0 + f64::from(i % 5) - f64::from(v as u32) * 20.0)))
            .collect();
        rows[7].value = 700.0;
        rows[20].value = f64::NAN;
        let flags = outliers(&CellInput { rule, rows });
        assert_eq!(flags[&1], OutlierCount { of: 24, low: 1, high: 0 });
        assert_eq!(flags[&0], OutlierCount { of: 23, low: 0, high: 0 });
        assert!(compare(flags[&0], flags[&1]).get() > 0.5);
    }

    #[test]
    fn values_within_the_margin_are_no_outliers_however_quiet_the_rest() {
        let rule = CellRule::new(Scale::Log, Better::Higher, 0.02, 0.0).unwrap();
        let mut values = [1000.0; 9];
        values[8] = 1015.0;
        assert_eq!(outliers(&one_variant(rule, &values))[&0].total().hits, 0);
        values[8] = 1025.0;
        assert_eq!(outliers(&one_variant(rule, &values))[&0].total().hits, 1);
    }

    #[test]
    fn few_trials_have_no_outliers() {
        let rule = CellRule::new(Scale::Log, Better::Higher, 0.02, 0.0).unwrap();
        let mut values = [1000.0; 8];
        values[0] = 500.0;
        assert!(outliers(&one_variant(rule, &values[..7])).is_empty());
        assert_eq!(outliers(&one_variant(rule, &values))[&0], OutlierCount { of: 8, low: 1, high: 0 });
    }

    #[test]
    fn noisy_trials_need_five_deviations() {
        let rule = CellRule::new(Scale::Linear, Better::Higher, 0.1, 0.0).unwrap();
        let flagged =
            |far: f64| outliers(&one_variant(rule, &[-1.0, 1.0, -1.0, 1.0, 0.0, -1.0, 1.0, far]))[&0].high;
        // The median is 0.5, the deviations from it are half 0.5 and half more: their median is 1, the limit 7.413.
        assert_eq!((flagged(7.8), flagged(8.0)), (0, 1));
    }

    #[test]
    fn two_modes_are_told_from_one() {
        let two = [1.0, 1.01, 0.99, 1.0, 1.02, 0.9, 0.91, 0.89];
        let modes_of_two = modes(&two).unwrap();
        assert_eq!((modes_of_two.low, modes_of_two.high), (3, 5));
        let even: Vec<f64> = (0..10).map(f64::from).collect();
        assert_eq!(modes(&even), None);
        assert_eq!(modes(&two[..7]), None);
        assert_eq!(modes(&[1.0; 9]), None);
    }
}
