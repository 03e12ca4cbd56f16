//! Tests on Student's t: paired (block), Welch, equivalence.

use crate::sample::{TIE, mean, variance};
use crate::types::{Interval, PValue};
use statrs::function::beta::{beta_reg, inv_beta_reg};

/// An estimate with its standard error and degrees of freedom (which may be fractional).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TTest {
    /// The estimated difference.
    pub estimate: f64,
    /// Its standard error, 0 when the data did not vary at all.
    pub se: f64,
    /// Degrees of freedom.
    pub df: f64,
}

impl TTest {
    /// Two-sided p against "no difference". `None` when the data are constant and differ: t is infinite then and says nothing
    /// about noise.
    pub fn p(&self) -> Option<PValue> {
        if self.se > 0.0 {
            return Some(two_sided_p(self.estimate / self.se, self.df));
        }
        (self.estimate.abs() <= TIE).then_some(PValue::ONE)
    }

    /// The interval of confidence `level` (0.95 for 95 %).
    pub fn interval(&self, level: f64) -> Interval {
        Interval::around(self.estimate, critical(1.0 - level, self.df) * self.se)
    }

    /// The same test with `variance` added to the squared standard error (the part a quantised measurement hides, S5).
    pub fn widened(self, variance: f64) -> Self {
        Self { se: (self.se * self.se + variance).sqrt(), ..self }
    }
}

/// Paired t on block differences (Student 1908). `None` below two differences.
pub fn paired(differences: &[f64]) -> Option<TTest> {
    let n = differences.len() as f64;
    let se = (variance(differences)? / n).sqrt();
    Some(TTest { estimate: mean(differences)?, se, df: n - 1.0 })
}

/// Welch's unequal-variance t (Welch 1947, Satterthwaite df), effect `y - x`. `None` when a sample has fewer than two values.
pub fn welch(x: &[f64], y: &[f64]) -> Option<TTest> {
    let (n1, n2) = (x.len() as f64, y.len() as f64);
    let (a, b) = (variance(x)? / n1, variance(y)? / n2);
    let estimate = mean(y)? - mean(x)?;
    if a + b == 0.0 {
        // Constant samples: compare the values, not their rounded means.
        return Some(TTest { estimate: y[0] - x[0], se: 0.0, df: n1 + n2 - 2.0 });
    }
    let df = (a + b).powi(2) / (a * a / (n1 - 1.0) + b * b / (n2 - 1.0));
    Some(TTest { estimate, se: (a + b).sqrt(), df })
}

/// Two one-sided tests of equivalence (Schuirmann 1987).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Equivalence {
    /// p of "the effect is at or below the lower margin".
    pub p_lower: PValue,
    /// p of "the effect is at or above the upper margin".
    pub p_upper: PValue,
}

impl Equivalence {
    /// p of "the effect is outside the margins": the larger of the two.
    pub fn p(&self) -> PValue {
        if self.p_lower >= self.p_upper { self.p_lower } else { self.p_upper }
    }
}

/// Tests whether the effect of `test` lies inside `zone`. `None` when the standard error is 0. Verdicts use the stricter rule
/// that the whole 95 % interval lies inside the zone, so that one printed interval decides everything.
pub fn tost(test: &TTest, zone: &Interval) -> Option<Equivalence> {
    if test.se <= 0.0 {
        return None;
    }
    Some(Equivalence {
        p_lower: upper_tail((test.estimate - zone.low) / test.se, test.df),
        p_upper: upper_tail((zone.high - test.estimate) / test.se, test.df),
    })
}

/// `P(|T| >= |t|)` for Student's t with `df > 0` degrees of freedom, as a regularised incomplete beta function: accurate far into
/// the tail.
pub fn two_sided_p(t: f64, df: f64) -> PValue {
    PValue::new(beta_reg(df / 2.0, 0.5, df / (df + t * t)))
}

/// The value that |T| exceeds with probability `alpha`, for `alpha` in `(0, 1)`.
pub fn critical(alpha: f64, df: f64) -> f64 {
    let y = inv_beta_reg(df / 2.0, 0.5, alpha);
    (df * (1.0 - y) / y).sqrt()
}

/// `P(T >= t)`.
fn upper_tail(t: f64, df: f64) -> PValue {
    let half = two_sided_p(t, df).get() / 2.0;
    PValue::new(if t >= 0.0 { half } else { 1.0 - half })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn too_few_values_give_no_test() {
        assert_eq!(paired(&[1.0]), None);
        assert_eq!(welch(&[1.0], &[1.0, 2.0]), None);
    }

    #[test]
    fn constant_data_reject_only_what_they_can() {
        let same = welch(&[2.0, 2.0, 2.0], &[2.0, 2.0, 2.0]).unwrap();
        assert_eq!(same.p(), Some(PValue::ONE));
        let different = welch(&[2.0, 2.0, 2.0], &[3.0, 3.0, 3.0]).unwrap();
        assert_eq!((different.estimate, different.p()), (1.0, None));
        assert_eq!(tost(&same, &Interval::new(-1.0, 1.0)), None);
    }

    #[test]
    fn critical_value_undoes_the_p_value() {
        for df in [1.0, 2.3, 7.0, 24.0, 300.0] {
            for alpha in [0.2, 0.05, 0.001, 1e-5] {
                let back = two_sided_p(critical(alpha, df), df).get();
                assert!((back / alpha - 1.0).abs() < 1e-9, "{df} {alpha} {back}");
            }
        }
    }
}
