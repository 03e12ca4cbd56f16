//! Rates and amounts with their units, and what value all that was printed allows.

use super::cursor::{Cursor, Number, power};
use crate::report::{Basis, Direction, Figure, What};

/// Two figures of one amount may differ by this much beyond their rounding: fio rounds on the way, 1 in 2000.
const SLACK: f64 = 0.0005;

/// `12.0k`, of I/Os a second.
pub(crate) fn count_figure(cursor: &mut Cursor<'_>, what: What) -> Option<Figure> {
    let number = cursor.number()?;
    let unit = super::cursor::suffix(cursor);
    Some(figure(&number, what, unit, &prefix_of(unit, 1000.0, "")))
}

/// `1133MiB/s`, `100KB`, `618740 B/s`, `24.6kB`, `275Mi`, `100Mibit/s`. In the text of fio up to 2.16 `KB` are
/// 1024 bytes, which `old` says.
pub(crate) fn bytes_figure(cursor: &mut Cursor<'_>, what: What, old: bool) -> Option<Figure> {
    let number = cursor.number()?;
    cursor.blank();
    let letter = cursor.any(&["k", "K", "M", "G", "T", "P"]).unwrap_or("");
    let binary = !letter.is_empty() && cursor.eat("i");
    let bits = cursor.eat("bit");
    if !bits {
        cursor.eat("B");
    }
    let base = if binary || old { 1024.0 } else { 1000.0 };
    let unit = power(letter, base) / if bits { 8.0 } else { 1.0 };
    let name = format!("{letter}{}{}", if binary { "i" } else { "" }, if bits { "bit" } else { "B" });
    cursor.eat("/s");
    Some(figure(&number, what, unit, &name))
}

fn prefix_of(unit: f64, base: f64, behind: &str) -> String {
    let letter = ["k", "M", "G", "T", "P"].into_iter().find(|letter| power(letter, base) == unit);
    format!("{}{behind}", letter.unwrap_or(""))
}

fn figure(number: &Number, what: What, unit: f64, name: &str) -> Figure {
    let value = if number.value.is_finite() { number.value.max(0.0) } else { 0.0 };
    let step = number.step();
    let zeros = number.decimals > 0 && value.fract() == 0.0;
    Figure {
        what,
        value: value * unit,
        low: (value - step).max(0.0) * unit,
        high: (value + step) * unit,
        carry: zeros.then_some((value + 1.0) * unit),
        line: number.at,
        text: format!("{}{name}", number.text),
    }
}

/// Whether a version prints figures whose fraction rounds up to one without the carry: 2.17 to 3.25. Unknown ones may.
pub(crate) fn drops_carry(version: &str) -> bool {
    match numbers(version) {
        Some((2, minor)) => minor >= 17,
        Some((3, minor)) => minor <= 25,
        Some(_) => false,
        None => true,
    }
}

fn numbers(version: &str) -> Option<(u32, u32)> {
    let digits = version.trim_start_matches("fio").trim_start_matches(['-', ' ']);
    let (major, rest) = digits.split_once('.')?;
    let minor: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// What else is known of a direction when its figures are settled.
#[derive(Default)]
pub(crate) struct Known {
    /// I/Os by fio's counter.
    pub(crate) issued: Option<u64>,
    /// Bytes an I/O, where all are alike.
    pub(crate) block: Option<u64>,
}

/// Fills totals and rates of a direction from its printed figures and its run time.
pub(crate) fn settle(direction: &mut Direction, known: &Known) {
    let seconds = direction.runtime_ms as f64 / 1000.0;
    let range = byte_range(direction, seconds);
    settle_ios(direction, known, seconds, range);
    settle_bytes(direction, known, seconds, range);
    for latency in [&mut direction.slat, &mut direction.clat, &mut direction.lat] {
        latency.n = if latency.mean > 0.0 { direction.total_ios } else { 0 };
    }
}

/// A range of values, and whether a dropped carry had to be assumed for it.
#[derive(Clone, Copy, Debug)]
struct Allowed {
    low: f64,
    high: f64,
    corrected: bool,
}

impl Allowed {
    fn middle(&self) -> f64 {
        f64::midpoint(self.low, self.high)
    }
}

/// The bytes that all figures allow; where they contradict each other, those of the figure for the total.
fn byte_range(direction: &Direction, seconds: f64) -> Option<Allowed> {
    let ranges: Vec<[Option<(f64, f64)>; 2]> = direction
        .printed
        .iter()
        .filter_map(|figure| {
            let scale = match figure.what {
                What::Io | What::IoOther => 1.0,
                What::Bw | What::BwOther if seconds > 0.0 => seconds,
                _ => return None,
            };
            let carried = figure.carry.map(|high| (high * 0.99 * scale, high * scale));
            Some([Some((figure.low * scale, figure.high * scale)), carried])
        })
        .collect();
    let all = common(&ranges);
    all.or_else(|| {
        ranges.iter().find_map(|range| range[0]).map(|(low, high)| Allowed { low, high, corrected: false })
    })
}

/// The narrowest range that lies in one alternative of each, with as few carries as can be. There are at most six.
fn common(ranges: &[[Option<(f64, f64)>; 2]]) -> Option<Allowed> {
    let choices = 1usize << ranges.len().min(6);
    let mut best: Option<(u32, Allowed)> = None;
    for choice in 0..choices {
        let carries = choice.count_ones();
        let mut range = Some((0.0f64, f64::INFINITY));
        for (i, alternatives) in ranges.iter().take(6).enumerate() {
            range = match (range, alternatives[choice >> i & 1]) {
                (Some((low, high)), Some((l, h))) => Some((low.max(l), high.min(h))),
                _ => None,
            };
        }
        let Some((low, high)) = range.filter(|(low, high)| *low <= high * (1.0 + SLACK) && high.is_finite())
        else {
            continue;
        };
        if best.is_none_or(|(least, _)| carries < least) {
            best =
                Some((carries, Allowed { low: low.min(high), high: high.max(low), corrected: carries > 0 }));
        }
    }
    best.map(|(_, allowed)| allowed)
}

fn settle_ios(direction: &mut Direction, known: &Known, seconds: f64, bytes: Option<Allowed>) {
    if let Some(issued) = known.issued.filter(|issued| *issued > 0) {
        direction.total_ios = issued;
        direction.ios_basis = Basis::Counted;
        if seconds > 0.0 {
            direction.iops = issued as f64 / seconds;
            return;
        }
    }
    let Some(figure) = direction.figure(What::Iops) else {
        // A summary line without IOPS: the block size tells them.
        if let (Some(block), Some(bytes), false) = (known.block, bytes, direction.ios_basis == Basis::Counted)
        {
            direction.total_ios = (bytes.middle() / block as f64).round() as u64;
            direction.ios_basis = Basis::Rounded;
            direction.iops = if seconds > 0.0 { bytes.middle() / block as f64 / seconds } else { 0.0 };
        }
        return;
    };
    let carried = carried_iops(figure, known, bytes, seconds, direction.figure(What::Bw));
    direction.iops = carried.unwrap_or(figure.value);
    if direction.ios_basis != Basis::Counted {
        direction.ios_basis = if carried.is_some() { Basis::Corrected } else { Basis::Rounded };
        direction.total_ios = (direction.iops * seconds).round() as u64;
    }
}

/// The IOPS that the bandwidth tells, where the printed ones can lack a carry and do not fit to any block size as they
/// are.
fn carried_iops(
    figure: &Figure,
    known: &Known,
    bytes: Option<Allowed>,
    seconds: f64,
    bw: Option<&Figure>,
) -> Option<f64> {
    let high = figure.carry?;
    let rate = match bytes {
        Some(bytes) if seconds > 0.0 => bytes.middle() / seconds,
        _ => bw?.value,
    };
    let block = match known.block {
        Some(block) => block as f64,
        None => power_of_two(rate / (high * 0.995), 0.01)?,
    };
    let told = rate / block;
    (told > figure.high && told <= high * (1.0 + SLACK)).then(|| told.min(high))
}

/// The power of two, from 512 on, that lies within a part `off` of a value.
fn power_of_two(value: f64, off: f64) -> Option<f64> {
    let near = 2f64.powf(value.log2().round());
    (near >= 512.0 && (near / value - 1.0).abs() <= off).then_some(near)
}

fn settle_bytes(direction: &mut Direction, known: &Known, seconds: f64, range: Option<Allowed>) {
    let counted = direction.ios_basis == Basis::Counted;
    let fits = |bytes: f64| {
        range.is_none_or(|r| bytes >= r.low * (1.0 - SLACK) && bytes <= r.high * (1.0 + SLACK))
            || direction.printed.iter().any(|f| f.carry.is_some_and(|high| bytes <= high && bytes >= f.low))
    };
    let total = direction.total_ios as f64;
    let exact = known.block.map(|block| total * block as f64).filter(|bytes| counted && fits(*bytes));
    let guessed = || {
        let range = range.filter(|r| counted && r.high < r.low * 1.03)?;
        power_of_two(range.middle() / total, 0.02).map(|block| total * block).filter(|bytes| fits(*bytes))
    };
    let (bytes, basis) = match (exact, guessed(), range) {
        (Some(bytes), _, _) => (bytes, Basis::Counted),
        (None, Some(bytes), _) => (bytes, Basis::Rounded),
        (None, None, Some(range)) => {
            (range.middle(), if range.corrected { Basis::Corrected } else { Basis::Rounded })
        }
        (None, None, None) => (0.0, Basis::Absent),
    };
    direction.io_bytes = bytes as u64;
    direction.bytes_basis = basis;
    let printed = direction.figure(What::Bw).map_or(0.0, |figure| figure.value);
    direction.bw = if seconds > 0.0 && bytes > 0.0 { bytes / seconds } else { printed };
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn bytes(text: &str, old: bool) -> Figure {
        bytes_figure(&mut Cursor::new(text, 0), What::Bw, old).unwrap()
    }

    #[test]
    fn units_of_all_kinds() {
        for (text, old, value) in [
            ("1133MiB/s ", false, 1133.0 * 1_048_576.0),
            ("24.6kB/s ", false, 24_600.0),
            ("152016KB/s,", true, 152_016.0 * 1024.0),
            ("618740 B/s,", true, 618_740.0),
            ("275Mi (", false, 275.0 * 1_048_576.0),
            ("100Mibit/s ", false, 100.0 * 1_048_576.0 / 8.0),
            ("6860B/s ", false, 6860.0),
        ] {
            assert_eq!(bytes(text, old).value, value, "{text}");
        }
        assert_eq!(bytes("9.00KiB/s ", false).carry, Some(10.0 * 1024.0));
    }

    #[test]
    fn versions_that_drop_the_carry() {
        for (version, drops) in [
            ("fio-2.16", false),
            ("fio-2.17", true),
            ("fio-2.2.10", false),
            ("fio-3.25", true),
            ("fio-3.26", false),
            ("", true),
            ("fio-3.8-5-g464b-dirty", true),
        ] {
            assert_eq!(drops_carry(version), drops, "{version}");
        }
    }

    #[test]
    fn one_unit_tells_that_the_other_lost_its_carry() {
        // 29.95 MiB/s are 31.4 MB/s; such a version prints 29.0.
        let mut cursor = Cursor::new("29.0MiB/s 31.4MB/s ", 0);
        let first = bytes_figure(&mut cursor, What::Bw, false).unwrap();
        let second = bytes_figure(&mut cursor, What::BwOther, false).unwrap();
        let mut direction =
            Direction { printed: vec![first, second], runtime_ms: 1000, ..Direction::default() };
        settle(&mut direction, &Known::default());
        assert_eq!(direction.bytes_basis, Basis::Corrected);
        assert!((direction.bw / 31.4e6 - 1.0).abs() < 0.002, "{}", direction.bw);
    }
}
