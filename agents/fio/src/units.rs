//! Times and sizes as fio reads them.

use std::time::Duration;

/// Reads a time option: a bare number is seconds; suffixes `us`, `ms`, `s`, `m`, `h`, `d` (and their long
/// forms `usec`, `msec`, `sec`) in any case. `None` for everything else, arithmetic expressions included.
///
/// ```
/// use std::time::Duration;
/// assert_eq!(kab_fio::parse_time("30"), Some(Duration::from_secs(30)));
/// assert_eq!(kab_fio::parse_time("500ms"), Some(Duration::from_millis(500)));
/// ```
pub fn parse_time(text: &str) -> Option<Duration> {
    let (number, suffix) = split_number(text)?;
    let micros_each: u64 = match suffix.as_str() {
        "us" | "usec" => 1,
        "ms" | "msec" => 1_000,
        "" | "s" | "sec" => 1_000_000,
        "m" => 60 * 1_000_000,
        "h" => 3_600 * 1_000_000,
        "d" => 86_400 * 1_000_000,
        _ => return None,
    };
    number.checked_mul(micros_each).map(Duration::from_micros)
}

/// Reads a size option in bytes, with fio's default `kb_base=1024`, under which `k`, `kb` mean 1024 and, the
/// other way round than SI, `ki` means 1000. A percentage needs `whole`, the size of the target in bytes.
pub fn parse_size(text: &str, whole: Option<u64>) -> Option<u64> {
    let (number, suffix) = split_number(text)?;
    if suffix == "%" {
        let share = u128::from(whole?) * u128::from(number.min(100)) / 100;
        return u64::try_from(share).ok();
    }
    let (letter, rest) = suffix.split_at_checked(1).unwrap_or(("", ""));
    let power = match letter {
        "" | "b" if rest.is_empty() => return Some(number),
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return None,
    };
    let base: u64 = match rest {
        "" | "b" => 1024,
        "i" | "ib" => 1000,
        _ => return None,
    };
    number.checked_mul(base.pow(power))
}

/// The longest that fio may measure, ramp included: `runtime` (or its alias `timeout`) plus `ramp_time`.
/// `None` where no runtime is given or it cannot be read; the job then ends with its size.
pub fn planned_runtime<S: AsRef<str>>(options: &[(S, S)]) -> Option<Duration> {
    runtime(options)?.checked_add(ramp_time(options))
}

/// The time before fio begins to count, zero where none is given.
pub fn ramp_time<S: AsRef<str>>(options: &[(S, S)]) -> Duration {
    last(options, &["ramp_time"]).and_then(parse_time).unwrap_or_default()
}

/// The run time that fio should report, which leaves the ramp out. `None` unless the job is time based: all
/// others may rightly end earlier.
pub fn measured_runtime<S: AsRef<str>>(options: &[(S, S)]) -> Option<Duration> {
    if is_time_based(options) { runtime(options) } else { None }
}

/// Whether the job runs for its whole `runtime`, however small its size.
pub fn is_time_based<S: AsRef<str>>(options: &[(S, S)]) -> bool {
    last(options, &["time_based"]).is_some_and(truth)
}

/// The value that fio uses: the last one given under any of these names.
pub(crate) fn last<'a, S: AsRef<str>>(options: &'a [(S, S)], names: &[&str]) -> Option<&'a str> {
    options.iter().rev().find(|(name, _)| names.contains(&name.as_ref())).map(|(_, value)| value.as_ref())
}

/// A switch: no value and any number but 0 mean on.
pub(crate) fn truth(value: &str) -> bool {
    !matches!(value.trim(), "0" | "false")
}

fn runtime<S: AsRef<str>>(options: &[(S, S)]) -> Option<Duration> {
    last(options, &["runtime", "timeout"]).and_then(parse_time).filter(|time| !time.is_zero())
}

fn split_number(text: &str) -> Option<(u64, String)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, suffix) = text.split_at(end);
    Some((digits.parse().ok()?, suffix.trim().to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_follow_fio() {
        let cases = [
            ("30", Some(30_000_000)),
            ("30s", Some(30_000_000)),
            ("2m", Some(120_000_000)),
            ("1H", Some(3_600_000_000)),
            ("1d", Some(86_400_000_000)),
            ("250ms", Some(250_000)),
            ("10us", Some(10)),
            ("10usec", Some(10)),
            ("", None),
            ("s", None),
            ("1.5s", None),
            ("-1", None),
            ("1x", None),
            ("99999999999999999999", None),
            ("18446744073709551615d", None),
        ];
        for (text, micros) in cases {
            assert_eq!(parse_time(text), micros.map(Duration::from_micros), "{text:?}");
        }
    }

    #[test]
    fn sizes_follow_fio_with_its_reversed_prefixes() {
        let cases = [
            ("4096", Some(4096)),
            ("4k", Some(4096)),
            ("4KB", Some(4096)),
            ("4ki", Some(4000)),
            ("4KiB", Some(4000)),
            ("32m", Some(32 << 20)),
            ("1g", Some(1 << 30)),
            ("50%", Some(500)),
            ("150%", Some(1000)),
            ("7z", None),
            ("4kx", None),
            ("9999999999999999p", None),
        ];
        for (text, bytes) in cases {
            assert_eq!(parse_size(text, Some(1000)), bytes, "{text:?}");
        }
        assert_eq!(parse_size("50%", None), None);
    }

    #[test]
    fn planned_includes_the_ramp_and_measured_does_not() {
        let options = [("runtime", "30s"), ("ramp_time", "2"), ("time_based", "")];
        assert_eq!(planned_runtime(&options), Some(Duration::from_secs(32)));
        assert_eq!(measured_runtime(&options), Some(Duration::from_secs(30)));
        assert_eq!(measured_runtime(&options[..2]), None);
        assert_eq!(planned_runtime(&[("size", "1g")]), None);
        assert_eq!(planned_runtime(&[("runtime", "0")]), None, "fio takes 0 as no limit");
    }

    #[test]
    fn the_last_of_a_repeated_option_counts() {
        assert_eq!(planned_runtime(&[("runtime", "5"), ("timeout", "7")]), Some(Duration::from_secs(7)));
        assert!(!is_time_based(&[("time_based", "1"), ("time_based", "0")]));
    }
}
