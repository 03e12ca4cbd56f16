//! How much a plan can see: power of the block and two-sample t, blocks needed, smallest detectable effect.
//!
//! Power comes from the noncentral t distribution, integrated over the distribution of the sample deviation; no table is stored.

use crate::t::critical;
use statrs::function::erf::erfc;
use statrs::function::gamma::ln_gamma;
use std::f64::consts::SQRT_2;

/// Power that plans aim at.
pub const POWER: f64 = 0.8;
/// Largest number of blocks that a plan will name.
pub const MAX_BLOCKS: usize = 2000;
/// Share of the margin that the interval's half width must fit in to be "the same" four times out of five.
const HALF_WIDTH_SHARE: f64 = 0.6;
/// Beyond so many more blocks the advice is to reduce noise.
const MAX_MORE: usize = 100;

/// How the two variants are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Design {
    /// Differences within rounds: n-1 degrees of freedom.
    Blocks,
    /// Two independent groups of n: 2n-2 degrees of freedom.
    TwoSample,
}

impl Design {
    fn df(self, n: usize) -> f64 {
        match self {
            Design::Blocks => (n - 1) as f64,
            Design::TwoSample => (2 * n - 2) as f64,
        }
    }
}

/// How many more rounds an undecided pair needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MoreBlocks {
    /// About so many more.
    About(usize),
    /// Over a hundred: reduce noise instead.
    TooMany,
}

/// Power of a two-sided test at `alpha` with `n` units per variant to see `effect`, when the deviation between visits is
/// `deviation` (both on the scale of analysis). 0 below two units.
pub fn power(effect: f64, deviation: f64, n: usize, alpha: f64, design: Design) -> f64 {
    if n < 2 {
        return 0.0;
    }
    let df = design.df(n);
    let limit = critical(alpha, df);
    let shift = effect.abs() / (deviation * (2.0 / n as f64).sqrt());
    over_deviation(df, |s| phi(shift - limit * s) + phi(-shift - limit * s))
}

/// The smallest effect that is seen with [`POWER`], in units of the deviation between visits. `None` below two units.
pub fn detectable(n: usize, alpha: f64, design: Design) -> Option<f64> {
    if n < 2 {
        return None;
    }
    let mut bounds = (0.0, 1.0);
    while power(bounds.1, 1.0, n, alpha, design) < POWER {
        bounds = (bounds.1, bounds.1 * 2.0);
    }
    for _ in 0..40 {
        let middle = f64::midpoint(bounds.0, bounds.1);
        let enough = power(middle, 1.0, n, alpha, design) >= POWER;
        bounds = if enough { (bounds.0, middle) } else { (middle, bounds.1) };
    }
    Some(bounds.1)
}

/// Blocks for `wanted` power to see `effect` at `alpha`. `None` when over [`MAX_BLOCKS`].
pub fn blocks_for_effect(
    effect: f64,
    deviation: f64,
    alpha: f64,
    wanted: f64,
    design: Design,
) -> Option<usize> {
    first_n(3, |n| power(effect, deviation, n, alpha, design) >= wanted)
}

/// Chance that the 95 % interval of a block test fits inside plus and minus `margin` when nothing changed.
pub fn chance_of_same(margin: f64, deviation: f64, n: usize) -> f64 {
    if n < 2 {
        return 0.0;
    }
    let df = (n - 1) as f64;
    let limit = critical(0.05, df);
    let room = margin / (deviation * (2.0 / n as f64).sqrt());
    over_deviation(df, |s| (1.0 - 2.0 * phi(limit * s - room)).max(0.0))
}

/// Blocks for a chance of [`POWER`] that an unchanged variant is found the same within `margin`. `None` when over [`MAX_BLOCKS`].
pub fn blocks_for_same(margin: f64, deviation: f64) -> Option<usize> {
    first_n(3, |n| chance_of_same(margin, deviation, n) >= POWER)
}

/// The smallest margin within which `n` blocks can find an unchanged variant the same, with a chance of [`POWER`], in units of
/// the deviation between visits. `None` below two blocks.
pub fn reachable_margin(n: usize) -> Option<f64> {
    if n < 2 {
        return None;
    }
    let mut bounds = (0.0, 1.0);
    while chance_of_same(bounds.1, 1.0, n) < POWER {
        bounds = (bounds.1, bounds.1 * 2.0);
    }
    for _ in 0..40 {
        let middle = f64::midpoint(bounds.0, bounds.1);
        let enough = chance_of_same(middle, 1.0, n) >= POWER;
        bounds = if enough { (bounds.0, middle) } else { (middle, bounds.1) };
    }
    Some(bounds.1)
}

/// S7: the smallest n with `t s sqrt(c/n) <= 0.6 margin`, less what there is. `per_block` is c: 1 when `deviation` is that of
/// round differences, 2 when it is the pooled deviation of units.
pub fn more_blocks(deviation: f64, per_block: f64, have: usize, margin: f64) -> MoreBlocks {
    let fits = |n: usize| {
        critical(0.05, (n - 1) as f64) * deviation * (per_block / n as f64).sqrt()
            <= HALF_WIDTH_SHARE * margin
    };
    let have = have.max(2);
    let limit = have + MAX_MORE;
    if !fits(limit) {
        return MoreBlocks::TooMany;
    }
    // The half width falls with n, so the first n that fits can be bisected.
    let (mut low, mut high) = (have, limit);
    while high - low > 1 {
        let middle = usize::midpoint(low, high);
        if fits(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    MoreBlocks::About(high - have)
}

/// Blocks that are missing for a power of [`POWER`] to see `effect` at `alpha`: at least one, because what there is did not do.
/// `deviation` is that between visits.
pub fn more_for_effect(effect: f64, deviation: f64, have: usize, alpha: f64, design: Design) -> MoreBlocks {
    match blocks_for_effect(effect, deviation, alpha, POWER, design) {
        Some(needed) if needed <= have + MAX_MORE => MoreBlocks::About(needed.saturating_sub(have).max(1)),
        _ => MoreBlocks::TooMany,
    }
}

/// First n from `from` on that `enough` accepts, for a condition that stays true once it is.
fn first_n(from: usize, enough: impl Fn(usize) -> bool) -> Option<usize> {
    if enough(from) {
        return Some(from);
    }
    let (mut low, mut high) = (from, from * 2);
    while !enough(high) {
        if high >= MAX_BLOCKS {
            return None;
        }
        low = high;
        high = (high * 2).min(MAX_BLOCKS);
    }
    while high - low > 1 {
        let middle = usize::midpoint(low, high);
        if enough(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}

/// Mean of `f(s)` where s is the sample deviation over the true one: `s^2 df` is chi-squared with `df` degrees of freedom.
/// Simpson's rule over twelve standard deviations of s around 1.
fn over_deviation(df: f64, f: impl Fn(f64) -> f64) -> f64 {
    const STEPS: u32 = 400;
    let reach = 12.0 / (2.0 * df).sqrt();
    let (from, to) = ((1.0 - reach).max(0.0), 1.0 + reach);
    let width = (to - from) / f64::from(STEPS);
    let log_scale = 2.0_f64.ln() + df / 2.0 * (df / 2.0).ln() - ln_gamma(df / 2.0);
    let density = |s: f64| {
        if s > 0.0 {
            return (log_scale + (df - 1.0) * s.ln() - df * s * s / 2.0).exp();
        }
        if df > 1.0 { 0.0 } else { log_scale.exp() }
    };
    let sum: f64 = (0..=STEPS)
        .map(|i| {
            let s = from + width * f64::from(i);
            let weight = match i {
                0 | STEPS => 1.0,
                _ if i % 2 == 1 => 4.0,
                _ => 2.0,
            };
            weight * density(s) * f(s)
        })
        .sum();
    (sum * width / 3.0).clamp(0.0, 1.0)
}

/// Standard normal distribution function.
fn phi(x: f64) -> f64 {
    0.5 * erfc(-x / SQRT_2)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn log(percent: f64) -> f64 {
        (percent / 100.0).ln_1p()
    }

    #[test]
    fn power_under_no_effect_is_alpha() {
        for n in [3, 5, 8, 25] {
            for design in [Design::Blocks, Design::TwoSample] {
                assert!((power(0.0, 0.01, n, 0.05, design) - 0.05).abs() < 1e-6, "{n}");
            }
        }
    }

    /// Section 2.6 of the method: simulated, so a block of slack.
    #[test]
    fn blocks_needed_match_the_simulated_table() {
        for (cv, effect, simulated) in
            [(1.0, 1.0, 18), (1.0, 2.0, 7), (2.0, 5.0, 5), (3.0, 3.0, 18), (5.0, 10.0, 6), (3.0, 1.0, 142)]
        {
            let n = blocks_for_effect(-log(-effect), cv / 100.0, 0.05, POWER, Design::Blocks).unwrap();
            assert!(n.abs_diff(simulated) <= 1 + simulated / 50, "{cv} {effect}: {n}");
        }
        for (cv, margin, simulated) in
            [(1.0, 1.0, 24), (1.0, 2.0, 8), (1.0, 3.0, 5), (3.0, 2.0, 51), (2.0, 2.0, 24)]
        {
            let n = blocks_for_same(log(margin), cv / 100.0).unwrap();
            assert!(n.abs_diff(simulated) <= 1 + simulated / 50, "{cv} {margin}: {n}");
        }
    }

    #[test]
    fn detectable_effects_match_the_simulated_table() {
        for (n, alpha, simulated) in [
            (3, 0.05, 4.6),
            (5, 0.05, 2.4),
            (8, 0.05, 1.6),
            (25, 0.05, 0.83),
            (5, 0.05 / 8.0, 4.2),
            (3, 0.05 / 32.0, 26.0),
            (10, 0.05 / 32.0, 2.5),
        ] {
            let seen = detectable(n, alpha, Design::Blocks).unwrap();
            assert!((seen / simulated - 1.0).abs() < 0.04, "{n} {alpha}: {seen}");
        }
        for (n, simulated) in [(3, 3.1), (4, 2.4), (5, 2.0)] {
            let seen = detectable(n, 0.05, Design::TwoSample).unwrap();
            assert!((seen / simulated - 1.0).abs() < 0.04, "{n}: {seen}");
        }
    }

    #[test]
    fn reachable_margin_and_blocks_for_same_agree() {
        let margin = reachable_margin(8).unwrap();
        assert_eq!(blocks_for_same(margin * 0.01, 0.01), Some(8));
        assert_eq!(reachable_margin(1), None);
    }

    #[test]
    fn hopeless_noise_says_so() {
        assert_eq!(more_blocks(0.5, 1.0, 8, 0.02), MoreBlocks::TooMany);
        assert_eq!(blocks_for_effect(0.001, 0.5, 0.05, POWER, Design::Blocks), None);
        let MoreBlocks::About(more) = more_blocks(0.02, 1.0, 8, 0.02) else { panic!("too many") };
        let fits = |n: f64| critical(0.05, n - 1.0) * 0.02 / n.sqrt() <= 0.012;
        assert!(fits((8 + more) as f64) && !fits((7 + more) as f64), "{more}");
    }
}
