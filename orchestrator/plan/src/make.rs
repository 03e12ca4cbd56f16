//! Experiment, lab and pinned sources -> plan.

use crate::cells::expand;
use kab_model::{
    BoardSpec, Cell, Experiment, Lab, Limits, Order, PinnedFile, Plan, PlannedBoard, PlannedKernel,
    PlannedVariant, Variant, VariantName,
};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

/// What one variant runs, pinned.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedVariant {
    /// Its kernel.
    pub kernel: PlannedKernel,
    /// Files that differ from the baseline's tree.
    pub changed_files: Vec<String>,
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// No board is asked for.
    #[error("the experiment asks for no board: name one under `boards:`")]
    NoBoards,
    /// A name or tag that no board of the lab has.
    #[error("no board of the lab is named or tagged {name:?}; the lab has {known}")]
    NoBoard {
        /// As written.
        name: String,
        /// What there is.
        known: String,
    },
    /// A workload without a target.
    #[error("workload {workload:?} has no target: set `target:` in the experiment or in the workload")]
    NoTarget {
        /// The workload.
        workload: String,
    },
    /// A target that a board does not list as scratch.
    #[error("board {board:?} has no scratch target {target:?}; it has {known}")]
    UnknownTarget {
        /// The board.
        board: String,
        /// The target.
        target: String,
        /// What there is.
        known: String,
    },
    /// No cell is left.
    #[error("the workloads have no cell to run: `exclude` removes all of them")]
    NoCells,
}

/// The plan of an experiment. `resolved[i]` belongs to `experiment.variants[i]`.
pub fn make_plan(
    experiment: &Experiment,
    experiment_digest: &str,
    lab: &Lab,
    resolved: &[ResolvedVariant],
    seed: u64,
) -> Result<Plan, PlanError> {
    assert_eq!(experiment.variants.len(), resolved.len(), "every variant is resolved");
    let boards = chosen_boards(experiment, lab)?;
    require_targets(experiment)?;
    let cells = expand(experiment);
    if cells.is_empty() {
        return Err(PlanError::NoCells);
    }
    for board in &boards {
        require_scratch(board, &cells)?;
    }
    Ok(Plan {
        name: experiment.name.clone(),
        title: experiment.title.clone(),
        experiment_digest: experiment_digest.to_owned(),
        seed,
        variants: experiment.variants.iter().zip(resolved).map(|(v, r)| planned_variant(v, r)).collect(),
        baseline: experiment.baseline.clone(),
        pairs: pairs(experiment),
        boards: boards.into_iter().map(|board| planned_board(experiment, board, seed)).collect(),
        cells,
        trials: experiment.schedule.trials,
        warmup: experiment.schedule.warmup,
        cooldown_ms: u64::try_from(experiment.schedule.cooldown.pause.as_millis()).unwrap_or(u64::MAX),
        limits: Limits::default(),
        report: experiment.report.clone(),
    })
}

fn chosen_boards<'a>(experiment: &Experiment, lab: &'a Lab) -> Result<Vec<&'a BoardSpec>, PlanError> {
    let mut chosen: Vec<&BoardSpec> = Vec::new();
    for wanted in &experiment.boards {
        let found: Vec<&BoardSpec> = lab
            .boards
            .iter()
            .filter(|board| &board.name.0 == wanted || board.tags.contains(wanted))
            .collect();
        if found.is_empty() {
            let known = join(lab.boards.iter().map(|board| board.name.0.as_str()));
            return Err(PlanError::NoBoard { name: wanted.clone(), known });
        }
        for board in found {
            if !chosen.iter().any(|other| other.name == board.name) {
                chosen.push(board);
            }
        }
    }
    if chosen.is_empty() {
        return Err(PlanError::NoBoards);
    }
    Ok(chosen)
}

fn require_targets(experiment: &Experiment) -> Result<(), PlanError> {
    match experiment.workloads.iter().find(|w| w.target.is_none() && experiment.target.is_none()) {
        Some(workload) => Err(PlanError::NoTarget { workload: workload.name.clone() }),
        None => Ok(()),
    }
}

fn require_scratch(board: &BoardSpec, cells: &[Cell]) -> Result<(), PlanError> {
    match cells.iter().find(|cell| !board.targets().any(|target| target == &cell.target)) {
        Some(cell) => Err(PlanError::UnknownTarget {
            board: board.name.0.clone(),
            target: cell.target.0.clone(),
            known: join(board.targets().map(|target| target.0.as_str())),
        }),
        None => Ok(()),
    }
}

fn join<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn planned_variant(variant: &Variant, resolved: &ResolvedVariant) -> PlannedVariant {
    PlannedVariant {
        name: variant.name.clone(),
        stamp: stamp(variant, resolved),
        kernel: resolved.kernel.clone(),
        changed_files: resolved.changed_files.clone(),
        cmdline: variant.cmdline.clone(),
        knobs: variant.knobs.clone(),
        fio: variant.fio.clone(),
    }
}

/// Twelve hexadecimal digits over all that distinguishes a variant, its name included: two variants of equal
/// content still carry different stamps, so that a swapped boot is seen.
fn stamp(variant: &Variant, resolved: &ResolvedVariant) -> String {
    let kernel = match &resolved.kernel {
        // The tree is what is built, by whatever path it came about.
        PlannedKernel::Built(source) => serde_json::json!([
            source.tree,
            source.config,
            source.toolchain,
            source.overlay.as_ref().map(|overlay| &overlay.digest),
            source.placebo
        ]),
        PlannedKernel::Prebuilt { image, dtb, modules } => {
            let digest = |file: &Option<PinnedFile>| file.as_ref().map(|file| file.digest.clone());
            serde_json::json!(["prebuilt", image.digest, digest(dtb), digest(modules)])
        }
        PlannedKernel::Running => serde_json::json!("running"),
    };
    let content = serde_json::json!([variant.name, kernel, variant.cmdline, variant.knobs, variant.fio]);
    blake3::hash(content.to_string().as_bytes()).to_hex()[..12].to_owned()
}

/// Every other variant against the baseline, then the further pairs that are not among them.
fn pairs(experiment: &Experiment) -> Vec<(VariantName, VariantName)> {
    let baseline = &experiment.baseline;
    let mut pairs: Vec<(VariantName, VariantName)> = experiment
        .variants
        .iter()
        .filter(|variant| &variant.name != baseline)
        .map(|variant| (variant.name.clone(), baseline.clone()))
        .collect();
    for pair in &experiment.against {
        if !pairs.contains(pair) {
            pairs.push(pair.clone());
        }
    }
    pairs
}

fn planned_board(experiment: &Experiment, board: &BoardSpec, seed: u64) -> PlannedBoard {
    let names: Vec<VariantName> = experiment.variants.iter().map(|variant| variant.name.clone()).collect();
    let mut random = Pcg64Mcg::seed_from_u64(board_seed(seed, board));
    let rounds = (0..experiment.schedule.visits)
        .map(|_| {
            let mut round = names.clone();
            match experiment.schedule.order {
                Order::Random => round.shuffle(&mut random),
            }
            round
        })
        .collect();
    PlannedBoard { spec: board.clone(), rounds }
}

/// A stream of its own for each board, so that adding a board does not reshuffle the others.
fn board_seed(seed: u64, board: &BoardSpec) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes()).update(board.name.0.as_bytes());
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    u64::from_le_bytes(bytes)
}
