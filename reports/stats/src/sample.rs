//! Moments and medians of small samples.

/// Arithmetic mean; `None` for an empty sample.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Values on the scale of analysis that differ by no more than this are equal. Logarithms and their differences that are equal in
/// exact arithmetic differ by rounding (about 1e-15); real differences are far larger.
pub const TIE: f64 = 1e-12;

/// Unbiased variance (n-1); `None` below two values. Values that are all equal (within [`TIE`]) give exactly 0, or the dust of
/// rounding would pass for noise and make any difference certain.
pub fn variance(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let (low, high) = values.iter().fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(*v), high.max(*v)));
    if high - low <= TIE {
        return Some(0.0);
    }
    let centre = mean(values)?;
    let squares: f64 = values.iter().map(|v| (v - centre).powi(2)).sum();
    Some(squares / (values.len() - 1) as f64)
}

/// Median, the mean of the middle two for an even count; `None` for an empty sample.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    median_of_sorted(&sorted)
}

/// Median of values already in order.
pub(crate) fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[half]),
        _ => Some((sorted[half - 1] + sorted[half]) / 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_samples() {
        assert_eq!(mean(&[]), None);
        assert_eq!(variance(&[1.0]), None);
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[5.0, 1.0, 3.0]), Some(3.0));
        assert_eq!(median(&[5.0, 1.0, 3.0, 4.0]), Some(3.5));
        assert_eq!(variance(&[1.0, 3.0]), Some(2.0));
    }

    #[test]
    fn equal_values_have_no_variance_at_all() {
        let tenth = [0.1_f64.ln(); 7];
        assert_eq!(variance(&tenth), Some(0.0));
        let ratios = [100.0_f64, 200.0, 300.0, 700.0].map(|v| (v * 1.03).ln() - v.ln());
        assert_eq!(variance(&ratios), Some(0.0));
    }
}
