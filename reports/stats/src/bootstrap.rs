//! Bootstrap intervals of a ratio, for pictures and for comparison with other tools' numbers.
//!
//! Verdicts never rest on them: at the sizes of a session they reject far too often (at three visits a variant about one comparison
//! in five where nothing differs, at ten still up to one in five when outliers occur), which is why S5 uses t and ranks.

use crate::change::Pcg;
use crate::sample::{TIE, mean, median};
use crate::types::Interval;
use statrs::function::erf::{erfc, erfc_inv};
use std::f64::consts::SQRT_2;

/// What the ratio of `y` to `x` is taken of. Effects are natural logarithms of that ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RatioOf {
    /// Arithmetic means.
    Means,
    /// Geometric means.
    GeometricMeans,
    /// Medians.
    Medians,
}

impl RatioOf {
    /// The logarithm of the ratio; `None` for an empty sample or a value that is not positive and finite.
    pub fn effect(self, x: &[f64], y: &[f64]) -> Option<f64> {
        if !x.iter().chain(y).all(|v| *v > 0.0 && v.is_finite()) {
            return None;
        }
        Some(self.centre(y)? - self.centre(x)?)
    }

    /// Logarithm of the centre of a sample of positive values.
    fn centre(self, values: &[f64]) -> Option<f64> {
        match self {
            RatioOf::Means => mean(values).map(f64::ln),
            RatioOf::GeometricMeans => mean(&values.iter().map(|v| v.ln()).collect::<Vec<f64>>()),
            RatioOf::Medians => median(values).map(f64::ln),
        }
    }
}

/// A bootstrap estimate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bootstrap {
    /// The effect in the data themselves (log of the ratio).
    pub estimate: f64,
    /// The interval; `None` where no resample differs from the data or the correction is undefined (constant samples).
    pub interval: Option<Interval>,
}

/// Bias-corrected and accelerated interval (Efron 1987, "Better bootstrap confidence intervals") of confidence `level` for the log
/// ratio of `y` to `x`. Both samples are resampled independently; the acceleration is that of the multi-sample jackknife (Efron and
/// Tibshirani 1993, section 14.3), quantiles interpolate linearly. Reproducible by `seed`; `None` below two values in a sample,
/// without resamples, for values that have no logarithm and for a level outside 0 to 1.
pub fn bca(
    x: &[f64],
    y: &[f64],
    ratio: RatioOf,
    level: f64,
    (resamples, seed): (u32, u64),
) -> Option<Bootstrap> {
    if x.len().min(y.len()) < 2 || resamples == 0 || !(0.0..1.0).contains(&level) {
        return None;
    }
    let estimate = ratio.effect(x, y)?;
    let mut random = Pcg::new(seed);
    let mut effects = Vec::with_capacity(resamples as usize);
    for _ in 0..resamples {
        effects.push(ratio.centre(&draw(&mut random, y))? - ratio.centre(&draw(&mut random, x))?);
    }
    effects.sort_unstable_by(f64::total_cmp);
    let interval = corrected(&effects, estimate, acceleration(x, y, ratio)?, level);
    Some(Bootstrap { estimate, interval })
}

fn draw(random: &mut Pcg, values: &[f64]) -> Vec<f64> {
    let bound = u32::try_from(values.len()).unwrap_or(u32::MAX);
    values.iter().map(|_| values[random.below(bound) as usize]).collect()
}

/// The skewness of the estimate: a sixth of the third over the three-halfth power of the second moment of the jackknife's
/// influence values, summed over both samples.
fn acceleration(x: &[f64], y: &[f64], ratio: RatioOf) -> Option<f64> {
    let mut cubes = 0.0;
    let mut squares = 0.0;
    for (sample, sign) in [(x, -1.0), (y, 1.0)] {
        let n = sample.len() as f64;
        let without: Vec<f64> =
            (0..sample.len()).map(|i| leave_out(sample, i, ratio)).collect::<Option<_>>()?;
        let centre = mean(&without)?;
        // Leaving out a value of x moves the effect the other way.
        let influence = without.iter().map(|w| sign * (n - 1.0) * (centre - w));
        cubes += influence.clone().map(|u| u.powi(3)).sum::<f64>() / n.powi(3);
        squares += influence.map(|u| u * u).sum::<f64>() / (n * n);
    }
    Some(cubes / (6.0 * squares.powf(1.5)))
}

fn leave_out(sample: &[f64], index: usize, ratio: RatioOf) -> Option<f64> {
    let (before, after) = (&sample[..index], &sample[index + 1..]);
    ratio.centre(&[before, after].concat())
}

/// The corrected percentiles of the `sorted` effects.
fn corrected(sorted: &[f64], estimate: f64, acceleration: f64, level: f64) -> Option<Interval> {
    // Resamples equal to the estimate, but for rounding, count half.
    let below = sorted.partition_point(|e| *e < estimate - TIE);
    let through = sorted.partition_point(|e| *e <= estimate + TIE);
    let bias = normal_quantile((below + through) as f64 / (2 * sorted.len()) as f64);
    let end = |tail: f64| {
        let z = bias + normal_quantile(tail);
        0.5 * erfc(-(bias + z / (1.0 - acceleration * z)) / SQRT_2)
    };
    let (low, high) = (end((1.0 - level) / 2.0), end((1.0 + level) / 2.0));
    (low.is_finite() && high.is_finite())
        .then(|| Interval::new(quantile(sorted, low), quantile(sorted, high)))
}

fn normal_quantile(p: f64) -> f64 {
    -SQRT_2 * erfc_inv(2.0 * p)
}

/// The quantile `q` of values in order, linear between neighbours (type 7 of Hyndman and Fan 1996).
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let place = q * (sorted.len() - 1) as f64;
    let (low, part) = (place.floor() as usize, place.fract());
    let next = sorted[(low + 1).min(sorted.len() - 1)];
    sorted[low] + part * (next - sorted[low])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const X: [f64; 6] = [100.0, 103.0, 98.0, 101.0, 97.0, 102.0];

    #[test]
    fn a_factor_moves_estimate_and_interval_by_its_logarithm() {
        let y = X.map(|v| 1.1 * v);
        for ratio in [RatioOf::Means, RatioOf::GeometricMeans, RatioOf::Medians] {
            let found = bca(&X, &y, ratio, 0.95, (4000, 1)).unwrap();
            let interval = found.interval.unwrap();
            assert!((found.estimate - 1.1_f64.ln()).abs() < 1e-12);
            assert!(interval.contains(found.estimate) && !interval.contains(0.0), "{found:?}");
            let plain = bca(&X, &X, ratio, 0.95, (4000, 1)).unwrap().interval.unwrap();
            assert!((interval.low - plain.low - found.estimate).abs() < 1e-9, "{interval:?} {plain:?}");
        }
    }

    #[test]
    fn symmetric_samples_need_little_correction() {
        let interval = bca(&X, &X, RatioOf::GeometricMeans, 0.95, (20_000, 2)).unwrap().interval.unwrap();
        assert!((interval.low + interval.high).abs() < 0.003, "{interval:?}");
    }

    #[test]
    fn what_cannot_be_resampled_gives_nothing() {
        assert_eq!(bca(&[1.0], &X, RatioOf::Means, 0.95, (100, 1)), None);
        assert_eq!(bca(&X, &[1.0, 0.0], RatioOf::Means, 0.95, (100, 1)), None);
        assert_eq!(bca(&X, &[1.0, f64::NAN], RatioOf::Means, 0.95, (100, 1)), None);
        assert_eq!(bca(&X, &X, RatioOf::Means, 0.95, (0, 1)), None);
        let constant = bca(&[5.0; 4], &[5.0; 4], RatioOf::Means, 0.95, (100, 1)).unwrap();
        assert_eq!((constant.estimate, constant.interval), (0.0, None));
    }
}
