//! Combining dependent p-values.

use crate::types::PValue;
use std::f64::consts::PI;

/// Cauchy combination (Liu and Xie 2020): the mean of `tan((1/2 - p) pi)` is again Cauchy in the tail under any dependence.
/// Each p is clamped to `1e-15..=0.99`: a discrete p of exactly 1 must not veto the other test. 1 for no p at all.
pub fn cauchy(ps: &[PValue]) -> PValue {
    if ps.is_empty() {
        return PValue::ONE;
    }
    // tan(pi/2 - x) is 1/tan(x), and atan2(1, x) is pi/2 - atan(x), both without the cancellation that loses small p-values.
    let sum: f64 = ps.iter().map(|p| (p.get().clamp(1e-15, 0.99) * PI).tan().recip()).sum();
    let mean = sum / ps.len() as f64;
    PValue::new(1.0_f64.atan2(mean) / PI)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_p_of_one_does_not_veto() {
        let p = cauchy(&[PValue::new(0.002), PValue::ONE]).get();
        assert!(p < 0.006, "{p}");
    }

    #[test]
    fn tiny_values_keep_their_size() {
        let p = cauchy(&[PValue::new(1e-13), PValue::new(1e-13)]).get();
        assert!((p / 1e-13 - 1.0).abs() < 1e-9, "{p}");
        assert_eq!(cauchy(&[]), PValue::ONE);
    }
}
