//! What will be done: everything fixed before the first boot, so that the same input and seed give the same plan.

use crate::{
    Arch, BoardName, BoardSpec, CellId, ConfigItem, FioOption, Knob, Order, ReportSpec, TargetName,
    Toolchain, VariantName,
};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A whole run, decided. Stored as the first event of its log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The experiment's short name.
    pub name: String,
    /// The experiment's title.
    pub title: Option<String>,
    /// BLAKE3 of the experiment file's bytes and every file it names.
    pub experiment_digest: String,
    /// Seed of the shuffling.
    pub seed: u64,
    /// Variants in the order of the experiment.
    pub variants: Vec<PlannedVariant>,
    /// The baseline; names one of `variants`.
    pub baseline: VariantName,
    /// `(candidate, reference)` pairs to judge, baseline pairs first.
    pub pairs: Vec<(VariantName, VariantName)>,
    /// Order of the variants in the rounds, and of the rounds.
    #[serde(default)]
    pub order: Order,
    /// Boards with their rounds.
    pub boards: Vec<PlannedBoard>,
    /// Cells in the one order in which every visit runs them.
    pub cells: Vec<Cell>,
    /// Counted trials of each cell in a visit.
    pub trials: u32,
    /// Warm-up trials of each cell in a visit.
    pub warmup: u32,
    /// Pause before each trial, milliseconds.
    pub cooldown_ms: u64,
    /// How often things may go wrong.
    pub limits: Limits,
    /// What the report judges.
    pub report: ReportSpec,
}

impl Plan {
    /// The planned board of that name.
    pub fn board(&self, name: &BoardName) -> Option<&PlannedBoard> {
        self.boards.iter().find(|board| &board.spec.name == name)
    }

    /// The planned variant of that name.
    pub fn variant(&self, name: &VariantName) -> Option<&PlannedVariant> {
        self.variants.iter().find(|variant| &variant.name == name)
    }

    /// The cell of that id.
    pub fn cell(&self, id: &CellId) -> Option<&Cell> {
        self.cells.iter().find(|cell| &cell.id == id)
    }

    /// Trials, warm-ups included, of one complete visit.
    pub fn trials_per_visit(&self) -> u32 {
        u32::try_from(self.cells.len()).unwrap_or(u32::MAX) * (self.trials + self.warmup)
    }
}

/// A variant with its source pinned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedVariant {
    /// Its name in reports.
    pub name: VariantName,
    /// Short digest of everything that distinguishes the variant; the stamp is `kab=<stamp>`.
    pub stamp: String,
    /// What runs.
    pub kernel: PlannedKernel,
    /// Files that differ from the baseline's tree, at most 1000.
    pub changed_files: Vec<String>,
    /// Command line of the variant alone.
    pub cmdline: Option<String>,
    /// Settings at run time.
    pub knobs: Vec<Knob>,
    /// fio options that replace or add to those of every cell.
    pub fio: Vec<FioOption>,
}

impl PlannedVariant {
    /// The pinned source, unless the kernel is prebuilt or the board's own.
    pub fn source(&self) -> Option<&PinnedKernel> {
        match &self.kernel {
            PlannedKernel::Built(source) => Some(source),
            _ => None,
        }
    }

    /// Patches and reverts in the order in which they were applied.
    pub fn changes(&self) -> &[Applied] {
        self.source().map_or(&[], |source| &source.changes)
    }
}

/// What a variant runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlannedKernel {
    /// Built from git.
    Built(Box<PinnedKernel>),
    /// Files that exist already, with the digests that they had when the plan was made.
    Prebuilt {
        /// Boot image.
        image: PinnedFile,
        /// Device tree blob.
        dtb: Option<PinnedFile>,
        /// Archive or folder of modules.
        modules: Option<PinnedFile>,
    },
    /// Whatever the board runs.
    Running,
}

/// A file as it was when the plan was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedFile {
    /// Absolute path.
    pub path: PathBuf,
    /// BLAKE3, hexadecimal; of a folder, over the names and contents below it.
    pub digest: String,
}

/// A source that no moving ref can change any more, and how it is built.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PinnedKernel {
    /// Path or URL of the repository.
    pub repo: String,
    /// The ref as written; of a working tree `working tree`.
    pub reference: String,
    /// Commit that the ref named, 40 hexadecimal digits.
    pub base_commit: String,
    /// Commit after all changes, 40 hexadecimal digits; equals `base_commit` without any.
    pub commit: String,
    /// Tree of `commit`, 40 hexadecimal digits.
    pub tree: String,
    /// `git describe` of the base where it has one.
    pub describe: Option<String>,
    /// What was applied to the base, in order.
    pub changes: Vec<Applied>,
    /// Requested configuration.
    pub config: Vec<ConfigItem>,
    /// Which compiler.
    pub toolchain: Toolchain,
    /// A device tree overlay.
    pub overlay: Option<PinnedFile>,
    /// Functions are aligned differently.
    pub placebo: bool,
}

/// A change as it was applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Applied {
    /// Patches.
    Series(SeriesInfo),
    /// A revert.
    Revert(CommitInfo),
    /// A commit of a range.
    Commit(CommitInfo),
    /// Changes of a working tree that are not committed.
    Uncommitted {
        /// Files that differ from the last commit.
        files: usize,
    },
    /// A patch of device tree sources.
    DeviceTree {
        /// The file's name.
        source: String,
    },
}

/// A commit, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitInfo {
    /// 40 hexadecimal digits.
    pub commit: String,
    /// First line of its message.
    pub subject: String,
}

/// A series as it was applied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesInfo {
    /// File, folder, message-id or URL as the experiment names it (no host path).
    pub source: String,
    /// Subject of the cover letter, or of the only patch, without its `[PATCH]` prefix.
    pub title: Option<String>,
    /// Version of the series, from 1.
    pub version: Option<u32>,
    /// Message-id of the cover letter, or of the first patch, without angle brackets.
    pub message_id: Option<String>,
    /// Subjects of the patches that were applied, without their `[PATCH]` prefix.
    pub subjects: Vec<String>,
    /// Patches that the whole series has, where only some were applied.
    pub of: Option<u32>,
}

/// A board with the order of its visits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedBoard {
    /// The board as the lab file describes it.
    pub spec: BoardSpec,
    /// For each round the variants in the order in which they are visited.
    pub rounds: Vec<Vec<VariantName>>,
}

impl PlannedBoard {
    /// The architecture that variants are built for.
    pub fn arch(&self) -> Arch {
        self.spec.arch
    }
}

/// One point of a workload's matrix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Unique id.
    pub id: CellId,
    /// Name of its workload.
    pub workload: String,
    /// Short label for tables: what distinguishes the cell, such as `read/8`.
    pub label: String,
    /// The matrix values of this cell in the order of the axes.
    pub axes: Vec<FioOption>,
    /// All options, matrix values included, in the order in which fio receives them.
    pub fio: Vec<FioOption>,
    /// What it reads or writes.
    pub target: TargetName,
    /// Whether fio writes to the target.
    pub writes: bool,
    /// Run time and ramp time that the options ask for, milliseconds, where they do.
    pub planned_ms: Option<u64>,
}

/// How often things may go wrong; equal for all variants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Void visits of one variant on one board before the rest of its visits there is given up. A visit that ended
    /// because kab itself was interrupted is not counted.
    pub void_visits: u32,
    /// Void attempts of one trial before its cell is left for this visit.
    pub void_trials: u32,
    /// Failed boots in a row of one variant on one board before the rest of its visits is given up.
    pub failed_boots: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { void_visits: 3, void_trials: 3, failed_boots: 2 }
    }
}
