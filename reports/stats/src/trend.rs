//! Drift inside a session: slope of the residuals against the order of visits. Informational; rounds already absorb drift.

use crate::sample::mean;
use crate::t::TTest;
use crate::types::CellInput;
use crate::units::Units;

/// Least-squares slope of `y` on `x` with its t test (n-2 degrees of freedom). `None` below three points or when x does not vary.
pub fn slope(points: &[(f64, f64)]) -> Option<TTest> {
    if points.len() < 3 {
        return None;
    }
    let (xs, ys): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
    let (x_mean, y_mean) = (mean(&xs)?, mean(&ys)?);
    let xx: f64 = xs.iter().map(|x| (x - x_mean).powi(2)).sum();
    if xx <= 0.0 {
        return None;
    }
    let estimate = points.iter().map(|(x, y)| (x - x_mean) * (y - y_mean)).sum::<f64>() / xx;
    let residual: f64 = points.iter().map(|(x, y)| (y - y_mean - estimate * (x - x_mean)).powi(2)).sum();
    let df = (points.len() - 2) as f64;
    Some(TTest { estimate, se: (residual / df / xx).sqrt(), df })
}

/// Drift of a cell over the session: every unit less the mean of its variant, against its place in the session. The slope is per
/// visit. One degree of freedom is taken for every further variant's mean.
pub fn session_drift(cell: &CellInput) -> Option<TTest> {
    let units = Units::of_cell(cell);
    let mut points = Vec::new();
    let mut means = 0;
    for variant in units.variants() {
        let Some(centre) = mean(&units.values(variant)) else { continue };
        means += 1;
        points.extend(units.of(variant).iter().filter_map(|u| Some((f64::from(u.seq?), u.value - centre))));
    }
    let line = slope(&points)?;
    let df = line.df - f64::from(means - 1);
    (df > 0.0).then(|| TTest { se: line.se * (line.df / df).sqrt(), df, ..line })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::types::{Better, CellRule, Row, Scale};

    #[test]
    fn a_line_is_found_exactly() {
        let line = slope(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0), (3.0, 7.0)]).unwrap();
        assert_eq!((line.estimate, line.se, line.df), (2.0, 0.0, 2.0));
        assert_eq!(slope(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]), None);
    }

    #[test]
    fn a_warming_board_shows_whatever_the_variants_do() {
        let rule = CellRule::new(Scale::Log, Better::Higher, 0.02, 0.0).unwrap();
        let rows = (0..16)
            .map(|seq: u32| {
                let variant = (seq.count_ones() % 2) as usize;
                let value = 1000.0
                    * (1.0 - 0.1 * variant as f64)
                    * (-0.002 * f64::from(seq) + 0.001 * f64::from(seq * 7 % 3)).exp();
                Row { variant, round: Some(seq / 2), visit: seq, seq: Some(seq), value, void: false }
            })
            .collect();
        let drift = session_drift(&CellInput { rule, rows }).unwrap();
        assert!((drift.estimate + 0.002).abs() < 3e-4, "{drift:?}");
        assert!(drift.p().unwrap().get() < 1e-4);
        assert_eq!(drift.df, 13.0);
    }
}
