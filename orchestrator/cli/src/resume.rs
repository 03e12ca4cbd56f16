//! Which unfinished run the same command goes on with, and what keeps it from doing so.

use crate::exit::{Exit, Failure, lab};
use crate::input::Input;
use crate::progress::Lines;
use kab_model::{BoardSpec, Plan, Run};
use kab_store::{RunReader, Store};

/// The newest unfinished run of this very experiment on these very boards. What else is unfinished under the same name is
/// told, so that nothing is left behind without a word.
pub(crate) fn find(store: &Store, input: &Input, lines: &Lines) -> Result<Option<(RunReader, Run)>, Failure> {
    let unfinished = store.unfinished(&input.experiment.name).map_err(lab)?;
    for error in &unfinished.damaged {
        lines.say(&format!("passing over a run that cannot be read: {error}"));
    }
    let mut others = Vec::new();
    for (reader, run) in unfinished.runs {
        if let Some(why) = other(input, &reader, &run) {
            others.push(format!(
                "run {} of this experiment is unfinished and stays so: {why}",
                reader.header().id
            ));
            continue;
        }
        return Ok(Some((reader, run)));
    }
    for line in others {
        lines.say(&line);
    }
    Ok(None)
}

/// Why a run is not of these files.
fn other(input: &Input, reader: &RunReader, run: &Run) -> Option<&'static str> {
    let planned: Vec<&BoardSpec> =
        run.plan.iter().flat_map(|plan| &plan.boards).map(|board| &board.spec).collect();
    if reader.header().experiment_digest != input.experiment_digest {
        Some("the experiment, or a file that it names, has changed since")
    } else if planned != input.lab.boards.iter().collect::<Vec<_>>() {
        Some("its boards have changed in the lab file since")
    } else {
        None
    }
}

/// A ref that names another commit than the plan's would mix two kernels under one name.
pub(crate) fn require_same_commits(reader: &RunReader, run: &Run, now: &Plan) -> Result<(), Failure> {
    let planned = run.plan.iter().flat_map(|plan| &plan.variants);
    for (planned, now) in planned.zip(&now.variants) {
        let (Some(planned_source), Some(now)) = (planned.source(), now.source()) else { continue };
        if planned_source.tree != now.tree {
            let message = format!(
                "variant {:?}: {} is now {}, and the unfinished run {} measures {}; `--new` begins a new run",
                planned.name.0,
                planned_source.reference,
                now.commit,
                reader.header().id,
                planned_source.commit
            );
            return Err(Failure::new(Exit::Usage, message));
        }
    }
    Ok(())
}
