//! Which unfinished run the same command goes on with, and what keeps it from doing so.

use crate::exit::{Exit, Failure, lab};
use crate::input::Input;
use crate::progress::Lines;
use kab_model::{BoardSpec, Plan, Run};
use kab_store::{RunReader, Store};

/// Most lines of a difference that are shown.
const SHOWN: usize = 20;

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
            let id = &reader.header().id;
            others.push(format!(
                "run {id} of this experiment is unfinished and stays so (`kab run --resume {id}` goes on with it as it was \
                 planned): {why}"
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
fn other(input: &Input, reader: &RunReader, run: &Run) -> Option<String> {
    let planned: Vec<&BoardSpec> =
        run.plan.iter().flat_map(|plan| &plan.boards).map(|board| &board.spec).collect();
    let rounds = run.plan.iter().flat_map(|plan| &plan.boards).map(|board| board.rounds.len()).max();
    let asked = input.experiment.schedule.visits;
    if reader.header().experiment_digest != input.experiment_digest {
        let changed = kept(reader, "experiment.yaml")
            .map(|then| difference(&then, &input.experiment_bytes))
            .filter(|difference| !difference.is_empty());
        Some(match changed {
            Some(difference) => format!("the experiment has changed since:\n{difference}"),
            None => "a file that the experiment names has changed since".to_owned(),
        })
    } else if planned != input.lab.boards.iter().collect::<Vec<_>>() {
        let changed =
            kept(reader, "lab.yaml").map(|then| difference(&then, &input.lab_bytes)).unwrap_or_default();
        Some(format!("its boards have changed in the lab file since:\n{changed}").trim_end().to_owned())
    } else if rounds.is_some_and(|rounds| u32::try_from(rounds) != Ok(asked)) {
        let planned = rounds.unwrap_or_default();
        Some(format!(
            "it has {planned} {}, and {asked} is asked for now",
            if planned == 1 { "round" } else { "rounds" }
        ))
    } else {
        None
    }
}

/// A file as it was when the run began.
fn kept(reader: &RunReader, name: &str) -> Option<Vec<u8>> {
    std::fs::read(reader.folder().join(name)).ok()
}

/// What changed, as `diff -u` shows it, without its head.
fn difference(then: &[u8], now: &[u8]) -> String {
    let (then, now) = (String::from_utf8_lossy(then), String::from_utf8_lossy(now));
    let diff = similar::TextDiff::from_lines(then.as_ref(), now.as_ref());
    let text = diff.unified_diff().context_radius(1).to_string();
    let mut shown: Vec<String> = text.lines().take(SHOWN).map(|line| format!("    {line}")).collect();
    if text.lines().count() > SHOWN {
        shown.push("    ...".to_owned());
    }
    shown.join("\n")
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
