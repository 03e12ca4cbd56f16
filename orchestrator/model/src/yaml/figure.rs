//! Names of rows with units, and figures as people post them: `4,526.25`, `1055k`, `17.9`.

use super::scalar::Problem;
use crate::Metric;

/// A row that is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Figure {
    /// The metric.
    pub(super) metric: Metric,
    /// Leads from the row's unit to the metric's own.
    factor: f64,
}

/// What a row's name says: `bw (MB/s)`. None for rows that are only shown.
pub(super) fn of(name: &str) -> Result<Option<Figure>, Problem> {
    let (bare, unit) = match name.split_once('(') {
        Some((bare, rest)) => (bare.trim(), Some(rest.trim_end().trim_end_matches(')').trim())),
        None => (name.trim(), None),
    };
    let Some(metric) = Metric::ALL.into_iter().find(|metric| metric.name() == bare) else { return Ok(None) };
    let units: &[(&str, f64)] = match metric {
        Metric::Iops => &[("", 1.0), ("IOPS", 1.0), ("k", 1e3), ("kIOPS", 1e3), ("M", 1e6), ("MIOPS", 1e6)],
        Metric::Bw => &[
            ("B/s", 1.0),
            ("kB/s", 1e3),
            ("KB/s", 1e3),
            ("MB/s", 1e6),
            ("GB/s", 1e9),
            ("KiB/s", 1024.0),
            ("MiB/s", 1_048_576.0),
            ("GiB/s", 1_073_741_824.0),
        ],
        Metric::CpuPerIo | Metric::ClatMean | Metric::ClatP50 | Metric::ClatP99 | Metric::ClatP999 => &[
            ("ns", 1.0),
            ("us", 1e3),
            ("\u{b5}s", 1e3),
            ("\u{3bc}s", 1e3),
            ("usec", 1e3),
            ("ms", 1e6),
            ("s", 1e9),
        ],
    };
    match units.iter().find(|(known, _)| *known == unit.unwrap_or_default()) {
        Some((_, factor)) => Ok(Some(Figure { metric, factor: *factor })),
        None => {
            let ascii =
                units.iter().map(|(unit, _)| *unit).filter(|unit| unit.is_ascii() && !unit.is_empty());
            let known: Vec<&str> = ascii.collect();
            let usual = if metric == Metric::Bw { "MB/s" } else { "us" };
            let message = if unit.is_some() { "has an unknown unit" } else { "needs a unit" };
            let hint = format!("write `{bare} ({usual})`; units: {}", known.join(", "));
            Err(Problem::new(message, hint))
        }
    }
}

impl Figure {
    /// A figure in the metric's own unit: digits with a point, thousands perhaps set apart by commas, perhaps `k` or `M`.
    pub(super) fn number(&self, text: &str) -> Result<f64, Problem> {
        let (digits, factor) = match text.trim() {
            text if text.ends_with(['k', 'K']) => (&text[..text.len() - 1], 1e3),
            text if text.ends_with('M') => (&text[..text.len() - 1], 1e6),
            text => (text, 1.0),
        };
        let wrong =
            || Problem::new("is not a figure", "write digits such as `4526.25`, `\"4,526.25\"` or `1055k`");
        let bare = without_commas(digits).ok_or_else(wrong)?;
        let plain = bare.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let number = bare.parse::<f64>().ok().filter(|_| plain).ok_or_else(wrong)?;
        if number <= 0.0 {
            return Err(Problem::new("is not above 0", "write `-` where nothing was measured"));
        }
        Ok(number * factor * self.factor)
    }
}

/// `4,526.25` as `4526.25`; groups of three only, because `4,5` may be four and a half.
fn without_commas(text: &str) -> Option<String> {
    let whole = text.split('.').next().unwrap_or_default();
    let mut groups = whole.split(',');
    let first = groups.next().unwrap_or_default();
    let alike = |group: &str| group.len() == 3;
    if whole.contains(',') && !((1..=3).contains(&first.len()) && groups.all(alike)) {
        return None;
    }
    Some(text.replace(',', ""))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn number(row: &str, text: &str) -> Option<f64> {
        of(row).unwrap().unwrap().number(text).ok()
    }

    #[test]
    fn figures_as_people_post_them() {
        assert_eq!(number("iops", "4,526.25"), Some(4526.25));
        assert_eq!(number("iops", "1055k"), Some(1_055_000.0));
        assert_eq!(number("bw (MiB/s)", "17.1"), Some(17.1 * 1_048_576.0));
        assert_eq!(number("clat_mean (us)", "369.87"), Some(369_870.0));
        for wrong in ["4,5", "1e3", "", "0", "-4", "4.5.6", "12,34,567", "k", "4 526"] {
            assert_eq!(number("iops", wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_row_is_compared_with_a_unit_and_else_shown() {
        assert_eq!(of("min IOPS").unwrap(), None);
        assert_eq!(of("cpu % usr").unwrap(), None);
        assert!(of("bw").is_err() && of("bw (Mb/s)").is_err() && of("clat_p99 (parsec)").is_err());
    }
}
