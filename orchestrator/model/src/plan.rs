//! What will be done: everything fixed before the first boot, so that the same input and seed give the same plan.

use crate::{
    Arch, BoardName, BoardSpec, CellId, ConfigItem, FioOption, ReportSpec, TargetName, Toolchain, VariantName,
};
use serde::{Deserialize, Serialize};

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
    /// Path or URL of the repository.
    pub repo: String,
    /// The ref as written.
    pub reference: String,
    /// Commit that the ref named, 40 hexadecimal digits.
    pub base_commit: String,
    /// Commit after the series, 40 hexadecimal digits; equals `base_commit` without one.
    pub commit: String,
    /// Tree of `commit`, 40 hexadecimal digits.
    pub tree: String,
    /// `git describe` of the base where it has one.
    pub describe: Option<String>,
    /// The series on top of the ref.
    pub series: Option<SeriesInfo>,
    /// Files that differ from the baseline's tree, at most 1000.
    pub changed_files: Vec<String>,
    /// Requested configuration.
    pub config: Vec<ConfigItem>,
    /// Which compiler.
    pub toolchain: Toolchain,
    /// Command line of the variant alone.
    pub cmdline: Option<String>,
}

/// A series as it was applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesInfo {
    /// File or folder as the experiment names it (no host path).
    pub source: String,
    /// Subjects of the patches without their `[PATCH]` prefix.
    pub subjects: Vec<String>,
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
