//! Hodges-Lehmann estimates with distribution-free intervals.
//!
//! The intervals invert the exact rank tests of [`crate::ranks`] (Moses 1965 for two samples, Tukey/Walsh for one), using the
//! tie-free null distribution. They are shown when an outlier has ruined the t interval although the rank test decided.

use crate::ranks::{rank_sum_cdf, signed_rank_cdf};
use crate::sample::median_of_sorted;
use crate::types::Interval;

/// Largest number of pairwise values that is worth sorting and whose table is still cheap.
const MAX_PAIRS: usize = 250_000;

/// A Hodges-Lehmann estimate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HodgesLehmann {
    /// The estimated shift.
    pub estimate: f64,
    /// Its interval; `None` when the samples are too small for the level.
    pub interval: Option<Interval>,
}

/// The shift from `x` to `y`: median of all differences `y - x` (Hodges and Lehmann 1963) with an interval of at least `level`.
/// `None` for an empty sample, or one too large to enumerate.
pub fn two_sample(x: &[f64], y: &[f64], level: f64) -> Option<HodgesLehmann> {
    if x.len().saturating_mul(y.len()) > MAX_PAIRS {
        return None;
    }
    let mut differences: Vec<f64> = x.iter().flat_map(|a| y.iter().map(move |b| b - a)).collect();
    differences.sort_unstable_by(f64::total_cmp);
    let estimate = median_of_sorted(&differences)?;
    let interval = rank_sum_cdf(x.len(), y.len()).and_then(|cdf| cut(&differences, &cdf, level));
    Some(HodgesLehmann { estimate, interval })
}

/// The centre of paired `differences`: median of the Walsh averages, with an interval of at least `level`. `None` for an empty
/// sample, or one too large to enumerate.
pub fn one_sample(differences: &[f64], level: f64) -> Option<HodgesLehmann> {
    let n = differences.len();
    if n * (n + 1) / 2 > MAX_PAIRS {
        return None;
    }
    let mut walsh: Vec<f64> =
        (0..n).flat_map(|i| (i..n).map(move |j| (differences[i] + differences[j]) / 2.0)).collect();
    walsh.sort_unstable_by(f64::total_cmp);
    let estimate = median_of_sorted(&walsh)?;
    Some(HodgesLehmann { estimate, interval: cut(&walsh, &signed_rank_cdf(n), level) })
}

/// Cuts as many values off each end as the null distribution allows at `level`.
fn cut(sorted: &[f64], cdf: &[f64], level: f64) -> Option<Interval> {
    let tail = (1.0 - level) / 2.0;
    let k = cdf.iter().take_while(|p| **p <= tail).count().checked_sub(1)?;
    let last = sorted.len().checked_sub(1 + k)?;
    (k < last).then(|| Interval::new(sorted[k], sorted[last]))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn too_small_for_the_level_gives_an_estimate_only() {
        let three = two_sample(&[1.0, 2.0, 3.0], &[2.0, 3.0, 4.0], 0.95).unwrap();
        assert_eq!((three.estimate, three.interval), (1.0, None));
        assert_eq!(one_sample(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95).unwrap().interval, None);
        assert_eq!(one_sample(&[], 0.95), None);
    }

    #[test]
    fn six_differences_use_the_extremes() {
        let hl = one_sample(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.95).unwrap();
        assert_eq!(hl.interval, Some(Interval::new(1.0, 6.0)));
    }
}
