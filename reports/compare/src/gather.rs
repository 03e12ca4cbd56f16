//! From inputs to the numbers of results.

use crate::cell::label;
use crate::judge::Remark;
use kab_fio::{Direction, Document, Found, Grade, Job, grade, percentile, read_any};
use std::collections::{BTreeMap, BTreeSet};

/// Reasons of one input that are told; more of them say no more.
const REASONS: usize = 3;

/// Takes inputs and keeps what a comparison needs.
#[derive(Debug, Default)]
pub struct Gathering {
    pub(crate) names: Vec<String>,
    pub(crate) samples: Vec<Sample>,
    /// Keys of the boots of each variant, in the order in which they came.
    pub(crate) boots: Vec<Vec<String>>,
    pub(crate) versions: Vec<BTreeSet<String>>,
    pub(crate) remarks: Vec<Remark>,
    /// Whether the caller says which results belong to one boot.
    pub(crate) boots_told: bool,
    percentile: f64,
}

/// The numbers of one cell in one result.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) variant: usize,
    pub(crate) boot: usize,
    pub(crate) cell: String,
    pub(crate) iops: Option<f64>,
    pub(crate) bw: Option<f64>,
    pub(crate) clat_mean: Option<f64>,
    pub(crate) percentile: Option<f64>,
}

impl Gathering {
    /// Nothing so far. `percentile` is the percent of completion latency that is kept, such as 99; `boots_told` says whether
    /// the boots that [`Self::add`] is given are known to be boots.
    pub fn new(percentile: f64, boots_told: bool) -> Self {
        Self { percentile, boots_told, ..Self::default() }
    }

    /// The number of a variant by name.
    pub fn variant(&mut self, name: &str) -> usize {
        if let Some(known) = self.names.iter().position(|known| known == name) {
            return known;
        }
        self.names.push(name.to_owned());
        self.boots.push(Vec::new());
        self.versions.push(BTreeSet::new());
        self.names.len() - 1
    }

    /// Percent of completion latency that is kept.
    pub fn percent(&self) -> f64 {
        self.percentile
    }

    /// Adds all results of an input to a variant; returns how many there were. `boot` names the boot that they belong to.
    pub fn add(&mut self, variant: usize, boot: &str, input: &str, bytes: &[u8]) -> usize {
        let found = read_any(bytes);
        let mut count = 0;
        for document in found.counted() {
            count += usize::from(self.document(variant, boot, input, &found, document));
        }
        self.told(input, &found, count);
        count
    }

    /// Adds the results of an input as variants of their own, named by the text above each: a mail with `before` and
    /// `after` in it. Returns how many there were.
    pub fn add_by_heading(&mut self, input: &str, bytes: &[u8]) -> usize {
        let found = read_any(bytes);
        let mut count = 0;
        for (number, document) in found.counted().enumerate() {
            let heading =
                document.heading.as_ref().map(|heading| heading.text.trim_end_matches(':').to_owned());
            let name = heading.unwrap_or_else(|| format!("result {}", number + 1));
            let variant = self.variant(&name);
            count += usize::from(self.document(variant, input, input, &found, document));
        }
        self.told(input, &found, count);
        count
    }

    fn told(&mut self, input: &str, found: &Found, count: usize) {
        if count == 0 && found.documents.is_empty() {
            self.remarks.push(Remark {
                input: input.to_owned(),
                line: 0,
                text: "no output of fio in it".to_owned(),
            });
        }
    }

    /// Whether the document counts.
    fn document(
        &mut self,
        variant: usize,
        boot: &str,
        input: &str,
        found: &Found,
        document: &Document,
    ) -> bool {
        let grading = grade(found, document, None);
        for reason in grading.reasons.iter().filter(|reason| reason.grade >= Grade::Doubtful).take(REASONS) {
            let left_out = if grading.grade == Grade::Unusable { "left out: " } else { "" };
            let text = format!("{left_out}{}", reason.detail);
            self.remarks.push(Remark { input: input.to_owned(), line: reason.line, text });
        }
        if grading.grade == Grade::Unusable {
            return false;
        }
        let boot = match self.boots[variant].iter().position(|known| known == boot) {
            Some(known) => known,
            None => {
                self.boots[variant].push(boot.to_owned());
                self.boots[variant].len() - 1
            }
        };
        if !document.report.version.is_empty() {
            self.versions[variant].insert(document.report.version.clone());
        }
        for (cell, parts) in cells(document) {
            self.samples.push(sample(variant, boot, cell, &parts, self.percentile));
        }
        true
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

fn sample(variant: usize, boot: usize, cell: String, parts: &[&Direction], percent: f64) -> Sample {
    let sum = |of: fn(&Direction) -> f64| {
        Some(parts.iter().map(|part| of(part)).sum::<f64>()).filter(|sum| *sum > 0.0)
    };
    let measured: f64 = parts.iter().map(|part| part.clat.n as f64).sum();
    let weighted: f64 = parts.iter().map(|part| part.clat.mean * part.clat.n as f64).sum();
    let told = parts.iter().filter(|part| part.clat.mean > 0.0).map(|part| part.clat.mean);
    // A summary without counts still tells one mean.
    let mean = if measured > 0.0 { Some(weighted / measured) } else { told.reduce(f64::max) };
    Sample {
        variant,
        boot,
        cell,
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
