//! Exact rank tests with ties: Mann-Whitney (Wilcoxon rank sum) and Wilcoxon signed rank.
//!
//! Both p-values are `min(1, 2 min(P(S <= s), P(S >= s)))` over the exact permutation distribution of the midranks actually
//! observed, so ties need no correction. The distributions are counted by dynamic programming; beyond sizes that a session never
//! reaches (about 70 units per variant) the normal approximation with tie-corrected variance takes over to bound the work.

use crate::sample::TIE;
use crate::types::PValue;
use statrs::function::erf::erfc;
use statrs::function::factorial::ln_binomial;

/// Inner-loop steps that an exact table may cost before the normal approximation is used.
const MAX_WORK: usize = 60_000_000;

/// Largest total size for which every count of the tie-free rank-sum distribution fits an `i64` (C(60,30) is about 1.2e17).
const MAX_INTEGER_UNITS: usize = 60;

/// Twice the midranks of `values`, in input order. Doubling keeps them whole numbers. Values within [`TIE`] are tied.
pub fn doubled_midranks(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0; values.len()];
    let mut start = 0;
    while start < order.len() {
        let mut end = start;
        while end + 1 < order.len() && tied(values[order[end]], values[order[end + 1]]) {
            end += 1;
        }
        for &index in &order[start..=end] {
            ranks[index] = (start + 1) + (end + 1);
        }
        start = end + 1;
    }
    ranks
}

/// Infinite values have no difference, but are tied.
fn tied(low: f64, high: f64) -> bool {
    high == low || high - low <= TIE
}

/// Exact two-sided Mann-Whitney test (Mann and Whitney 1947) of two independent samples, ties by midranks. 1 when a sample is empty.
pub fn mann_whitney(x: &[f64], y: &[f64]) -> PValue {
    let (small, large) = if x.len() <= y.len() { (x, y) } else { (y, x) };
    let (n1, n2) = (small.len(), large.len());
    if n1 == 0 {
        return PValue::ONE;
    }
    let ranks = doubled_midranks(&[small, large].concat());
    let sum: usize = ranks[..n1].iter().sum();
    let tied = {
        let mut sorted = ranks.clone();
        sorted.sort_unstable();
        sorted.windows(2).any(|w| w[0] == w[1])
    };
    if !tied && n1 + n2 <= MAX_INTEGER_UNITS {
        let u = sum / 2 - n1 * (n1 + 1) / 2;
        return tie_free_p(n1, n2, u);
    }
    if (n1 + n2) * n1 * n1 * n2 <= MAX_WORK {
        return tail_p(&subset_sums(&ranks, n1), sum);
    }
    rank_sum_normal_p(&ranks, n1, sum)
}

/// Exact two-sided Wilcoxon signed-rank test (Wilcoxon 1945) of paired differences: zeros are dropped, ties get midranks.
/// 1 when no difference is left.
pub fn signed_rank(differences: &[f64]) -> PValue {
    let kept: Vec<f64> = differences.iter().copied().filter(|d| d.abs() > TIE).collect();
    if kept.is_empty() {
        return PValue::ONE;
    }
    let sizes: Vec<f64> = kept.iter().map(|d| d.abs()).collect();
    let ranks = doubled_midranks(&sizes);
    let positive: usize = ranks.iter().zip(&kept).filter(|(_, d)| **d > 0.0).map(|(r, _)| r).sum();
    let total: usize = ranks.iter().sum();
    if kept.len() * total <= MAX_WORK && kept.len() <= 1000 {
        // The distribution is symmetric, so only the shorter tail needs counting.
        let tail: f64 = sign_sums(&ranks, positive.min(total - positive)).iter().sum();
        return PValue::new(2.0 * tail * (-(kept.len() as f64)).exp2());
    }
    let variance: f64 = ranks.iter().map(|r| (*r as f64).powi(2)).sum::<f64>() / 4.0;
    normal_p(positive as f64 - total as f64 / 2.0, variance)
}

/// The smallest p that [`mann_whitney`] can give for these sizes without ties: `2 / C(n1+n2, n1)`.
pub fn min_p_mann_whitney(n1: usize, n2: usize) -> f64 {
    2.0 / ln_binomial((n1 + n2) as u64, n1 as u64).exp().round()
}

/// The smallest p that [`signed_rank`] can give for `n` differences: `2 / 2^n`.
pub fn min_p_signed_rank(n: usize) -> f64 {
    2.0 * (-(n as f64)).exp2()
}

/// Cumulative probabilities of the tie-free Mann-Whitney U for `u = 0..=n1*n2/2`. `None` when the table would be too costly.
pub(crate) fn rank_sum_cdf(n1: usize, n2: usize) -> Option<Vec<f64>> {
    let (n1, n2) = (n1.min(n2), n1.max(n2));
    let half = n1 * n2 / 2;
    if n1 + n2 <= MAX_INTEGER_UNITS {
        let total = ln_binomial((n1 + n2) as u64, n1 as u64).exp().round();
        return Some(cumulate(rank_sum_counts(n1, n2, half).iter().map(|c| *c as f64), total));
    }
    if (n1 + n2) * n1 * n1 * n2 > MAX_WORK {
        return None;
    }
    let ranks: Vec<usize> = (1..=n1 + n2).collect();
    let counts = subset_sums(&ranks, n1);
    let total = counts.iter().sum();
    let lowest = n1 * (n1 + 1) / 2;
    Some(cumulate(counts[lowest..=lowest + half].iter().copied(), total))
}

/// Cumulative probabilities of the tie-free signed-rank sum for `w = 0..=n(n+1)/4`.
pub(crate) fn signed_rank_cdf(n: usize) -> Vec<f64> {
    let ranks: Vec<usize> = (1..=n).collect();
    let counts = sign_sums(&ranks, n * (n + 1) / 4);
    cumulate(counts.into_iter(), (n as f64).exp2())
}

fn cumulate(counts: impl Iterator<Item = f64>, total: f64) -> Vec<f64> {
    let mut running = 0.0;
    counts
        .map(|c| {
            running += c;
            running / total
        })
        .collect()
}

/// Without ties U is symmetric, so only the shorter tail needs counting.
fn tie_free_p(n1: usize, n2: usize, u: usize) -> PValue {
    let near = u.min(n1 * n2 - u);
    let tail: i64 = rank_sum_counts(n1, n2, near).iter().sum();
    let total = ln_binomial((n1 + n2) as u64, n1 as u64).exp().round();
    PValue::new(2.0 * tail as f64 / total)
}

/// Counts of U = 0..=limit: the coefficients of the Gaussian binomial, built as a product of `(1 - q^(n2+i)) / (1 - q^i)`.
fn rank_sum_counts(n1: usize, n2: usize, limit: usize) -> Vec<i64> {
    let mut counts = vec![0_i64; limit + 1];
    counts[0] = 1;
    for i in 1..=n1 {
        // Whole blocks at once, so that the compiler can use vector instructions: blocks of the shift's length do not overlap
        // their source. The numerator needs old values (last block first), the denominator new ones (first block first).
        for start in (n2 + i..limit + 1).step_by(n2 + i).rev() {
            let (source, target) = blocks(&mut counts, start, n2 + i);
            target.iter_mut().zip(source).for_each(|(to, from)| *to -= *from);
        }
        for start in (i..limit + 1).step_by(i) {
            let (source, target) = blocks(&mut counts, start, i);
            target.iter_mut().zip(source).for_each(|(to, from)| *to += *from);
        }
    }
    counts
}

/// The block of `length` before `start`, and what there is of the block from `start` on.
fn blocks(counts: &mut [i64], start: usize, length: usize) -> (&[i64], &mut [i64]) {
    let (before, after) = counts.split_at_mut(start);
    let end = length.min(after.len());
    (&before[start - length..], &mut after[..end])
}

/// How many `size`-subsets of `ranks` have each sum.
fn subset_sums(ranks: &[usize], size: usize) -> Vec<f64> {
    let mut ranks = ranks.to_vec();
    ranks.sort_unstable();
    let mut prefix = vec![0];
    prefix.extend(ranks.iter().scan(0, |sum, rank| {
        *sum += rank;
        Some(*sum)
    }));
    let n = ranks.len();
    let mut table = vec![vec![0.0; prefix[n] - prefix[n - size] + 1]; size + 1];
    table[0][0] = 1.0;
    for (seen, &rank) in ranks.iter().enumerate() {
        // Fewer chosen by now could not grow to `size` with the ranks that are left.
        let fewest = (size + seen + 1).saturating_sub(n).max(1);
        for chosen in (fewest..=size.min(seen + 1)).rev() {
            let (fewer, more) = table.split_at_mut(chosen);
            // Of the ascending ranks seen before, the smallest and the largest sum of one fewer.
            let reach = prefix[chosen - 1]..=prefix[seen] - prefix[seen + 1 - chosen];
            let from = &fewer[chosen - 1][reach];
            for (to, from) in more[0][prefix[chosen - 1] + rank..].iter_mut().zip(from) {
                *to += from;
            }
        }
    }
    table.swap_remove(size)
}

/// How many choices of signs give each sum of the positively signed `ranks`, for sums up to `limit`.
fn sign_sums(ranks: &[usize], limit: usize) -> Vec<f64> {
    let mut counts = vec![0.0; limit + 1];
    let mut before = counts.clone();
    counts[0] = 1.0;
    let mut reached = 0;
    for &rank in ranks.iter().filter(|r| **r <= limit) {
        before[..=reached].copy_from_slice(&counts[..=reached]);
        for (to, from) in counts[rank..].iter_mut().zip(&before[..=reached]) {
            *to += from;
        }
        reached = (reached + rank).min(limit);
    }
    counts
}

fn tail_p(counts: &[f64], observed: usize) -> PValue {
    let total: f64 = counts.iter().sum();
    let low: f64 = counts[..=observed].iter().sum();
    let high: f64 = counts[observed..].iter().sum();
    PValue::new(2.0 * low.min(high) / total)
}

/// The rank sum of a random subset drawn without replacement, as a normal variable with the variance of these very ranks.
fn rank_sum_normal_p(ranks: &[usize], n1: usize, sum: usize) -> PValue {
    let n = ranks.len() as f64;
    let mean = ranks.iter().sum::<usize>() as f64 / n;
    let spread = ranks.iter().map(|r| (*r as f64 - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let size = n1 as f64;
    normal_p(sum as f64 - size * mean, spread * size * (n - size) / n)
}

/// Two-sided normal p with a continuity correction of one doubled half rank.
fn normal_p(deviation: f64, variance: f64) -> PValue {
    if variance <= 0.0 {
        return PValue::ONE;
    }
    let z = (deviation.abs() - 1.0).max(0.0) / variance.sqrt();
    PValue::new(erfc(z / std::f64::consts::SQRT_2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn midranks_share_tied_places_and_forgive_rounding() {
        assert_eq!(doubled_midranks(&[3.0, 1.0, 3.0, 2.0]), [7, 2, 7, 4]);
        let a = 200.0_f64.ln() - 100.0_f64.ln();
        let b = 400.0_f64.ln() - 200.0_f64.ln();
        assert_eq!(doubled_midranks(&[a, b]), [3, 3]);
        assert_eq!(doubled_midranks(&[f64::INFINITY, 1.0, f64::INFINITY]), [5, 2, 5]);
    }

    #[test]
    fn the_integer_and_the_general_table_agree() {
        for (n1, n2) in [(1, 4), (3, 5), (6, 6), (5, 12)] {
            let ranks: Vec<usize> = (1..=n1 + n2).collect();
            let general = subset_sums(&ranks, n1);
            let fast = rank_sum_counts(n1, n2, n1 * n2);
            let lowest = n1 * (n1 + 1) / 2;
            let slice: Vec<i64> = general[lowest..].iter().map(|c| *c as i64).collect();
            assert_eq!(fast, slice, "{n1} {n2}");
        }
    }

    #[test]
    fn the_normal_approximation_meets_the_exact_p() {
        let x: Vec<f64> = (0..30).map(|i| f64::from(i * 7 % 60)).collect();
        let y: Vec<f64> = (0..30).map(|i| f64::from(i * 11 % 60) + 9.5).collect();
        let exact = mann_whitney(&x, &y).get();
        let ranks = doubled_midranks(&[x, y].concat());
        let sum = ranks[..30].iter().sum();
        let approximate = rank_sum_normal_p(&ranks, 30, sum).get();
        assert!((exact - approximate).abs() < 2e-3, "{exact} {approximate}");
    }

    #[test]
    fn large_samples_stay_cheap_and_sane() {
        let x: Vec<f64> = (0..400).map(f64::from).collect();
        let y: Vec<f64> = (0..400).map(|i| f64::from(i) + 0.5).collect();
        assert!(mann_whitney(&x, &y).get() > 0.9);
        let far: Vec<f64> = y.iter().map(|v| v + 1000.0).collect();
        assert!(mann_whitney(&x, &far).get() < 1e-100);
        let d: Vec<f64> = (1..=2000).map(f64::from).collect();
        assert!(signed_rank(&d).get() < 1e-100);
    }

    #[test]
    fn empty_input_rejects_nothing() {
        assert_eq!(mann_whitney(&[], &[1.0]), PValue::ONE);
        assert_eq!(signed_rank(&[0.0, 0.0]), PValue::ONE);
    }
}
