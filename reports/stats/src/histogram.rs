//! Latency quantiles from fio's JSON+ bins, merged over the trials of a visit.
//!
//! fio keeps 64 buckets per octave: from 128 ns on, a bucket with midpoint m is `2^(floor(log2 m) - 6)` ns wide, so quantiles come
//! in steps of 0.8 to 1.6 %. Percentiles must never be averaged; counts may be added. A quantile is therefore read from the merged
//! counts and placed inside its bucket by linear interpolation.

/// Counts per bucket, by the bucket's midpoint in nanoseconds as fio prints it, ascending.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Histogram {
    bins: Vec<(u64, u64)>,
    total: u64,
}

/// A quantile of a histogram.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantile {
    /// The quantile in nanoseconds, interpolated inside its bucket.
    pub value_ns: f64,
    /// Midpoint of that bucket: the number fio itself prints.
    pub midpoint_ns: u64,
    /// Width of the bucket on the log scale, `ln(upper / lower)`: the measurement step for the test (S5).
    pub step: f64,
    /// The quantile lies in fio's last bucket, which also holds everything slower (about 17 s).
    pub saturated: bool,
    /// Samples beyond the quantile; with few of them the quantile is noise.
    pub samples_beyond: u64,
}

/// log2 of the number of buckets per octave (`FIO_IO_U_PLAT_BITS`).
const BUCKET_BITS: u32 = 6;
/// Lower end of the last of fio's 29 groups of 64 buckets.
const LAST_BUCKET_NS: f64 = 127.0 * (1_u64 << 27) as f64;

impl Histogram {
    /// A histogram of these (midpoint in ns, count) pairs.
    pub fn new(bins: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut histogram = Self::default();
        histogram.add(bins);
        histogram
    }

    /// Adds the bins of another trial or direction.
    pub fn add(&mut self, bins: impl IntoIterator<Item = (u64, u64)>) {
        for (midpoint, count) in bins.into_iter().filter(|(_, count)| *count > 0) {
            self.total += count;
            self.bins.push((midpoint, count));
        }
        // Two ascending runs, as nearly always, are merged in one pass.
        self.bins.sort_by_key(|bin| bin.0);
        self.bins.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                kept.1 += later.1;
            }
            same
        });
    }

    /// Number of samples.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The bins in order of latency.
    pub fn bins(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.bins.iter().copied()
    }

    /// The `q` quantile, q in `0..=1` (0.999 for p99.9): the first bucket at which the counts reach `q` of all, as fio does it.
    /// `None` for an empty histogram or a q out of range.
    pub fn quantile(&self, q: f64) -> Option<Quantile> {
        if self.total == 0 || !(0.0..=1.0).contains(&q) {
            return None;
        }
        let wanted = q * self.total as f64;
        let mut before = 0_u64;
        for (midpoint, count) in self.bins() {
            let through = before + count;
            if through as f64 >= wanted {
                let share = (wanted - before as f64).max(0.0) / count as f64;
                return Some(place(midpoint, share, self.total - through));
            }
            before = through;
        }
        None
    }
}

fn place(midpoint: u64, share: f64, samples_beyond: u64) -> Quantile {
    let (lower, width) = bucket(midpoint);
    // Buckets of one nanosecond hold exact values.
    let value_ns = if width > 1.0 { lower + share * width } else { midpoint as f64 };
    let step = if lower > 0.0 { (width / lower).ln_1p() } else { width.ln_1p() };
    Quantile { value_ns, midpoint_ns: midpoint, step, saturated: lower >= LAST_BUCKET_NS, samples_beyond }
}

/// Lower end and width in nanoseconds of the bucket with this midpoint.
fn bucket(midpoint: u64) -> (f64, f64) {
    let octave = midpoint.max(1).ilog2();
    if octave <= BUCKET_BITS {
        return (midpoint as f64, 1.0);
    }
    let width = 1_u64 << (octave - BUCKET_BITS);
    ((midpoint - width / 2) as f64, width as f64)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// fio's own mapping of a latency to its bucket, written from the definition: 64 equal parts of each octave.
    fn midpoint(ns: u64) -> u64 {
        if ns < 128 {
            return ns;
        }
        let width = 1 << (ns.ilog2() - 6);
        ns / width * width + width / 2
    }

    #[test]
    fn every_bucket_covers_the_values_that_map_to_it() {
        for ns in (0..4000).chain([65_535, 65_536, 1_000_003, 17_000_000_000]) {
            let (lower, width) = bucket(midpoint(ns));
            assert!(lower <= ns as f64 && (ns as f64) < lower + width, "{ns}: {lower} {width}");
        }
    }

    #[test]
    fn quantiles_of_a_smooth_sample_are_closer_than_a_bucket() {
        let mut histogram = Histogram::default();
        for part in 0..3 {
            histogram.add((0..20_000).map(|i| (midpoint(50_000 + i * 3 + part), 1)));
        }
        assert_eq!(histogram.total(), 60_000);
        for q in [0.01, 0.5, 0.9, 0.99] {
            let exact = 50_000.0 + q * 60_000.0;
            let found = histogram.quantile(q).unwrap();
            assert!((found.value_ns / exact - 1.0).abs() < 1e-3, "{q}: {found:?}");
            assert!((0.0077..0.0157).contains(&found.step), "{found:?}");
        }
    }

    #[test]
    fn ends_and_empty_bins() {
        let histogram = Histogram::new([(100, 5), (1001, 0), (2024, 5)]);
        assert_eq!(histogram.bins().count(), 2);
        assert_eq!(histogram.quantile(0.0).unwrap().midpoint_ns, 100);
        assert_eq!(histogram.quantile(0.5).unwrap().samples_beyond, 5);
        let top = histogram.quantile(1.0).unwrap();
        assert_eq!((top.value_ns, top.samples_beyond), (2032.0, 0));
        assert_eq!(histogram.quantile(1.1), None);
        assert_eq!(Histogram::default().quantile(0.5), None);
    }

    #[test]
    fn the_last_bucket_is_marked() {
        assert!(Histogram::new([(midpoint(17_100_000_000), 1)]).quantile(0.5).unwrap().saturated);
        assert!(!Histogram::new([(midpoint(17_000_000_000), 1)]).quantile(0.5).unwrap().saturated);
    }

    #[test]
    fn order_of_merging_does_not_matter() {
        let (a, b) = ([(100, 5), (2024, 1)], [(100, 2), (900, 7)]);
        let mut ab = Histogram::new(a);
        ab.add(b);
        let mut ba = Histogram::new(b);
        ba.add(a);
        assert_eq!(ab, ba);
    }
}
