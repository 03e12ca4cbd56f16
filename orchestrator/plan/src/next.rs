//! What comes next, from the plan and the folded log alone.

use crate::trials::all_hopeless;
use kab_model::{
    BoardName, BuildState, FailureClass, Limits, Order, Plan, Reason, Run, VariantName, Visit, VisitKey,
    VisitState,
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
        if settled(plan, run, board, round, variant) {
            continue;
        }
        let (board, variant) = (board.clone(), variant.clone());
        if let Some(reason) = run.boards.get(&board).and_then(|state| all_hopeless(plan, state)) {
            return Next::GiveUp { board, variant: None, reason };
        }
        if let Some(reason) = give_up(&plan.limits, run, &board, &variant) {
            return Next::GiveUp { board, variant: Some(variant), reason };
        }
        let visit = run.boards.get(&board).map_or(0, |board| board.visits.len());
        let visit = u32::try_from(visit).unwrap_or(u32::MAX);
        return Next::Visit(VisitKey { board, round, variant, visit });
    }
    Next::Finish
}

/// Visits that are still to come if nothing goes wrong, for the time left.
pub fn outstanding_visits(plan: &Plan, run: &Run) -> usize {
    slots(plan)
        .into_iter()
        .filter(|(board, round, variant)| !settled(plan, run, board, *round, variant))
        .count()
}

/// Those of one round, on all boards.
pub fn outstanding_visits_of_round(plan: &Plan, run: &Run, round: u32) -> usize {
    let open = |(board, at, variant): &(&BoardName, u32, &VariantName)| {
        *at == round && !settled(plan, run, board, *at, variant)
    };
    slots(plan).iter().filter(|slot| open(slot)).count()
}

/// All places of the plan in order: round, then board, then variant as ordered in the round. In sequential order the variant
/// comes first.
fn slots(plan: &Plan) -> Vec<(&BoardName, u32, &VariantName)> {
    let rounds = plan.boards.iter().map(|board| board.rounds.len()).max().unwrap_or(0);
    let round = |round: usize| {
        plan.boards.iter().flat_map(move |board| {
            let number = u32::try_from(round).unwrap_or(u32::MAX);
            let variants = board.rounds.get(round).map_or(&[][..], Vec::as_slice);
            variants.iter().map(move |variant| (&board.spec.name, number, variant))
        })
    };
    let mut slots: Vec<_> = (0..rounds).flat_map(round).collect();
    if plan.order == Order::Sequential {
        let place = |variant: &VariantName| plan.variants.iter().position(|planned| planned.name == *variant);
        slots.sort_by_key(|(_, _, variant)| place(variant));
    }
    slots
}

/// Whether a place needs nothing more: visited, given up, without a kernel, the same as another variant, or with nothing to
/// compare it with.
fn settled(plan: &Plan, run: &Run, board: &BoardName, round: u32, variant: &VariantName) -> bool {
    if not_built(run, variant) || incomparable(plan, run) || run.same_as(variant).is_some() {
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

fn not_built(run: &Run, variant: &VariantName) -> bool {
    matches!(run.builds.get(variant), Some(BuildState::Failed(_)))
}

/// Whether each pair of the plan has a side that cannot be built, so that hours of measuring would answer nothing.
fn incomparable(plan: &Plan, run: &Run) -> bool {
    let broken = |(candidate, reference)| not_built(run, candidate) || not_built(run, reference);
    !plan.pairs.is_empty() && plan.pairs.iter().map(|(a, b)| (a, b)).all(broken)
}

/// Whether a variant has gone wrong too often on a board. The others are measured all the same: it may be its doing.
fn give_up(limits: &Limits, run: &Run, board: &BoardName, variant: &VariantName) -> Option<Reason> {
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
        return Some(Reason { rule: "void-visits".to_owned(), detail });
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
        Reason { rule: "failed-boots".to_owned(), detail }
    })
}

/// Rule of a visit that was open when kab ended.
pub const INTERRUPTED: &str = "interrupted";
