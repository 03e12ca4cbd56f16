//! A validated experiment: what experiment.yaml means, with every default filled in.

use crate::{TargetName, Toolchain, VariantName};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// The whole experiment. Built by [`crate::yaml::parse_experiment`]; paths are absolute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// Short name, `[A-Za-z0-9._-]+`; names runs.
    pub name: String,
    /// One line for the report's head.
    pub title: Option<String>,
    /// Variants in the order of the file; at least one, names unique.
    pub variants: Vec<Variant>,
    /// The variant that others are compared with; names one of `variants`.
    pub baseline: VariantName,
    /// Further pairs `(candidate, reference)` to judge in the same family of tests.
    pub against: Vec<(VariantName, VariantName)>,
    /// Names or tags from the lab file, as written.
    pub boards: Vec<String>,
    /// Target of every workload that names none.
    pub target: Option<TargetName>,
    /// Workloads in the order of the file; at least one, names unique.
    pub workloads: Vec<Workload>,
    /// How often and in which order.
    pub schedule: Schedule,
    /// What the report shows.
    pub report: ReportSpec,
}

/// One kernel under comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// Its name in reports.
    pub name: VariantName,
    /// Where its source comes from and how it is built.
    pub kernel: KernelSpec,
    /// Added to the command line after the board's own.
    pub cmdline: Option<String>,
}

/// Source and build of a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelSpec {
    /// An absolute path or a URL, as `git` takes it.
    pub repo: String,
    /// A tag, branch or hash.
    pub reference: String,
    /// An mbox, a directory of patches or one patch, applied on top of `reference`.
    pub series: Option<PathBuf>,
    /// Base target, fragments and options, applied in order.
    pub config: Vec<ConfigItem>,
    /// Which compiler.
    pub toolchain: Toolchain,
}

/// One entry of `config:`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfigItem {
    /// A make target that writes a configuration: `defconfig`, `tinyconfig`, `x_defconfig`.
    Base(String),
    /// A file of `CONFIG_…` lines (absolute path).
    Fragment(PathBuf),
    /// One option on its own.
    Option {
        /// With the `CONFIG_` prefix.
        symbol: String,
        /// Requested value.
        value: ConfigValue,
        /// Written with `?`: no error where the kernel does not offer it.
        optional: bool,
    },
}

/// The value of a configuration symbol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfigValue {
    /// `=y`
    Yes,
    /// `=m`
    Module,
    /// `=n`, or a line `# CONFIG_X is not set`
    No,
    /// A number or a quoted string, as written after `=`.
    Text(String),
}

/// One fio option as the user wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FioOption {
    /// Name without dashes.
    pub name: String,
    /// Value as text.
    pub value: String,
}

/// One map of `matrix:`: options in the order written, each with its values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatrixMap {
    /// `(option, values)`; at least one value each.
    pub axes: Vec<(String, Vec<String>)>,
}

/// A fio job with a matrix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workload {
    /// `[A-Za-z0-9._-]+`
    pub name: String,
    /// Options common to all cells, in the order written.
    pub fio: Vec<FioOption>,
    /// One or more maps; none means a single cell.
    pub matrix: Vec<MatrixMap>,
    /// Cells whose options contain all pairs of one of these maps are left out.
    pub exclude: Vec<Vec<FioOption>>,
    /// Overrides the experiment's target.
    pub target: Option<TargetName>,
}

/// The order of variants within the rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Shuffled anew in each round.
    #[default]
    Random,
}

/// A pause before each trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cooldown {
    /// Time to sleep.
    pub pause: Duration,
}

/// Visits, trials and their order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// Visits of each variant on each board (statistics.md calls them blocks); at least 1.
    pub visits: u32,
    /// Counted trials of each cell in each visit; at least 1.
    pub trials: u32,
    /// Trials of each cell before them that do not count.
    pub warmup: u32,
    /// Order within a round.
    pub order: Order,
    /// Pause before each trial.
    pub cooldown: Cooldown,
    /// Fixes the shuffling; chosen at random and stored where absent.
    pub seed: Option<u64>,
}

/// A number that a trial yields. Unit, direction and scale belong to the metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Completed I/Os a second; higher is better.
    Iops,
    /// Bytes a second; higher is better.
    Bw,
    /// Board-wide busy CPU time an I/O, nanoseconds; lower is better.
    CpuPerIo,
    /// Mean completion latency, nanoseconds; lower is better.
    ClatMean,
    /// 99th percentile of completion latency, nanoseconds; lower is better.
    ClatP99,
}

impl Metric {
    /// All metrics, in the order in which reports list them.
    pub const ALL: [Metric; 5] = [Self::Iops, Self::Bw, Self::CpuPerIo, Self::ClatMean, Self::ClatP99];

    /// As the experiment file writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Iops => "iops",
            Self::Bw => "bw",
            Self::CpuPerIo => "cpu_per_io",
            Self::ClatMean => "clat_mean",
            Self::ClatP99 => "clat_p99",
        }
    }

    /// Whether a larger value is the better one.
    pub fn higher_is_better(self) -> bool {
        matches!(self, Self::Iops | Self::Bw)
    }

    /// Default of `same_within`, as a fraction (statistics.md, "Defaults for delta").
    pub fn default_margin(self) -> f64 {
        match self {
            Self::ClatP99 => 0.03,
            _ => 0.02,
        }
    }
}

/// What the report judges and shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportSpec {
    /// The metric of the verdicts.
    pub primary: Metric,
    /// Metrics shown in `--full`.
    pub metrics: Vec<Metric>,
    /// Margins that differ from [`Metric::default_margin`], as fractions.
    pub same_within: Vec<(Metric, f64)>,
}

impl ReportSpec {
    /// The margin within which two variants count as the same, as a fraction.
    pub fn margin(&self, metric: Metric) -> f64 {
        self.same_within
            .iter()
            .find(|(m, _)| *m == metric)
            .map_or(metric.default_margin(), |(_, margin)| *margin)
    }
}
