//! What comes next, from the plan and the folded log alone.

use kab_model::{
    BoardName, BuildState, Cell, CellId, FailureClass, Limits, Outcome, Plan, Reason, Run, TrialKey,
    VariantName, Visit, VisitKey, VisitState,
};

/// The next thing to do in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Build this variant's kernel.
    Build(VariantName),
    /// A visit was open when kab ended: it is void, and replaced whole.
    CloseInterrupted(VisitKey),
    /// Record that nothing more will be tried.
    GiveUp {
        /// The board.
        board: BoardName,
        /// The variant, or all of the board's where absent.
        variant: Option<VariantName>,
        /// Why.
        reason: Reason,
    },
    /// Boot this variant on this board and run all cells.
    Visit(VisitKey),
    /// The plan is finished as far as it can be.
    Finish,
}

/// The next thing to do within a visit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextTrial {
    /// Run this trial.
    Run(TrialKey),
    /// All cells are through.
    End,
    /// One trial was void too often: the visit is void.
    Void(Reason),
}

/// Decides what a run does next. Builds come first, so that nothing of kab's loads the host while it measures
/// (invariant 13); then round by round, all boards in a round, so that an early stop leaves balanced data.
pub fn next(plan: &Plan, run: &Run) -> Next {
    if let Some(variant) = plan.variants.iter().find(|variant| !run.builds.contains_key(&variant.name)) {
        return Next::Build(variant.name.clone());
    }
    if let Some(open) = run.visits().find(|visit| visit.state == VisitState::Open) {
        return Next::CloseInterrupted(open.key.clone());
    }
    for (board, round, variant) in slots(plan) {
        if settled(run, board, round, variant) {
            continue;
        }
        if let Some((whom, reason)) = give_up(&plan.limits, run, board, variant) {
            return Next::GiveUp { board: board.clone(), variant: whom, reason };
        }
        let visit = run.boards.get(board).map_or(0, |board| board.visits.len());
        return Next::Visit(VisitKey {
            board: board.clone(),
            round,
            variant: variant.clone(),
            visit: u32::try_from(visit).unwrap_or(u32::MAX),
        });
    }
    Next::Finish
}

/// Visits that are still to come if nothing goes wrong, for the time left.
pub fn outstanding_visits(plan: &Plan, run: &Run) -> usize {
    slots(plan).filter(|(board, round, variant)| !settled(run, board, *round, variant)).count()
}

/// Decides what a visit does next: cells in the plan's order, warm-ups before counted trials, a void attempt again
/// up to the limit.
pub fn next_trial(plan: &Plan, visit: &Visit) -> NextTrial {
    for cell in &plan.cells {
        for (warmup, count) in [(true, plan.warmup), (false, plan.trials)] {
            for index in 0..count {
                match attempts(visit, &cell.id, warmup, index) {
                    Attempts::Settled => {}
                    Attempts::Void(number, reason) if number >= plan.limits.void_trials => {
                        return NextTrial::Void(too_often(cell, number, &reason));
                    }
                    Attempts::Void(attempt, _) => {
                        return NextTrial::Run(key(visit, cell, warmup, index, attempt));
                    }
                }
            }
        }
    }
    NextTrial::End
}

enum Attempts {
    /// It ended as ok, noted or failed.
    Settled,
    /// So many attempts were void (0: none was made), the last for this reason.
    Void(u32, Option<Reason>),
}

fn attempts(visit: &Visit, cell: &CellId, warmup: bool, index: u32) -> Attempts {
    let mut void = 0;
    let mut last = None;
    for trial in &visit.trials {
        let key = &trial.key;
        if &key.cell != cell || key.warmup != warmup || key.index != index {
            continue;
        }
        match &trial.outcome {
            Some(Outcome::Void { reasons }) => {
                void += 1;
                last = reasons.first().cloned();
            }
            Some(_) => return Attempts::Settled,
            None => void += 1,
        }
    }
    Attempts::Void(void, last)
}

fn too_often(cell: &Cell, number: u32, last: &Option<Reason>) -> Reason {
    let last = last.as_ref().map_or_else(String::new, |reason| format!(", last: {reason}"));
    Reason { rule: "void-trials".to_owned(), detail: format!("{} was void {number} times{last}", cell.id) }
}

fn key(visit: &Visit, cell: &Cell, warmup: bool, index: u32, attempt: u32) -> TrialKey {
    TrialKey { visit: visit.key.clone(), cell: cell.id.clone(), warmup, index, attempt }
}

/// All places of the plan in order: round, then board, then variant as shuffled.
fn slots(plan: &Plan) -> impl Iterator<Item = (&BoardName, u32, &VariantName)> {
    let rounds = plan.boards.iter().map(|board| board.rounds.len()).max().unwrap_or(0);
    (0..rounds).flat_map(move |round| {
        plan.boards.iter().flat_map(move |board| {
            let number = u32::try_from(round).unwrap_or(u32::MAX);
            let variants = board.rounds.get(round).map_or(&[][..], Vec::as_slice);
            variants.iter().map(move |variant| (&board.spec.name, number, variant))
        })
    })
}

/// Whether a place needs nothing more: visited, given up, or without a kernel.
fn settled(run: &Run, board: &BoardName, round: u32, variant: &VariantName) -> bool {
    if matches!(run.builds.get(variant), Some(BuildState::Failed(_))) {
        return true;
    }
    let Some(board) = run.boards.get(board) else { return false };
    let given_up = board.given_up.iter().any(|(whom, _)| whom.as_ref().is_none_or(|whom| whom == variant));
    given_up
        || board.visits.iter().any(|visit| {
            visit.key.round == round
                && &visit.key.variant == variant
                && matches!(visit.state, VisitState::Ended | VisitState::Failed(..))
        })
}

/// Whether a variant has gone wrong too often on a board. The others are measured all the same: it may be its doing.
fn give_up(
    limits: &Limits,
    run: &Run,
    board: &BoardName,
    variant: &VariantName,
) -> Option<(Option<VariantName>, Reason)> {
    let visits = &run.boards.get(board)?.visits;
    let of_variant = || visits.iter().filter(|visit| &visit.key.variant == variant);
    let voids: Vec<&Reason> = of_variant()
        .filter_map(|visit| match &visit.state {
            VisitState::Void(reason) if reason.rule != INTERRUPTED => Some(reason),
            _ => None,
        })
        .collect();
    if voids.len() >= limits.void_visits as usize {
        let last = voids.last().map_or_else(String::new, |reason| reason.to_string());
        let detail = format!("{} visits of {:?} were void, last: {last}", voids.len(), variant.0);
        return Some((Some(variant.clone()), Reason { rule: "void-visits".to_owned(), detail }));
    }
    // A void visit that never came up says nothing of the variant's boots.
    let told = |visit: &&Visit| visit.proof.is_some() || !matches!(visit.state, VisitState::Void(_));
    let boots = of_variant()
        .rev()
        .filter(told)
        .take_while(|visit| matches!(visit.state, VisitState::Failed(FailureClass::Boot, _)))
        .count();
    (boots >= limits.failed_boots as usize).then(|| {
        let detail = format!("{boots} boots in a row failed");
        (Some(variant.clone()), Reason { rule: "failed-boots".to_owned(), detail })
    })
}

/// Rule of a visit that was open when kab ended.
pub const INTERRUPTED: &str = "interrupted";
