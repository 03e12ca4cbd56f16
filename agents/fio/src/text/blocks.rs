//! Rows that begin something: jobs before and after the run, "Run status" and "Disk stats".

use super::cursor::Cursor;
use super::figures::bytes_figure;
use crate::report::{DiskUtil, Figure, GroupLine, What};

/// Longest name that is looked for before a bracket.
const NAME: usize = 200;

/// `NAME: (groupid=0, jobs=2): err= 0: pid=7081: Mon Nov 30 21:29:22 2026`
pub(crate) struct Header {
    /// Name of the job.
    pub(crate) name: String,
    /// Where the name begins.
    pub(crate) at: usize,
    pub(crate) group: i64,
    pub(crate) members: u64,
    pub(crate) error: i64,
    pub(crate) pid: Option<u64>,
}

/// The header whose `(groupid=` is at the cursor.
pub(crate) fn header(text: &str, cursor: &mut Cursor<'_>, floor: usize) -> Option<Header> {
    let open = cursor.at;
    cursor.eat("(groupid=").then_some(())?;
    let group = cursor.number()?.count();
    cursor.eat(" , jobs=").then_some(())?;
    let members = cursor.number()?.count();
    cursor.eat(" )").then_some(())?;
    let (at, name) = name_before(text, open, floor);
    let mut header =
        Header { name, at, group: i64::try_from(group).unwrap_or(0), members, error: 0, pid: None };
    let error = *cursor;
    if cursor.eat(" : err= ") {
        match cursor.number() {
            Some(number) => header.error = number.value as i64,
            None => *cursor = error,
        }
    }
    let behind = *cursor;
    if cursor.skip_to("pid=", 300) && !text[behind.at..cursor.at].contains("(groupid=") {
        header.pid = cursor.number().map(|pid| pid.count());
        date(cursor);
    } else {
        *cursor = behind;
    }
    Some(header)
}

/// `: Mon Nov 30 21:29:22 2026`
fn date(cursor: &mut Cursor<'_>) {
    let start = *cursor;
    let days = ["Mon ", "Tue ", "Wed ", "Thu ", "Fri ", "Sat ", "Sun "];
    if !cursor.eat(" : ") || cursor.any(&days).is_none() {
        *cursor = start;
        return;
    }
    // Month, day, time, year: words that may be on the next line.
    for _ in 0..4 {
        cursor.blank();
        let rest = cursor.near(16);
        let word = rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len());
        if word > 12 || !rest.is_char_boundary(word) {
            return;
        }
        cursor.at += word;
    }
}

/// The name before `: (…`: from the start of its line, or the last word where fio's own words stand before it.
fn name_before(text: &str, open: usize, floor: usize) -> (usize, String) {
    let mut low = floor.max(open.saturating_sub(NAME)).min(open);
    while !text.is_char_boundary(low) {
        low += 1;
    }
    let above = text[low..open].trim_end();
    let above = above.strip_suffix(':').unwrap_or(above).trim_end();
    let start = above.rfind('\n').map_or(0, |i| i + 1);
    let line = &above[start..];
    let word = line.rfind(' ').map_or(0, |i| i + 1);
    let filled = ["depth=", "util=", "msec", "...", "process", "thread", "minf="];
    let own = filled.iter().any(|words| line[..word].contains(words));
    let from = if own { word } else { line.len() - line.trim_start().len() };
    (low + start + from, line[from..].trim().to_owned())
}

/// `NAME: (g=0): rw=randrw, bs=…, ioengine=psync, iodepth=1`
pub(crate) struct Preamble {
    pub(crate) name: String,
    /// Where the name begins.
    pub(crate) at: usize,
    pub(crate) options: Vec<(String, String)>,
}

/// The preamble whose `(g=` is at the cursor.
pub(crate) fn preamble(text: &str, cursor: &mut Cursor<'_>, floor: usize) -> Option<Preamble> {
    let open = cursor.at;
    cursor.eat("(g=").then_some(())?;
    cursor.number()?;
    cursor.eat(" ) : rw=").then_some(())?;
    let mut options = vec![("rw".to_owned(), word(cursor))];
    if cursor.eat(" , bs=") {
        options.extend(block_sizes(cursor));
    }
    for name in ["ioengine", "iodepth"] {
        if cursor.eat(" ,") && cursor.eat(" ") && cursor.eat(name) && cursor.eat("=") {
            options.push((name.to_owned(), word(cursor)));
        }
    }
    cursor.eat(" ...");
    let (at, name) = name_before(text, open, floor);
    Some(Preamble { name, at, options })
}

/// Up to the next comma or blank; a break directly behind `=` is skipped.
fn word(cursor: &mut Cursor<'_>) -> String {
    cursor.blank();
    let rest = cursor.near(NAME);
    let end = rest.find(|c: char| c == ',' || c.is_whitespace()).unwrap_or(rest.len());
    let all = end == cursor.rest().len();
    cursor.at += end;
    // What the end of the text touches may be longer.
    if all { String::new() } else { rest[..end].to_owned() }
}

/// `4K-4K/4K-4K/4K-4K` or `(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B` as fio's option `bs`, where each direction
/// has one size.
fn block_sizes(cursor: &mut Cursor<'_>) -> Option<(String, String)> {
    let mut sizes = Vec::new();
    loop {
        let start = *cursor;
        let _ = cursor.any(&["(R) ", "(W) ", "(T) ", "(C) "]);
        let Some((low, high)) = range(cursor) else {
            *cursor = start;
            break;
        };
        sizes.push(if low == high { low.to_string() } else { format!("{low}-{high}") });
        let next = *cursor;
        let more = cursor.eat("/") || (cursor.eat(" ,") && cursor.eat(" ") && cursor.rest().starts_with('('));
        if !more {
            *cursor = next;
            break;
        }
    }
    let alike = sizes.windows(2).all(|pair| pair[0] == pair[1]);
    let first = sizes.first()?.clone();
    let name = if sizes.iter().any(|size| size.contains('-')) { "bsrange" } else { "bs" };
    Some((name.to_owned(), if alike { first } else { sizes.join(",") }))
}

fn range(cursor: &mut Cursor<'_>) -> Option<(u64, u64)> {
    let low = size(cursor)?;
    cursor.eat(" - ").then_some(())?;
    Some((low, size(cursor)?))
}

fn size(cursor: &mut Cursor<'_>) -> Option<u64> {
    let number = cursor.number()?;
    let letter = cursor.any(&["k", "K", "M", "G"]).unwrap_or("");
    cursor.eat("i");
    cursor.eat("B");
    Some((number.value * super::cursor::power(letter, 1024.0)).round() as u64)
}

/// `Run status group 0 (all jobs):`
pub(crate) fn run_status(cursor: &mut Cursor<'_>) -> Option<i64> {
    cursor.eat("Run status group ").then_some(())?;
    let group = cursor.number()?.count();
    cursor.eat(" (all jobs) :");
    i64::try_from(group).ok()
}

/// `READ: bw=118MiB/s (124MB/s), 118MiB/s-118MiB/s (124MB/s-124MB/s), io=118MiB (124MB), run=1001-1001msec`
pub(crate) fn group_line(cursor: &mut Cursor<'_>, group: i64) -> Option<GroupLine> {
    let line = cursor.at;
    let name = cursor.any(&["READ", "WRITE", "TRIM", "MIXED"])?;
    cursor.eat(" : ").then_some(())?;
    let direction = name.to_ascii_lowercase();
    let mut row = GroupLine { group, direction, line, ..GroupLine::default() };
    if cursor.eat("bw=") {
        new_group_line(cursor, &mut row)?;
    } else {
        old_group_line(cursor, &mut row)?;
    }
    Some(row)
}

fn new_group_line(cursor: &mut Cursor<'_>, row: &mut GroupLine) -> Option<()> {
    row.printed.push(bytes_figure(cursor, What::Bw, false)?);
    row.printed.extend(bracketed(cursor, What::BwOther));
    let start = *cursor;
    if cursor.eat(" , ") && !cursor.rest().starts_with("io=") {
        let low = bytes_figure(cursor, What::BwMin, false).filter(|_| cursor.eat(" - "));
        let high = low.is_some().then(|| bytes_figure(cursor, What::BwMax, false)).flatten();
        match (low, high) {
            (Some(low), Some(high)) => row.printed.extend([low, high]),
            _ => *cursor = start,
        }
        if cursor.eat(" (") {
            cursor.skip_to(")", 80);
        }
    } else {
        *cursor = start;
    }
    if cursor.eat(" , io=") {
        row.printed.push(bytes_figure(cursor, What::Io, false)?);
        row.printed.extend(bracketed(cursor, What::IoOther));
    }
    if cursor.eat(" , run=") {
        let low = cursor.number()?.count();
        cursor.eat(" - ").then_some(())?;
        let high = cursor.number()?.count();
        if cursor.eat(" msec") {
            (row.runtime_min_ms, row.runtime_max_ms) = (low, high);
        }
    }
    Some(())
}

fn bracketed(cursor: &mut Cursor<'_>, what: What) -> Option<Figure> {
    let start = *cursor;
    let figure = cursor.eat(" (").then(|| bytes_figure(cursor, what, false)).flatten();
    let closed = figure.filter(|_| cursor.eat(" )"));
    if closed.is_none() {
        *cursor = start;
    }
    closed
}

/// `io=152472KB, aggrb=152015KB/s, minb=152015KB/s, maxb=152015KB/s, mint=1003msec, maxt=1003msec`
fn old_group_line(cursor: &mut Cursor<'_>, row: &mut GroupLine) -> Option<()> {
    cursor.eat("io=").then_some(())?;
    let io = bytes_figure(cursor, What::Io, true)?;
    let rest = [(" , aggrb=", What::Bw), (" , minb=", What::BwMin), (" , maxb=", What::BwMax)];
    for (label, what) in rest {
        if cursor.eat(label) {
            row.printed.push(bytes_figure(cursor, what, true)?);
        }
    }
    row.printed.push(io);
    let time = |cursor: &mut Cursor<'_>, label: &str| {
        let number = cursor.eat(label).then(|| cursor.number()).flatten();
        number.filter(|_| cursor.eat(" msec")).map_or(0, |ms| ms.count())
    };
    row.runtime_min_ms = time(cursor, " , mint=");
    row.runtime_max_ms = time(cursor, " , maxt=");
    Some(())
}

/// `vda: ios=10127/4019, merge=0/0, ticks=544/2214, in_queue=2758, util=32.53%`, of which `ios=` is at the cursor.
pub(crate) fn disk(text: &str, cursor: &mut Cursor<'_>, floor: usize) -> Option<DiskUtil> {
    let open = cursor.at;
    cursor.eat("ios=").then_some(())?;
    let (read_ios, write_ios) = pair(cursor)?;
    let sectors = cursor.eat(" , sectors=").then(|| pair(cursor)).flatten();
    cursor.eat(" , merge=").then_some(())?;
    let (read_merges, write_merges) = pair(cursor)?;
    cursor.eat(" , ticks=").then_some(())?;
    let ticks = pair(cursor)?;
    cursor.eat(" , in_queue=").then_some(())?;
    let in_queue = cursor.number()?.count();
    cursor.eat(" , util=").then_some(())?;
    let util = cursor.number()?.value;
    cursor.eat(" %").then_some(())?;
    if cursor.eat(" , aggrios=") {
        cursor.skip_to("%", 200);
    }
    let (line, name) = name_before(text, open, floor);
    let name = name.rsplit(' ').next().unwrap_or("").to_owned();
    Some(DiskUtil {
        name,
        read_ios,
        write_ios,
        read_merges,
        write_merges,
        sectors,
        ticks,
        in_queue,
        util,
        line,
    })
}

/// `15713/5325`
fn pair(cursor: &mut Cursor<'_>) -> Option<(u64, u64)> {
    let first = cursor.number()?.count();
    cursor.eat(" / ").then_some(())?;
    Some((first, cursor.number()?.count()))
}
