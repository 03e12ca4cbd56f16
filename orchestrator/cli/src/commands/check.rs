//! `kab check`: validate files without doing anything.

use crate::exit::{Exit, Failure};
use crate::input::{self, clashes, lint, mistakes, show};
use crate::places::Places;
use clap::Args;
use kab_model::yaml;
use std::path::{Path, PathBuf};

/// Validate experiment and lab files: all problems at once, with line and column
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  kab check ufs.yaml\n  kab check ufs.yaml lab.yaml    checks them against each other, too"
)]
pub(crate) struct Check {
    /// Experiments and labs; which is which is seen from their keys.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

pub(crate) fn check(command: &Check, places: &Places) -> Result<Exit, Failure> {
    let (labs, experiments): (Vec<&PathBuf>, Vec<&PathBuf>) =
        command.files.iter().partition(|path| is_lab(path));
    let labs: Vec<_> = labs.into_iter().map(|path| (path, input::read_lab(path))).collect();
    let experiments: Vec<_> =
        experiments.into_iter().map(|path| (path, input::read_experiment(path, places))).collect();
    let mut bad = labs.iter().any(|(_, lab)| lab.is_err()) || experiments.iter().any(|(_, e)| e.is_err());
    for (_, experiment) in &experiments {
        let Ok((experiment, _)) = experiment else { continue };
        let mut boards = Vec::new();
        for (_, lab) in &labs {
            let Ok((lab, _)) = lab else { continue };
            match yaml::check_pair(experiment, &lab.value) {
                Ok(found) => boards.extend(found.into_iter().cloned()),
                Err(problems) => {
                    bad = true;
                    show(&problems);
                }
            }
        }
        let found = clashes(experiment, &boards);
        bad |= !found.0.is_empty();
        show(&found);
        show(&lint(experiment, &boards));
    }
    if bad {
        return Err(mistakes());
    }
    let names: Vec<String> = command.files.iter().map(|path| path.display().to_string()).collect();
    crate::print_out(&format!("{}: no errors\n", names.join(", ")))?;
    Ok(Exit::Done)
}

/// A lab has boards and no variants. What is no file, or cannot be read, is taken for an experiment, whose reader says so.
fn is_lab(path: &Path) -> bool {
    let bytes = if path.is_file() {
        input::read_whole(path, input::MAX_YAML).unwrap_or_default()
    } else {
        Vec::new()
    };
    let text = String::from_utf8_lossy(&bytes);
    let has =
        |key: &str| text.lines().any(|line| line.starts_with(key) || line.starts_with(&format!("\"{key}")));
    has("boards:") && !has("variants:") && !has("workloads:") && !has("kernel:")
}
