//! The nouns of the crate: scales, p-values, intervals, pairs, and the input of one cell.

use thiserror::Error;

/// The scale on which values are averaged and compared (S2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scale {
    /// Positive ratio metrics (IOPS, bandwidth, latency, CPU per I/O): natural logarithms, effects are logs of ratios.
    Log,
    /// Bounded shares (CPU percent): plain differences, in the unit of the metric.
    Linear,
}

impl Scale {
    /// An effect as printed: percent change on the log scale, the difference itself on the linear one.
    pub fn to_percent(self, effect: f64) -> f64 {
        match self {
            Scale::Log => 100.0 * effect.exp_m1(),
            Scale::Linear => effect,
        }
    }

    /// A measured value on the scale of analysis, `None` when it has no place there (not finite; not positive on the log scale).
    pub fn transform(self, value: f64) -> Option<f64> {
        match self {
            Scale::Log if value > 0.0 && value.is_finite() => Some(value.ln()),
            Scale::Linear if value.is_finite() => Some(value),
            _ => None,
        }
    }

    /// Back from the scale of analysis to the unit of the metric.
    pub fn untransform(self, x: f64) -> f64 {
        match self {
            Scale::Log => x.exp(),
            Scale::Linear => x,
        }
    }
}

/// Which direction is good for the metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Better {
    /// More is better (IOPS).
    Higher,
    /// Less is better (latency).
    Lower,
}

/// A probability under the null hypothesis, in `0..=1`. Corrected p-values (Holm, BH) are of this type too.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct PValue(f64);

impl PValue {
    /// The value that can reject nothing.
    pub const ONE: PValue = PValue(1.0);

    /// A p-value from a computed number; rounding that leaves `0..=1` is cut off, and NaN becomes 1 (it can reject nothing).
    pub fn new(p: f64) -> Self {
        if p.is_nan() { PValue::ONE } else { PValue(p.clamp(0.0, 1.0)) }
    }

    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

/// A closed interval on the scale of analysis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// The interval with these ends.
    pub fn new(low: f64, high: f64) -> Self {
        Self { low, high }
    }

    /// `centre` plus and minus `half`.
    pub fn around(centre: f64, half: f64) -> Self {
        Self { low: centre - half, high: centre + half }
    }

    /// Whether `x` lies in the interval, ends included.
    pub fn contains(&self, x: f64) -> bool {
        self.low <= x && x <= self.high
    }

    /// Whether the whole interval lies strictly inside `outer`.
    pub fn is_inside(&self, outer: &Interval) -> bool {
        outer.low < self.low && self.high < outer.high
    }

    /// Whether the whole interval lies at or beyond one end of `other`.
    pub fn is_outside(&self, other: &Interval) -> bool {
        self.high <= other.low || self.low >= other.high
    }
}

/// Two variants to compare, by their numbers in [`Row::variant`]. Effects are candidate relative to reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pair {
    /// The variant under judgement.
    pub candidate: usize,
    /// What it is held against.
    pub reference: usize,
}

impl From<(usize, usize)> for Pair {
    fn from((candidate, reference): (usize, usize)) -> Self {
        Self { candidate, reference }
    }
}

/// One trial of one variant in a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// Number of the variant.
    pub variant: usize,
    /// Round (block) of the visit; `None` when the session was not run in rounds.
    pub round: Option<u32>,
    /// Visit (boot), unique within the variant. A visit that replaces another of the same round has a higher number.
    pub visit: u32,
    /// Position of the visit in the session's order; `None` when unknown.
    pub seq: Option<u32>,
    /// The metric, in its own unit.
    pub value: f64,
    /// The lab itself failed: the value is not used, but the row is counted (S4).
    pub void: bool,
}

/// How the values of a cell are read and judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CellRule {
    scale: Scale,
    better: Better,
    margin: f64,
    step: f64,
}

/// A [`CellRule`] that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum RuleError {
    /// The margin is not a positive number, or not below 1 on the log scale.
    #[error("margin {margin} is out of range for the {scale:?} scale")]
    Margin {
        /// The refused margin.
        margin: f64,
        /// The scale it was meant for.
        scale: Scale,
    },
    /// The measurement step is negative or not finite.
    #[error("measurement step {step} is not a finite number of zero or more")]
    Step {
        /// The refused step.
        step: f64,
    },
}

impl CellRule {
    /// A rule with margin `margin`: a fraction on the log scale (0.02 = 2 %), in the metric's unit on the linear one. `step` is
    /// the measurement step on the scale of analysis (0 when the metric is not quantised).
    ///
    /// # Errors
    /// When the margin or the step is out of range.
    pub fn new(scale: Scale, better: Better, margin: f64, step: f64) -> Result<Self, RuleError> {
        let in_range = margin > 0.0 && margin.is_finite() && (scale == Scale::Linear || margin < 1.0);
        if !in_range {
            return Err(RuleError::Margin { margin, scale });
        }
        if !(step >= 0.0 && step.is_finite()) {
            return Err(RuleError::Step { step });
        }
        Ok(Self { scale, better, margin, step })
    }

    /// The scale of analysis.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// The good direction.
    pub fn better(&self) -> Better {
        self.better
    }

    /// The margin as it was given.
    pub fn margin(&self) -> f64 {
        self.margin
    }

    /// The measurement step on the scale of analysis.
    pub fn step(&self) -> f64 {
        self.step
    }

    /// The margin as a zone around "no change" on the scale of analysis (D of S7).
    pub fn zone(&self) -> Interval {
        match self.scale {
            Scale::Log => Interval::new((-self.margin).ln_1p(), self.margin.ln_1p()),
            Scale::Linear => Interval::new(-self.margin, self.margin),
        }
    }
}

/// One metric of one cell: the rule and every trial of every variant, in any order.
#[derive(Debug, Clone, PartialEq)]
pub struct CellInput {
    /// How to read and judge the values.
    pub rule: CellRule,
    /// The trials.
    pub rows: Vec<Row>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_and_steps_out_of_range_are_refused() {
        for margin in [0.0, -0.1, 1.0, f64::NAN, f64::INFINITY] {
            assert!(CellRule::new(Scale::Log, Better::Higher, margin, 0.0).is_err(), "{margin}");
        }
        assert!(CellRule::new(Scale::Linear, Better::Lower, 5.0, 0.0).is_ok());
        assert_eq!(
            CellRule::new(Scale::Log, Better::Higher, 0.02, -1.0),
            Err(RuleError::Step { step: -1.0 })
        );
    }

    #[test]
    fn values_without_a_logarithm_have_no_place_on_the_log_scale() {
        assert_eq!(Scale::Log.transform(0.0), None);
        assert_eq!(Scale::Log.transform(f64::INFINITY), None);
        assert_eq!(Scale::Linear.transform(0.0), Some(0.0));
        assert_eq!(Scale::Linear.transform(f64::NAN), None);
    }

    #[test]
    fn nan_rejects_nothing() {
        assert_eq!(PValue::new(f64::NAN), PValue::ONE);
        assert_eq!(PValue::new(1.0 + 1e-12), PValue::ONE);
    }
}
