//! Adaptive sessions: when may one stop early (S9).
//!
//! Group-sequential looks with the spending function `alpha t^1.5` (Kim and DeMets 1987, power family). The nominal levels come from
//! the Armitage-McPherson-Rowe recursion on the score process.

use crate::t::TTest;
use crate::types::Interval;
use statrs::function::erf::erfc;
use std::f64::consts::{PI, SQRT_2};
use thiserror::Error;

/// Looks of the default plan, in complete rounds; the last is the cap.
pub const DEFAULT_LOOKS: [u32; 6] = [5, 8, 12, 16, 20, 25];
/// Exponent of the spending function.
const RHO: f64 = 1.5;
/// Intervals of Simpson's rule over the continuation region; even.
const STEPS: u32 = 240;

/// The level to use at a look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Nominal {
    /// Complete rounds at the look.
    pub rounds: u32,
    /// Nominal two-sided p.
    pub p: f64,
    /// The same as a normal quantile.
    pub z: f64,
}

/// A plan of looks for one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Sequential {
    nominal: Vec<Nominal>,
}

/// What to do after a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Stop: different by more than the margin.
    Different,
    /// Stop: the repeated interval fits inside the margin.
    Same,
    /// Go on.
    Continue,
    /// The cap is reached without a decision.
    Cap,
}

/// The outcome of a look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// What to do.
    pub step: Step,
    /// The level used.
    pub nominal: Nominal,
    /// Repeated confidence interval: valid although the data were looked at before.
    pub repeated: Interval,
}

/// A plan of looks that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum LooksError {
    /// No look, or one before two rounds.
    #[error("a plan needs at least one look, none before two rounds")]
    TooEarly,
    /// Looks do not increase.
    #[error("looks must increase, but {next} follows {previous}")]
    Order {
        /// The earlier look.
        previous: u32,
        /// The one that should have been later.
        next: u32,
    },
    /// The level is not a probability between 0 and 1.
    #[error("level {alpha} is not between 0 and 1")]
    Level {
        /// The refused level.
        alpha: f64,
    },
}

impl Sequential {
    /// Looks at these numbers of complete rounds, the last being the cap, at a total level of `alpha`. For m cells pass
    /// `alpha / m` (Bonferroni).
    ///
    /// # Errors
    /// When the looks do not increase from 2 on, or the level is no probability.
    pub fn new(looks: &[u32], alpha: f64) -> Result<Self, LooksError> {
        if looks.first().is_none_or(|first| *first < 2) {
            return Err(LooksError::TooEarly);
        }
        if let Some(w) = looks.windows(2).find(|w| w[0] >= w[1]) {
            return Err(LooksError::Order { previous: w[0], next: w[1] });
        }
        if !(alpha > 0.0 && alpha < 1.0) {
            return Err(LooksError::Level { alpha });
        }
        Ok(Self { nominal: nominal_levels(looks, alpha) })
    }

    /// The levels, look by look.
    pub fn nominal(&self) -> &[Nominal] {
        &self.nominal
    }

    /// Decides at `rounds` complete rounds from the block t test so far. `None` when no look is planned there.
    pub fn look(&self, rounds: u32, test: &TTest, zone: &Interval) -> Option<Look> {
        let nominal = *self.nominal.iter().find(|n| n.rounds == rounds)?;
        let repeated = test.interval(1.0 - nominal.p);
        let beyond = test.estimate <= zone.low || test.estimate >= zone.high;
        let rejects = test.p().is_some_and(|p| p.get() <= nominal.p);
        let step = if rejects && beyond {
            Step::Different
        } else if repeated.is_inside(zone) {
            Step::Same
        } else if self.nominal.last() == Some(&nominal) {
            Step::Cap
        } else {
            Step::Continue
        };
        Some(Look { step, nominal, repeated })
    }
}

/// A density on the continuation region as point masses (place, mass).
type Masses = Vec<(f64, f64)>;

fn nominal_levels(looks: &[u32], alpha: f64) -> Vec<Nominal> {
    let cap = f64::from(looks[looks.len() - 1]);
    let mut masses: Masses = vec![(0.0, 1.0)];
    let (mut before, mut spent) = (0.0, 0.0);
    looks
        .iter()
        .map(|&rounds| {
            let time = f64::from(rounds) / cap;
            let sigma = (time - before).sqrt();
            let spend = alpha * time.powf(RHO);
            let bound = boundary(&masses, sigma, spend - spent);
            masses = advance(&masses, sigma, bound);
            (before, spent) = (time, spend);
            let z = bound / time.sqrt();
            Nominal { rounds, p: erfc(z / SQRT_2), z }
        })
        .collect()
}

/// The symmetric bound that the process leaves with probability `spend` in this step.
fn boundary(masses: &Masses, sigma: f64, spend: f64) -> f64 {
    let tail = |x: f64| 0.5 * erfc(x / (sigma * SQRT_2));
    let exit = |c: f64| masses.iter().map(|(s, m)| m * (tail(c - s) + tail(c + s))).sum::<f64>();
    let (mut low, mut high) = (0.0, 12.0);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if exit(middle) > spend { low = middle } else { high = middle }
    }
    high
}

/// The density after a step of deviation `sigma`, cut to the region inside `bound`.
fn advance(masses: &Masses, sigma: f64, bound: f64) -> Masses {
    let width = 2.0 * bound / f64::from(STEPS);
    let scale = 1.0 / (sigma * (2.0 * PI).sqrt());
    (0..=STEPS)
        .map(|i| {
            let y = -bound + width * f64::from(i);
            let density: f64 =
                masses.iter().map(|(s, m)| m * (-0.5 * ((y - s) / sigma).powi(2)).exp()).sum::<f64>() * scale;
            let weight = match i {
                0 | STEPS => 1.0,
                _ if i % 2 == 1 => 4.0,
                _ => 2.0,
            };
            (y, density * weight * width / 3.0)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_single_look_spends_everything() {
        let plan = Sequential::new(&[10], 0.05).unwrap();
        assert!((plan.nominal()[0].p - 0.05).abs() < 1e-9);
    }

    #[test]
    fn plans_that_make_no_sense_are_refused() {
        assert_eq!(Sequential::new(&[], 0.05), Err(LooksError::TooEarly));
        assert_eq!(Sequential::new(&[5, 5], 0.05), Err(LooksError::Order { previous: 5, next: 5 }));
        assert_eq!(Sequential::new(&[5], 0.0), Err(LooksError::Level { alpha: 0.0 }));
    }

    #[test]
    fn a_look_stops_for_either_reason_or_goes_on() {
        let plan = Sequential::new(&DEFAULT_LOOKS, 0.05).unwrap();
        let zone = Interval::new(-0.02, 0.02);
        let step = |rounds, estimate, se| {
            let test = TTest { estimate, se, df: f64::from(rounds) - 1.0 };
            plan.look(rounds, &test, &zone).map(|l| l.step)
        };
        assert_eq!(step(5, -0.05, 0.002), Some(Step::Different));
        assert_eq!(step(8, 0.001, 0.002), Some(Step::Same));
        assert_eq!(step(12, -0.015, 0.01), Some(Step::Continue));
        assert_eq!(step(25, -0.015, 0.01), Some(Step::Cap));
        assert_eq!(step(6, -0.05, 0.002), None);
    }

    #[test]
    fn repeated_intervals_are_wider_than_plain_ones() {
        let plan = Sequential::new(&DEFAULT_LOOKS, 0.05).unwrap();
        let test = TTest { estimate: 0.0, se: 0.01, df: 7.0 };
        let look = plan.look(8, &test, &Interval::new(-0.02, 0.02)).unwrap();
        assert!(test.interval(0.95).is_inside(&look.repeated));
    }
}
