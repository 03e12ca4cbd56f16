//! Text of scalars to values: names, counts, durations, sizes, percentages.

use super::keys::Shape;
use std::time::Duration;

/// Why a scalar cannot be taken.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// What is wrong, without the text itself.
    pub(super) message: String,
    /// What to write instead.
    pub(super) hint: Option<String>,
}

impl Problem {
    pub(super) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: Some(hint.into()) }
    }
}

/// Which texts a place takes. All are one line of printable characters, not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextRule {
    /// Up to 200 characters.
    Line,
    /// `[A-Za-z0-9._-]+`, up to 64.
    Name,
    /// `[A-Za-z0-9._-]+`, up to 20: what a disk's serial number can hold.
    ShortName,
    /// A heading of tables: up to 40 characters, no blanks at the ends.
    Heading,
    /// A ref for git: no blanks, no leading dash.
    GitWord,
    /// A path or URL for git: no leading dash.
    Repository,
    /// `[A-Za-z0-9_]+`: a fio option.
    OptionName,
    /// A kernel command line, up to 1000 characters.
    CommandLine,
}

impl TextRule {
    /// Checks a text.
    pub(super) fn check(self, text: &str) -> Result<(), Problem> {
        if text.is_empty() {
            return Err(Problem { message: "is empty".into(), hint: None });
        }
        if text.chars().any(char::is_control) {
            return Err(Problem::new(
                "is more than one line of printable characters",
                "write it on one line",
            ));
        }
        let length = text.chars().count();
        if length > self.max_length() {
            let message = format!("has {length} characters, more than {}", self.max_length());
            return Err(Problem { message, hint: None });
        }
        self.check_characters(text)
    }

    /// A regular expression for the schema.
    pub(super) fn pattern(self) -> &'static str {
        match self {
            Self::Line => r"^[^\x00-\x1f\x7f]{1,200}$",
            Self::Name => r"^[A-Za-z0-9._-]{1,64}$",
            Self::ShortName => r"^[A-Za-z0-9._-]{1,20}$",
            Self::Heading => r"^[^\s\x00-\x1f\x7f]([^\x00-\x1f\x7f]{0,38}[^\s\x00-\x1f\x7f])?$",
            Self::GitWord => r"^[^\s\x00-\x1f\x7f-][^\s\x00-\x1f\x7f]{0,499}$",
            Self::Repository => r"^[^\x00-\x1f\x7f-][^\x00-\x1f\x7f]{0,499}$",
            Self::OptionName => r"^[A-Za-z0-9_]{1,64}$",
            Self::CommandLine => r"^[^\x00-\x1f\x7f]{1,1000}$",
        }
    }

    fn max_length(self) -> usize {
        match self {
            Self::Line => 200,
            Self::Name | Self::OptionName => 64,
            Self::ShortName => 20,
            Self::Heading => 40,
            Self::GitWord | Self::Repository => 500,
            Self::CommandLine => 1000,
        }
    }

    fn check_characters(self, text: &str) -> Result<(), Problem> {
        match self {
            Self::Name | Self::ShortName
                if !text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)) =>
            {
                Err(Problem::new("is not a name", "use letters, digits, `.`, `_` and `-`"))
            }
            Self::OptionName if text.starts_with('-') => {
                let bare = text.trim_start_matches('-');
                Err(Problem::new("is not an option's name", format!("write it without dashes: `{bare}`")))
            }
            Self::OptionName if !text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') => {
                Err(Problem::new("is not an option's name", "use letters, digits and `_`"))
            }
            Self::Heading if text.trim() != text => {
                Err(Problem::new("starts or ends with a blank", format!("write `{}`", text.trim())))
            }
            Self::GitWord if text.contains(char::is_whitespace) => {
                Err(Problem { message: "contains a blank".into(), hint: None })
            }
            Self::GitWord | Self::Repository if text.starts_with('-') => Err(Problem {
                message: "starts with `-`, which git would take for an option".into(),
                hint: None,
            }),
            _ => Ok(()),
        }
    }
}

/// A whole number within the shape's bounds.
pub(super) fn count(shape: &Shape, text: &str) -> Result<u64, Problem> {
    let &Shape::Count(min, max) = shape else { return Err(misfit()) };
    let range = if max == u64::MAX { format!("at least {min}") } else { format!("from {min} to {max}") };
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse::<u64>() {
        Ok(number) if is_number && (min..=max).contains(&number) => Ok(number),
        _ if is_number => Err(Problem { message: format!("is not {range}"), hint: None }),
        _ => Err(Problem::new("is not a whole number", format!("write a number {range}"))),
    }
}

/// A time: whole numbers with `ms`, `s`, `m`, `h` or `d`, the larger unit first.
pub(super) fn duration(shape: &Shape, text: &str) -> Result<Duration, Problem> {
    let &Shape::Duration(min, max) = shape else { return Err(misfit()) };
    let parsed = milliseconds(text).ok_or_else(|| {
        let hint = match text.parse::<u64>() {
            Ok(_) => format!("write a unit: `{text}s`, `{text}m` or `{text}h`"),
            Err(_) => "write a time such as `30s`, `5m` or `1h30m`".to_owned(),
        };
        Problem::new("is not a time", hint)
    })?;
    if parsed < min * 1000 || parsed > max * 1000 {
        let message = format!("is not from {} to {}", seconds_text(min), seconds_text(max));
        return Err(Problem { message, hint: None });
    }
    Ok(Duration::from_millis(parsed))
}

fn seconds_text(seconds: u64) -> String {
    let units = [("h", 3600), ("m", 60)];
    let fitting = units.iter().find(|(_, length)| seconds > 0 && seconds.is_multiple_of(*length));
    fitting.map_or(format!("{seconds}s"), |(unit, length)| format!("{}{unit}", seconds / length))
}

fn milliseconds(text: &str) -> Option<u64> {
    let mut rest = text.trim();
    let mut total = 0u64;
    let mut last = u64::MAX;
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, tail) = rest.split_at(digits);
        let letters = tail.len() - tail.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
        let (unit, tail) = tail.split_at(letters);
        let unit = match unit {
            "ms" => 1,
            "s" => 1000,
            "m" | "min" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        if unit >= last {
            return None;
        }
        last = unit;
        total = number.parse::<u64>().ok()?.checked_mul(unit)?.checked_add(total)?;
        rest = tail.trim_start();
    }
    (last != u64::MAX).then_some(total)
}

/// Bytes: a whole number with `B`, `KiB`, `MiB`, `GiB` or `TiB`, or with `k`, `m`, `g`, `t`, which mean the same powers
/// of 1024 in fio and QEMU. `MB` is refused: half of its readers take it for 1024 squared.
pub(super) fn size(shape: &Shape, text: &str) -> Result<u64, Problem> {
    let &Shape::Size(min, max) = shape else { return Err(misfit()) };
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let power = match unit.trim() {
        "B" => Some(0),
        "KiB" | "k" | "K" => Some(1),
        "MiB" | "m" | "M" => Some(2),
        "GiB" | "g" | "G" => Some(3),
        "TiB" | "t" | "T" => Some(4),
        _ => None,
    };
    let bytes = power.and_then(|power| number.parse::<u64>().ok()?.checked_mul(1024u64.pow(power)));
    let Some(bytes) = bytes else {
        let unit =
            unit.trim().chars().next().filter(|c| "kKmMgGtT".contains(*c)).map(|c| c.to_ascii_uppercase());
        let hint = match unit {
            Some(unit) if !number.is_empty() => format!("write `{number}{unit}iB` (powers of 1024)"),
            _ => "write a size such as `512MiB` or `1GiB`".to_owned(),
        };
        return Err(Problem::new("is not a size", hint));
    };
    if bytes < min || bytes > max {
        return Err(Problem {
            message: format!("is not from {} to {}", bytes_text(min), bytes_text(max)),
            hint: None,
        });
    }
    Ok(bytes)
}

/// Bytes in the largest unit that leaves a whole number.
pub(super) fn bytes_text(bytes: u64) -> String {
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let fitting = units.iter().find(|(_, shift)| bytes > 0 && bytes.trailing_zeros() >= *shift);
    fitting.map_or(format!("{bytes}B"), |(unit, shift)| format!("{}{unit}", bytes >> shift))
}

/// A fraction from a percentage, above 0.
pub(super) fn percent(shape: &Shape, text: &str) -> Result<f64, Problem> {
    let &Shape::Percent(max) = shape else { return Err(misfit()) };
    let number = text.strip_suffix('%').unwrap_or(text).trim_end();
    let plain = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let value = number.parse::<f64>().ok().filter(|_| plain);
    match value {
        Some(_) if !text.ends_with('%') => {
            Err(Problem::new("is not a percentage", format!("write the sign: `{text}%`")))
        }
        Some(value) if value > 0.0 && value <= f64::from(max) => Ok(value / 100.0),
        Some(_) => Err(Problem { message: format!("is not above 0% and up to {max}%"), hint: None }),
        None => Err(Problem::new("is not a percentage", "write one such as `2%` or `0.5%`")),
    }
}

/// `true` or `false`.
pub(super) fn flag(_: &Shape, text: &str) -> Result<bool, Problem> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(Problem::new("is neither `true` nor `false`", "write `true` or `false`")),
    }
}

/// A text that obeys the shape's rule.
pub(super) fn text(shape: &Shape, text: &str) -> Result<String, Problem> {
    let Shape::Text(rule) = shape else { return Err(misfit()) };
    rule.check(text).map(|()| text.to_owned())
}

/// A table and its decoder disagree about a key; the tests that read every key of every table exclude it.
fn misfit() -> Problem {
    Problem { message: "cannot be read: this is a fault of kab".into(), hint: None }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const TIME: Shape = Shape::Duration(1, 1_000_000);
    const SIZE: Shape = Shape::Size(1, 1 << 50);

    #[test]
    fn reads_times() {
        let seconds = |text| duration(&TIME, text).map(|time| time.as_millis()).ok();
        assert_eq!(seconds("30s"), Some(30_000));
        assert_eq!(seconds("1h30m"), Some(5_400_000));
        assert_eq!(seconds("1h 30m"), Some(5_400_000));
        assert_eq!(seconds("1500ms"), Some(1500));
        for bad in [
            "30",
            "",
            "s",
            "5m1h",
            "5m5m",
            "1.5h",
            "-5s",
            "99999999999999999999s",
            "9999999999999999d",
            "5 x",
        ] {
            assert_eq!(seconds(bad), None, "{bad}");
        }
        assert_eq!(duration(&TIME, "30").unwrap_err().hint.unwrap(), "write a unit: `30s`, `30m` or `30h`");
    }

    #[test]
    fn reads_sizes() {
        let bytes = |text| size(&SIZE, text).ok();
        assert_eq!(bytes("1GiB"), Some(1 << 30));
        assert_eq!(bytes("1g"), Some(1 << 30));
        assert_eq!(bytes("512 MiB"), Some(512 << 20));
        assert_eq!(bytes("4096B"), Some(4096));
        for bad in ["1GB", "1024", "", "GiB", "1.5GiB", "-1GiB", "99999999999999TiB", "1gib"] {
            assert_eq!(bytes(bad), None, "{bad}");
        }
        assert_eq!(size(&SIZE, "512MB").unwrap_err().hint.unwrap(), "write `512MiB` (powers of 1024)");
        assert_eq!(bytes_text(3 << 30), "3GiB");
        assert_eq!(bytes_text(1000), "1000B");
    }

    #[test]
    fn reads_percentages() {
        let fraction = |text| percent(&Shape::Percent(50), text).ok();
        assert_eq!(fraction("2%"), Some(0.02));
        assert_eq!(fraction("0.5%"), Some(0.005));
        for bad in ["2", "0%", "51%", "-1%", "%", "1e1%", "inf%", "NaN%", "1.2.3%"] {
            assert_eq!(fraction(bad), None, "{bad}");
        }
    }

    #[test]
    fn reads_counts() {
        let number = |text| count(&Shape::Count(1, 1000), text).ok();
        assert_eq!(number("8"), Some(8));
        for bad in ["0", "1001", "+8", "8.0", "0x8", "eight", "", "99999999999999999999"] {
            assert_eq!(number(bad), None, "{bad}");
        }
    }
}
