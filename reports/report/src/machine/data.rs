//! The shape of the machine-readable report.

use schemars::JsonSchema;
use serde::Serialize;

/// A whole report as data. Variants are called by their names, boards and cells, too.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Data {
    /// Always `kab-report`.
    pub format: String,
    /// Version of the names and meanings below.
    pub version: u32,
    /// Which run.
    pub run: RunData,
    /// Variants in the order of the experiment.
    pub variants: Vec<VariantData>,
    /// Name of the baseline; absent before there is a plan.
    pub baseline: Option<String>,
    /// Comparisons that are made in every cell.
    pub pairs: Vec<PairData>,
    /// Metrics: the first decides, the others are exploratory. Each is corrected on its own.
    pub metrics: Vec<MetricData>,
    /// Boards with all numbers.
    pub boards: Vec<BoardData>,
    /// How the numbers were made.
    pub method: MethodData,
    /// Where the numbers are from, if somebody else posted them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub posted: Option<PostedData>,
}

/// What is known of figures that somebody else posted.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PostedData {
    /// Subject, date and message-id of the mail, say.
    pub source: Option<String>,
    /// `averages`, `trials`, `boots` or `rounds`: what the figures are.
    pub values: String,
    /// What was said with them.
    pub notes: Vec<String>,
}

/// A row of somebody else's table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PostedRowData {
    /// As written, with its unit.
    pub name: String,
    /// One text a variant as written; empty where there was none.
    pub texts: Vec<String>,
}

/// Ids, versions and digests.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunData {
    /// Id of the run in its store.
    pub id: String,
    /// Digest of the run's log with its algorithm.
    pub data_digest: String,
    /// Version of kab that made the report.
    pub kab_version: String,
    /// Name of the experiment.
    pub experiment: String,
    /// Title of the experiment.
    pub title: Option<String>,
    /// BLAKE3 of the experiment file and every file it names.
    pub experiment_digest: String,
    /// Whether the plan was carried out as far as it can be.
    pub finished: bool,
    /// Visits (boots) done.
    pub visits_done: usize,
    /// Visits planned.
    pub visits_planned: usize,
}

/// One variant.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct VariantData {
    /// Its name in the experiment.
    pub name: String,
    /// The letter that stands for it in text reports.
    pub letter: String,
    /// The ref as written.
    #[serde(rename = "ref")]
    pub reference: String,
    /// `git describe` of the base where it has one.
    pub describe: Option<String>,
    /// Commit that was built, 40 hexadecimal digits.
    pub commit: String,
    /// `uname -r`.
    pub release: Option<String>,
    /// Name of the variant that its series was applied to.
    pub on_top_of: Option<String>,
    /// Name of an earlier variant with the same image and command line.
    pub identical_to: Option<String>,
    /// Subjects of its series.
    pub patches: Vec<String>,
    /// Why it could not be built.
    pub build_error: Option<String>,
}

/// A comparison by names.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PairData {
    /// Name of the variant in question.
    pub candidate: String,
    /// Name of the variant it is compared with.
    pub reference: String,
}

/// A metric and how it is judged.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MetricData {
    /// Its name with its unit, such as `iops`, `bw_bytes_per_s`, `clat_p99_ns`.
    pub metric: String,
    /// Whether verdicts of the answer rest on it.
    pub primary: bool,
    /// `higher` or `lower`.
    pub better: String,
    /// Margin within which two variants count as the same, percent.
    pub same_within_pct: f64,
    /// Comparisons with a p-value, over all boards: what was corrected for.
    pub comparisons: usize,
}

/// A board with all numbers.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BoardData {
    /// Its name in the lab.
    pub name: String,
    /// How its visits and trials ended, one a variant.
    pub endings: Vec<EndingData>,
    /// Cells in the order of the plan.
    pub cells: Vec<CellData>,
    /// Geometric means over the cells of a workload.
    pub summaries: Vec<SummaryData>,
}

/// How the visits and trials of one variant ended on one board.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EndingData {
    /// Name of the variant.
    pub variant: String,
    /// Visits that ended, failed or are open.
    pub visits: usize,
    /// Visits that never came up.
    pub failed_boots: usize,
    /// Visits that died under load.
    pub crashes: usize,
    /// Visits that were the lab's fault; they do not count.
    pub void_visits: usize,
    /// Trials that were judged, without warm-ups and void attempts.
    pub trials: usize,
    /// Trials with something to note; their numbers count.
    pub noted_trials: usize,
    /// Trials that the variant failed.
    pub failed_trials: usize,
    /// Attempts that were the lab's fault; they do not count.
    pub void_trials: usize,
    /// What was seen: rule, first evidence, how often.
    pub reasons: Vec<ReasonData>,
}

/// Something that was seen.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ReasonData {
    /// `failed_boot`, `crash`, `void_visit`, `noted_trial`, `failed_trial` or `void_trial`.
    pub ending: String,
    /// The rule that spoke.
    pub rule: String,
    /// The first evidence.
    pub detail: String,
    /// How often.
    pub count: usize,
}

/// One cell on one board.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CellData {
    /// Its id, unique in the experiment.
    pub id: String,
    /// Its short label in tables.
    pub label: String,
    /// The metrics.
    pub metrics: Vec<CellMetricData>,
    /// fio's own processor shares, one a variant.
    pub fio_cpu: Vec<FioCpuData>,
    /// The rows as somebody else posted them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub posted: Vec<PostedRowData>,
}

/// One metric of one cell.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CellMetricData {
    /// Its name with its unit.
    pub metric: String,
    /// The values, one entry a variant.
    pub variants: Vec<ValueData>,
    /// The comparisons, one entry a pair.
    pub changes: Vec<ChangeData>,
}

/// What one variant measured.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ValueData {
    /// Name of the variant.
    pub variant: String,
    /// `value`; `failed` where the variant did not deliver; `missing` where nothing was measured.
    pub state: String,
    /// Geometric mean over the visits.
    pub mean: Option<f64>,
    /// Lower end of its 95 % interval.
    pub ci95_low: Option<f64>,
    /// Upper end of its 95 % interval.
    pub ci95_high: Option<f64>,
    /// The visits that count, in the order of time.
    pub visits: Vec<VisitData>,
}

/// One visit as one number.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct VisitData {
    /// Number of the visit on its board, from 0, in the order of time.
    pub visit: u32,
    /// The round, from 0.
    pub round: u32,
    /// Median of its trials, below three their geometric mean; a percentile is that of all its trials' I/Os together.
    pub value: f64,
    /// The trials.
    pub trials: Vec<f64>,
    /// Trials among them with something to note.
    pub noted_trials: usize,
}

/// A comparison in one cell.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ChangeData {
    /// Name of the variant in question.
    pub candidate: String,
    /// Name of the variant it is compared with.
    pub reference: String,
    /// `better`, `worse`, `likely better`, `likely worse`, `same`, `identical`, `undecided` or `no verdict`.
    pub verdict: String,
    /// Why there is no verdict.
    pub why: Option<String>,
    /// Relative change, percent.
    pub change_pct: Option<f64>,
    /// Lower end of its 95 % interval, percent.
    pub ci95_low_pct: Option<f64>,
    /// Upper end of its 95 % interval, percent.
    pub ci95_high_pct: Option<f64>,
    /// Whether estimate and interval are those of ranks, because an outlier ruined the others.
    pub by_ranks: bool,
    /// Two-sided p of this comparison alone.
    pub p: Option<f64>,
    /// p corrected by Holm over the metric's family.
    pub p_holm: Option<f64>,
    /// p corrected by Benjamini and Hochberg over the metric's family.
    pub q_benjamini_hochberg: Option<f64>,
    /// Visits of the candidate that count.
    pub candidate_visits: usize,
    /// Visits of the reference that count.
    pub reference_visits: usize,
    /// Undecided: about how many more rounds would decide; absent beyond a hundred.
    pub more_rounds: Option<usize>,
}

/// fio's own user and system time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FioCpuData {
    /// Name of the variant.
    pub variant: String,
    /// User time, percent of run time.
    pub usr_pct: Option<f64>,
    /// System time, percent of run time.
    pub sys_pct: Option<f64>,
}

/// The cells of one workload together.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SummaryData {
    /// Name of the workload, with the target where it has several.
    pub workload: String,
    /// Geometric mean of the primary metric's change over the cells, one entry a pair that has it.
    pub geomeans: Vec<GeomeanData>,
    /// Board-wide processor time an I/O, geometric mean over the cells, one entry a variant that has it.
    pub cpu_per_io: Vec<CpuData>,
}

/// A change over several cells.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GeomeanData {
    /// Name of the variant in question.
    pub candidate: String,
    /// Name of the variant it is compared with.
    pub reference: String,
    /// Percent.
    pub change_pct: f64,
    /// Lower end of its 95 % interval, percent.
    pub ci95_low_pct: Option<f64>,
    /// Upper end of its 95 % interval, percent.
    pub ci95_high_pct: Option<f64>,
    /// Cells in it.
    pub cells: usize,
}

/// Processor time of one variant.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CpuData {
    /// Name of the variant.
    pub variant: String,
    /// Nanoseconds an I/O.
    pub cpu_ns_per_io: f64,
}

/// How the numbers were made.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MethodData {
    /// Rounds planned; the largest of all boards.
    pub rounds: usize,
    /// Order of the variants: `random`, `abba` or `sequential`.
    pub order: String,
    /// Seed of a random order.
    pub seed: u64,
    /// Counted trials of each cell in a visit.
    pub trials: u32,
    /// Trials before them that do not count.
    pub warmup: u32,
    /// Pause before each trial, milliseconds.
    pub cooldown_ms: u64,
    /// fio versions that the boards told.
    pub fio_versions: Vec<String>,
    /// The fio commands without the program's name.
    pub fio_commands: Vec<Vec<String>>,
    /// Compilers of the kernels.
    pub compilers: Vec<String>,
}
