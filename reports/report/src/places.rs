//! The trials of a run by board and cell, found once: a large run has a hundred thousand, and each metric asks for all of them.

use kab_model::{CellId, Plan, Run, Sample, TrialState, VariantName, Visit, VisitState};
use std::collections::HashMap;

/// A trial with its visit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed<'a> {
    /// Index of the variant in the plan.
    pub(crate) variant: usize,
    /// The visit.
    pub(crate) visit: &'a Visit,
    /// The trial.
    pub(crate) trial: &'a TrialState,
}

impl<'a> Placed<'a> {
    /// The numbers that count; see [`Visit::counted`].
    pub(crate) fn sample(&self) -> Option<&'a Sample> {
        let over = !matches!(self.visit.state, VisitState::Void(_) | VisitState::Open);
        self.trial.sample.as_ref().filter(|_| over && !self.trial.key.warmup)
    }
}

/// All of them, warm-ups, too.
#[derive(Debug)]
pub(crate) struct Places<'a> {
    /// `[board][cell]`, in the order of the log.
    pub(crate) boards: Vec<Vec<Vec<Placed<'a>>>>,
}

impl<'a> Places<'a> {
    /// The trials of what the plan names; anything else is left out.
    pub(crate) fn of(run: &'a Run, plan: &Plan) -> Self {
        let cells: HashMap<&CellId, usize> =
            plan.cells.iter().enumerate().map(|(at, cell)| (&cell.id, at)).collect();
        let variants: HashMap<&VariantName, usize> =
            plan.variants.iter().enumerate().map(|(at, variant)| (&variant.name, at)).collect();
        let of_board = |name| {
            let mut placed = vec![Vec::new(); plan.cells.len()];
            for visit in run.boards.get(name).into_iter().flat_map(|board| &board.visits) {
                let Some(&variant) = variants.get(&visit.key.variant) else { continue };
                for trial in &visit.trials {
                    if let Some(&cell) = cells.get(&trial.key.cell) {
                        placed[cell].push(Placed { variant, visit, trial });
                    }
                }
            }
            placed
        };
        Self { boards: plan.boards.iter().map(|board| of_board(&board.spec.name)).collect() }
    }
}
