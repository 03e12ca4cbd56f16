//! What a run says, as numbers and names: everything a report prints, before any of it is put into words.
//!
//! `Findings` holds no text made for a width or a format, so the same value serves the text for a list, Markdown and a
//! machine-readable report. Variants are numbered as the experiment lists them, pairs as the plan does.

use crate::boots::{Boots, Lost, PValues};
use crate::posted::{PostedFacts, PostedLine};
use kab_model::{Metric, Order};
use serde::Serialize;

/// What the caller knows that the log does not: names of the run and of the program. No clock, no I/O.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Meta {
    /// Id of the run in its store.
    pub run_id: String,
    /// Digest of the run's data with its algorithm, such as `blake3:0123…`.
    pub data_digest: String,
    /// Version of kab that makes the report.
    pub kab_version: String,
    /// Facts of the host that carried virtual boards, in the order in which they are printed.
    pub host: Vec<HostFact>,
}

/// One fact of the host, such as `cpu` = `2 x Some Processor`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostFact {
    /// What.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// Everything that a report prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Findings {
    /// Ids, digests and versions.
    pub meta: Meta,
    /// The experiment's short name.
    pub name: String,
    /// The experiment's title.
    pub title: Option<String>,
    /// Digest of the experiment file and every file it names.
    pub experiment_digest: String,
    /// How far the run got.
    pub progress: Progress,
    /// Variants in the order of the experiment.
    pub variants: Vec<Variant>,
    /// Index of the baseline in `variants`.
    pub baseline: usize,
    /// `(candidate, reference)` as indices in `variants`.
    pub pairs: Vec<(usize, usize)>,
    /// The metric of the verdicts with its family of comparisons.
    pub primary: Family,
    /// The other metrics that the experiment asks for; exploratory, each its own family.
    pub exploratory: Vec<Family>,
    /// Boards in the order of the plan.
    pub boards: Vec<Board>,
    /// Verdicts of the primary metric that would be others without the noted trials.
    pub without_noted: Vec<Changed>,
    /// How the numbers were made.
    pub method: Method,
    /// Where the numbers are from, if not from a run of kab.
    pub posted: Option<PostedFacts>,
}

impl Findings {
    /// Findings of a run that has not even a plan.
    pub(crate) fn empty(meta: &Meta) -> Self {
        Self {
            meta: meta.clone(),
            name: String::new(),
            title: None,
            experiment_digest: String::new(),
            progress: Progress { finished: false, done: 0, planned: 0 },
            variants: Vec::new(),
            baseline: 0,
            pairs: Vec::new(),
            primary: Family { metric: Metric::Iops, margin: Metric::Iops.default_margin(), comparisons: 0 },
            exploratory: Vec::new(),
            boards: Vec::new(),
            without_noted: Vec::new(),
            method: Method::default(),
            posted: None,
        }
    }
}

/// How long fio was asked to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Timing {
    /// Measured time, milliseconds.
    pub runtime_ms: u64,
    /// Time before it that is not measured, milliseconds.
    pub ramp_ms: u64,
}

/// Visits done and planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// Whether the plan was carried out as far as it can be.
    pub finished: bool,
    /// Visits that ended or failed.
    pub done: usize,
    /// Visits of the plan, all boards and rounds.
    pub planned: usize,
}

/// A variant, what it is and how it differs from the baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Variant {
    /// Its letter in the report: `A`, `B`, …
    pub letter: String,
    /// Its name in the experiment.
    pub name: String,
    /// The ref as written.
    pub reference: String,
    /// `git describe` of the base where it has one.
    pub describe: Option<String>,
    /// Commit that was built (after the series), 40 hexadecimal digits.
    pub commit: String,
    /// `uname -r` as the booted boards say, else what the build says.
    pub release: Option<String>,
    /// Another variant with exactly the commit that the series was applied to.
    pub on_top_of: Option<usize>,
    /// Subjects of the series.
    pub patches: Vec<String>,
    /// What is known of each series beyond its subjects.
    pub series: Vec<Series>,
    /// What distinguishes it from the baseline; empty for the baseline.
    pub differences: Vec<Difference>,
    /// Why it could not be built.
    pub build_error: Option<String>,
    /// The variant that stands for this one, which is identical by construction and not run.
    pub same_as: Option<usize>,
}

/// A series as its cover letter has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Series {
    /// Subject of the cover letter.
    pub title: Option<String>,
    /// Version, from 1.
    pub version: Option<u32>,
    /// Message-id without angle brackets.
    pub message_id: Option<String>,
    /// Patches that were applied.
    pub applied: usize,
    /// Patches that the whole series has, where only some were applied.
    pub of: Option<u32>,
}

/// One way in which a variant differs from the baseline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Difference {
    /// Files of the source tree.
    Files {
        /// The first of them, in the order of the plan.
        files: Vec<String>,
        /// How many there are.
        count: usize,
        /// Whether the plan stopped counting there.
        more: bool,
    },
    /// Requested configuration items, `+` added and `-` missing against the baseline.
    Config {
        /// The items with their signs.
        items: Vec<String>,
    },
    /// The requested configuration is the same but the final one is not, and how is not known.
    FinalConfig,
    /// Symbols of the final configuration.
    Symbols {
        /// `CONFIG_X n -> y`, the first of them.
        symbols: Vec<String>,
        /// How many there are.
        count: usize,
        /// Whether the comparison stopped counting there.
        more: bool,
    },
    /// Nodes of the device trees.
    Nodes {
        /// `/ufs: queues <0x1> -> <0x8>`, the first of them.
        nodes: Vec<String>,
        /// Whether the images are equal, and nothing else has told so.
        only: bool,
        /// How many there are.
        count: usize,
        /// Whether the comparison stopped counting there.
        more: bool,
    },
    /// Commits that were reverted: `0123456789ab ("subject")`.
    Reverts {
        /// The commits.
        commits: Vec<String>,
    },
    /// Changes of a working tree that are not committed.
    Uncommitted {
        /// Files.
        files: usize,
    },
    /// The device tree.
    DeviceTree {
        /// Files that change it.
        sources: Vec<String>,
        /// Whether the images are equal.
        only: bool,
    },
    /// Settings at run time.
    Knobs {
        /// `NAME=VALUE`.
        items: Vec<String>,
    },
    /// fio options of the variant.
    Fio {
        /// `NAME=VALUE`.
        items: Vec<String>,
    },
    /// One of the two was built by somebody else.
    Prebuilt,
    /// The same source with functions aligned differently.
    Placebo,
    /// The variant's own command line.
    Cmdline {
        /// The baseline's.
        from: String,
        /// This variant's.
        to: String,
    },
    /// The compiler.
    Compiler {
        /// The baseline's.
        from: String,
        /// This variant's.
        to: String,
    },
    /// The repository.
    Repository {
        /// The baseline's.
        from: String,
        /// This variant's.
        to: String,
    },
}

/// A metric with what was judged of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Family {
    /// The metric.
    pub metric: Metric,
    /// Margin within which two variants count as the same, as a fraction.
    pub margin: f64,
    /// Comparisons with a p-value, over all boards: what was corrected for.
    pub comparisons: usize,
}

/// A board with its cells.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Board {
    /// Its name in the lab.
    pub name: String,
    /// What it is; nothing is known of a board of somebody else's.
    pub facts: BoardFacts,
    /// What was posted of it.
    pub about: Option<String>,
    /// Cells in the order of the plan.
    pub cells: Vec<Cell>,
    /// The workloads with their summaries, in the order of the plan: means over unlike workloads would say nothing.
    pub groups: Vec<Group>,
    /// How visits and trials of each variant ended, one a variant.
    pub tallies: Vec<Tally>,
    /// Trials of the primary metric that lie far from the others, one a variant; they stay in every number.
    pub outliers: Vec<Outliers>,
    /// Fisher's test on those counts, where variants of a pair differ (p <= .05).
    pub count_differences: Vec<CountDifference>,
    /// Visits that gave no numbers: failed or void.
    pub lost: Vec<Lost>,
    /// What was given up, with the reason; `None` is all variants.
    pub given_up: Vec<(Option<usize>, String)>,
}

/// What a board is, for its heading.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BoardFacts {
    /// Architecture, as the kernel names it.
    pub arch: String,
    /// Machine type of the emulator.
    pub machine: String,
    /// Virtual CPUs.
    pub cpus: u32,
    /// Memory in bytes.
    pub memory: u64,
    /// Disks that the workloads use: name, controller and size in bytes.
    pub disks: Vec<(String, String, u64)>,
    /// How the processor is provided.
    pub accel: Acceleration,
    /// First line of the emulator's version.
    pub emulator: Option<String>,
    /// Added to the command line of every variant.
    pub cmdline: Option<String>,
}

/// Whether the numbers are those of a processor or of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Acceleration {
    /// Software emulation: times are not those of any hardware.
    Tcg,
    /// Hardware virtualisation.
    Kvm,
    /// Not known yet: the board was never started.
    #[default]
    Unknown,
}

/// One cell on one board.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// Its id in the plan.
    pub id: String,
    /// Short label for tables.
    pub label: String,
    /// The primary metric and then the exploratory ones.
    pub metrics: Vec<CellMetric>,
    /// Numbers of the detailed blocks, one a variant.
    pub details: Vec<Detail>,
    /// Rows as somebody else posted them; they stand for the details.
    pub posted: Vec<PostedLine>,
}

/// One metric of one cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellMetric {
    /// The metric.
    pub metric: Metric,
    /// What was measured, one a variant.
    pub means: Vec<Mean>,
    /// The boots behind each mean, one list a variant.
    pub boots: Vec<Boots>,
    /// What follows, one a pair.
    pub changes: Vec<Change>,
}

/// The value of one variant in one cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
pub enum Mean {
    /// Geometric mean over the visits, in the metric's own unit.
    Value(f64),
    /// No number, because the variant did not deliver: boot, crash, I/O error, build.
    Failed,
    /// No number, because nothing was measured.
    Missing,
}

/// Numbers of one variant in one cell for the detailed report. IOPS are over visits (a visit is the median of its trials);
/// the others are means over visits, geometric except for percentages.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Detail {
    /// Visits that count.
    pub visits: usize,
    /// Trials that count.
    pub trials: usize,
    /// I/Os a second of the slowest visit.
    pub min_iops: Option<f64>,
    /// I/Os a second of the fastest visit.
    pub max_iops: Option<f64>,
    /// Geometric mean of I/Os a second.
    pub mean_iops: Option<f64>,
    /// Deviation between visits, percent of the mean.
    pub spread_pct: Option<f64>,
    /// Boots in the slow and in the fast group, where IOPS fall into two.
    pub modes: Option<(usize, usize)>,
    /// fio's own user time, percent.
    pub usr_pct: Option<f64>,
    /// fio's own system time, percent.
    pub sys_pct: Option<f64>,
    /// Bytes a second.
    pub bw: Option<f64>,
    /// Board-wide CPU time an I/O, nanoseconds.
    pub cpu_per_io: Option<f64>,
    /// Mean completion latency, nanoseconds.
    pub clat_mean: Option<f64>,
    /// Median completion latency, nanoseconds: of each visit from the merged bins of its trials, as the two below.
    pub clat_p50: Option<f64>,
    /// 99th percentile of completion latency, nanoseconds.
    pub clat_p99: Option<f64>,
    /// 99.9th percentile of completion latency, nanoseconds.
    pub clat_p999: Option<f64>,
}

/// A candidate against a reference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Relative change, percent; absent where there is none to show.
    pub percent: Option<f64>,
    /// 95 % interval of it, percent; absent where nothing is known of the noise.
    pub interval: Option<(f64, f64)>,
    /// The verdict.
    pub verdict: Verdict,
    /// What it was decided by, where there was a test.
    pub p: Option<PValues>,
    /// Why there is no verdict.
    pub why: Option<String>,
    /// Rounds that both variants have, where the comparison is by rounds.
    pub rounds: Option<usize>,
    /// Visits of candidate and reference that count.
    pub visits: (usize, usize),
    /// Whether the interval is that of ranks, because an outlier ruined the other.
    pub robust: bool,
    /// Undecided: about how many more rounds would decide; absent beyond a hundred.
    pub more_rounds: Option<usize>,
}

/// The words of the glossary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Worse, and outside the margin.
    Worse,
    /// Better, and outside the margin.
    Better,
    /// Worse but for one chance in twenty of such claims.
    LikelyWorse,
    /// Better but for one chance in twenty of such claims.
    LikelyBetter,
    /// Within the margin.
    Same,
    /// The same by construction: equal image and command line.
    Identical,
    /// Neither shown to differ nor shown to be the same.
    Undecided,
    /// Nothing can be said, and the reason is told.
    NoVerdict,
}

impl Verdict {
    /// All, in the order in which a summary lists them.
    pub const ALL: [Self; 8] = [
        Self::Worse,
        Self::LikelyWorse,
        Self::Better,
        Self::LikelyBetter,
        Self::Same,
        Self::Identical,
        Self::Undecided,
        Self::NoVerdict,
    ];

    /// The word of the glossary.
    pub fn word(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::Better => "better",
            Self::LikelyWorse => "likely worse",
            Self::LikelyBetter => "likely better",
            Self::Same => "same",
            Self::Identical => "identical",
            Self::Undecided => "undecided",
            Self::NoVerdict => "no verdict",
        }
    }

    /// The mark in tables.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Worse => "-",
            Self::Better => "+",
            Self::LikelyWorse => "(-)",
            Self::LikelyBetter => "(+)",
            Self::Same => "=",
            Self::Identical => "==",
            Self::Undecided => "?",
            Self::NoVerdict => "!",
        }
    }
}

/// The cells of one workload on one target, summarised on one board.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// Name of the workload, with the target where the workload has several.
    pub name: String,
    /// Geometric mean of the primary metric's change over the cells, one a pair; absent where it cannot be had.
    pub geomean: Vec<Option<Geomean>>,
    /// Geometric mean over the cells of board-wide CPU time an I/O, nanoseconds, one a variant; absent unless every
    /// variant with numbers has it in every cell that is used.
    pub cpu_per_io: Option<CpuPerIo>,
}

/// A change over the cells of a group.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Geomean {
    /// Percent.
    pub percent: f64,
    /// 95 % interval, percent; absent with fewer rounds than it needs.
    pub interval: Option<(f64, f64)>,
    /// Cells in it.
    pub cells: usize,
    /// Rounds in it.
    pub rounds: usize,
}

/// CPU cost of one group on one board.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CpuPerIo {
    /// Nanoseconds an I/O, one a variant; `None` for a variant without numbers.
    pub values: Vec<Option<f64>>,
    /// What follows, one a pair: exploratory, corrected over all groups and boards.
    pub changes: Vec<Change>,
    /// Cells in the mean.
    pub cells: usize,
}

/// How the visits and trials of one variant on one board ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Visits that ended, failed or are open.
    pub visits: usize,
    /// Visits that never came up, with the reasons and how often each was seen.
    pub boot_failures: Vec<Seen>,
    /// Visits that died under load.
    pub crashes: Vec<Seen>,
    /// Visits that were the lab's fault.
    pub void_visits: Vec<Seen>,
    /// Visits that ended with kab itself and were made again; no part of any other count.
    pub interrupted: usize,
    /// Visits that ended with kab itself and were not made again so far.
    pub interrupted_for_good: usize,
    /// Trials that were judged, warm-ups and void attempts left out.
    pub trials: usize,
    /// Trials with something to note; their numbers count.
    pub noted: Vec<Seen>,
    /// Trials that the variant failed.
    pub failed: Vec<Seen>,
    /// Attempts that were the lab's fault.
    pub void: Vec<Seen>,
    /// Trials with something to note, each once however many reasons it has.
    pub noted_trials: usize,
    /// Trials that failed, each once.
    pub failed_trials: usize,
    /// Void attempts, each once.
    pub void_trials: usize,
}

/// Trials further from their variant's median than five scaled deviations and than the margin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outliers {
    /// Far below.
    pub low: usize,
    /// Far above.
    pub high: usize,
    /// Of so many.
    pub of: usize,
}

/// A reason and how often it was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Seen {
    /// The rule that spoke.
    pub rule: String,
    /// Evidence: the first of its kind.
    pub detail: String,
    /// How often.
    pub count: usize,
}

/// Two variants whose trials or visits do not end alike.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CountDifference {
    /// What is counted, such as `noted trials` or `failed boots`.
    pub what: String,
    /// Index of the pair.
    pub pair: usize,
    /// Hits and trials of the candidate.
    pub candidate: (usize, usize),
    /// Hits and trials of the reference.
    pub reference: (usize, usize),
    /// Fisher's p, two-sided.
    pub p: f64,
}

/// A verdict that rests on noted trials.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// Index of the board.
    pub board: usize,
    /// Index of the cell.
    pub cell: usize,
    /// Index of the pair.
    pub pair: usize,
    /// The verdict that is reported.
    pub with: Verdict,
    /// The verdict without the noted trials.
    pub without: Verdict,
}

/// How the numbers were made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Method {
    /// Rounds planned; the largest of all boards.
    pub rounds: usize,
    /// Order of the variants.
    pub order: Order,
    /// Seed of a random order.
    pub seed: u64,
    /// Counted trials of each cell in a visit.
    pub trials: u32,
    /// Trials before them that do not count.
    pub warmup: u32,
    /// Times asked for, each once.
    pub times: Vec<Timing>,
    /// Pause before each trial, milliseconds.
    pub cooldown_ms: u64,
    /// fio versions that the boards told, each once.
    pub fio_versions: Vec<String>,
    /// The fio commands, one a workload or a part of it, without the program's name.
    pub commands: Vec<Vec<String>>,
    /// Requested configuration that all variants have, as the experiment writes it, of files only the names.
    pub config: Vec<String>,
    /// Compilers of the artifacts, each once.
    pub compilers: Vec<String>,
}
