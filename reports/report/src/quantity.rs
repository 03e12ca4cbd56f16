//! Numbers and names as they are printed: units, digits, percentages, letters, ASCII.

use kab_model::Metric;

/// A unit with the factor that leads to it from the metric's own unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Unit {
    /// Its name.
    pub(crate) name: &'static str,
    /// Multiplies a value in the metric's own unit.
    pub(crate) factor: f64,
}

impl Unit {
    /// The unit in which values of this size are easy to read.
    pub(crate) fn fitting(metric: Metric, values: &[f64]) -> Self {
        let typical = median(values).unwrap_or(1.0);
        let choices: &[(f64, &'static str)] = match metric {
            Metric::Iops => &[(1.0, "IOPS"), (1e3, "kIOPS"), (1e6, "MIOPS")],
            Metric::Bw => &[(1e3, "kB/s"), (1e6, "MB/s"), (1e9, "GB/s")],
            Metric::CpuPerIo | Metric::ClatMean | Metric::ClatP50 | Metric::ClatP99 | Metric::ClatP999 => {
                &[(1.0, "ns"), (1e3, "us"), (1e6, "ms")]
            }
        };
        let (scale, name) = choices.iter().rev().find(|(scale, _)| typical >= *scale).unwrap_or(&choices[0]);
        Self { name, factor: 1.0 / scale }
    }
}

/// What a metric is called in a sentence.
pub(crate) fn metric_title(metric: Metric) -> &'static str {
    match metric {
        Metric::Iops => "IOPS",
        Metric::Bw => "bandwidth",
        Metric::CpuPerIo => "CPU/IO",
        Metric::ClatMean => "clat mean",
        Metric::ClatP50 => "clat p50",
        Metric::ClatP99 => "clat p99",
        Metric::ClatP999 => "clat p99.9",
    }
}

/// Digits after the point that give the smallest of these values at least three digits in all; at most 3.
pub(crate) fn decimals(values: &[f64]) -> usize {
    let smallest = values.iter().copied().filter(|v| *v > 0.0 && v.is_finite()).fold(f64::INFINITY, f64::min);
    if !smallest.is_finite() {
        return 0;
    }
    // 99.97 is printed with the digits of 100: rounding may add one before the point.
    (0..=3).find(|digits| smallest * 10f64.powi(*digits) >= 99.5).unwrap_or(3).unsigned_abs() as usize
}

/// A count with separators between thousands; a digit after the point below 1000.
pub(crate) fn grouped(value: f64) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    if value.abs() < 999.95 {
        return format!("{value:.1}");
    }
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 { format!("-{text}") } else { text }
}

/// `-31.4%`; a change too large for a percentage is told as a factor.
pub(crate) fn percent(value: f64) -> String {
    if value >= 999.95 {
        return format!("x{}", short(value / 100.0 + 1.0));
    }
    let text = format!("{value:+.1}%");
    if text == "-0.0%" { "+0.0%".to_owned() } else { text }
}

/// `[-33,-30]`, each end right-aligned in `width` places so that a column of intervals lines up.
pub(crate) fn interval((low, high): (f64, f64), width: usize) -> String {
    format!("[{:>width$},{:>width$}]", bound(low), bound(high))
}

/// Places that the wider end of an interval takes.
pub(crate) fn interval_width((low, high): (f64, f64)) -> usize {
    bound(low).len().max(bound(high).len())
}

/// One end of an interval: a digit after the point below 10, none above.
fn bound(value: f64) -> String {
    let text = if value >= 999.5 {
        format!("x{}", short(value / 100.0 + 1.0))
    } else if value.abs() < 9.95 {
        format!("{value:+.1}")
    } else {
        format!("{value:+.0}")
    };
    if text == "-0.0" { "+0.0".to_owned() } else { text }
}

/// A factor in few characters.
fn short(factor: f64) -> String {
    if factor < 99.5 {
        format!("{factor:.0}")
    } else if factor < 9_950.0 {
        format!("{:.0}e2", factor / 1e2)
    } else {
        ">1e4".to_owned()
    }
}

/// A p-value as papers print it.
pub(crate) fn p_value(p: f64) -> String {
    if p < 0.001 { kept("p < .001") } else { kept(&format!("p = {p:.3}").replace("0.", ".")) }
}

/// `1GiB`, `512MiB`: sizes that are whole in a binary unit, else bytes.
pub(crate) fn size(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    units
        .iter()
        .find(|(shift, _)| bytes >= 1 << shift && bytes.is_multiple_of(1 << shift))
        .map_or_else(|| format!("{bytes}B"), |(shift, unit)| format!("{}{unit}", bytes >> shift))
}

/// Milliseconds as seconds, without needless digits.
pub(crate) fn seconds(ms: u64) -> String {
    match ms {
        _ if ms.is_multiple_of(1000) => format!("{} s", ms / 1000),
        _ if ms.is_multiple_of(100) || ms > 1000 => format!("{:.1} s", ms as f64 / 1e3),
        _ => format!("{ms} ms"),
    }
}

/// `A`, `B`, … `Z`, `AA`, …
pub fn letter(index: usize) -> String {
    let last = char::from(b'A' + u8::try_from(index % 26).unwrap_or(0));
    if index < 26 { last.to_string() } else { format!("{}{last}", letter(index / 26 - 1)) }
}

/// `1 visit`, `2 visits`.
pub(crate) fn counted(count: usize, word: &str) -> String {
    if count == 1 { format!("{count} {word}") } else { format!("{count} {word}s") }
}

/// Text as a plain-text mail can carry it: ASCII on one line, every run of blanks one blank.
pub(crate) fn ascii(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\u{2018}' | '\u{2019}' => plain.push('\''),
            '\u{201c}' | '\u{201d}' => plain.push('"'),
            '\u{2010}'..='\u{2015}' | '\u{2212}' => plain.push('-'),
            '\u{2026}' => plain.push_str("..."),
            '\u{b5}' | '\u{3bc}' => plain.push('u'),
            '\u{b1}' => plain.push_str("+-"),
            '\u{d7}' => plain.push('x'),
            c if c.is_whitespace() || c.is_control() => plain.push(' '),
            c if c.is_ascii() => plain.push(c),
            _ => plain.push('?'),
        }
    }
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Text on one line, every run of blanks one blank, control characters gone.
pub(crate) fn one_line(text: &str) -> String {
    let visible: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    visible.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A blank that no line ends at; it becomes a plain one when the text is done.
pub(crate) const KEEP: char = '\u{a0}';

/// Words that stay together on a line.
pub(crate) fn kept(text: &str) -> String {
    text.replace(' ', &KEEP.to_string())
}

/// At most `width` characters; the middle goes, because both the beginning and the end of a name tell it apart.
pub(crate) fn cut(text: &str, width: usize) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= width || width < 5 {
        return chars.into_iter().take(width).collect();
    }
    let tail = (width - 2) / 2;
    let head = width - 2 - tail;
    let begin: String = chars[..head].iter().collect();
    let end: String = chars[chars.len() - tail..].iter().collect();
    format!("{begin}..{end}")
}

/// At most `width` characters of a sentence; its end goes.
pub(crate) fn clip(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let begin: String = text.chars().take(width.saturating_sub(3)).collect();
    format!("{}...", begin.trim_end())
}

/// The middle value.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(sorted[middle]),
        _ => Some(sorted[middle - 1].midpoint(sorted[middle])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_at_least() {
        assert_eq!(decimals(&[4.53, 105.9]), 2);
        assert_eq!(decimals(&[0.453]), 3);
        assert_eq!(decimals(&[99.97]), 0);
        assert_eq!(decimals(&[]), 0);
    }

    #[test]
    fn no_minus_zero_and_no_percentage_beyond_reading() {
        assert_eq!(percent(-0.04), "+0.0%");
        assert_eq!(percent(-31.44), "-31.4%");
        assert_eq!(percent(1500.0), "x16");
        assert_eq!(interval((-33.2, -9.94), 4), "[ -33,-9.9]");
        assert_eq!(interval((-0.04, 0.3), 0), "[+0.0,+0.3]");
    }

    #[test]
    fn units_are_those_people_post() {
        assert_eq!(Unit::fitting(Metric::Iops, &[4530.0, 64_310.0]).name, "kIOPS");
        assert_eq!(Unit::fitting(Metric::Iops, &[453.0]).name, "IOPS");
        assert_eq!(Unit::fitting(Metric::Bw, &[18.5e6]).name, "MB/s");
        assert_eq!(Unit::fitting(Metric::ClatP99, &[850_000.0]).name, "us");
        assert_eq!(Unit::fitting(Metric::CpuPerIo, &[14_100.0]).name, "us");
    }

    #[test]
    fn names_stay_told_apart() {
        assert_eq!(cut("randread-4k-qd32-sm8650", 12), "randr..m8650");
        assert_eq!(cut("read/1", 12), "read/1");
        assert_eq!(ascii("Andr\u{e9} \u{201c}x\u{201d}\t\u{2013}  \u{b5}s"), "Andr? \"x\" - us");
    }

    #[test]
    fn letters_go_on_after_z() {
        assert_eq!(
            (letter(0), letter(25), letter(26), letter(27)),
            ("A".into(), "Z".into(), "AA".into(), "AB".into())
        );
    }

    #[test]
    fn thousands_are_grouped() {
        assert_eq!(grouped(4526.25), "4,526");
        assert_eq!(grouped(1_234_567.0), "1,234,567");
        assert_eq!(grouped(512.34), "512.3");
    }

    #[test]
    fn sizes_and_times() {
        assert_eq!(size(1 << 30), "1GiB");
        assert_eq!(size(1536 << 20), "1536MiB");
        assert_eq!(
            (seconds(30_000), seconds(50), seconds(500)),
            ("30 s".into(), "50 ms".into(), "0.5 s".into())
        );
    }
}
