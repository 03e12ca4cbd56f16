//! `kab lab`: the boards.

use crate::commands::aa;
use crate::exit::{Exit, Failure, lab};
use crate::places::Places;
use clap::{Args, Subcommand};
use kab_store::Store;

/// What is known of the boards
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  kab lab noise vm")]
pub(crate) struct Lab {
    #[command(subcommand)]
    command: LabCommand,
}

#[derive(Subcommand, Debug)]
enum LabCommand {
    /// How much boots of one kernel differ on a board, by its newest run
    #[command(
        after_help = "Examples:\n  kab lab noise vm\n  kab lab noise vm --rounds 25    what 25 rounds would show\n\n\
                            Any run with four boots of one variant will do. To measure a new board, run an experiment with a \
                            single variant and `schedule: {visits: 8}`."
    )]
    Noise {
        /// The board.
        board: String,
        #[command(flatten)]
        shown: aa::Shown,
    },
}

pub(crate) fn lab_command(command: &Lab, places: &Places) -> Result<Exit, Failure> {
    let LabCommand::Noise { board, shown } = &command.command;
    noise(board, shown, places)
}

fn noise(board: &str, shown: &aa::Shown, places: &Places) -> Result<Exit, Failure> {
    let mut others: Vec<String> = Vec::new();
    for reader in Store::new(&places.runs).list().map_err(lab)? {
        // A run that cannot be read is told by `kab runs list`.
        let Ok(run) = reader.run() else { continue };
        let Some(plan) = &run.plan else { continue };
        others.extend(plan.boards.iter().map(|board| board.spec.name.0.clone()));
        let mut found = aa::measured(&run, plan);
        found.retain(|noise| noise.board == board && noise.boots >= kab_report::FEW);
        if !found.is_empty() {
            return aa::print(shown, &found, plan, &reader.header().id.to_string());
        }
    }
    others.sort();
    others.dedup();
    let known = if others.is_empty() { "none".to_owned() } else { others.join(", ") };
    let message = format!(
        "no run has {} boots of one variant on board {board:?} (runs are there of: {known}); run an experiment with one variant and \
         `schedule: {{visits: 8}}` on it",
        kab_report::FEW
    );
    Err(Failure::new(Exit::Usage, message))
}
