//! What a visit does next, and the cells that cannot be measured on a board.

use kab_model::{
    BoardName, BoardRun, Cell, CellId, Outcome, Plan, Reason, Run, TrialKey, VariantName, Visit, VisitState,
};

/// The next thing to do within a visit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextTrial {
    /// Run this trial.
    Run(TrialKey),
    /// All cells are through, or were void too often while others are through.
    End,
    /// No cell is through, and some trial of each was void too often: the visit is void.
    Void(Reason),
}

/// Visits in which a cell was void too often before it is tried no more on that board, whatever the variants.
const HOPELESS: usize = 2;

/// Decides what a visit does next: cells in the plan's order, warm-ups before counted trials, a void attempt again
/// up to the limit. A cell that reached it is left for this visit; one that did so in two earlier visits to the board is
/// not begun. `run` holds those earlier visits; later ones make no difference.
pub fn next_trial(plan: &Plan, run: &Run, visit: &Visit) -> NextTrial {
    let left_out = run.boards.get(&visit.key.board).map_or_else(Vec::new, |board| {
        let earlier = board.visits.iter().filter(|other| other.key.visit < visit.key.visit);
        hopeless_cells(plan, &earlier).into_iter().map(|(cell, _)| cell).collect()
    });
    let mut through = plan.cells.is_empty();
    let mut last = None;
    for cell in plan.cells.iter().filter(|cell| !left_out.contains(&&cell.id)) {
        match stand(plan, visit, cell) {
            Stand::Next(trial) => return NextTrial::Run(trial),
            Stand::Through => through = true,
            Stand::TooOften(reason) => last = Some(reason),
        }
    }
    match last {
        Some(reason) if !through => NextTrial::Void(reason),
        _ => NextTrial::End,
    }
}

/// A cell that some complete visits of a variant to a board have no full set of trials of, because trials were void
/// too often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmeasured {
    /// The board.
    pub board: BoardName,
    /// The variant.
    pub variant: VariantName,
    /// The cell.
    pub cell: CellId,
    /// Number of such visits.
    pub visits: usize,
    /// What was seen.
    pub reason: Reason,
}

/// The cells that the lab kept from being measured in visits that are complete otherwise; in the order of the plan's
/// boards, variants and cells.
pub fn unmeasured(plan: &Plan, run: &Run) -> Vec<Unmeasured> {
    let mut all = Vec::new();
    for board in &plan.boards {
        let Some(state) = run.boards.get(&board.spec.name) else { continue };
        for variant in &plan.variants {
            let complete = |visit: &&Visit| {
                visit.key.variant == variant.name && matches!(visit.state, VisitState::Ended)
            };
            let visits: Vec<&Visit> = state.visits.iter().filter(complete).collect();
            all.extend(plan.cells.iter().filter_map(|cell| {
                let left: Vec<&&Visit> = visits
                    .iter()
                    .filter(|visit| !matches!(stand(plan, visit, cell), Stand::Through))
                    .collect();
                let reason = left.first().map(|visit| why(plan, state, visit, cell))?;
                Some(Unmeasured {
                    board: board.spec.name.clone(),
                    variant: variant.name.clone(),
                    cell: cell.id.clone(),
                    visits: left.len(),
                    reason,
                })
            }));
        }
    }
    all
}

/// Why a board has nothing left that can be measured on it, once each cell is hopeless.
pub(crate) fn all_hopeless(plan: &Plan, board: &BoardRun) -> Option<Reason> {
    let hopeless = hopeless_cells(plan, &board.visits.iter());
    let last = hopeless.last()?;
    (hopeless.len() == plan.cells.len()).then(|| last.1.clone())
}

/// Cells that were void too often in enough of these visits, each with what was seen last.
fn hopeless_cells<'a>(
    plan: &'a Plan,
    visits: &(impl Iterator<Item = &'a Visit> + Clone),
) -> Vec<(&'a CellId, Reason)> {
    let seen = |cell: &'a Cell| {
        let reasons: Vec<Reason> = visits.clone().filter_map(|visit| too_often(plan, visit, cell)).collect();
        if reasons.len() < HOPELESS { None } else { Some((&cell.id, reasons.last()?.clone())) }
    };
    plan.cells.iter().filter_map(seen).collect()
}

/// What was seen in a visit that left a cell, or else in the visits before it.
fn why(plan: &Plan, board: &BoardRun, visit: &Visit, cell: &Cell) -> Reason {
    let before = || {
        let earlier = board.visits.iter().filter(|other| other.key.visit < visit.key.visit);
        earlier.filter_map(|other| too_often(plan, other, cell)).next_back()
    };
    too_often(plan, visit, cell).or_else(before).unwrap_or_else(|| Reason {
        rule: VOID_TRIALS.to_owned(),
        detail: format!("{} was not tried", cell.id),
    })
}

/// The reason if some trial of the cell reached the limit in this visit.
fn too_often(plan: &Plan, visit: &Visit, cell: &Cell) -> Option<Reason> {
    match stand(plan, visit, cell) {
        Stand::TooOften(reason) => Some(reason),
        _ => None,
    }
}

/// Where a cell stands in a visit.
enum Stand {
    /// This trial comes next.
    Next(TrialKey),
    /// All trials ended as ok, noted or failed.
    Through,
    /// A trial reached the limit of void attempts.
    TooOften(Reason),
}

fn stand(plan: &Plan, visit: &Visit, cell: &Cell) -> Stand {
    for (warmup, count) in [(true, plan.warmup), (false, plan.trials)] {
        for index in 0..count {
            match attempts(visit, &cell.id, warmup, index) {
                Attempts::Settled => {}
                Attempts::Void { void, last: Some(last), .. } if void >= plan.limits.void_trials => {
                    let detail = format!("{} was void {void} times, last: {last}", cell.id);
                    return Stand::TooOften(Reason { rule: VOID_TRIALS.to_owned(), detail });
                }
                Attempts::Void { begun: attempt, .. } => {
                    let (visit, cell) = (visit.key.clone(), cell.id.clone());
                    return Stand::Next(TrialKey { visit, cell, warmup, index, attempt });
                }
            }
        }
    }
    Stand::Through
}

/// Rule of a cell, and of a visit, whose trials were void too often.
const VOID_TRIALS: &str = "void-trials";

enum Attempts {
    /// It ended as ok, noted or failed.
    Settled,
    /// It did not so far.
    Void {
        /// Attempts; the ones that were in flight when the visit ended, too.
        begun: u32,
        /// Attempts that ended as void.
        void: u32,
        /// Why the last of these did.
        last: Option<Reason>,
    },
}

fn attempts(visit: &Visit, cell: &CellId, warmup: bool, index: u32) -> Attempts {
    let (mut begun, mut void, mut last) = (0, 0, None);
    for trial in &visit.trials {
        let key = &trial.key;
        if &key.cell != cell || key.warmup != warmup || key.index != index {
            continue;
        }
        begun += 1;
        match &trial.outcome {
            Some(Outcome::Void { reasons }) => {
                void += 1;
                last = reasons.first().cloned();
            }
            Some(_) => return Attempts::Settled,
            None => {}
        }
    }
    Attempts::Void { begun, void, last }
}
