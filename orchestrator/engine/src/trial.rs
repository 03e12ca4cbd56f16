//! One trial: ask the agent, keep the evidence, judge it.

use crate::Progress;
use crate::engine::{Engine, EngineError};
use crate::evidence;
use crate::session::Session;
use kab_board::TargetIdentity;
use kab_fio::{Argument, TargetKind};
use kab_link::{Arg, Exit, LinkError, Listed, TrialRequest, TrialResult};
use kab_model::{Cell, DERIVATION, Event, FioExit, TargetName, TrialKey, TrialRecord, VisitKey};
use std::time::Duration;

/// Time beyond the planned run after which fio is stopped: its start, laying out nothing, and a device that has to
/// abort and reset once (30 s for SCSI and NVMe commands), doubled for emulation.
const BEYOND: Duration = Duration::from_secs(120);
/// Time for a job that ends with its size and names no run time.
const UNTIMED: Duration = Duration::from_secs(3600);

/// The agent did not do what was asked for, or is lost.
pub(crate) struct Lost {
    /// What it was to work on.
    pub(crate) target: TargetName,
    pub(crate) error: LinkError,
}

/// Looks for every target of the plan's cells on the board: is it there, free, and what the lab lists?
pub(crate) async fn find_targets(engine: &Engine, key: &VisitKey, session: &mut Session) -> Result<(), Lost> {
    let mut seen: Vec<&TargetName> = Vec::new();
    for Cell { target, .. } in &engine.plan.cells {
        if !seen.contains(&target) {
            seen.push(target);
            let lost = |error| Lost { target: target.clone(), error };
            session.find_target(&listed(engine, key, target).map_err(lost)?).await.map_err(lost)?;
        }
    }
    Ok(())
}

/// Runs one trial and stores what it left. What was lost is returned: the trial stays without an end.
pub(crate) async fn run(
    engine: &mut Engine,
    session: &mut Session,
    key: TrialKey,
) -> Result<Option<Lost>, EngineError> {
    let cell = engine.plan.cell(&key.cell).expect("the planner names only cells of its plan");
    let cell = kab_plan::cell_of(&engine.planned(&key.visit.variant), cell);
    let request = match request(engine, &key.visit, &cell) {
        Ok(request) => request,
        Err(error) => return Ok(Some(Lost { target: cell.target, error })),
    };
    tokio::time::sleep(Duration::from_millis(engine.plan.cooldown_ms)).await;
    engine.append(Event::TrialStarted { trial: key.clone() })?;
    let observer = &engine.parts.observer;
    let mut progress = |progress: kab_link::Progress| {
        let elapsed_ms = u64::try_from(progress.elapsed.as_millis()).unwrap_or(u64::MAX);
        observer.progress(Progress::Running { trial: &key, elapsed_ms, planned_ms: cell.planned_ms });
    };
    match session.run_trial(request, &mut progress).await {
        Ok(result) => keep(engine, key, &cell, result).map(|()| None),
        Err(error) => Ok(Some(Lost { target: cell.target, error })),
    }
}

fn listed(engine: &Engine, key: &VisitKey, target: &TargetName) -> Result<Listed, LinkError> {
    match engine.parts.boards[&key.board].target(target) {
        Some(TargetIdentity::Serial { serial, size }) => Ok(Listed::Serial { serial, size }),
        Some(TargetIdentity::Pci { address, size }) => Ok(Listed::Pci { address, size }),
        None => Err(LinkError::Protocol { cause: format!("board {} has no target {target}", key.board) }),
    }
}

fn request(engine: &Engine, key: &VisitKey, cell: &Cell) -> Result<TrialRequest, LinkError> {
    let planned = cell.planned_ms.map_or(UNTIMED, Duration::from_millis);
    let args = arguments(cell).map_err(|error| LinkError::Protocol { cause: error.to_string() })?;
    Ok(TrialRequest {
        args,
        target: listed(engine, key, &cell.target)?,
        writes: cell.writes,
        deadline_ms: u64::try_from((planned * 2 + BEYOND).as_millis()).unwrap_or(u64::MAX),
    })
}

fn arguments(cell: &Cell) -> Result<Vec<Arg>, kab_fio::JobError> {
    let options: Vec<(&str, &str)> =
        cell.fio.iter().map(|option| (option.name.as_str(), option.value.as_str())).collect();
    let place = |argument| match argument {
        Argument::Text(text) => Arg::Text(text),
        Argument::Target(prefix) => Arg::Target(prefix.to_owned()),
        Argument::Output(prefix) => Arg::Output(prefix.to_owned()),
    };
    Ok(kab_fio::arguments(&cell.workload, &options, TargetKind::Device)?.into_iter().map(place).collect())
}

fn keep(engine: &mut Engine, trial: TrialKey, cell: &Cell, result: TrialResult) -> Result<(), EngineError> {
    let log = &engine.parts.log;
    let (kernel_log_gap, cut) = (result.kernel_log_gap(), result.cut());
    let record = TrialRecord {
        argv: result.argv,
        exit: exit(result.exit),
        output: log.put(&result.output.bytes)?,
        stdout: log.put(&result.stdout.bytes)?,
        stderr: log.put(&result.stderr.bytes)?,
        kernel_log: log.put(&result.kernel_log.bytes)?,
        proc_stat: result.proc_stat,
        wall_ms: result.wall_ms,
        planned_ms: cell.planned_ms,
        kernel_log_gap,
        cut,
    };
    let (outcome, sample) = evidence::judge(
        &record,
        [&result.output.bytes, &result.stdout.bytes, &result.stderr.bytes, &result.kernel_log.bytes],
    );
    let record = Box::new(record);
    engine.append(Event::TrialEnded { trial, record, outcome, sample, derivation: DERIVATION })
}

fn exit(exit: Exit) -> FioExit {
    match exit {
        Exit::Code(code) => FioExit::Code(code),
        Exit::Signal(signal) => FioExit::Signal(signal),
        Exit::Deadline => FioExit::Deadline,
        Exit::NotStarted(why) => FioExit::NotStarted(why),
    }
}
