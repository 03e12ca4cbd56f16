//! What the words of a label say: which metric, which statistic, and what is left to tell rows apart.

use crate::number::{self, Unit};

/// Which statistic of several measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stat {
    Min,
    Mean,
    Max,
    /// Deviations, medians, percentiles, geometric means.
    Other,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Metric {
    Iops,
    /// Bandwidth.
    Bw,
    Latency,
    /// CPU time, temperature and the like.
    Other,
}

/// A label, read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Label {
    pub(crate) stat: Option<Stat>,
    pub(crate) metric: Option<Metric>,
    /// Factor to the base unit, where one is named.
    pub(crate) scale: Option<f64>,
    /// Whether the unit says 1024 (`MiB/s`).
    pub(crate) binary: bool,
    /// A percentage of change.
    pub(crate) change: bool,
    /// The words that are left, in lower case.
    pub(crate) rest: Vec<String>,
}

impl Label {
    pub(crate) fn read(text: &str) -> Self {
        let mut label = Self::default();
        let splits = |c: char| c.is_whitespace() || "()[]{},;:=|".contains(c);
        for word in text.split(splits).filter(|word| !word.is_empty()) {
            if !label.unit(word) {
                for part in word.split('_') {
                    label.word(part);
                }
            }
        }
        label.change = is_change(text);
        label
    }

    /// Both labels of a value, the first one's words first.
    pub(crate) fn with(&self, other: &Self) -> Self {
        let mut rest = self.rest.clone();
        rest.extend(other.rest.iter().cloned());
        Self {
            stat: self.stat.or(other.stat),
            metric: self.metric.or(other.metric),
            scale: self.scale.or(other.scale),
            binary: self.binary || other.binary,
            change: self.change || other.change,
            rest,
        }
    }

    fn unit(&mut self, word: &str) -> bool {
        let Some((scale, unit)) = number::unit(word) else { return false };
        let metric = match unit {
            Unit::Iops => Metric::Iops,
            Unit::Bytes => Metric::Bw,
            Unit::Time if word.len() > 1 => Metric::Latency,
            _ => return false,
        };
        self.metric.get_or_insert(metric);
        self.scale = Some(scale);
        self.binary = word.to_ascii_lowercase().contains("ib");
        true
    }

    fn word(&mut self, word: &str) {
        let lower = word.trim_matches('.').to_lowercase();
        match lower.as_str() {
            "min" | "minimum" | "lowest" => self.stat = self.stat.or(Some(Stat::Min)),
            "max" | "maximum" | "highest" | "peak" => self.stat = self.stat.or(Some(Stat::Max)),
            "avg" | "average" | "mean" | "averages" | "avg." => self.stat = self.stat.or(Some(Stat::Mean)),
            "stdev" | "stddev" | "std" | "sd" | "dev" | "cv" | "median" | "geomean" | "geometric" | "p50"
            | "spread" => {
                self.stat = Some(Stat::Other);
            }
            "iops" => self.metric = Some(Metric::Iops),
            "bw" | "bandwidth" | "throughput" | "speed" => _ = self.metric.get_or_insert(Metric::Bw),
            "lat" | "latency" | "clat" | "slat" => {
                self.metric = Some(Metric::Latency);
                self.rest.push(lower);
            }
            "cpu" | "usr" | "sys" | "util" | "temp" | "temperature" | "power" | "ctx" | "boots"
            | "boots/trials" | "irq" | "irqs" => {
                self.metric = Some(Metric::Other);
                self.rest.push(lower);
            }
            "of" | "the" | "in" | "" => {}
            word if is_percentile(word) => {
                self.stat = Some(Stat::Other);
                self.rest.push(word.to_owned());
            }
            word => self.rest.push(word.to_owned()),
        }
    }
}

/// `change`, `% diff`, `gain [%]`, `C vs B [95% CI]`; not an arm whose name has such a word (`v6.16 + the change`).
fn is_change(text: &str) -> bool {
    const WORDS: [&str; 12] = [
        "change",
        "changes",
        "delta",
        "diff",
        "difference",
        "gain",
        "improvement",
        "improved",
        "regression",
        "vs",
        "ratio",
        "speedup",
    ];
    let lower = text.to_lowercase();
    let bare = lower.split(['[', '(']).next().unwrap_or_default();
    let words: Vec<&str> =
        bare.split_whitespace().filter(|word| !matches!(*word, "%" | "in" | "rel" | "relative")).collect();
    words.contains(&"vs")
        || words.contains(&"vs.")
        || !words.is_empty() && words.iter().all(|word| WORDS.contains(&word.trim_matches(['.', ':', '%'])))
}

fn is_percentile(word: &str) -> bool {
    let digits = word.strip_prefix('p').or_else(|| word.strip_suffix("th")).unwrap_or("x");
    !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// A block size that a text names: `bs=4k`, `4KiB`, `(bs=8K)`, `4096B`. Bytes.
pub(crate) fn block_size(text: &str) -> Option<f64> {
    let splits = |c: char| c.is_whitespace() || "()[]{},;:=|/_".contains(c);
    let words: Vec<&str> = text.split(splits).filter(|word| !word.is_empty()).collect();
    let named = words.windows(2).find(|pair| matches!(pair[0].trim_start_matches('-'), "bs" | "blocksize"));
    named.and_then(|pair| size(pair[1], true)).or_else(|| words.iter().find_map(|word| size(word, false)))
}

fn size(word: &str, bare: bool) -> Option<f64> {
    let lower = word.to_ascii_lowercase();
    let digits = lower.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &lower[digits.len()..] {
        "k" | "kb" | "kib" => 1024.0,
        "m" | "mb" | "mib" => 1024.0 * 1024.0,
        "" | "b" if bare => 1.0,
        _ => return None,
    };
    let value = digits.parse::<u32>().ok().filter(|value| value.is_power_of_two())?;
    let bytes = f64::from(value) * factor;
    (512.0..=16_777_216.0).contains(&bytes).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_sorted() {
        let label = Label::read("iops (min)");
        assert_eq!((label.stat, label.metric, label.rest.len()), (Some(Stat::Min), Some(Metric::Iops), 0));
        let label = Label::read("read bw MiB/s");
        assert_eq!((label.metric, label.scale, label.binary), (Some(Metric::Bw), Some(1_048_576.0), true));
        assert_eq!(label.rest, ["read"]);
        assert_eq!(Label::read("cpu % sys").metric, Some(Metric::Other));
        assert_eq!(Label::read("clat p99 us").stat, Some(Stat::Other));
        assert!(
            Label::read("C vs B [95% CI]").change
                && Label::read("% change").change
                && Label::read("diff (%)").change
        );
        assert!(!Label::read("v6.16 + the change").change);
        assert_eq!(Label::read("geomean").stat, Some(Stat::Other));
        assert_eq!(Label::read("avg_iops").stat, Some(Stat::Mean));
    }

    #[test]
    fn block_sizes() {
        assert_eq!(block_size("Random write(bs=8K)"), Some(8192.0));
        assert_eq!(block_size("randread 4k qd 32"), Some(4096.0));
        assert_eq!(block_size("--bs=4096 --size=32m"), Some(4096.0));
        assert_eq!(block_size("read / 1 job"), None);
    }
}
