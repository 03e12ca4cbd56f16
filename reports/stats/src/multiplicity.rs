//! Corrections for asking many questions at once.

use crate::types::PValue;

/// Holm's step-down adjusted p-values (Holm 1979), in input order: controls the chance of any false claim in the family.
pub fn holm(ps: &[PValue]) -> Vec<PValue> {
    let m = ps.len();
    let mut out = vec![PValue::ONE; m];
    let mut running = 0.0_f64;
    for (k, i) in ascending(ps).into_iter().enumerate() {
        running = running.max(ps[i].get() * (m - k) as f64);
        out[i] = PValue::new(running);
    }
    out
}

/// Benjamini-Hochberg adjusted p-values (1995), in input order: controls the expected share of false claims.
pub fn benjamini_hochberg(ps: &[PValue]) -> Vec<PValue> {
    let m = ps.len();
    let mut out = vec![PValue::ONE; m];
    let mut running = 1.0_f64;
    for (k, i) in ascending(ps).into_iter().enumerate().rev() {
        running = running.min(ps[i].get() * m as f64 / (k + 1) as f64);
        out[i] = PValue::new(running);
    }
    out
}

fn ascending(ps: &[PValue]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..ps.len()).collect();
    order.sort_by(|a, b| ps[*a].get().total_cmp(&ps[*b].get()));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_question_needs_no_correction() {
        let p = [PValue::new(0.03)];
        assert_eq!(holm(&p), p);
        assert_eq!(benjamini_hochberg(&p), p);
        assert!(holm(&[]).is_empty());
    }
}
