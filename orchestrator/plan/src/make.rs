//! Experiment, lab and pinned sources -> plan.

use crate::cells::expand;
use kab_model::{
    BoardSpec, Cell, Experiment, Lab, Limits, Order, PinnedFile, Plan, PlannedBoard, PlannedKernel,
    PlannedVariant, Variant, VariantName,
};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

/// One kernel of a variant, pinned. A ladder has several, the base first.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedVariant {
    /// Index in [`Experiment::variants`].
    pub variant: usize,
    /// Which kernel of a ladder: 0 is the base.
    pub step: Option<u32>,
    /// Its kernel.
    pub kernel: PlannedKernel,
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
    /// A name of a ladder's step that it does not have.
    #[error("no variant is named {name:?}; there are {known}")]
    NoVariant {
        /// As written.
        name: String,
        /// What there is.
        known: String,
    },
    /// Boards that need different kernels.
    #[error(
        "board {one:?} is {one_arch} and board {other:?} is {other_arch}: a run builds one kernel of each variant, so run \
         the experiment once for each architecture"
    )]
    SeveralArchitectures {
        /// A board.
        one: String,
        /// Its architecture.
        one_arch: &'static str,
        /// Another board.
        other: String,
        /// Its architecture.
        other_arch: &'static str,
    },
    /// A variant's fio option that a workload has as an axis.
    #[error(
        "variant {variant:?} sets the fio option {option:?}, which is an axis of workload {workload:?}: its tests would be \
         one and the same"
    )]
    OverriddenAxis {
        /// The variant.
        variant: String,
        /// The option.
        option: String,
        /// The workload.
        workload: String,
    },
    /// No cell is left.
    #[error("the workloads have no cell to run: `exclude` removes all of them")]
    NoCells,
}

/// The plan of an experiment from all its kernels, in the order of `experiment.variants`; those of a ladder in their order.
/// Which files differ is left to the caller, who has git.
pub fn make_plan(
    experiment: &Experiment,
    experiment_digest: &str,
    lab: &Lab,
    resolved: &[ResolvedVariant],
    seed: u64,
) -> Result<Plan, PlanError> {
    let boards = chosen_boards(experiment, lab)?;
    require_one_architecture(&boards)?;
    require_targets(experiment)?;
    let cells = expand(experiment);
    if cells.is_empty() {
        return Err(PlanError::NoCells);
    }
    for board in &boards {
        require_scratch(board, &cells)?;
    }
    require_axes(experiment, &cells)?;
    let variants: Vec<PlannedVariant> =
        resolved.iter().map(|kernel| planned_variant(&experiment.variants[kernel.variant], kernel)).collect();
    let baseline = named(&experiment.baseline, &variants, Side::Reference)?;
    let pairs = pairs(experiment, &variants, &baseline)?;
    let boards = boards.into_iter().map(|board| planned_board(experiment, &variants, board, seed)).collect();
    Ok(Plan {
        name: experiment.name.clone(),
        title: experiment.title.clone(),
        experiment_digest: experiment_digest.to_owned(),
        seed,
        variants,
        baseline,
        pairs,
        order: experiment.schedule.order,
        boards,
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

fn require_one_architecture(boards: &[&BoardSpec]) -> Result<(), PlanError> {
    let first = boards[0];
    match boards.iter().find(|board| board.arch != first.arch) {
        Some(other) => Err(PlanError::SeveralArchitectures {
            one: first.name.0.clone(),
            one_arch: first.arch.kernel_name(),
            other: other.name.0.clone(),
            other_arch: other.arch.kernel_name(),
        }),
        None => Ok(()),
    }
}

fn require_axes(experiment: &Experiment, cells: &[Cell]) -> Result<(), PlanError> {
    for variant in &experiment.variants {
        for option in &variant.fio {
            if let Some(cell) =
                cells.iter().find(|cell| cell.axes.iter().any(|axis| axis.name == option.name))
            {
                return Err(PlanError::OverriddenAxis {
                    variant: variant.name.0.clone(),
                    option: option.name.clone(),
                    workload: cell.workload.clone(),
                });
            }
        }
    }
    Ok(())
}

/// Where a name stands.
#[derive(Clone, Copy)]
enum Side {
    Candidate,
    Reference,
}

/// The variant of that name. A ladder's own name means its base where others are compared with it, else its last step.
fn named(name: &VariantName, variants: &[PlannedVariant], side: Side) -> Result<VariantName, PlanError> {
    let is_step = |planned: &&PlannedVariant| {
        let step = planned.name.0.strip_prefix(name.0.as_str());
        step.is_some_and(|step| {
            step == " base" || step.strip_prefix(" +").is_some_and(|n| n.parse::<u32>().is_ok())
        })
    };
    let exact = variants.iter().find(|planned| planned.name == *name);
    let mut steps = variants.iter().filter(is_step);
    let found = exact.or_else(|| match side {
        Side::Reference => steps.next(),
        Side::Candidate => steps.next_back(),
    });
    found.map(|planned| planned.name.clone()).ok_or_else(|| PlanError::NoVariant {
        name: name.0.clone(),
        known: join(variants.iter().map(|planned| planned.name.0.as_str())),
    })
}

fn join<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn planned_variant(variant: &Variant, resolved: &ResolvedVariant) -> PlannedVariant {
    let name = match resolved.step {
        None => variant.name.clone(),
        Some(0) => VariantName(format!("{} base", variant.name)),
        Some(step) => VariantName(format!("{} +{step}", variant.name)),
    };
    PlannedVariant {
        stamp: stamp(&name, variant, resolved),
        name,
        kernel: resolved.kernel.clone(),
        changed_files: Vec::new(),
        cmdline: variant.cmdline.clone(),
        knobs: variant.knobs.clone(),
        fio: variant.fio.clone(),
    }
}

/// Twelve hexadecimal digits over all that distinguishes a variant, its name included: two variants of equal
/// content still carry different stamps, so that a swapped boot is seen.
fn stamp(name: &VariantName, variant: &Variant, resolved: &ResolvedVariant) -> String {
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
    let content = serde_json::json!([name, kernel, variant.cmdline, variant.knobs, variant.fio]);
    blake3::hash(content.to_string().as_bytes()).to_hex()[..12].to_owned()
}

/// Every other variant against the baseline, then the further pairs that are not among them.
fn pairs(
    experiment: &Experiment,
    variants: &[PlannedVariant],
    baseline: &VariantName,
) -> Result<Vec<(VariantName, VariantName)>, PlanError> {
    let others = variants.iter().filter(|variant| &variant.name != baseline);
    let mut pairs: Vec<(VariantName, VariantName)> =
        others.map(|variant| (variant.name.clone(), baseline.clone())).collect();
    for (candidate, reference) in &experiment.against {
        let pair =
            (named(candidate, variants, Side::Candidate)?, named(reference, variants, Side::Reference)?);
        if !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    Ok(pairs)
}

fn planned_board(
    experiment: &Experiment,
    variants: &[PlannedVariant],
    board: &BoardSpec,
    seed: u64,
) -> PlannedBoard {
    let names: Vec<VariantName> = variants.iter().map(|variant| variant.name.clone()).collect();
    let mut random = Pcg64Mcg::seed_from_u64(board_seed(seed, board));
    let rounds = (0..experiment.schedule.visits)
        .map(|number| {
            let mut round = names.clone();
            match experiment.schedule.order {
                Order::Random => round.shuffle(&mut random),
                Order::Abba if number % 2 == 1 => round.reverse(),
                Order::Abba | Order::Sequential => {}
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
