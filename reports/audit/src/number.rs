//! Numbers in text, with the range that their digits leave open.

use std::ops::Range;

/// What a number counts, as far as its own characters tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    None,
    Iops,
    /// Bytes a second.
    Bytes,
    Percent,
    /// Nanoseconds.
    Time,
}

/// A number, scaled to its base unit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Number {
    pub(crate) value: f64,
    /// Half a step of the last digit.
    pub(crate) half: f64,
    pub(crate) unit: Unit,
    /// Whether a prefix or unit scaled it.
    pub(crate) scaled: bool,
    /// Digits that count.
    pub(crate) digits: usize,
    /// As it stands, with its unit.
    pub(crate) text: String,
    /// Bytes of the line.
    pub(crate) span: Range<usize>,
    /// `~` before it.
    pub(crate) about: bool,
}

impl Number {
    pub(crate) fn low(&self) -> f64 {
        self.value - self.half
    }

    pub(crate) fn high(&self) -> f64 {
        self.value + self.half
    }

    /// The number in another unit.
    pub(crate) fn times(&self, factor: f64) -> Self {
        Self { value: self.value * factor, half: self.half * factor, ..self.clone() }
    }
}

/// All numbers of a line that stand alone: `v6.15`, `sda1`, `0x10` and `next-20250729` have none.
pub(crate) fn numbers(line: &str) -> Vec<Number> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(offset) = line[at..].find(|c: char| c.is_ascii_digit()) {
        let start = at + offset;
        let length = digits_at(&line[start..]);
        match number(line, start, length) {
            Some(number) => {
                at = number.span.end;
                found.push(number);
            }
            None => at = start + word_length(&line[start..]).max(1),
        }
    }
    found
}

/// The number that a whole word is, unit included.
pub(crate) fn whole(word: &str) -> Option<Number> {
    let found = numbers(word);
    let [number] = &found[..] else { return None };
    (number.span.end == word.len() && word[..number.span.start].chars().all(|c| "+-~(".contains(c)))
        .then(|| number.clone())
}

/// Length of `12`, `1,234.5`, `0.5`.
fn digits_at(text: &str) -> usize {
    let bytes = text.as_bytes();
    let run = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut end = run(0);
    if end <= 3 {
        while bytes.get(end) == Some(&b',') && run(end + 1) == 3 {
            end += 4;
        }
    }
    if bytes.get(end) == Some(&b'.') && run(end + 1) > 0 {
        end += 1 + run(end + 1);
    }
    end
}

fn word_length(text: &str) -> usize {
    text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.' || c == '-')).unwrap_or(text.len())
}

fn number(line: &str, start: usize, length: usize) -> Option<Number> {
    let before = &line[..start];
    let mut first = start;
    let mut sign = 1.0;
    let mut previous = before.chars().next_back();
    if let Some(c @ ('-' | '+')) = previous {
        let earlier = before[..before.len() - 1].chars().next_back();
        if earlier.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '-') {
            return None;
        }
        first -= 1;
        sign = if c == '-' { -1.0 } else { 1.0 };
        previous = earlier;
    }
    if previous.is_some_and(|c| c.is_alphanumeric() || "_./#".contains(c)) {
        return None;
    }
    let digits: String = line[start..start + length].chars().filter(|c| *c != ',').collect();
    let rest = &line[start + length..];
    let (factor, unit, suffix) = suffix(rest)?;
    let after = rest[suffix..].chars().next();
    if after.is_some_and(|c| c.is_alphanumeric() || c == '_')
        || (suffix == 0 && after == Some('.') && rest[1..].starts_with(|c: char| c.is_alphanumeric()))
        || (suffix == 0 && after == Some('-') && rest[1..].starts_with(char::is_alphanumeric))
        || after == Some('/') && rest[suffix + 1..].starts_with(char::is_alphanumeric)
    {
        return None;
    }
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let value: f64 = digits.parse().ok()?;
    Some(Number {
        value: sign * value * factor,
        half: 0.5 * 10_f64.powi(-(decimals.min(15) as i32)) * factor,
        unit,
        scaled: factor != 1.0,
        digits: digits.trim_start_matches(['0', '.']).chars().filter(char::is_ascii_digit).count(),
        text: line[first..start + length + suffix].to_owned(),
        span: first..start + length + suffix,
        about: previous == Some('~')
            || before.trim_end().ends_with('~')
            || before.trim_end().ends_with("about"),
    })
}

/// Factor, unit and length of what follows the digits; nothing for a word that is no unit.
fn suffix(rest: &str) -> Option<(f64, Unit, usize)> {
    if rest.starts_with('%') {
        return Some((1.0, Unit::Percent, 1));
    }
    let glued = rest.starts_with(|c: char| c.is_alphabetic());
    let space = usize::from(rest.starts_with(' '));
    let word: &str = &rest[space..];
    let word = &word[..word.find(|c: char| !(c.is_ascii_alphabetic() || c == '/')).unwrap_or(word.len())];
    if let Some((factor, unit)) = unit(word) {
        // A lone prefix after a blank is a word of its own, and so is `s`.
        if space == 0 || word.len() > 1 {
            let scale_then_unit = (unit == Unit::None).then(|| {
                let more = &rest[space + word.len()..];
                more.to_ascii_lowercase().starts_with(" iops").then_some(5)
            });
            let extra = scale_then_unit.flatten();
            let unit = if extra.is_some() { Unit::Iops } else { unit };
            return Some((factor, unit, space + word.len() + extra.unwrap_or(0)));
        }
    }
    if rest.starts_with(" %") && !rest[2..].starts_with(|c: char| c.is_alphanumeric()) {
        return Some((1.0, Unit::Percent, 2));
    }
    if glued { None } else { Some((1.0, Unit::None, 0)) }
}

/// What a unit's word means, `MiB/s`.
pub(crate) fn unit(word: &str) -> Option<(f64, Unit)> {
    let lower = word.to_ascii_lowercase();
    let (prefix, base) = match lower.as_str() {
        "iops" | "io/s" => ("", Unit::Iops),
        "kiops" => ("k", Unit::Iops),
        "miops" => ("m", Unit::Iops),
        "k" => ("k", Unit::None),
        "m" if word == "M" => ("m", Unit::None),
        "g" if word == "G" => ("g", Unit::None),
        "ns" | "nsec" => return Some((1.0, Unit::Time)),
        "us" | "usec" | "usecs" => return Some((1e3, Unit::Time)),
        "ms" | "msec" | "msecs" => return Some((1e6, Unit::Time)),
        "s" | "sec" => return Some((1e9, Unit::Time)),
        _ => {
            let body = lower.strip_suffix("/s").or_else(|| lower.strip_suffix("ps"))?;
            let body = body.strip_suffix('b').or_else(|| body.strip_suffix("bytes"))?;
            // Mbps in lower case is bits.
            if word.ends_with("bps") {
                return None;
            }
            (body, Unit::Bytes)
        }
    };
    let factor = match prefix {
        "" => 1.0,
        "k" => 1e3,
        "m" => 1e6,
        "g" => 1e9,
        "ki" => 1024.0,
        "mi" => 1024.0 * 1024.0,
        "gi" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    Some((factor, base))
}

/// A value for a message: thousands set off, at most the digits that matter.
pub(crate) fn show(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 1000.0 => 0,
        v if v >= 100.0 => 1,
        v if v >= 10.0 => 2,
        _ => 3,
    };
    show_to(value, decimals)
}

/// A value with so many decimals, thousands set off.
pub(crate) fn show_to(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let (whole, rest) = text.split_once('.').map_or((text.as_str(), ""), |(whole, rest)| (whole, rest));
    let mut out = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    let sign = if value < 0.0 { "-" } else { "" };
    let point = if rest.is_empty() { "" } else { "." };
    format!("{sign}{out}{point}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Vec<(f64, Unit)> {
        numbers(line).into_iter().map(|number| (number.value, number.unit)).collect()
    }

    #[test]
    fn units_and_separators() {
        assert_eq!(
            read("3,996.00 1055K 165.67MB/S"),
            [(3996.0, Unit::None), (1_055_000.0, Unit::None), (165_670_000.0, Unit::Bytes)]
        );
        assert_eq!(
            read("43.2 kIOPS, 1206K IOPS; 2 MiB/s"),
            [(43_200.0, Unit::Iops), (1_206_000.0, Unit::Iops), (2_097_152.0, Unit::Bytes)]
        );
        assert_eq!(
            read("~26% and -4.5 % in 3 ms"),
            [(26.0, Unit::Percent), (-4.5, Unit::Percent), (3e6, Unit::Time)]
        );
        assert_eq!(read("(43245.69 vs. 42144.88)."), [(43245.69, Unit::None), (42144.88, Unit::None)]);
        assert_eq!(read("165.67, 12."), [(165.67, Unit::None), (12.0, Unit::None)]);
    }

    #[test]
    fn names_are_no_numbers() {
        for text in [
            "v6.15",
            "sda1",
            "0x10",
            "next-20250729",
            "6.16-rc1",
            "32m",
            "1/8",
            "a_1",
            "fio-3.39",
            "2.17.1",
            "10.0.0.1",
            "p99",
        ] {
            assert_eq!(read(text), [], "{text}");
        }
    }

    #[test]
    fn ranges_follow_the_digits() {
        let number = &numbers("28.0")[0];
        assert!((number.low() - 27.95).abs() < 1e-9 && (number.high() - 28.05).abs() < 1e-9);
        assert_eq!(number.digits, 3);
        assert_eq!(show(1_234_567.8), "1,234,568");
        assert_eq!(show_to(-1234.5, 2), "-1,234.50");
    }
}
