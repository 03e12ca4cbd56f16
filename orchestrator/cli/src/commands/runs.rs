//! `kab runs`: what was measured, where it lies, and whether it is still what it was.

use crate::carry;
use crate::exit::{Exit, Failure, lab, usage};
use crate::input;
use crate::places::Places;
use crate::progress::accel_name;
use clap::{Args, Subcommand};
use kab_engine::judge_again;
use kab_model::{BuildState, DERIVATION, FioExit, Run, TrialState, Visit, VisitState};
use kab_plan::{NextTrial, next_trial};
use kab_store::{POSTED, RunReader, Store};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// List, show, verify, carry and remove runs
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  kab runs list\n  kab runs show last\n  kab runs show 7f3a9c --trial 12\n  kab runs verify last\n  \
                  kab runs export last run.tar.zst\n  kab runs import run.tar.zst"
)]
pub(crate) struct Runs {
    #[command(subcommand)]
    command: RunsCommand,
}

#[derive(Subcommand, Debug)]
enum RunsCommand {
    /// All runs, newest first
    List,
    /// One run: builds, visits, trials, and where fio's own bytes lie
    Show {
        /// First digits of the run's id, or `last`.
        run: String,
        /// Print this trial (its number in the list) with the bytes that fio wrote.
        #[arg(long, value_name = "N")]
        trial: Option<usize>,
    },
    /// Compute every number again from the stored bytes and compare
    Verify {
        /// First digits of the run's id, or `last`.
        run: String,
    },
    /// Write a whole run into one compressed file, from which its reports are made again elsewhere, byte for byte
    Export {
        /// First digits of the run's id, or `last`.
        run: String,
        /// The file, such as run.tar.zst; it must not exist yet.
        file: PathBuf,
    },
    /// Take in a run that `export` wrote, or figures that somebody posted
    #[command(
        after_help = "Examples:\n  kab runs import run.tar.zst\n  kab runs import --table posted.yaml && kab report last --full\n\n\
                            A table is YAML; `kab schema table` describes it:\n\n  \
                            name: hardirq-v2\n  \
                            source: \"Re: [PATCH v2] ..., 28 Jul 2025, <id@host>\"\n  \
                            variants: [v6.15, v6.16]\n  \
                            values: averages      # or trials, boots, rounds: lists of figures instead of one\n  \
                            boards:\n    \
                            sm8650-qrd:\n      \
                            tests:\n        \
                            read/1:\n          \
                            iops: [4526.25, 6295.31]\n          \
                            bw (MB/s): [18.54, 25.78]"
    )]
    Import {
        /// The file.
        #[arg(required_unless_present = "table")]
        file: Option<PathBuf>,
        /// Figures of somebody else's, as a table in YAML. Averages have no verdict, and the report says why.
        #[arg(long, value_name = "FILE", conflicts_with = "file")]
        table: Option<PathBuf>,
    },
    /// Remove runs with all their data
    Rm {
        /// First digits of the runs' ids.
        #[arg(required = true)]
        runs: Vec<String>,
    },
}

pub(crate) fn runs(command: &Runs, places: &Places) -> Result<Exit, Failure> {
    let store = Store::new(&places.runs);
    match &command.command {
        RunsCommand::List => list(&store),
        RunsCommand::Show { run, trial } => {
            let reader = store.find(run).map_err(usage)?;
            match trial {
                None => show(&reader),
                Some(number) => show_trial(&reader, *number),
            }
        }
        RunsCommand::Export { run, file } => carry::export(&store.find(run).map_err(usage)?, file),
        RunsCommand::Import { table: Some(table), .. } => carry::import_table(&store, table),
        RunsCommand::Import { file, .. } => carry::import(&store, file.as_deref().unwrap_or(Path::new(""))),
        RunsCommand::Rm { runs } => carry::remove(&store, runs),
        RunsCommand::Verify { run } => verify(&store.find(run).map_err(usage)?),
    }
}

fn list(store: &Store) -> Result<Exit, Failure> {
    let mut out = String::new();
    for reader in store.list().map_err(lab)? {
        let header = reader.header();
        let run = match reader.run() {
            Ok(run) => run,
            Err(error) => {
                let _ = writeln!(out, "{}  damaged: {error}", header.id);
                continue;
            }
        };
        let planned: usize =
            run.plan.iter().flat_map(|plan| &plan.boards).flat_map(|board| &board.rounds).map(Vec::len).sum();
        let done = run.visits().filter(|visit| matches!(visit.state, VisitState::Ended)).count();
        let state = if run.finished { "finished" } else { "unfinished" };
        let extent = match &run.posted {
            Some(_) => "posted figures".to_owned(),
            None => format!("{done}/{planned} visits"),
        };
        let _ = writeln!(
            out,
            "{}  {}  {state:<10}  {extent}  {}",
            header.id,
            local_time(header.created_ms),
            header.name
        );
    }
    if out.is_empty() {
        let _ = writeln!(out, "no runs in {}", store.folder().display());
    }
    crate::print_out(&out)?;
    Ok(Exit::Done)
}

fn local_time(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms).map_or_else(
        |_| "unknown time".to_owned(),
        |time| time.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string(),
    )
}

fn show(reader: &RunReader) -> Result<Exit, Failure> {
    let run = reader.run().map_err(lab)?;
    let header = reader.header();
    let mut out = String::new();
    let _ = writeln!(out, "run {} of {}, begun {}", header.id, header.name, local_time(header.created_ms));
    let _ = writeln!(out, "folder {}", reader.folder().display());
    let _ = writeln!(out, "data blake3:{}", reader.data_digest().map_err(lab)?);
    if let Some(table) = &run.posted {
        let figures: usize =
            table.boards.iter().flat_map(|board| &board.cells).map(|cell| cell.rows.len()).sum();
        let _ =
            writeln!(out, "{figures} rows of posted figures in {}", reader.folder().join(POSTED).display());
        if let Some(source) = &table.source {
            let _ = writeln!(out, "source {source}");
        }
        crate::print_out(&out)?;
        return Ok(Exit::Done);
    }
    show_builds(&mut out, &run);
    let mut number = 0;
    for (name, board) in &run.boards {
        let _ = writeln!(out, "\nboard {name}");
        if let Some((accel, emulator, reason)) = &board.accel {
            let _ = writeln!(out, "  {}: {reason}; {emulator}", accel_name(*accel));
        }
        for visit in &board.visits {
            show_visit(&mut out, visit, &mut number);
        }
        for (whom, reason) in &board.given_up {
            let whom = whom.as_ref().map_or("all variants", |variant| &variant.0);
            let _ = writeln!(out, "  gave up {whom}: {reason}");
        }
    }
    let _ = writeln!(out, "\nfio's own bytes of a trial: kab runs show {} --trial N", header.id);
    crate::print_out(&out)?;
    Ok(Exit::Done)
}

fn show_builds(out: &mut String, run: &Run) {
    for (variant, build) in &run.builds {
        let _ = match build {
            BuildState::Built(artifact) => writeln!(
                out,
                "variant {variant}: {} build-id {} artifact {}{}",
                artifact.release,
                artifact.build_id.as_deref().unwrap_or("unknown"),
                &artifact.key[..12.min(artifact.key.len())],
                if artifact.cached { " (cached)" } else { "" }
            ),
            BuildState::Failed(error) => writeln!(out, "variant {variant}: build failed: {error}"),
        };
    }
}

fn show_visit(out: &mut String, visit: &Visit, number: &mut usize) {
    let state = match &visit.state {
        VisitState::Open => "open".to_owned(),
        VisitState::Ended => "complete".to_owned(),
        VisitState::Failed(class, reason) => {
            format!("failed ({class:?}) {}", first_line(&reason.to_string()))
        }
        VisitState::Void(reason) => format!("void {}", first_line(&reason.to_string())),
    };
    let _ = writeln!(
        out,
        "  visit {} round {} {}: {state}",
        visit.key.visit,
        visit.key.round + 1,
        visit.key.variant
    );
    if let Some(console) = &visit.console {
        let _ = writeln!(out, "      console blob {console}");
    }
    for trial in &visit.trials {
        let _ = writeln!(out, "    {number:>4} {}", trial_line(trial));
        *number += 1;
    }
}

fn trial_line(trial: &TrialState) -> String {
    let kind = if trial.key.warmup { "warm-up" } else { "trial" };
    let word = trial.outcome.as_ref().map_or("in flight", |outcome| outcome.word());
    let reasons: Vec<String> = trial
        .outcome
        .iter()
        .flat_map(|outcome| outcome.reasons())
        .map(|reason| first_line(&reason.to_string()))
        .collect();
    let numbers = trial
        .sample
        .as_ref()
        .map_or_else(String::new, |sample| format!("{:.1} IOPS, {} I/Os", sample.iops, sample.total_ios));
    let blob = trial.record.as_ref().map_or("", |record| record.output.0.get(..12).unwrap_or_default());
    format!(
        "{:<24} {kind:<7} {} {word:<9} {numbers}  {blob} {}",
        trial.key.cell.0,
        trial.key.index + 1,
        reasons.join("; ")
    )
}

fn exit_words(exit: &FioExit) -> String {
    match exit {
        FioExit::Code(code) => format!("exit code {code}"),
        FioExit::Signal(signal) => format!("killed by signal {signal}"),
        FioExit::Deadline => "stopped at its deadline".to_owned(),
        FioExit::NotStarted(why) => format!("not started: {why}"),
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

fn trials(run: &Run) -> impl Iterator<Item = (&Visit, &TrialState)> {
    run.visits().flat_map(|visit| visit.trials.iter().map(move |trial| (visit, trial)))
}

fn show_trial(reader: &RunReader, number: usize) -> Result<Exit, Failure> {
    let run = reader.run().map_err(lab)?;
    let Some((_, trial)) = trials(&run).nth(number) else {
        let count = trials(&run).count();
        return Err(Failure::new(
            Exit::Usage,
            format!("this run has trials 0 to {}", count.saturating_sub(1)),
        ));
    };
    let mut out = format!("{}\n{}\n", trial.key, trial_line(trial));
    let Some(record) = &trial.record else {
        out.push_str("in flight when kab ended: nothing was stored\n");
        crate::print_out(&out)?;
        return Ok(Exit::Done);
    };
    let _ = writeln!(
        out,
        "argv {}\n{} after {} ms",
        record.argv.join(" "),
        exit_words(&record.exit),
        record.wall_ms
    );
    if let Some((before, after)) = &record.proc_stat {
        let _ = writeln!(out, "/proc/stat before {before}\n/proc/stat after  {after}");
    }
    let blobs = [
        ("kernel log", &record.kernel_log),
        ("stderr", &record.stderr),
        ("stdout", &record.stdout),
        ("output", &record.output),
    ];
    for (what, id) in blobs {
        let bytes = reader.blob(id).map_err(lab)?;
        let _ = writeln!(out, "--- {what}, {} bytes, blob {id}", bytes.len());
        out.push_str(&String::from_utf8_lossy(&bytes));
    }
    crate::print_out(&out)?;
    Ok(Exit::Done)
}

fn verify(reader: &RunReader) -> Result<Exit, Failure> {
    let run = reader.run().map_err(lab)?;
    if let Some(table) = &run.posted {
        return carry::verify_table(reader, table);
    }
    let mut problems = files_as_stored(reader);
    let (mut ended, mut counted, mut older) = (0_usize, 0_usize, 0_usize);
    for visit in run.visits() {
        problems.extend(whole(&run, visit));
        problems.extend(
            visit.console.iter().filter_map(|console| reader.blob(console).err()).map(|e| e.to_string()),
        );
        counted += visit.counted().count();
        for trial in &visit.trials {
            ended += usize::from(trial.record.is_some());
            older += usize::from(trial.record.is_some() && trial.derivation != DERIVATION);
            problems.extend(as_stored(reader, trial));
        }
    }
    let mut out: String = problems.iter().map(|problem| format!("{problem}\n")).collect();
    if older > 0 {
        let _ = writeln!(
            out,
            "{older} trials were judged by other rules than this kab's: only their bytes were checked"
        );
    }
    let word = if problems.is_empty() { "all as stored" } else { "NOT as stored" };
    let _ = writeln!(
        out,
        "run {}: {ended} trials computed again from fio's bytes, {counted} count, {} problems: {word}",
        reader.header().id,
        problems.len()
    );
    crate::print_out(&out)?;
    Ok(if problems.is_empty() { Exit::Done } else { Exit::Found })
}

/// A complete visit has each trial of the plan, apart from cells that were void too often, and none twice.
fn whole(run: &Run, visit: &Visit) -> Vec<String> {
    let mut problems = Vec::new();
    for (index, trial) in visit.trials.iter().enumerate() {
        if visit.trials[..index].iter().any(|other| other.key == trial.key) {
            problems.push(format!("{}: recorded twice", trial.key));
        }
    }
    let complete = visit.state == VisitState::Ended;
    if let Some(plan) = run.plan.as_ref().filter(|_| complete)
        && let NextTrial::Run(missing) = next_trial(plan, run, visit)
    {
        problems.push(format!("{missing}: missing from a complete visit"));
    }
    problems
}

/// The judgement of a trial, made again.
fn as_stored(reader: &RunReader, trial: &TrialState) -> Vec<String> {
    let Some(record) = &trial.record else { return Vec::new() };
    let (outcome, sample) = match judge_again(record, reader) {
        Ok(judged) => judged,
        Err(error) => return vec![format!("{}: {error}", trial.key)],
    };
    let mut problems = Vec::new();
    if trial.derivation == DERIVATION && Some(&outcome) != trial.outcome.as_ref() {
        problems.push(format!("{}: the log says {:?}, the bytes say {outcome:?}", trial.key, trial.outcome));
    }
    if trial.derivation == DERIVATION && sample != trial.sample {
        problems.push(format!("{}: the log says {:?}, the bytes say {sample:?}", trial.key, trial.sample));
    }
    problems
}

/// The files that the run keeps are the ones that its header names.
fn files_as_stored(reader: &RunReader) -> Vec<String> {
    match input::digests_of_kept(reader.folder()) {
        Err(error) => vec![format!("cannot read the kept files in {}: {error}", reader.folder().display())],
        Ok((experiment, lab)) => {
            let header = reader.header();
            let pairs = [
                ("experiment.yaml and input files", experiment, &header.experiment_digest),
                ("lab.yaml", lab, &header.lab_digest),
            ];
            let changed = pairs.into_iter().filter(|(_, found, expected)| found != *expected);
            changed
                .map(|(what, ..)| format!("{what} in {} have changed", reader.folder().display()))
                .collect()
        }
    }
}
