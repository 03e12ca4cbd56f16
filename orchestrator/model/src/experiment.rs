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

/// One kernel, or one setting of it, under comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// Its name in reports.
    pub name: VariantName,
    /// Where its kernel comes from.
    pub kernel: Kernel,
    /// Added to the command line after the board's own.
    pub cmdline: Option<String>,
    /// Settings at run time, applied after the boot in the order written.
    pub knobs: Vec<Knob>,
    /// fio options that replace or add to those of every cell.
    pub fio: Vec<FioOption>,
}

/// Where a kernel comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kernel {
    /// Built from git.
    Built(Box<KernelSpec>),
    /// An image that somebody else built.
    Prebuilt(Prebuilt),
    /// Whatever the board runs; nothing is deployed and nothing booted.
    Running,
}

/// Files of a kernel that exist already (absolute paths).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prebuilt {
    /// Boot image as the architecture has it: `bzImage`, `Image`.
    pub image: PathBuf,
    /// Device tree blob.
    pub dtb: Option<PathBuf>,
    /// Archive of `lib/modules/…` (tar, also .gz, .xz, .zst) or a folder of that shape.
    pub modules: Option<PathBuf>,
}

/// A setting at run time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Knob {
    /// `queue.rq_affinity` (of the target's disk), `sysctl.vm.swappiness`, `module.nvme_core.io_timeout`, or an
    /// absolute path below /sys or /proc/sys.
    pub name: String,
    /// As it is written into the file.
    pub value: String,
}

/// Source and build of a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelSpec {
    /// An absolute path or a URL, as `git` takes it.
    pub repo: String,
    /// What the changes go onto.
    pub base: Base,
    /// Applied in order.
    pub changes: Vec<Change>,
    /// Each step of `changes` (each patch, each commit) becomes a variant of its own.
    pub ladder: bool,
    /// Base target, fragments and options, applied in order.
    pub config: Vec<ConfigItem>,
    /// Which compiler.
    pub toolchain: Toolchain,
    /// A device tree overlay, source (`.dts`, `.dtso`) or blob, applied to the board's device tree (absolute path).
    pub overlay: Option<PathBuf>,
    /// Functions are aligned differently, so that the effect of layout alone can be seen.
    pub placebo: bool,
}

/// What a kernel's changes go onto.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Base {
    /// A tag, branch or hash.
    Ref(String),
    /// The working tree of `repo` as it is: changes that are not committed and files that git does not know, those it
    /// ignores excepted.
    Tree,
    /// The commits of `from..to`: the kernel at `to`, which `from` is the base of.
    Range {
        /// Base, excluded.
        from: String,
        /// Last commit, included.
        to: String,
    },
}

/// A change of the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Patches, applied as `git am` does.
    Series(SeriesSpec),
    /// Commits to revert, as written, in this order.
    Revert(Vec<String>),
    /// A patch that touches device tree sources only (absolute path).
    DeviceTree(PathBuf),
}

/// Which patches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesSpec {
    /// Where they are.
    pub source: SeriesSource,
    /// Only the patches up to this number, from 1.
    pub upto: Option<u32>,
    /// Only the patches of these numbers, from 1; all where empty.
    pub pick: Vec<u32>,
}

/// Where patches are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeriesSource {
    /// An mbox (also gzip), a maildir, a folder of patches or one patch (absolute path).
    Path(PathBuf),
    /// The message-id of a mail of the series, without angle brackets.
    MessageId(String),
    /// URL of a mail or thread in a public archive, or of an mbox.
    Url(String),
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

impl std::fmt::Display for ConfigItem {
    /// As the experiment writes it; of a path only the file's name, for a report is public.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Base(target) => write!(f, "{target}"),
            Self::Fragment(path) => {
                let name = path.file_name().map(|name| name.to_string_lossy());
                write!(f, "{}", name.as_deref().unwrap_or("fragment"))
            }
            Self::Option { symbol, value, .. } => match value {
                ConfigValue::Yes => write!(f, "{symbol}=y"),
                ConfigValue::Module => write!(f, "{symbol}=m"),
                ConfigValue::No => write!(f, "{symbol}=n"),
                ConfigValue::Text(text) => write!(f, "{symbol}={text}"),
            },
        }
    }
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
    /// As in the file in the first round, reversed in the second, and so on: a drift that is a straight line cancels out.
    Abba,
    /// All rounds of one variant, then all of the next: what drifts in the meantime looks like a difference.
    Sequential,
}

impl Order {
    /// As in YAML.
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Abba => "abba",
            Self::Sequential => "sequential",
        }
    }
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
    /// Median of completion latency, nanoseconds; lower is better.
    ClatP50,
    /// 99th percentile of completion latency, nanoseconds; lower is better.
    ClatP99,
    /// 99.9th percentile of completion latency, nanoseconds; lower is better.
    ClatP999,
}

impl Metric {
    /// All metrics, in the order in which reports list them.
    pub const ALL: [Metric; 7] =
        [Self::Iops, Self::Bw, Self::CpuPerIo, Self::ClatMean, Self::ClatP50, Self::ClatP99, Self::ClatP999];

    /// Those that a report shows when the experiment names none.
    pub const USUAL: [Metric; 5] = [Self::Iops, Self::Bw, Self::CpuPerIo, Self::ClatMean, Self::ClatP99];

    /// As the experiment file writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Iops => "iops",
            Self::Bw => "bw",
            Self::CpuPerIo => "cpu_per_io",
            Self::ClatMean => "clat_mean",
            Self::ClatP50 => "clat_p50",
            Self::ClatP99 => "clat_p99",
            Self::ClatP999 => "clat_p999",
        }
    }

    /// Whether a larger value is the better one.
    pub fn higher_is_better(self) -> bool {
        matches!(self, Self::Iops | Self::Bw)
    }

    /// The quantile that the metric is of a histogram of latencies, if it is one.
    pub fn quantile(self) -> Option<f64> {
        match self {
            Self::ClatP50 => Some(0.5),
            Self::ClatP99 => Some(0.99),
            Self::ClatP999 => Some(0.999),
            _ => None,
        }
    }

    /// Default of `same_within`, as a fraction (statistics.md, "Defaults for delta").
    pub fn default_margin(self) -> f64 {
        match self {
            Self::ClatP99 => 0.03,
            Self::ClatP999 => 0.1,
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
