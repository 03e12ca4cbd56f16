//! fio's terse output, versions 2 to 5: one line of fields a job, separated by semicolons.
//!
//! Amounts are KiB, latencies microseconds, both cut to whole numbers. I/Os are not told: they are computed from the
//! rate and the run time.

use crate::clean::Clean;
use crate::found::{Damage, Format};
use crate::json::per_second;
use crate::read::Draft;
use crate::report::{Basis, Direction, DiskUtil, Figure, Job, Latency, Report, Spread, What};
use std::ops::Range;

/// Lines that one record may be broken into.
const MAX_LINES: usize = 64;

/// Percentiles of a direction, padded with `0%=0`.
const PERCENTILES: usize = 20;

/// Fields behind the directions: processor, depths, buckets.
const TAIL: usize = 5 + 7 + 10 + 12;

/// All terse documents in the ranges of the text; records that follow each other are the jobs of one. At most `most`
/// records are read.
pub(crate) fn documents(clean: &Clean<'_>, ranges: &[Range<usize>], most: usize) -> Vec<Draft> {
    let text = &*clean.text;
    let mut drafts: Vec<Draft> = Vec::new();
    let mut left = most;
    for range in ranges {
        let mut at = range.start;
        while at < range.end && left > 0 {
            let end = line_end(text, at, range.end);
            let Some(version) = begins(&text[at..end]) else {
                at = end + 1;
                continue;
            };
            let Some((record, end)) = record(text, at..range.end, version) else {
                at = end + 1;
                continue;
            };
            add(&mut drafts, clean, &record, at..end);
            left -= 1;
            at = end + 1;
        }
    }
    drafts
}

fn line_end(text: &str, at: usize, limit: usize) -> usize {
    memchr::memchr(b'\n', &text.as_bytes()[at..limit]).map_or(limit, |i| at + i)
}

/// The terse version of a line that begins a record.
fn begins(line: &str) -> Option<u8> {
    let line = line.trim_start();
    let version = *line.as_bytes().first()?;
    let rest = line.get(1..)?.strip_prefix(';')?;
    let named = rest.starts_with("fio-");
    match version {
        b'3'..=b'5' if named => Some(version - b'0'),
        // Version 2 does not name fio: its third and fourth fields are numbers.
        b'2' if rest.split(';').skip(1).take(3).filter(|field| field.parse::<i64>().is_ok()).count() == 3 => {
            Some(2)
        }
        _ => None,
    }
}

/// Field counts: before the directions, of one direction, directions.
fn layout(version: u8) -> (usize, usize, usize) {
    let direction = 4 + 4 + 4 + PERCENTILES + 4 + 5;
    match version {
        2 => (4, direction, 2),
        3 => (5, direction, 2),
        4 => (5, direction, 3),
        _ => (5, direction + 6, 3),
    }
}

/// The fields of the record at the start of `range`, joined where the line was broken, and its end. Fewer fields than
/// the version has are what a cut left.
fn record(text: &str, range: Range<usize>, version: u8) -> Option<(Vec<String>, usize)> {
    let (head, direction, directions) = layout(version);
    let least = head + direction * directions + TAIL;
    let mut joined = String::new();
    let mut at = range.start;
    let mut fields = 0;
    for _ in 0..MAX_LINES {
        let end = line_end(text, at, range.end);
        let line = &text[at..end];
        let more = at > range.start;
        let next = begins(line).is_some_and(|found| found > 2 || version == 2);
        if more && (fields >= least || !line.contains(';') || next) {
            break;
        }
        joined.push_str(if more { line.trim() } else { line.trim_start() });
        fields += memchr::memchr_iter(b';', line.as_bytes()).count();
        at = (end + 1).min(range.end);
        if end == range.end {
            // The last field may be cut.
            at = range.end + 1;
            break;
        }
    }
    let mut list: Vec<String> = joined.trim_end().split(';').map(str::to_owned).collect();
    if list.len() < least || at > range.end {
        list.pop();
    }
    // Nothing but their number tells the fields of version 2 from others.
    let enough = if version == 2 { list.len() >= least } else { list.len() > head + 4 };
    enough.then_some((list, at - 1))
}

/// Adds a record: to the run before it where it is another job of that run, else as a run of its own. Clones tell the same
/// disks; a second run of the same job does not.
fn add(drafts: &mut Vec<Draft>, clean: &Clean<'_>, fields: &[String], bytes: Range<usize>) {
    let line = clean.line(bytes.start);
    let terse: u8 = fields[0].parse().unwrap_or(3);
    let record = Record { fields, line, layout: layout(terse) };
    let version = if terse == 2 { "" } else { fields[1].as_str() };
    let (job, disks) = (record.job(), record.disks());
    let damage = if record.is_whole() { None } else { Some(Damage::Cut) };
    match drafts.last_mut() {
        Some(last)
            if last.report.version == version
                && alike(&last.report.disk_util, &disks)
                && clean.text[last.bytes.end..bytes.start].trim().is_empty()
                && last.report.jobs.last().is_none_or(|before| before.group <= job.group) =>
        {
            last.report.jobs.push(job);
            last.bytes.end = bytes.end;
            if let Some(damage) = damage.filter(|damage| !last.salvaged.contains(damage)) {
                last.salvaged.push(damage);
            }
        }
        _ => drafts.push(Draft {
            format: Format::Terse,
            report: Report {
                version: version.to_owned(),
                jobs: vec![job],
                disk_util: disks,
                documents: 1,
                ..Report::default()
            },
            salvaged: damage.into_iter().collect(),
            bytes,
            heading: None,
        }),
    }
}

/// Whether two records tell the same of the disks.
fn alike(one: &[DiskUtil], other: &[DiskUtil]) -> bool {
    let numbers = |disk: &DiskUtil| DiskUtil { line: 0, ..disk.clone() };
    one.iter().map(numbers).eq(other.iter().map(numbers))
}

struct Record<'a> {
    fields: &'a [String],
    line: usize,
    /// See [`layout`].
    layout: (usize, usize, usize),
}

impl Record<'_> {
    fn tail(&self) -> usize {
        let (head, direction, directions) = self.layout;
        head + direction * directions
    }

    fn is_whole(&self) -> bool {
        self.fields.len() >= self.tail() + TAIL
    }

    fn text(&self, at: usize) -> &str {
        self.fields.get(at).map_or("", |field| field.trim().trim_end_matches('%'))
    }

    fn float(&self, at: usize) -> f64 {
        self.text(at).parse().ok().filter(|value: &f64| value.is_finite()).unwrap_or(0.0)
    }

    fn count(&self, at: usize) -> u64 {
        self.text(at).parse().unwrap_or(0)
    }

    fn job(&self) -> Job {
        let (head, direction, directions) = self.layout;
        let at = |i: usize| head + direction * i;
        let read = |i: usize| {
            let whole = i < directions && self.fields.len() >= at(i) + direction;
            if whole { self.direction(at(i)) } else { Direction::default() }
        };
        let tail = self.tail();
        let depths = ["1", "2", "4", "8", "16", "32", ">=64"];
        let levels =
            depths.iter().enumerate().map(|(i, depth)| ((*depth).to_owned(), self.float(tail + 5 + i)));
        Job {
            name: self.text(head - 3).to_owned(),
            group: self.count(head - 2) as i64,
            error: self.text(head - 1).parse().unwrap_or(0),
            line: self.line,
            read: read(0),
            write: read(1),
            trim: read(2),
            usr: self.float(tail),
            sys: self.float(tail + 1),
            ctx: self.count(tail + 2),
            iodepth_level: if self.is_whole() { levels.collect() } else { Vec::new() },
            ..Job::default()
        }
    }

    /// `io;bw;iops;runtime`, submission, completion, percentiles, total latency, samples.
    fn direction(&self, at: usize) -> Direction {
        let io_bytes = self.count(at).saturating_mul(1024);
        let runtime_ms = self.count(at + 3);
        let iops = self.float(at + 2);
        let total_ios = (iops * runtime_ms as f64 / 1000.0).round() as u64;
        let basis = |known: u64| if known > 0 { Basis::Rounded } else { Basis::Absent };
        let latency = at + 12 + PERCENTILES;
        let samples = latency + 4;
        let long = self.layout.1 > 41;
        Direction {
            total_ios,
            io_bytes,
            iops,
            bw: per_second(io_bytes, runtime_ms),
            ios_basis: basis(total_ios),
            bytes_basis: basis(io_bytes),
            printed: self.printed(at),
            runtime_ms,
            line: self.line,
            slat: self.latency(at + 4, total_ios, Vec::new()),
            clat: self.latency(at + 8, total_ios, self.percentiles(at + 12)),
            lat: self.latency(latency, total_ios, Vec::new()),
            bw_samples: self.spread(samples, [0, 1, 3, 4], long.then_some(5), 1024.0),
            iops_samples: if long { self.spread(samples + 6, [0, 1, 2, 3], Some(4), 1.0) } else { None },
            ..Direction::default()
        }
    }

    fn printed(&self, at: usize) -> Vec<Figure> {
        let figure = |at: usize, what, unit: f64| {
            let value = self.float(at) * unit;
            let text = self.text(at).to_owned();
            (value > 0.0).then_some(Figure {
                what,
                value,
                low: value,
                high: value + unit,
                carry: None,
                line: self.line,
                text,
            })
        };
        let figures =
            [figure(at + 2, What::Iops, 1.0), figure(at + 1, What::Bw, 1024.0), figure(at, What::Io, 1024.0)];
        figures.into_iter().flatten().collect()
    }

    fn latency(&self, at: usize, total_ios: u64, percentiles: Vec<(f64, u64)>) -> Latency {
        let mean = self.float(at + 2) * 1000.0;
        Latency {
            min: self.count(at).saturating_mul(1000),
            max: self.count(at + 1).saturating_mul(1000),
            mean,
            stddev: self.float(at + 3) * 1000.0,
            n: if mean > 0.0 { total_ios } else { 0 },
            percentiles: if mean > 0.0 { percentiles } else { Vec::new() },
            line: self.line,
            ..Latency::default()
        }
    }

    /// `99.000000%=165`
    fn percentiles(&self, at: usize) -> Vec<(f64, u64)> {
        let pair = |field: &String| {
            let (percent, micros) = field.split_once("%=")?;
            let percent: f64 = percent.parse().ok()?;
            Some((percent, micros.parse::<u64>().ok()?.saturating_mul(1000)))
        };
        let fields = self.fields.iter().skip(at).take(PERCENTILES);
        fields.filter_map(pair).filter(|(percent, _)| *percent > 0.0).collect()
    }

    /// Minimum, maximum, mean and deviation at offsets from `at`, and the number of samples.
    fn spread(&self, at: usize, offsets: [usize; 4], samples: Option<usize>, unit: f64) -> Option<Spread> {
        let [min, max, mean, stddev] = offsets.map(|offset| self.float(at + offset) * unit);
        let samples = samples.map(|offset| self.count(at + offset));
        (mean > 0.0).then_some(Spread { min, max, mean, stddev, samples, line: self.line })
    }

    /// Groups of nine fields, of which the last is a percentage; a description may follow.
    fn disks(&self) -> Vec<DiskUtil> {
        let tail = self.fields.get(self.tail() + TAIL..).unwrap_or(&[]);
        let base = self.tail() + TAIL;
        let disks = tail.chunks_exact(9).enumerate();
        disks
            .take_while(|(_, disk)| {
                disk[8].trim().ends_with('%') && disk[1..8].iter().all(|f| f.parse::<u64>().is_ok())
            })
            .map(|(i, _)| {
                let at = base + i * 9;
                DiskUtil {
                    name: self.text(at).to_owned(),
                    read_ios: self.count(at + 1),
                    write_ios: self.count(at + 2),
                    read_merges: self.count(at + 3),
                    write_merges: self.count(at + 4),
                    ticks: (self.count(at + 5), self.count(at + 6)),
                    in_queue: self.count(at + 7),
                    util: self.float(at + 8),
                    line: self.line,
                    ..DiskUtil::default()
                }
            })
            .collect()
    }
}
