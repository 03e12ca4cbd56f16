//! From a JSON document to a [`Report`], with the versions evened out.
//!
//! What differs between versions is told apart by the keys that are there, never by the version's name, which
//! vendors patch: without `io_kbytes` (fio up to 2.20) `io_bytes` counts KiB; `clat_ns` (2.99 and later) holds
//! nanoseconds where `clat` holds microseconds.

use crate::lenient::{Value, digits};
use crate::report::{Basis, Direction, DiskUtil, Figure, Job, Latency, Report, Spread, What};
use std::borrow::Cow;

/// Name of the sum over all clients, which would count everything twice.
const ALL_CLIENTS: &str = "All clients";

/// Whether a name is that of the sum over all clients. A line may be broken inside of it.
pub(crate) fn is_all_clients(name: &str) -> bool {
    let letters = |text: &str| -> String { text.split_whitespace().collect() };
    letters(name) == letters(ALL_CLIENTS)
}

/// Tells the line of the input of an offset of the text; 0 where nobody asks.
pub(crate) type LineOf<'a> = &'a dyn Fn(usize) -> usize;

/// The report of a document, which may lack parts.
pub(crate) fn report(document: &Value<'_>, line: LineOf<'_>) -> Report {
    let list = |key| document.get(key).map_or(&[][..], Value::items);
    let key = if document.get("jobs").is_some() { "jobs" } else { "client_stats" };
    let objects = list(key).iter().filter(|item| !item.pairs().is_empty());
    let (mut sums, mut jobs): (Vec<Job>, Vec<Job>) =
        objects.map(|item| job(item, line)).partition(|job| is_all_clients(&job.name));
    // A sum whose parts are not there is a result itself.
    if jobs.is_empty() {
        std::mem::swap(&mut sums, &mut jobs);
    }
    Report {
        version: text(document, "fio version"),
        time_ms: time_ms(document),
        options: global_options(document),
        jobs,
        all_clients: sums.into_iter().next().map(Box::new),
        disk_util: list("disk_util").iter().map(|disk| disk_util(disk, line)).collect(),
        documents: 1,
        ..Report::default()
    }
}

/// One job or a group of clones.
pub(crate) fn job(value: &Value<'_>, line: LineOf<'_>) -> Job {
    let at = line(value.at());
    let direction = |key| value.get(key).filter(|d| usable(d)).map(|d| direction(d, line));
    let sync = value.get("sync").and_then(|sync| sync.get("lat_ns")).filter(|lat| !lat.is_cut());
    Job {
        name: text(value, "jobname").replace('\n', " "),
        host: value.get("hostname").and_then(Value::text).map(str::to_owned),
        line: at,
        group: signed(value, "groupid"),
        error: signed(value, "error"),
        total_err: count(value, "total_err"),
        job_runtime_ms: value.get("job_runtime").map(Value::count),
        options: value.get("job options").map_or(&[][..], Value::pairs).iter().map(option).collect(),
        read: direction("read").unwrap_or_default(),
        write: direction("write").unwrap_or_default(),
        trim: direction("trim").unwrap_or_default(),
        mixed: direction("mixed"),
        usr: float(value, "usr_cpu"),
        sys: float(value, "sys_cpu"),
        ctx: count(value, "ctx"),
        sync: sync.map(|lat| latency_of(lat, 1, 0, line)).filter(|lat| lat.n > 0),
        iodepth_level: levels(value),
        ..Job::default()
    }
}

/// A direction whose end is missing is of use where its counters are there, which stand first.
fn usable(direction: &Value<'_>) -> bool {
    !direction.is_cut() || ["io_bytes", "runtime", "total_ios"].iter().all(|key| direction.get(key).is_some())
}

fn time_ms(document: &Value<'_>) -> Option<u64> {
    let seconds = || document.get("timestamp").map(|seconds| seconds.count().saturating_mul(1000));
    document.get("timestamp_ms").map(Value::count).or_else(seconds)
}

/// An object, or since fio 3.39 with several clients an array of them, with the client's address among the options.
fn global_options(document: &Value<'_>) -> Vec<(String, String)> {
    let Some(options) = document.get("global options") else { return Vec::new() };
    let objects = std::iter::once(options).chain(options.items());
    let pairs = objects.flat_map(|object| object.pairs().iter());
    pairs.filter(|(name, _)| name != "hostname" && name != "port").map(option).collect()
}

fn option((name, value): &(Cow<'_, str>, Value<'_>)) -> (String, String) {
    (name.clone().into_owned(), value.text().unwrap_or_default().trim().to_owned())
}

fn levels(job: &Value<'_>) -> Vec<(String, f64)> {
    let levels = job.get("iodepth_level").map_or(&[][..], Value::pairs);
    levels.iter().map(|(depth, percent)| (depth.clone().into_owned(), finite(percent.float()))).collect()
}

fn direction(value: &Value<'_>, line: LineOf<'_>) -> Direction {
    let unit = if value.get("io_kbytes").is_some() { 1 } else { 1024 };
    let runtime_ms = count(value, "runtime");
    let told = value.get("total_ios").map(Value::count);
    let total_ios =
        told.unwrap_or_else(|| (float(value, "iops") * runtime_ms as f64 / 1000.0).round() as u64);
    let io_bytes = count(value, "io_bytes").saturating_mul(unit);
    let basis = |known: bool, of: u64| match (of, known) {
        (0, _) => Basis::Absent,
        (_, true) => Basis::Counted,
        (_, false) => Basis::Rounded,
    };
    let at = line(value.at());
    Direction {
        total_ios,
        io_bytes,
        iops: per_second(total_ios, runtime_ms),
        bw: per_second(io_bytes, runtime_ms),
        ios_basis: basis(told.is_some(), total_ios),
        bytes_basis: basis(true, io_bytes),
        printed: printed(value, at),
        bw_samples: spread(value, ["bw_min", "bw_max", "bw_mean", "bw_dev", "bw_samples"], 1024.0, at),
        iops_samples: spread(
            value,
            ["iops_min", "iops_max", "iops_mean", "iops_stddev", "iops_samples"],
            1.0,
            at,
        ),
        line: at,
        runtime_ms,
        short_ios: count(value, "short_ios"),
        drop_ios: count(value, "drop_ios"),
        slat: latency(value, "slat_ns", "slat", total_ios, line),
        clat: latency(value, "clat_ns", "clat", total_ios, line),
        lat: latency(value, "lat_ns", "lat", total_ios, line),
    }
}

/// Amount a second of a run time in milliseconds; 0 where that is 0.
pub(crate) fn per_second(amount: u64, runtime_ms: u64) -> f64 {
    if runtime_ms == 0 { 0.0 } else { amount as f64 * 1000.0 / runtime_ms as f64 }
}

/// The rates that fio computed itself: whole numbers are cut, `bw` counts KiB.
fn printed(direction: &Value<'_>, line: usize) -> Vec<Figure> {
    let figure = |key: &str, what, unit: f64| {
        let Some(Value::Number(text)) = direction.get(key) else { return None };
        let value = finite(text.parse().ok()?);
        let step = if text.contains('.') { 1e-6 } else { 1.0 };
        let (value, high) = (value * unit, (value + step) * unit);
        (value > 0.0).then(|| Figure {
            what,
            value,
            low: value,
            high,
            carry: None,
            line,
            text: text.clone().into_owned(),
        })
    };
    let bw = figure("bw_bytes", What::Bw, 1.0).or_else(|| figure("bw", What::Bw, 1024.0));
    figure("iops", What::Iops, 1.0).into_iter().chain(bw).collect()
}

fn spread(direction: &Value<'_>, keys: [&str; 5], unit: f64, line: usize) -> Option<Spread> {
    if direction.is_cut() && keys.iter().any(|key| direction.get(key).is_none()) {
        return None;
    }
    let [min, max, mean, stddev, samples] = keys;
    let scaled = |key| float(direction, key) * unit;
    let spread = Spread {
        min: scaled(min),
        max: scaled(max),
        mean: scaled(mean),
        stddev: scaled(stddev),
        samples: direction.get(samples).map(Value::count),
        line,
    };
    (spread.mean > 0.0).then_some(spread)
}

fn latency(direction: &Value<'_>, nanos: &str, micros: &str, total_ios: u64, line: LineOf<'_>) -> Latency {
    let (value, unit) = match (direction.get(nanos), direction.get(micros)) {
        (Some(value), _) => (value, 1),
        (None, Some(value)) => (value, 1000),
        (None, None) => return Latency::default(),
    };
    if value.is_cut() { Latency::default() } else { latency_of(value, unit, total_ios, line) }
}

fn latency_of(value: &Value<'_>, unit: u64, total_ios: u64, line: LineOf<'_>) -> Latency {
    let mean = value.get("mean").map_or(0.0, Value::float) * unit as f64;
    let told = value.get("N").map(Value::count);
    let measured = told.unwrap_or(if mean > 0.0 { total_ios } else { 0 });
    Latency {
        min: count(value, "min").saturating_mul(unit),
        max: count(value, "max").saturating_mul(unit),
        mean: finite(mean),
        stddev: finite(float(value, "stddev") * unit as f64),
        n: if mean.is_finite() { measured } else { 0 },
        percentiles: percentiles(value, unit, measured),
        bins: bins(value, unit),
        line: line(value.at()),
        rounding: 0.0,
    }
}

/// Up to fio 3.3 the list is padded with the key `0.00`; up to 3.17 it is all zeros where nothing was measured.
fn percentiles(latency: &Value<'_>, unit: u64, measured: u64) -> Vec<(f64, u64)> {
    if measured == 0 {
        return Vec::new();
    }
    let pairs = latency.get("percentile").map_or(&[][..], Value::pairs).iter();
    let mut list: Vec<(f64, u64)> = pairs
        .filter_map(|(percent, value)| Some((percent.parse().ok()?, value.count().saturating_mul(unit))))
        .filter(|(percent, _): &(f64, u64)| *percent > 0.0 && *percent <= 100.0)
        .collect();
    list.sort_by(|a, b| a.0.total_cmp(&b.0));
    list
}

/// fio 2.2.12 to 2.19 also put their bucket geometry (`FIO_IO_U_PLAT_BITS` and others) here.
fn bins(latency: &Value<'_>, unit: u64) -> Vec<(u64, u64)> {
    let scaled = |(middle, count): (u64, u64)| (count > 0).then_some((middle.saturating_mul(unit), count));
    let pair = |(middle, value): &(Cow<'_, str>, Value<'_>)| scaled((digits(middle)?, value.count()));
    let mut bins: Vec<(u64, u64)> = match latency.get("bins") {
        Some(Value::Counts(counts)) => counts.iter().copied().filter_map(scaled).collect(),
        Some(object) => object.pairs().iter().filter_map(pair).collect(),
        None => Vec::new(),
    };
    if !bins.is_sorted() {
        bins.sort_unstable();
    }
    bins
}

fn disk_util(value: &Value<'_>, line: LineOf<'_>) -> DiskUtil {
    let sectors =
        value.get("read_sectors").map(|_| (count(value, "read_sectors"), count(value, "write_sectors")));
    DiskUtil {
        name: text(value, "name"),
        read_ios: count(value, "read_ios"),
        write_ios: count(value, "write_ios"),
        read_merges: count(value, "read_merges"),
        write_merges: count(value, "write_merges"),
        sectors,
        ticks: (count(value, "read_ticks"), count(value, "write_ticks")),
        in_queue: count(value, "in_queue"),
        util: float(value, "util"),
        line: line(value.at()),
    }
}

fn text(value: &Value<'_>, key: &str) -> String {
    value.get(key).and_then(Value::text).unwrap_or_default().to_owned()
}

fn count(value: &Value<'_>, key: &str) -> u64 {
    value.get(key).map_or(0, Value::count)
}

fn signed(value: &Value<'_>, key: &str) -> i64 {
    value.get(key).map_or(0, Value::signed)
}

fn float(value: &Value<'_>, key: &str) -> f64 {
    finite(value.get(key).map_or(0.0, Value::float))
}

fn finite(float: f64) -> f64 {
    if float.is_finite() { float } else { 0.0 }
}
