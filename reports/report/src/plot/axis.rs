//! Scales with round numbers for their ticks.

use crate::quantity::decimals;

/// From values to pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// A scale over all `values` with some room at both ends, on the pixels `from` to `to`.
    pub(super) fn over(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| value.is_finite()) {
            low = low.min(value);
            high = high.max(value);
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        // A range without width, or one that floating point cannot divide, would have no ticks.
        let least = (low.abs().max(high.abs()) * 1e-3).max(1e-9);
        let room = ((high - low) * 0.06).max(least);
        Self { low: low - room, high: high + room, from, to }
    }

    /// The pixel of a value.
    pub(super) fn at(&self, value: f64) -> f64 {
        self.from + (value - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    /// About `count` round values within the scale, each with its text.
    pub(super) fn ticks(&self, count: usize) -> Vec<(f64, String)> {
        let step = round_step((self.high - self.low) / count.max(1) as f64);
        let first = (self.low / step).ceil();
        let values: Vec<f64> = (0..=2 * count)
            .map(|at| (first + at as f64) * step)
            .take_while(|value| *value <= self.high)
            .collect();
        let digits = step_digits(step);
        values
            .into_iter()
            .map(|value| (value, format!("{:.digits$}", if value == 0.0 { 0.0 } else { value })))
            .collect()
    }
}

/// 1, 2 or 5 times a power of ten, not below `raw`.
fn round_step(raw: f64) -> f64 {
    let power = 10f64.powf(raw.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= raw * 0.999)
        .unwrap_or(10.0 * power)
}

/// Digits after the point that tell ticks apart.
fn step_digits(step: f64) -> usize {
    let digits = -step.log10().floor();
    if digits > 0.0 { (digits as usize).min(9) } else { 0 }
}

/// A value as plots tell it when pointed at.
pub(super) fn exact(value: f64) -> String {
    let digits = decimals(&[value]);
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let scale = Scale::over([4.31, 6.4].into_iter(), 0.0, 100.0);
        let ticks = scale.ticks(4);
        let texts: Vec<&str> = ticks.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["5", "6"]);
        assert!(ticks.iter().all(|(value, _)| (0.0..=100.0).contains(&scale.at(*value))));
    }

    #[test]
    fn one_value_or_none_still_gives_a_scale() {
        for values in [vec![], vec![5.0], vec![0.0, 0.0], vec![f64::NAN]] {
            let scale = Scale::over(values.into_iter(), 0.0, 100.0);
            assert!(scale.at(5.0).is_finite());
            assert!(scale.ticks(4).len() <= 9);
        }
    }
}
