//! From fio's output to a [`Report`]: finds the documents, takes the last, evens out the versions.
//!
//! What differs between versions is told apart by the keys that are there, never by the version's name, which
//! vendors patch: without `io_kbytes` (fio up to 2.20) `io_bytes` counts KiB; `clat_ns` (2.99 and later) holds
//! nanoseconds where `clat` holds microseconds.

use crate::lenient::{self, Value};
use crate::report::{Direction, DiskUtil, Job, Latency, Report};
use thiserror::Error;

/// Lines of text around the documents that are kept.
const MAX_NOISE: usize = 200;

/// Name of the sum over all clients, which would count everything twice.
const ALL_CLIENTS: &str = "All clients";

/// Why there is no report in an output.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParseError {
    /// Nothing but white space: fio was killed before its end, or never ran.
    #[error("fio's output is empty")]
    Empty,
    /// fio before 2.2.12 does not know JSON+ and prints text instead.
    #[error("fio printed text instead of JSON+, which it has since version 2.2.12")]
    Text,
    /// There is output, and no document in it.
    #[error("no JSON document in fio's output, which begins with {first_line:?}")]
    NoDocument {
        /// First line that is not empty, shortened.
        first_line: String,
    },
    /// The only document ends early or is not readable.
    #[error("fio's JSON document breaks off at byte {at}, where {expected} should follow")]
    Broken {
        /// Offset in the output as text.
        at: usize,
        /// What should follow.
        expected: &'static str,
    },
    /// A document without jobs.
    #[error("fio's JSON document has no jobs")]
    NoJobs,
}

/// Reads fio's output file (or standard output), with whatever stands before, between and after its documents.
///
/// # Errors
/// [`ParseError`] where no complete document with jobs is in it. Never panics, whatever the bytes.
pub fn parse(output: &[u8]) -> Result<Report, ParseError> {
    let text = String::from_utf8_lossy(output);
    let found = find(&text);
    let Some(document) = &found.last else {
        return Err(no_document(&text, &found));
    };
    let jobs = jobs(document);
    if jobs.is_empty() {
        return Err(ParseError::NoJobs);
    }
    Ok(Report {
        version: document.get("fio version").and_then(Value::text).unwrap_or_default().to_owned(),
        jobs,
        disk_util: document.get("disk_util").map_or(&[][..], Value::items).iter().map(disk_util).collect(),
        documents: found.documents,
        truncated: found.broken.is_some(),
        noise: noise_lines(&found.noise),
    })
}

/// What a scan of the output found.
#[derive(Default)]
struct Found {
    last: Option<Value>,
    documents: usize,
    /// The failure of a document that begins after the last complete one.
    broken: Option<ParseError>,
    noise: String,
}

fn find(text: &str) -> Found {
    let mut found = Found::default();
    let mut at = 0;
    while let Some(start) = next_document(text, at) {
        found.noise.push_str(&text[at..start]);
        match lenient::read(&text[start..]) {
            Ok((document, length)) => {
                found.last = Some(document);
                found.documents += 1;
                found.broken = None;
                at = start + length;
            }
            Err(unread) => {
                found.broken = Some(ParseError::Broken { at: start + unread.at, expected: unread.expected });
                // A broken document reaches to where it broke, so that this loop stays linear.
                at = char_boundary(text, start + unread.at.max(1));
            }
        }
    }
    if found.broken.is_none() {
        found.noise.push_str(&text[at..]);
    }
    found
}

/// The next `{` at the start of a line that `"fio version"` follows. Error messages may contain braces.
fn next_document(text: &str, from: usize) -> Option<usize> {
    text[from..].match_indices('{').map(|(i, _)| from + i).find(|&brace| {
        let before = text[from..brace].trim_end_matches([' ', '\t']);
        (before.is_empty() || before.ends_with(['\n', '\r']))
            && text[brace + 1..].trim_start().starts_with("\"fio version\"")
    })
}

fn char_boundary(text: &str, at: usize) -> usize {
    (at..=text.len()).find(|&i| text.is_char_boundary(i)).unwrap_or(text.len())
}

fn no_document(text: &str, found: &Found) -> ParseError {
    if let Some(broken) = &found.broken {
        return broken.clone();
    }
    match text.lines().map(str::trim).find(|line| !line.is_empty()) {
        None => ParseError::Empty,
        Some(_) if text.contains("(groupid=") => ParseError::Text,
        Some(line) => ParseError::NoDocument { first_line: line.chars().take(120).collect() },
    }
}

fn noise_lines(noise: &str) -> Vec<String> {
    let lines = noise.split(['\n', '\r']).map(str::trim_end).filter(|line| !line.is_empty());
    lines.take(MAX_NOISE).map(str::to_owned).collect()
}

fn jobs(document: &Value) -> Vec<Job> {
    if let Some(jobs) = document.get("jobs") {
        return jobs.items().iter().map(job).collect();
    }
    let clients = document.get("client_stats").map_or(&[][..], Value::items);
    clients.iter().map(job).filter(|job| job.name != ALL_CLIENTS).collect()
}

fn job(value: &Value) -> Job {
    let direction = |key| value.get(key).map(direction);
    Job {
        name: value.get("jobname").and_then(Value::text).unwrap_or_default().to_owned(),
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
        iodepth_level: levels(value),
    }
}

fn option((name, value): &(String, Value)) -> (String, String) {
    (name.clone(), value.text().unwrap_or_default().to_owned())
}

fn levels(job: &Value) -> Vec<(String, f64)> {
    let levels = job.get("iodepth_level").map_or(&[][..], Value::pairs);
    levels.iter().map(|(depth, percent)| (depth.clone(), finite(percent.float()))).collect()
}

fn direction(value: &Value) -> Direction {
    let unit = if value.get("io_kbytes").is_some() { 1 } else { 1024 };
    let runtime_ms = count(value, "runtime");
    let total_ios = match value.get("total_ios") {
        Some(total) => total.count(),
        None => (float(value, "iops") * runtime_ms as f64 / 1000.0).round() as u64,
    };
    Direction {
        total_ios,
        io_bytes: count(value, "io_bytes").saturating_mul(unit),
        runtime_ms,
        short_ios: count(value, "short_ios"),
        drop_ios: count(value, "drop_ios"),
        slat: latency(value, "slat_ns", "slat", total_ios),
        clat: latency(value, "clat_ns", "clat", total_ios),
        lat: latency(value, "lat_ns", "lat", total_ios),
    }
}

fn latency(direction: &Value, nanos: &str, micros: &str, total_ios: u64) -> Latency {
    let (value, unit) = match (direction.get(nanos), direction.get(micros)) {
        (Some(value), _) => (value, 1),
        (None, Some(value)) => (value, 1000),
        (None, None) => return Latency::default(),
    };
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
    }
}

/// Up to fio 3.3 the list is padded with the key `0.00`; up to 3.17 it is all zeros where nothing was measured.
fn percentiles(latency: &Value, unit: u64, measured: u64) -> Vec<(f64, u64)> {
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
fn bins(latency: &Value, unit: u64) -> Vec<(u64, u64)> {
    let pairs = latency.get("bins").map_or(&[][..], Value::pairs).iter();
    let mut bins: Vec<(u64, u64)> = pairs
        .filter_map(|(middle, count)| Some((middle.parse::<u64>().ok()?.saturating_mul(unit), count.count())))
        .filter(|(_, count)| *count > 0)
        .collect();
    bins.sort_unstable();
    bins
}

fn disk_util(value: &Value) -> DiskUtil {
    DiskUtil {
        name: value.get("name").and_then(Value::text).unwrap_or_default().to_owned(),
        read_ios: count(value, "read_ios"),
        write_ios: count(value, "write_ios"),
        read_merges: count(value, "read_merges"),
        write_merges: count(value, "write_merges"),
        util: float(value, "util"),
    }
}

fn count(value: &Value, key: &str) -> u64 {
    value.get(key).map_or(0, Value::count)
}

fn signed(value: &Value, key: &str) -> i64 {
    match value.get(key) {
        Some(Value::Int(int)) => i64::try_from(*int).unwrap_or(i64::MAX),
        _ => 0,
    }
}

fn float(value: &Value, key: &str) -> f64 {
    finite(value.get(key).map_or(0.0, Value::float))
}

fn finite(float: f64) -> f64 {
    if float.is_finite() { float } else { 0.0 }
}
