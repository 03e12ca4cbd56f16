//! Comparing counts: void trials, outliers, stalls.

use crate::types::PValue;
use statrs::function::factorial::ln_binomial;

/// Hits among trials of one variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// How many had the property.
    pub hits: u64,
    /// Of how many.
    pub of: u64,
}

impl Count {
    /// Hits as a share of all, 0 for none of none.
    pub fn share(&self) -> f64 {
        if self.of == 0 { 0.0 } else { self.hits as f64 / self.of as f64 }
    }
}

/// Fisher's exact test, two-sided: the total probability of the tables (with these margins) that are no more likely than the
/// observed one (Fisher 1935, the minimum-likelihood convention).
pub fn fisher(a: Count, b: Count) -> PValue {
    let hits = a.hits + b.hits;
    let low = hits.saturating_sub(b.of);
    let high = hits.min(a.of);
    let log_total = ln_binomial(a.of + b.of, hits);
    let log_p = |k: u64| ln_binomial(a.of, k) + ln_binomial(b.of, hits - k) - log_total;
    // Equal tables differ by rounding; the slack keeps them together.
    let bar = log_p(a.hits) + 1e-7;
    PValue::new((low..=high).map(log_p).filter(|l| *l <= bar).map(f64::exp).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_nothing_is_no_finding() {
        assert_eq!(fisher(Count { hits: 0, of: 0 }, Count { hits: 0, of: 5 }), PValue::ONE);
        assert_eq!(Count::default().share(), 0.0);
    }

    #[test]
    fn the_test_does_not_care_which_variant_comes_first() {
        let (a, b) = (Count { hits: 1, of: 18 }, Count { hits: 6, of: 20 });
        assert!((fisher(a, b).get() - fisher(b, a).get()).abs() < 1e-12);
    }
}
