//! What an experiment and a lab must agree on.

use super::decode::name_hint;
use super::diagnostic::Diagnostics;
use super::located::Located;
use crate::{BoardSpec, Experiment, Lab};

/// The boards that an experiment asks for, each once, in the order in which it names them; boards of one tag in the
/// order of the lab file.
///
/// # Errors
/// Names and tags that the lab does not know, and targets that a board lacks; each points into the experiment file.
pub fn check_pair<'l>(
    experiment: &Located<Experiment>,
    lab: &'l Lab,
) -> Result<Vec<&'l BoardSpec>, Diagnostics> {
    let mut found = Vec::new();
    let mut boards: Vec<&BoardSpec> = Vec::new();
    for (at, wanted) in experiment.value.boards.iter().enumerate() {
        let mut matching = lab.boards.iter().filter(|board| is_meant(board, wanted)).peekable();
        if matching.peek().is_none() {
            let message = format!("the lab has no board named or tagged `{wanted}`");
            let mut problem = experiment.error_at(&["boards", &at.to_string()], message);
            problem.hint = name_hint(wanted, &names_and_tags(lab));
            found.push(problem);
        }
        for board in matching {
            if !boards.iter().any(|known| known.name == board.name) {
                boards.push(board);
            }
        }
    }
    for (path, target) in targets(&experiment.value) {
        for board in boards.iter().filter(|board| !board.targets().any(|known| known.0 == target)) {
            let message = format!("the board `{}` has no target `{target}`", board.name);
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            let mut problem = experiment.error_at(&path, message);
            let known: Vec<&str> = board.targets().map(|target| target.0.as_str()).collect();
            problem.hint = name_hint(target, &known);
            found.push(problem);
        }
    }
    if found.is_empty() { Ok(boards) } else { Err(Diagnostics::tidy(found)) }
}

fn is_meant(board: &BoardSpec, wanted: &str) -> bool {
    board.name.0 == wanted || board.tags.iter().any(|tag| tag == wanted)
}

fn names_and_tags(lab: &Lab) -> Vec<&str> {
    let mut names: Vec<&str> = lab.boards.iter().map(|board| board.name.0.as_str()).collect();
    for tag in lab.boards.iter().flat_map(|board| &board.tags) {
        if !names.contains(&tag.as_str()) {
            names.push(tag);
        }
    }
    names
}

/// Targets in use with the places that name them.
fn targets(experiment: &Experiment) -> Vec<(Vec<String>, &str)> {
    let mut targets = Vec::new();
    if let Some(target) = &experiment.target
        && experiment.workloads.iter().any(|workload| workload.target.is_none())
    {
        targets.push((vec!["target".to_owned()], target.0.as_str()));
    }
    for (at, workload) in experiment.workloads.iter().enumerate() {
        if let Some(target) = &workload.target {
            targets
                .push((vec!["workloads".to_owned(), at.to_string(), "target".to_owned()], target.0.as_str()));
        }
    }
    targets
}
