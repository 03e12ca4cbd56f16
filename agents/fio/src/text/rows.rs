//! The rows of fio's text, each found by its first word. Line breaks may be anywhere.

use super::cursor::{Cursor, Number, suffix};
use super::figures::{bytes_figure, count_figure};
use crate::report::{Figure, Latency, Spread, What};

/// Longest rest of a line that is passed over as fio's.
const LINE: usize = 200;

/// One row, as far as it matters.
pub(crate) enum Row {
    /// `read: IOPS=…` or `read : io=…`.
    Direction(DirectionRow),
    /// `clat (usec): min=…`.
    Latency(Kind, Latency),
    /// `clat percentiles (usec): …`: percent and nanoseconds.
    Percentiles(Kind, Vec<(f64, u64)>),
    /// `bw (KiB/s): min=…`, in bytes a second.
    Bandwidth(Spread),
    /// `iops : min=…`.
    Iops(Spread),
    /// `cpu : usr=…`: user, system, context switches.
    Cpu(f64, f64, u64),
    /// `IO depths : …`.
    Depths(Vec<(String, f64)>),
    /// `issued rwts: total=…`: totals, short and dropped ones by direction.
    Issued([Vec<u64>; 3]),
    /// `errors : total=…`.
    Errors(u64),
    /// A row that is fio's and tells nothing that is kept.
    Other,
}

/// Which latency.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// Submission.
    Slat,
    /// Completion.
    Clat,
    /// Both.
    Lat,
    /// Of fsync and the like.
    Sync,
    /// Of one priority class: not kept.
    Class,
}

/// The first row of a direction.
pub(crate) struct DirectionRow {
    /// `read`, `write`, `trim` or `mixed`.
    pub(crate) name: &'static str,
    /// Rates and total.
    pub(crate) printed: Vec<Figure>,
    /// Milliseconds; 0 where the row is cut off before.
    pub(crate) runtime_ms: u64,
    /// Whether it is of fio up to 2.16.
    pub(crate) old: bool,
}

/// The first two letters of the words by which rows are known.
const BEGINNINGS: &[[u8; 2]] = &[
    *b"re", *b"wr", *b"tr", *b"mi", *b"sl", *b"sy", *b"su", *b"st", *b"cl", *b"cp", *b"co", *b"la", *b"bw",
    *b"io", *b"is", *b"IO", *b"er", *b"fs", *b"St",
];

/// The row at the cursor, which is moved behind it; stays where there is none.
pub(crate) fn row(cursor: &mut Cursor<'_>) -> Option<Row> {
    let mut bytes = cursor.rest().bytes();
    let (first, second) = (bytes.next()?, bytes.next().unwrap_or(b'\n'));
    // Most words end here: rows begin with these letters, unless the line is broken after the first.
    if !second.is_ascii_whitespace() && !BEGINNINGS.contains(&[first, second]) {
        return None;
    }
    let readers: &[fn(&mut Cursor<'_>) -> Option<Row>] = match first {
        b'r' | b'w' | b't' | b'm' => &[direction],
        b's' => &[latency, depths, other],
        b'c' => &[latency, cpu, depths],
        b'l' => &[latency, buckets, target],
        b'b' => &[bandwidth],
        b'i' => &[iops, issued],
        b'I' => &[depths],
        b'e' => &[errors],
        b'f' | b'S' | b'h' => &[other],
        _ => return None,
    };
    let start = *cursor;
    readers.iter().find_map(|read| {
        let found = read(cursor);
        if found.is_none() {
            *cursor = start;
        }
        found
    })
}

fn direction(cursor: &mut Cursor<'_>) -> Option<Row> {
    let name = cursor.any(&["read", "write", "trim", "mixed"])?;
    if !cursor.eat(" : ") {
        return None;
    }
    let row = if cursor.eat("IOPS=") { new_direction(cursor, name) } else { old_direction(cursor, name) };
    row.map(Row::Direction)
}

/// `IOPS=22.5k, BW=87.8MiB/s (92.1MB/s)(89.3MiB/1017msec)`
fn new_direction(cursor: &mut Cursor<'_>, name: &'static str) -> Option<DirectionRow> {
    let mut printed = vec![count_figure(cursor, What::Iops)?];
    let mut runtime_ms = 0;
    let after_iops = *cursor;
    if cursor.eat(" , BW=")
        && let Some(bw) = bytes_figure(cursor, What::Bw, false)
    {
        printed.push(bw);
        if let Some((figures, ms)) = brackets(cursor) {
            printed.extend(figures);
            runtime_ms = ms;
        }
    } else {
        *cursor = after_iops;
    }
    Some(DirectionRow { name, printed, runtime_ms, old: false })
}

/// `(92.1MB/s)(89.3MiB/1017msec)`, of which the end may be missing.
fn brackets(cursor: &mut Cursor<'_>) -> Option<(Vec<Figure>, u64)> {
    let mut figures = Vec::new();
    let start = *cursor;
    if cursor.eat(" (") {
        match bytes_figure(cursor, What::BwOther, false).filter(|_| cursor.eat(" )")) {
            Some(bw) => figures.push(bw),
            None => *cursor = start,
        }
    }
    let start = *cursor;
    let amount = cursor.eat(" (").then(|| bytes_figure(cursor, What::Io, false)).flatten();
    // The unit eats `/s` only; what is left of `/1017msec` is the slash.
    match amount.and_then(|io| Some((io, run_time(cursor)?))) {
        Some((io, ms)) => {
            figures.push(io);
            Some((figures, ms))
        }
        None => {
            *cursor = start;
            Some((figures, 0))
        }
    }
}

fn run_time(cursor: &mut Cursor<'_>) -> Option<u64> {
    cursor.eat(" / ").then_some(())?;
    let ms = cursor.number()?.count();
    (cursor.eat(" msec") && cursor.eat(" )")).then_some(ms)
}

/// `io=152472KB, bw=152016KB/s, iops=38003, runt=  1003msec`
fn old_direction(cursor: &mut Cursor<'_>, name: &'static str) -> Option<DirectionRow> {
    if !cursor.eat("io=") {
        return None;
    }
    let io = bytes_figure(cursor, What::Io, true)?;
    if !cursor.eat(" , bw=") {
        return None;
    }
    let bw = bytes_figure(cursor, What::Bw, true)?;
    let mut printed = vec![bw, io];
    if cursor.eat(" , iops=") {
        printed.insert(0, count_figure(cursor, What::Iops)?);
    }
    let runtime = cursor.eat(" , runt=").then(|| cursor.number()).flatten();
    let runtime_ms = runtime.filter(|_| cursor.eat(" msec")).map_or(0, |ms| ms.count());
    Some(DirectionRow { name, printed, runtime_ms, old: true })
}

fn kind(cursor: &mut Cursor<'_>) -> Option<Kind> {
    Some(match cursor.any(&["slat", "clat", "lat", "sync"])? {
        "slat" => Kind::Slat,
        "clat" => Kind::Clat,
        "sync" => Kind::Sync,
        _ => Kind::Lat,
    })
}

fn latency(cursor: &mut Cursor<'_>) -> Option<Row> {
    let at = cursor.at;
    let mut kind = kind(cursor)?;
    if cursor.eat(" prio ") {
        kind = Kind::Class;
        cursor.skip_to("(", 20).then_some(())?;
        let near = cursor.near(LINE);
        if let Some(after) = near.find(')').filter(|end| near[..*end].contains('%')) {
            cursor.at += after + 1;
        } else {
            cursor.at -= 1;
        }
    }
    if cursor.eat(" percentiles (") {
        let unit = unit(cursor)?;
        cursor.eat(") :").then_some(())?;
        return Some(Row::Percentiles(kind, percentiles(cursor, unit)));
    }
    cursor.eat(" (").then_some(())?;
    let unit = unit(cursor)?;
    cursor.eat(") : min=").then_some(())?;
    let (min, min_off) = extreme(cursor, unit)?;
    cursor.eat(" , max=").then_some(())?;
    let (max, max_off) = extreme(cursor, unit)?;
    cursor.eat(" , avg=").then_some(())?;
    let mean = cursor.number()?.value * unit as f64;
    cursor.eat(" , stdev=").then_some(())?;
    let stddev = cursor.last_number()?.value * unit as f64;
    let rounding = min_off.max(max_off);
    let latency = Latency {
        min,
        max,
        mean: finite(mean),
        stddev: finite(stddev),
        line: at,
        rounding,
        ..Latency::default()
    };
    Some(Row::Latency(kind, latency))
}

/// Nanoseconds of a unit.
fn unit(cursor: &mut Cursor<'_>) -> Option<u64> {
    Some(match cursor.any(&["nsec", "usec", "msec"])? {
        "nsec" => 1,
        "usec" => 1000,
        _ => 1_000_000,
    })
}

/// `6501.3k`, in a unit; with the part by which it can be off.
fn extreme(cursor: &mut Cursor<'_>, unit: u64) -> Option<(u64, f64)> {
    let number = cursor.number()?;
    let scale = suffix(cursor) * unit as f64;
    let value = number.value * scale;
    let off = if scale > unit as f64 && value > 0.0 { number.step() * scale / value } else { 0.0 };
    Some((value.round() as u64, off))
}

/// `| 1.00th=[ 684], 5.00th=[ 916], …`: what is whole.
fn percentiles(cursor: &mut Cursor<'_>, unit: u64) -> Vec<(f64, u64)> {
    let mut list = Vec::new();
    loop {
        let start = *cursor;
        cursor.eat(" |");
        let item = percentile(cursor);
        let Some((percent, value)) = item else {
            *cursor = start;
            return list;
        };
        list.push((percent, value.saturating_mul(unit)));
        if !cursor.eat(" ,") {
            return list;
        }
    }
}

fn percentile(cursor: &mut Cursor<'_>) -> Option<(f64, u64)> {
    let percent = cursor.number()?.value;
    cursor.eat(" th=[").then_some(())?;
    let value = cursor.number()?.count();
    cursor.eat(" ]").then_some((percent, value))
}

fn bandwidth(cursor: &mut Cursor<'_>) -> Option<Row> {
    let at = cursor.at;
    cursor.eat("bw ( ").then_some(())?;
    let letter = cursor.any(&["K", "k", "M", "G", "T", "B"])?;
    // Up to fio 2.16 `KB/s` are 1024 bytes; later ones print `KiB/s` or, with kb_base=1000, `kB/s`.
    let base = if cursor.eat("i") || letter == "K" { 1024.0 } else { 1000.0 };
    let bits = cursor.eat("bit");
    cursor.eat("B");
    cursor.eat(" /s ) : ").then_some(())?;
    let letter = if letter == "B" { "" } else { letter };
    let unit = super::cursor::power(letter, base) / if bits { 8.0 } else { 1.0 };
    Some(Row::Bandwidth(spread(cursor, unit, at)?))
}

fn iops(cursor: &mut Cursor<'_>) -> Option<Row> {
    let at = cursor.at;
    cursor.eat("iops : ").then_some(())?;
    spread(cursor, 1.0, at).map(Row::Iops)
}

/// `min=88752, max=94208, per=100.00%, avg=91480.00, stdev=1663.65, samples=4`
fn spread(cursor: &mut Cursor<'_>, unit: f64, at: usize) -> Option<Spread> {
    let scaled = |cursor: &mut Cursor<'_>| {
        let number = cursor.number()?;
        Some(number.value * suffix(cursor) * unit)
    };
    cursor.eat("min=").then_some(())?;
    let min = scaled(cursor)?;
    cursor.eat(" , max=").then_some(())?;
    let max = scaled(cursor)?;
    if cursor.eat(" , per=") {
        cursor.number()?;
        cursor.eat(" %").then_some(())?;
    }
    cursor.eat(" , avg=").then_some(())?;
    let mean = cursor.number()?.value * unit;
    cursor.eat(" , stdev=").then_some(())?;
    let stddev = cursor.last_number()?.value * unit;
    let samples = cursor.eat(" , samples=").then(|| cursor.last_number()).flatten().map(|n| n.count());
    Some(Spread { min, max, mean: finite(mean), stddev: finite(stddev), samples, line: at })
}

fn cpu(cursor: &mut Cursor<'_>) -> Option<Row> {
    cursor.eat("cpu : usr=").then_some(())?;
    let usr = cursor.number()?.value;
    cursor.eat(" % , sys=").then_some(())?;
    let sys = cursor.number()?.value;
    cursor.eat(" %").then_some(())?;
    let switches = cursor.eat(" , ctx=").then(|| cursor.number()).flatten().map_or(0, |n| n.count());
    if cursor.eat(" , majf=") {
        cursor.number();
        let _ = cursor.eat(" , minf=") && cursor.last_number().is_some();
    }
    Some(Row::Cpu(finite(usr), finite(sys), switches))
}

fn depths(cursor: &mut Cursor<'_>) -> Option<Row> {
    let label = cursor.any(&["IO depths : ", "submit : ", "complete : "])?;
    let mut depths = Vec::new();
    loop {
        let start = *cursor;
        let over = over(cursor);
        let Some((depth, percent)) = share(cursor) else {
            *cursor = start;
            break;
        };
        depths.push((format!("{}{}", if over { ">=" } else { "" }, depth.text), finite(percent)));
        if !cursor.eat(" ,") {
            break;
        }
    }
    if depths.is_empty() {
        return None;
    }
    Some(if label.starts_with("IO") { Row::Depths(depths) } else { Row::Other })
}

/// `>=` before the last depth; some mailers take `>` at the start of a line for a quote mark.
fn over(cursor: &mut Cursor<'_>) -> bool {
    cursor.any(&[" >=", " ="]).is_some()
}

/// `16=100.0%`
fn share(cursor: &mut Cursor<'_>) -> Option<(Number, f64)> {
    let name = cursor.number()?;
    cursor.eat("=").then_some(())?;
    let percent = cursor.number()?.value;
    cursor.eat("%").then_some((name, percent))
}

/// `lat (usec) : 2=39.19%, 4=21.73%`
fn buckets(cursor: &mut Cursor<'_>) -> Option<Row> {
    cursor.eat("lat (").then_some(())?;
    unit(cursor)?;
    cursor.eat(" ) : ").then_some(())?;
    let mut any = false;
    loop {
        over(cursor);
        if share(cursor).is_none() {
            break;
        }
        any = true;
        if !cursor.eat(" ,") {
            break;
        }
    }
    any.then_some(Row::Other)
}

/// `latency : target=0, window=0, percentile=100.00%, depth=1`
fn target(cursor: &mut Cursor<'_>) -> Option<Row> {
    cursor.eat("latency : target=").then_some(())?;
    if cursor.skip_to("depth=", 120) {
        cursor.last_number();
    }
    Some(Row::Other)
}

fn errors(cursor: &mut Cursor<'_>) -> Option<Row> {
    cursor.eat("errors : total=").then_some(())?;
    let total = cursor.number()?.count();
    cursor.at += cursor.line(LINE).len();
    Some(Row::Errors(total))
}

/// `total=30263,13005,0,0 short=0,0,0,0 dropped=0,0,0,0`, or with `r=30263/w=13005/d=0`, or `0/31953/0`.
fn issued(cursor: &mut Cursor<'_>) -> Option<Row> {
    cursor.any(&["issued rwts : ", "issued rwt : ", "issued r/w/d : ", "issued r/w : ", "issued : "])?;
    cursor.eat("total=").then_some(())?;
    let total = counts(cursor, false);
    if total.is_empty() {
        return None;
    }
    let short = if cursor.eat(" short=") { counts(cursor, false) } else { Vec::new() };
    let dropped =
        if cursor.any(&[" dropped=", " drop="]).is_some() { counts(cursor, true) } else { Vec::new() };
    Some(Row::Issued([total, short, dropped]))
}

/// A list of counts; the last of the last list ends the line.
fn counts(cursor: &mut Cursor<'_>, last: bool) -> Vec<u64> {
    let mut list = Vec::new();
    loop {
        let start = *cursor;
        let _ = cursor.any(&["r=", "w=", "d=", "s="]);
        let number = if last { cursor.last_number() } else { cursor.number() };
        let Some(number) = number else {
            *cursor = start;
            return list;
        };
        list.push(number.count());
        if cursor.any(&[" ,", "/"]).is_none() {
            return list;
        }
    }
}

/// Words that only fio prints and that tell nothing.
fn other(cursor: &mut Cursor<'_>) -> Option<Row> {
    if cursor.any(&["fsync/fdatasync/sync_file_range", "steadystate : "]).is_some() {
        cursor.at += cursor.line(LINE).len();
        return Some(Row::Other);
    }
    if cursor.eat("Starting ") {
        cursor.number()?;
        cursor.any(&[" processes", " process", " threads", " thread"])?;
        if cursor.eat(" and ") {
            cursor.number()?;
            cursor.any(&[" threads", " thread"])?;
        }
        return Some(Row::Other);
    }
    None
}

pub(crate) fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}
