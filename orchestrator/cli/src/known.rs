//! What earlier runs tell of a plan: the smallest difference that it will show.

use kab_model::Plan;
use kab_report::{Noise, known_noise};
use kab_store::Store;

/// Runs that are looked at, the newest first.
const LOOK: usize = 10;

/// One line for a board of a plan, where an earlier run measured the same on it.
pub(crate) fn visible(store: &Store, plan: &Plan, board: &str, rounds: usize) -> Option<String> {
    // An unreadable store is told by the commands that need it.
    let readers = store.list().ok()?;
    readers.iter().take(LOOK).find_map(|reader| {
        let known = known_noise(&reader.run().ok()?, plan, 0);
        let of_board: Vec<&Noise> = known.iter().filter(|noise| noise.board == board).collect();
        line(&of_board, rounds, plan.cells.len(), &reader.header().id.to_string())
    })
}

fn line(known: &[&Noise], rounds: usize, cells: usize, run: &str) -> Option<String> {
    let mut seen: Vec<(f64, &str)> =
        known.iter().filter_map(|noise| Some((noise.visible(rounds)?, noise.label.as_str()))).collect();
    seen.sort_by(|a, b| a.0.total_cmp(&b.0));
    let ((low, least), (high, most)) = (*seen.first()?, *seen.last()?);
    let some = if seen.len() < cells { format!(" ({} of {cells} tests)", seen.len()) } else { String::new() };
    let range = if seen.len() == 1 {
        format!("{low:.1}% in {least}")
    } else {
        format!("{low:.1}% in {least} to {high:.1}% in {most}")
    };
    Some(format!("smallest change that {rounds} rounds show, by the noise of run {run}{some}: {range}"))
}
