//! Change points in a nightly series: rank CUSUM with a permutation test and a size gate.
//!
//! A found change is a *candidate*: unmodelled drift fools every such method, so a fresh A/B has to confirm it.

use crate::ranks::doubled_midranks;
use crate::sample::median;
use crate::types::PValue;

/// Where the two sides of a series differ most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankCusum {
    /// `max |mean rank left - mean rank right| sqrt(k(n-k)/n)`.
    pub statistic: f64,
    /// Points left of the change.
    pub k: usize,
}

/// Rank CUSUM (after Pettitt 1979) over every split that leaves `min_segment` points on both sides, with midranks. `None` when the
/// series is too short for one.
pub fn rank_cusum(series: &[f64], min_segment: usize) -> Option<RankCusum> {
    let ranks: Vec<f64> = doubled_midranks(series).into_iter().map(|r| r as f64 / 2.0).collect();
    scan(&ranks, min_segment.max(1))
}

/// p of the observed statistic under exchangeability: `(1 + #{permuted >= observed}) / (1 + permutations)`, reproducible by `seed`.
pub fn permutation_p(series: &[f64], min_segment: usize, permutations: u32, seed: u64) -> Option<PValue> {
    p_up_to(series, min_segment, permutations, seed, 1.0)
}

/// The permutation p where it is at most `level`; gives up, with `None`, as soon as it cannot be any more (Besag and Clifford
/// 1991), which in a quiet series is after a handful of permutations.
fn p_up_to(series: &[f64], min_segment: usize, permutations: u32, seed: u64, level: f64) -> Option<PValue> {
    let min_segment = min_segment.max(1);
    let mut ranks: Vec<f64> = doubled_midranks(series).into_iter().map(|r| r as f64 / 2.0).collect();
    let observed = scan(&ranks, min_segment)?.statistic;
    let p = |reached: u32| f64::from(reached + 1) / (f64::from(permutations) + 1.0);
    let mut random = Pcg::new(seed);
    let mut reached = 0_u32;
    for _ in 0..permutations {
        random.shuffle(&mut ranks);
        let statistic = scan(&ranks, min_segment)?.statistic;
        // Equal arrangements differ by rounding.
        reached += u32::from(statistic >= observed - 1e-9);
        if p(reached) > level {
            return None;
        }
    }
    Some(PValue::new(p(reached)))
}

/// When a change counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScanRule {
    /// Nights on each side of a change, at least.
    pub min_segment: usize,
    /// Nights below which nothing is said.
    pub min_nights: usize,
    /// Permutations.
    pub permutations: u32,
    /// Largest p.
    pub level: f64,
    /// Smallest difference of the medians, on the scale of the series (logs: `ln(1.02)` for 2 %).
    pub margin: f64,
}

impl Default for ScanRule {
    /// At most 1 % of quiet series alarm in 49 nightly re-runs, and a 3 % step is found in about six nights.
    fn default() -> Self {
        Self { min_segment: 3, min_nights: 12, permutations: 1999, level: 0.002, margin: 0.02_f64.ln_1p() }
    }
}

/// A candidate change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Index of the first night after it.
    pub at: usize,
    /// Median after less median before, within the stretch that was split.
    pub shift: f64,
    /// Permutation p.
    pub p: PValue,
}

/// Candidate changes of a series (one value per night, usually logs), in order of time. Splits at the strongest change and looks
/// again on both sides.
pub fn changes(series: &[f64], rule: &ScanRule, seed: u64) -> Vec<Change> {
    let mut found = Vec::new();
    let mut stretches = Vec::from([(0, series.len())]);
    while let Some((start, end)) = stretches.pop() {
        // Every stretch has its own stream, so one result does not depend on the order of the search.
        let stretch_seed = seed ^ ((start as u64) << 32) ^ end as u64;
        if let Some(change) = strongest(&series[start..end], rule, stretch_seed) {
            let at = start + change.at;
            found.push(Change { at, ..change });
            stretches.push((start, at));
            stretches.push((at, end));
        }
    }
    found.sort_by_key(|c| c.at);
    found
}

fn strongest(series: &[f64], rule: &ScanRule, seed: u64) -> Option<Change> {
    if series.len() < rule.min_nights {
        return None;
    }
    let at = rank_cusum(series, rule.min_segment)?.k;
    let shift = median(&series[at..])? - median(&series[..at])?;
    if shift.abs() < rule.margin {
        return None;
    }
    let p = p_up_to(series, rule.min_segment, rule.permutations, seed, rule.level)?;
    Some(Change { at, shift, p })
}

fn scan(ranks: &[f64], min_segment: usize) -> Option<RankCusum> {
    let n = ranks.len();
    let total: f64 = ranks.iter().sum();
    let mut left: f64 = ranks.iter().take(min_segment - 1).sum();
    let mut best: Option<RankCusum> = None;
    for k in min_segment..=n.checked_sub(min_segment)? {
        left += ranks[k - 1];
        let (before, after) = (k as f64, (n - k) as f64);
        let statistic = (left / before - (total - left) / after).abs() * (before * after / n as f64).sqrt();
        // The slack keeps the first of equal splits, whatever the rounding.
        if best.is_none_or(|b| statistic > b.statistic + 1e-12) {
            best = Some(RankCusum { statistic, k });
        }
    }
    best
}

/// PCG-XSH-RR 64/32 (O'Neill 2014): small, and the same numbers on every machine and in every version.
#[derive(Debug, Clone)]
pub struct Pcg {
    state: u64,
}

impl Pcg {
    const MULTIPLIER: u64 = 6_364_136_223_846_793_005;
    const INCREMENT: u64 = 1_442_695_040_888_963_407;

    /// A generator with this seed.
    pub fn new(seed: u64) -> Self {
        let mut pcg = Self { state: seed.wrapping_add(Self::INCREMENT) };
        pcg.next_u32();
        pcg
    }

    /// The next 32 bits.
    pub fn next_u32(&mut self) -> u32 {
        let old = self.state;
        self.state = old.wrapping_mul(Self::MULTIPLIER).wrapping_add(Self::INCREMENT);
        let mixed = (((old >> 18) ^ old) >> 27) as u32;
        mixed.rotate_right((old >> 59) as u32)
    }

    /// A number in `0..bound`, without bias (rejection). 0 for a bound of 0.
    pub fn below(&mut self, bound: u32) -> u32 {
        if bound == 0 {
            return 0;
        }
        let uneven = bound.wrapping_neg() % bound;
        loop {
            let r = self.next_u32();
            if r >= uneven {
                return r % bound;
            }
        }
    }

    /// Shuffles in place (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            let j = self.below(u32::try_from(i + 1).unwrap_or(u32::MAX)) as usize;
            items.swap(i, j);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(n: usize, seed: u64) -> Vec<f64> {
        let mut random = Pcg::new(seed);
        (0..n)
            .map(|_| (0..12).map(|_| f64::from(random.below(1000)) / 1000.0 - 0.5).sum::<f64>() * 0.01)
            .collect()
    }

    #[test]
    fn giving_up_early_changes_no_decision() {
        for seed in 0..60 {
            let mut series = noise(40, seed);
            series[20..].iter_mut().for_each(|v| *v -= 0.0004 * seed as f64);
            let full = permutation_p(&series, 3, 499, 1);
            let early = p_up_to(&series, 3, 499, 1, 0.05);
            assert_eq!(early, full.filter(|p| p.get() <= 0.05), "{seed}");
        }
    }

    #[test]
    fn a_step_is_found_near_its_night_and_only_once() {
        let mut series = noise(60, 7);
        series[40..].iter_mut().for_each(|v| *v -= 0.04);
        let found = changes(&series, &ScanRule::default(), 1);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].at.abs_diff(40) <= 1 && found[0].shift < -0.03, "{found:?}");
    }

    #[test]
    fn two_steps_are_both_found() {
        let mut series = noise(60, 3);
        series[20..40].iter_mut().for_each(|v| *v -= 0.05);
        let at: Vec<usize> = changes(&series, &ScanRule::default(), 1).iter().map(|c| c.at).collect();
        assert_eq!(at.len(), 2, "{at:?}");
        assert!(at[0].abs_diff(20) <= 1 && at[1].abs_diff(40) <= 1, "{at:?}");
    }

    #[test]
    fn quiet_series_do_not_alarm() {
        let alarms =
            (0..100).filter(|s| !changes(&noise(60, 1000 + s), &ScanRule::default(), *s).is_empty()).count();
        assert!(alarms <= 2, "{alarms}");
    }

    #[test]
    fn changes_below_the_margin_are_left_alone() {
        let mut series = noise(60, 7).iter().map(|v| v * 0.1).collect::<Vec<f64>>();
        series[30..].iter_mut().for_each(|v| *v += 0.01);
        assert!(changes(&series, &ScanRule::default(), 1).is_empty());
        let strict = ScanRule { margin: 0.005, ..ScanRule::default() };
        assert_eq!(changes(&series, &strict, 1).len(), 1);
    }

    #[test]
    fn short_series_say_nothing() {
        assert_eq!(rank_cusum(&[1.0, 2.0, 3.0], 3), None);
        assert!(changes(&noise(11, 1), &ScanRule::default(), 1).is_empty());
        assert_eq!(permutation_p(&[], 3, 10, 1), None);
    }

    #[test]
    fn the_same_seed_gives_the_same_p() {
        let series = noise(30, 5);
        assert_eq!(permutation_p(&series, 3, 500, 9), permutation_p(&series, 3, 500, 9));
    }
}
