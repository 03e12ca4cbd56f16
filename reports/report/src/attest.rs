//! What a mail may claim beside the numbers: that something was tested, and what brought a regression in.

use crate::findings::{Board, Findings, Mean, Tally, Variant, Verdict};
use crate::tallies::failed_visits;

/// Digits of a commit, as the kernel's trailers write it.
const COMMIT: usize = 12;

/// Where the variants under test ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tested {
    /// Boards on which all of them booted and ran whole.
    pub boards: Vec<String>,
    /// Why the other boards are not among them, a sentence each.
    pub refused: Vec<String>,
}

/// On which boards the series under test booted and ran; of a run without a series, the candidates of its pairs. Being slower is no
/// obstacle: a `Tested-by:` says that something was tested.
pub fn tested(findings: &Findings) -> Tested {
    let series: Vec<usize> =
        (0..findings.variants.len()).filter(|at| !findings.variants[*at].patches.is_empty()).collect();
    let mut subjects = if series.is_empty() {
        findings.pairs.iter().map(|(candidate, _)| *candidate).collect()
    } else {
        series
    };
    subjects.sort_unstable();
    subjects.dedup();
    let mut tested = Tested::default();
    if findings.posted.is_some() {
        tested.refused.push("the figures are somebody else's: nothing was run".to_owned());
        return tested;
    }
    for board in &findings.boards {
        let problems: Vec<String> =
            subjects.iter().filter_map(|at| problem(&findings.variants[*at], *at, board)).collect();
        match problems.first() {
            None if !subjects.is_empty() => tested.boards.push(board.name.clone()),
            None => tested.refused.push(format!("{}: nothing is under test", board.name)),
            Some(_) => {
                tested.refused.extend(problems.iter().map(|problem| format!("{}: {problem}", board.name)));
            }
        }
    }
    tested
}

/// What keeps a variant from counting as tested on a board.
fn problem(variant: &Variant, at: usize, board: &Board) -> Option<String> {
    let name = &variant.name;
    let tally: &Tally = &board.tallies[at];
    let numbers = |cell: &crate::Cell| matches!(cell.metrics[0].means[at], Mean::Value(_));
    let given_up = board.given_up.iter().any(|(whom, _)| whom.is_none_or(|whom| whom == at));
    if variant.build_error.is_some() {
        Some(format!("{name} could not be built"))
    } else if failed_visits(tally) > 0 {
        Some(format!("{name} failed {} of {} boots", failed_visits(tally), tally.visits))
    } else if tally.failed_trials > 0 {
        Some(format!("{name} failed {} of {} trials", tally.failed_trials, tally.trials))
    } else if given_up {
        Some(format!("{name} was given up"))
    } else if board.cells.is_empty() || !board.cells.iter().all(numbers) {
        Some(format!("{name} was not measured in every test"))
    } else {
        None
    }
}

/// The range in which a regression came in, `good..bad`: the first pair whose candidate is worse in the primary metric and is a commit
/// that others have. A series is not in any tree yet, so it cannot have introduced anything.
pub fn introduced(findings: &Findings) -> Option<String> {
    let worse = |pair: usize| {
        let cells = findings.boards.iter().flat_map(|board| &board.cells);
        let mut verdicts = cells.filter_map(|cell| Some(cell.metrics[0].changes.get(pair)?.verdict));
        verdicts.any(|verdict| verdict == Verdict::Worse)
    };
    findings.pairs.iter().enumerate().find_map(|(pair, (candidate, reference))| {
        let (bad, good) = (&findings.variants[*candidate], &findings.variants[*reference]);
        let public = bad.patches.is_empty() && good.patches.is_empty() && bad.commit != good.commit;
        (public && worse(pair)).then(|| format!("{}..{}", named(good), named(bad)))
    })
}

/// The tag where the ref is one, else the commit.
fn named(variant: &Variant) -> String {
    let tag = variant.describe.as_deref().filter(|describe| *describe == variant.reference);
    tag.map_or_else(|| variant.commit.chars().take(COMMIT).collect(), str::to_owned)
}
