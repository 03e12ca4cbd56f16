//! `kab run`: the main job.

use crate::args::{Files, Format};
use crate::builder::{KernelBuilder, kernels};
use crate::commands::report;
use crate::exit::{Exit, Failure, lab, usage};
use crate::input::{self, Input};
use crate::interrupt::Stop;
use crate::places::Places;
use crate::progress::{Lines, RunObserver, all_built};
use crate::{interrupt, resolve, resume};
use clap::Args;
use kab_board::{Board, HostLease};
use kab_drivers::{HostTools, QemuBoard};
use kab_engine::{Engine, EngineError, Parts};
use kab_lifeline::Lifeline;
use kab_link::AgentBinary;
use kab_model::{BoardName, Boot, Plan, Run, VisitState};
use kab_plan::unmeasured;
use kab_store::{RunLog, RunReader, Store};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Build, boot, measure and report; run again to go on after an interruption
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  kab run ufs.yaml\n  kab run ufs.yaml --lab ~/lab.yaml\n  kab run ufs.yaml --new    \
                        does not go on with an unfinished run\n  kab run ufs.yaml --quick    one round, to see that all of \
                        it works: numbers, no verdict\n  kab run ufs.yaml --for 8h    as many whole rounds as fit; the same \
                        command goes on\n  kab run --resume last    goes on, whatever became of the files\n\n\
                        The report goes to standard output, progress to standard error. The first Ctrl-C ends in order, the \
                        second does not wait for the board, the third ends at once; what was measured is kept by all of them."
)]
pub(crate) struct RunCommand {
    /// The experiment.
    #[arg(value_name = "EXPERIMENT", required_unless_present = "resume")]
    experiment: Option<PathBuf>,
    /// The lab [default: lab.yaml beside the experiment].
    #[arg(long, value_name = "LAB")]
    lab: Option<PathBuf>,
    /// Begin a new run even where an unfinished one of the same experiment and lab exists.
    #[arg(long)]
    new: bool,
    /// One round instead of the schedule's: numbers, and no verdict.
    #[arg(long)]
    quick: bool,
    /// Begin no round that would not be over by then, as in `90min` or `8h`; the first round is begun if it should fit.
    #[arg(long = "for", value_name = "TIME", value_parser = time)]
    time: Option<Duration>,
    /// Go on with this unfinished run as it was planned: its number, the first digits of it, or `last`.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["experiment", "lab", "new", "quick"])]
    resume: Option<String>,
    /// Print the report with a block of numbers for every cell.
    #[arg(long)]
    full: bool,
    /// Print what happens as lines of JSON, as they stand in the run's events.jsonl, in place of the report.
    #[arg(long, conflicts_with = "full")]
    json: bool,
}

fn time(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(time) if time >= Duration::from_secs(1) => Ok(time),
        Ok(_) => Err("at least a second".to_owned()),
        Err(error) => Err(format!("{error}; write for instance 90min or 8h")),
    }
}

pub(crate) fn run(command: &RunCommand, places: &Places) -> Result<Exit, Failure> {
    let asked = match &command.experiment {
        Some(experiment) => {
            let files = Files { experiment: experiment.clone(), lab: command.lab.clone() };
            let mut input = input::load(&files, places)?;
            if command.quick {
                input.experiment.schedule.visits = 1;
            }
            Asked::Files(Box::new(input))
        }
        None => Asked::Run(command.resume.clone().unwrap_or_default()),
    };
    let agent = read_agent()?;
    interrupt::block_on(|stop| carry_out(command, places, asked, agent, stop))
}

/// What is to be run.
enum Asked {
    /// An experiment, or the unfinished run of it.
    Files(Box<Input>),
    /// A run by its number.
    Run(String),
}

async fn carry_out(
    command: &RunCommand,
    places: &Places,
    asked: Asked,
    agent: AgentBinary,
    stop: Stop,
) -> Result<Exit, Failure> {
    let lines = Lines::new();
    let log = match asked {
        Asked::Files(input) => open_log(command, places, &input, &lines, &stop.in_order).await?,
        Asked::Run(wanted) => resumed(&Store::new(&places.runs), &wanted, &lines)?,
    };
    let folder = log.reader().folder().to_owned();
    let plan = log.run().plan.clone().ok_or_else(|| Failure::new(Exit::Lab, "the run has no plan"))?;
    let parts = Parts {
        boards: boards(&plan, places, &folder),
        builder: Box::new(KernelBuilder::new(kernels(places), stop.in_order.clone())),
        observer: Box::new(RunObserver::new(Arc::clone(&lines), plan).with_events(command.json)),
        host_lease: Places::host_lease(),
        work: folder.join("work"),
        agent,
        log,
    };
    let mut engine = Engine::new(parts, stop.in_order).map_err(lab)?.hurried_by(stop.hurry);
    if let Some(time) = command.time {
        engine = engine.within(time);
    }
    let ended = engine.run().await;
    lines.clear();
    drop(lines);
    match ended {
        Ok(run) => conclude(command, &folder, &run),
        Err(EngineError::Cancelled) => Err(Failure::new(
            Exit::Interrupted,
            format!("interrupted; what was measured is in {}; the same command goes on", folder.display()),
        )),
        Err(error) => Err(lab(error)),
    }
}

/// The unfinished run of these files, or a new one with its plan as first event.
async fn open_log(
    command: &RunCommand,
    places: &Places,
    input: &Input,
    lines: &Lines,
    cancel: &CancellationToken,
) -> Result<RunLog, Failure> {
    let store = Store::new(&places.runs);
    let unfinished = if command.new { None } else { resume::find(&store, input, lines)? };
    let seed = input.experiment.schedule.seed.unwrap_or_else(random_seed);
    let plan = {
        // Reading a kernel's history loads the host, too.
        let _lease = lease(lines, cancel).await?;
        resolve::plan(input, &kernels(places), seed, lines, cancel).await?
    };
    if let Some((reader, run)) = unfinished {
        resume::require_same_commits(&reader, &run, &plan)?;
        return go_on(&reader, &run, lines);
    }
    let mut files: Vec<(&str, &[u8])> =
        vec![("experiment.yaml", &input.experiment_bytes), ("lab.yaml", &input.lab_bytes)];
    files.extend(input.named_files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())));
    let log = store.create(plan, &input.lab_digest, env!("CARGO_PKG_VERSION"), &files).map_err(lab)?;
    lines.say(&format!("run {} in {}", log.reader().header().id, log.reader().folder().display()));
    Ok(log)
}

/// The run of that number, as it was planned.
fn resumed(store: &Store, wanted: &str, lines: &Lines) -> Result<RunLog, Failure> {
    let reader = store.find(wanted).map_err(usage)?;
    let run = reader.run().map_err(lab)?;
    let id = &reader.header().id;
    if run.finished {
        let message = format!("run {id} is finished: kab report {id}");
        return Err(Failure::new(Exit::Usage, message));
    }
    if run.plan.is_none() {
        let message = format!("run {id} has no plan to go on with: its figures came from elsewhere");
        return Err(Failure::new(Exit::Usage, message));
    }
    go_on(&reader, &run, lines)
}

fn go_on(reader: &RunReader, run: &Run, lines: &Lines) -> Result<RunLog, Failure> {
    let done = run.visits().filter(|visit| matches!(visit.state, VisitState::Ended)).count();
    let visits = if done == 1 { "visit is" } else { "visits are" };
    lines.say(&format!("going on with run {}: {done} {visits} complete", reader.header().id));
    RunLog::open(reader.folder()).map_err(lab)
}

async fn lease(lines: &Lines, cancel: &CancellationToken) -> Result<HostLease, Failure> {
    let path = Places::host_lease();
    let waiting = |owner: &str| lines.say(&format!("waiting: this host is busy: {owner}"));
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(Failure::new(Exit::Interrupted, "interrupted")),
        lease = HostLease::acquire(&path, "reading kernel sources", waiting) => lease.map_err(lab),
    }
}

/// A seed that nobody chose; it is stored in the plan.
fn random_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

fn boards(plan: &Plan, places: &Places, folder: &Path) -> BTreeMap<BoardName, Box<dyn Board>> {
    let host = HostTools {
        lifeline: Lifeline::this_program(),
        cache_dir: places.cache.clone(),
        work_dir: folder.join("work"),
        search: HostTools::usual_search(),
    };
    let board = |spec: &kab_model::BoardSpec| -> Box<dyn Board> {
        match &spec.boot {
            Boot::Qemu(_) => Box::new(QemuBoard::new(spec, &host)),
        }
    };
    plan.boards.iter().map(|planned| (planned.spec.name.clone(), board(&planned.spec))).collect()
}

fn read_agent() -> Result<AgentBinary, Failure> {
    let places = Places::agents("kab-agent-x86_64");
    if let Some(bytes) = places.iter().find_map(|path| std::fs::read(path).ok()) {
        return Ok(AgentBinary::new(bytes));
    }
    let tried: Vec<String> = places.iter().map(|path| path.display().to_string()).collect();
    let message = format!(
        "there is no agent at {}: `make agent` builds it, KAB_AGENTS names its folder",
        tried.join(" or ")
    );
    Err(Failure::new(Exit::Usage, message))
}

/// Prints the report and says where everything lies.
fn conclude(command: &RunCommand, folder: &Path, run: &Run) -> Result<Exit, Failure> {
    let reader = RunReader::open(folder).map_err(lab)?;
    let options = kab_report::Options { full: command.full, unicode: false };
    if !command.json {
        crate::print_out(&report::render(&reader, Format::Text, options)?)?;
    }
    let id = &reader.header().id;
    crate::escape::print_err(&format!(
        "run {id} in {}; kab report {id} --full, kab runs show {id}\n",
        folder.display()
    ));
    Ok(exit(run))
}

/// A build that failed outranks a lab that kept the plan from being finished.
fn exit(run: &Run) -> Exit {
    let kept = run
        .boards
        .values()
        .any(|board| board.given_up.iter().any(|(_, reason)| reason.rule != "failed-boots"));
    let lacking = run.plan.as_ref().is_some_and(|plan| !unmeasured(plan, run).is_empty());
    match (all_built(run), kept || lacking) {
        (false, _) => Exit::Build,
        (true, true) => Exit::Lab,
        (true, false) => Exit::Done,
    }
}
