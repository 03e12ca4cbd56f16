//! From inputs to the numbers of results.

use crate::cell::label;
use crate::judge::Remark;
use kab_fio::{Direction, Document, Found, Grade, Job, grade, percentile, read_any};
use kab_mail::{Kind, Line};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Reasons of one input that are told; more of them say no more.
const REASONS: usize = 3;

/// What one input holds: a few numbers of each result, whatever its size.
#[derive(Debug)]
pub struct Reading {
    input: String,
    results: Vec<Outcome>,
    remarks: Vec<Remark>,
}

/// One result that counts.
#[derive(Debug)]
struct Outcome {
    /// The text above it.
    heading: Option<String>,
    version: String,
    cells: Vec<(String, Numbers)>,
}

/// The numbers of one cell in one result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    pub(crate) iops: Option<f64>,
    pub(crate) bw: Option<f64>,
    pub(crate) clat_mean: Option<f64>,
    pub(crate) percentile: Option<f64>,
}

impl Reading {
    /// Finds all results in these bytes: files of fio, captures, text around them, mails in any encoding, also compressed with
    /// gzip. `input` is its name in remarks; `percent` the percentile of completion latency that is kept, such as 99.
    pub fn of(input: &str, bytes: &[u8], percent: f64) -> Self {
        let Some(lines) = decoded(bytes) else { return Self::of_text(input, bytes, percent, |line| line) };
        let text =
            lines.iter().map(|line| line.text.replace(['\n', '\r'], " ")).collect::<Vec<_>>().join("\n");
        let place = |line: usize| lines.get(line.wrapping_sub(1)).map_or(line, |line| line.number);
        Self::of_text(input, text.as_bytes(), percent, place)
    }

    fn of_text(input: &str, bytes: &[u8], percent: f64, place: impl Fn(usize) -> usize) -> Self {
        let found = read_any(bytes);
        let mut reading = Self { input: input.to_owned(), results: Vec::new(), remarks: Vec::new() };
        for document in found.counted() {
            reading.document(&found, document, percent, &place);
        }
        if found.documents.is_empty() {
            reading.remarks.push(Remark {
                input: input.to_owned(),
                line: 0,
                text: "no output of fio in it".to_owned(),
            });
        }
        reading
    }

    fn document(
        &mut self,
        found: &Found,
        document: &Document,
        percent: f64,
        place: &impl Fn(usize) -> usize,
    ) {
        let grading = grade(found, document, None);
        for reason in grading.reasons.iter().filter(|reason| reason.grade >= Grade::Doubtful).take(REASONS) {
            let left_out = if grading.grade == Grade::Unusable { "left out: " } else { "" };
            let text = format!("{left_out}{}", reason.detail);
            self.remarks.push(Remark { input: self.input.clone(), line: place(reason.line), text });
        }
        if grading.grade == Grade::Unusable {
            return;
        }
        let heading = document.heading.as_ref().map(|heading| heading.text.trim_end_matches(':').to_owned());
        let cells =
            cells(document).into_iter().map(|(cell, parts)| (cell, numbers(&parts, percent))).collect();
        self.results.push(Outcome { heading, version: document.report.version.clone(), cells });
    }

    /// Results that count.
    pub fn count(&self) -> usize {
        self.results.len()
    }
}

/// The lines of a mail as its reader sees them, or of something compressed; nothing for everything else, which needs no
/// decoding.
fn decoded(bytes: &[u8]) -> Option<Vec<Line>> {
    let compressed = bytes.starts_with(&[0x1f, 0x8b]);
    if !compressed && !matches!(kab_mail::kind(bytes), Kind::Mail | Kind::Mbox) {
        return None;
    }
    let posted = kab_mail::read(bytes).ok()?;
    let lines = posted.mails.into_iter().flat_map(|mail| {
        mail.body.into_iter().chain(mail.attachments.into_iter().flat_map(|attachment| attachment.lines))
    });
    Some(lines.collect())
}

/// Takes readings and keeps what a comparison needs.
#[derive(Debug, Default)]
pub struct Gathering {
    pub(crate) names: Vec<String>,
    pub(crate) samples: Vec<Sample>,
    /// Number of each boot of a variant by its key.
    pub(crate) boots: Vec<HashMap<String, usize>>,
    pub(crate) versions: Vec<BTreeSet<String>>,
    pub(crate) remarks: Vec<Remark>,
    /// Whether the caller says which results belong to one boot.
    pub(crate) boots_told: bool,
}

/// The numbers of one cell in one result.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) variant: usize,
    pub(crate) boot: usize,
    pub(crate) cell: String,
    pub(crate) numbers: Numbers,
}

impl Gathering {
    /// Nothing so far. `boots_told` says whether the boots that [`Self::add`] is given are known to be boots.
    pub fn new(boots_told: bool) -> Self {
        Self { boots_told, ..Self::default() }
    }

    /// The number of a variant by name.
    pub fn variant(&mut self, name: &str) -> usize {
        if let Some(known) = self.names.iter().position(|known| known == name) {
            return known;
        }
        self.names.push(name.to_owned());
        self.boots.push(HashMap::new());
        self.versions.push(BTreeSet::new());
        self.names.len() - 1
    }

    /// Adds all results of an input to a variant. `boot` names the boot that they belong to.
    pub fn add(&mut self, variant: usize, boot: &str, reading: Reading) {
        self.remarks.extend(reading.remarks);
        for result in reading.results {
            self.result(variant, boot, result);
        }
    }

    /// Adds the results of an input as variants of their own, named by the text above each: a mail with `before` and
    /// `after` in it. One without is named by its input.
    pub fn add_by_heading(&mut self, reading: Reading) {
        self.remarks.extend(reading.remarks);
        let alone = reading.results.len() == 1;
        for (result, number) in reading.results.into_iter().zip(1..) {
            let name = match &result.heading {
                Some(heading) => heading.clone(),
                None if alone => reading.input.clone(),
                None => format!("{}, result {number}", reading.input),
            };
            let variant = self.variant(&name);
            self.result(variant, &reading.input, result);
        }
    }

    fn result(&mut self, variant: usize, boot: &str, result: Outcome) {
        let next = self.boots[variant].len();
        let boot = *self.boots[variant].entry(boot.to_owned()).or_insert(next);
        if !result.version.is_empty() {
            self.versions[variant].insert(result.version);
        }
        let sample = |(cell, numbers)| Sample { variant, boot, cell, numbers };
        self.samples.extend(result.cells.into_iter().map(sample));
    }
}

/// The directions of a document by cell. Jobs of one group that do the same run at once and are added up; the same in
/// another group is another cell, told apart by its name.
fn cells(document: &Document) -> BTreeMap<String, Vec<&Direction>> {
    let mut groups: BTreeMap<String, i64> = BTreeMap::new();
    let mut cells: BTreeMap<String, Vec<&Direction>> = BTreeMap::new();
    let rows: Vec<(&Job, &'static str, &Direction)> = document.rows().collect();
    for (job, direction, numbers) in rows {
        let mut cell = label(&document.report, job, direction);
        if *groups.entry(cell.clone()).or_insert(job.group) != job.group {
            cell = format!("{cell} ({})", job.name);
        }
        cells.entry(cell).or_default().push(numbers);
    }
    cells
}

fn numbers(parts: &[&Direction], percent: f64) -> Numbers {
    let sum = |of: fn(&Direction) -> f64| {
        Some(parts.iter().map(|part| of(part)).sum::<f64>()).filter(|sum| *sum > 0.0)
    };
    let measured: f64 = parts.iter().map(|part| part.clat.n as f64).sum();
    let weighted: f64 = parts.iter().map(|part| part.clat.mean * part.clat.n as f64).sum();
    let told = parts.iter().filter(|part| part.clat.mean > 0.0).map(|part| part.clat.mean);
    // A summary without counts still tells one mean.
    let mean = if measured > 0.0 { Some(weighted / measured) } else { told.reduce(f64::max) };
    Numbers {
        iops: sum(|part| part.iops),
        bw: sum(|part| part.bw),
        clat_mean: mean,
        percentile: latency_percentile(parts, percent),
    }
}

/// From the histograms of all parts, else fio's own where there is one part: percentiles cannot be averaged.
fn latency_percentile(parts: &[&Direction], percent: f64) -> Option<f64> {
    if parts.iter().all(|part| !part.clat.bins.is_empty()) {
        let mut bins: Vec<(u64, u64)> =
            parts.iter().flat_map(|part| part.clat.bins.iter().copied()).collect();
        bins.sort_unstable();
        return percentile(&bins, percent).map(|value| value as f64);
    }
    let [part] = parts else { return None };
    let told = part.clat.percentiles.iter().find(|(told, _)| (told - percent).abs() < 1e-6);
    told.map(|(_, value)| *value as f64).filter(|value| *value > 0.0)
}
