//! A latency histogram in few characters, as the log keeps it with every sample.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Counts of completion latencies: pairs of the middle of a bucket in nanoseconds and how many I/Os fell in it, ascending by middle.
/// In JSON one flat list: the distance of each middle from the one before it, then its count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LatencyBins(Vec<(u64, u64)>);

impl LatencyBins {
    /// The bins in any order; those of one middle are added up.
    pub fn new(mut bins: Vec<(u64, u64)>) -> Self {
        bins.sort_unstable();
        bins.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                kept.1 = kept.1.saturating_add(later.1);
            }
            same
        });
        Self(bins)
    }

    /// The bins, ascending.
    pub fn bins(&self) -> &[(u64, u64)] {
        &self.0
    }

    /// Whether fio measured none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for LatencyBins {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut before = 0;
        serializer.collect_seq(self.0.iter().flat_map(|&(middle, count)| {
            let distance = middle - before;
            before = middle;
            [distance, count]
        }))
    }
}

impl<'de> Deserialize<'de> for LatencyBins {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let flat = Vec::<u64>::deserialize(deserializer)?;
        if !flat.len().is_multiple_of(2) {
            return Err(D::Error::invalid_length(flat.len(), &"a distance and a count for each bin"));
        }
        let mut middle = 0_u64;
        let mut bins = Vec::with_capacity(flat.len() / 2);
        for pair in flat.chunks_exact(2) {
            middle = middle.checked_add(pair[0]).ok_or_else(|| D::Error::custom("a bin beyond 2^64 ns"))?;
            bins.push((middle, pair[1]));
        }
        Ok(Self(bins))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn bins_come_back_as_they_were() {
        let bins = LatencyBins::new(vec![(2032, 3), (1000, 5), (1016, 1), (1000, 2)]);
        assert_eq!(bins.bins(), [(1000, 7), (1016, 1), (2032, 3)]);
        let text = serde_json::to_string(&bins).unwrap();
        assert_eq!(text, "[1000,7,16,1,1016,3]");
        assert_eq!(serde_json::from_str::<LatencyBins>(&text).unwrap(), bins);
    }

    #[test]
    fn a_list_that_is_no_histogram_is_refused() {
        for broken in ["[1]", "[18446744073709551615,1,1,1]", "[1,-1]"] {
            assert!(serde_json::from_str::<LatencyBins>(broken).is_err(), "{broken}");
        }
    }
}
