//! One visit: boot, prove, run all cells.

use crate::Progress;
use crate::engine::{Engine, EngineError};
use crate::prove::{prove, stamp_argument};
use crate::session::{self, Session};
use crate::trial::{self, Lost};
use kab_board::{BootError, BootRequest, Booted, MachineState};
use kab_link::{ErrorCode, LinkError};
use kab_model::{Boot, BootIdentity, BootProof, Event, FailureClass, Reason, TargetName, VisitKey};
use kab_plan::{NextTrial, next_trial};
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// How a visit went.
pub(crate) enum Stay {
    /// All cells are through.
    Complete,
    /// The variant did not deliver.
    Failed(FailureClass, Reason),
    /// The lab's fault.
    Void(Reason),
    /// The user ended kab: void, and not the lab's fault.
    Interrupted,
}

/// Time for a machine to power off: longer than any driver waits by itself. One that is dropped leaves nothing behind.
const SHUTDOWN: Duration = Duration::from_secs(60);

fn void(rule: &str, detail: &impl ToString) -> Stay {
    Stay::Void(Reason { rule: rule.to_owned(), detail: detail.to_string() })
}

fn failed(class: FailureClass, rule: &str, detail: String) -> Stay {
    Stay::Failed(class, Reason { rule: rule.to_owned(), detail })
}

/// Boots the variant and stays until its cells are through or the user interrupts. However it ends, the agent is sent
/// away and the machine shut down before this returns.
pub(crate) async fn stay(engine: &mut Engine, key: &VisitKey) -> Result<Stay, EngineError> {
    engine.parts.observer.progress(Progress::Booting { visit: key });
    let request = boot_request(engine, key);
    let cancel = engine.cancel.clone();
    let booted = tokio::select! {
        biased;
        () = cancel.cancelled() => return Ok(Stay::Interrupted),
        booted = engine.parts.boards[&key.board].boot(&request) => booted,
    };
    let mut machine = match booted {
        Ok(machine) => machine,
        Err(error) => return Ok(not_booted(error)),
    };
    let mut session = None;
    let end = tokio::select! {
        biased;
        () = cancel.cancelled() => Ok(End::Stay(Stay::Interrupted)),
        end = with_machine(engine, key, machine.as_mut(), &mut session) => end,
    };
    let stay = match end {
        Ok(End::Stay(stay)) => Ok(stay),
        Ok(End::Lost { rule, error, proven }) => Ok(after_loss(machine.as_mut(), rule, &error, proven).await),
        Err(error) => Err(error),
    };
    let hurry = engine.hurry.clone();
    let in_order = async {
        if let Some(session) = session {
            session.close().await;
        }
        let _ = timeout(SHUTDOWN, machine.shutdown()).await;
    };
    // A machine that is dropped is off, and an agent without a host puts its board back by itself.
    tokio::select! {
        biased;
        () = hurry.cancelled() => {}
        () = in_order => {}
    }
    stay
}

/// What a boot that failed means.
pub(crate) fn not_booted(error: BootError) -> Stay {
    match error {
        BootError::Kernel { cause, console } => {
            failed(FailureClass::Boot, "boot", format!("{cause}\n{console}"))
        }
        BootError::Lab { cause } => void("lab", &cause),
    }
}

fn boot_request(engine: &Engine, key: &VisitKey) -> BootRequest {
    let variant = engine.planned(&key.variant);
    let artifact =
        engine.parts.log.run().artifact(&key.variant).expect("the planner visits only what is built");
    let own = variant.cmdline.as_deref().map(|cmdline| format!("{cmdline} ")).unwrap_or_default();
    let (accel, emulator) = engine.prepared(&key.board).expect("a board is prepared before its first visit");
    BootRequest {
        image: artifact.image.clone(),
        modules: artifact.modules.clone(),
        cmdline: format!("{own}{}", stamp_argument(&variant.stamp)),
        accel,
        emulator: emulator.to_owned(),
        console: engine.console_path(key),
    }
}

/// How the part of a visit ends that can be interrupted.
enum End {
    Stay(Stay),
    /// The agent is of no more use.
    Lost {
        rule: &'static str,
        error: LinkError,
        proven: Proven,
    },
}

/// Leaves the session to the caller, who ends it even where this future is dropped.
async fn with_machine(
    engine: &mut Engine,
    key: &VisitKey,
    machine: &mut dyn Booted,
    session: &mut Option<Session>,
) -> Result<End, EngineError> {
    let (opened, identity) = match session::open(machine, &engine.parts.agent).await {
        Ok(opened) => opened,
        Err(error) => return Ok(End::Lost { rule: "agent", error, proven: Proven::No }),
    };
    let session = session.insert(opened);
    if let Err(error) = proven(engine, key, &identity) {
        return Ok(End::Stay(void("wrong-kernel", &error)));
    }
    if identity.fio.is_none() {
        let detail = format!("there is no fio on board {}: install it there", key.board);
        return Ok(End::Stay(void("fio-missing", &detail)));
    }
    let proof = proof(engine, key, identity, machine);
    engine.append(Event::BootProved { visit: key.clone(), proof })?;
    if let Err(Lost { target, error }) = trial::find_targets(engine, key, session).await {
        return Ok(match missing(engine, key, &target, &error) {
            Some(detail) => End::Stay(failed(FailureClass::Boot, "target", detail)),
            None => End::Lost { rule: "target", error, proven: Proven::Yes },
        });
    }
    all_trials(engine, key, session).await
}

fn proven(engine: &Engine, key: &VisitKey, identity: &BootIdentity) -> Result<(), crate::ProofError> {
    let run = engine.parts.log.run();
    let build_id = run.artifact(&key.variant).and_then(|artifact| artifact.build_id.as_deref());
    let earlier =
        run.visits().filter_map(|visit| visit.proof.as_ref()).map(|proof| proof.identity.boot_id.as_str());
    prove(identity, &engine.planned(&key.variant).stamp, build_id, earlier)
}

fn proof(engine: &Engine, key: &VisitKey, identity: BootIdentity, machine: &dyn Booted) -> BootProof {
    BootProof {
        identity,
        stamp: engine.planned(&key.variant).stamp,
        boot_ms: u64::try_from(machine.boot_time().as_millis()).unwrap_or(u64::MAX),
        agent: engine.parts.agent.digest.clone(),
    }
}

async fn all_trials(engine: &mut Engine, key: &VisitKey, session: &mut Session) -> Result<End, EngineError> {
    loop {
        let run = engine.parts.log.run();
        let visit = run.boards[&key.board].visits.iter().rfind(|visit| &visit.key == key);
        match next_trial(&engine.plan, run, visit.expect("the visit was started by this engine")) {
            NextTrial::End => return Ok(End::Stay(Stay::Complete)),
            NextTrial::Void(reason) => return Ok(End::Stay(Stay::Void(reason))),
            NextTrial::Run(trial) => {
                if let Some(Lost { target, error }) = trial::run(engine, session, trial).await? {
                    return Ok(match missing(engine, key, &target, &error) {
                        // It was there when the visit began.
                        Some(detail) => End::Stay(failed(FailureClass::Crash, "target", detail)),
                        None => End::Lost { rule: "agent-lost", error, proven: Proven::Yes },
                    });
                }
            }
        }
    }
}

/// That a disk is not there, or another than the lab lists, is the kernel's doing on a virtual board: the emulator has it.
fn missing(engine: &Engine, key: &VisitKey, target: &TargetName, error: &LinkError) -> Option<String> {
    let board = engine.plan.boards.iter().find(|board| board.spec.name == key.board)?;
    // A real board's disk may be broken or unplugged: a new kind of boot decides here.
    let Boot::Qemu(_) = &board.spec.boot;
    let how = match error {
        LinkError::Agent { code: ErrorCode::TargetMissing, .. } => "did not appear",
        LinkError::Agent { code: ErrorCode::TargetMismatch, .. } => "appeared as something else",
        _ => return None,
    };
    Some(format!("disk \"{target}\" {how}: {error}"))
}

/// A kernel that dies takes the link with it at once, and its last words reach the console a moment later.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Time for a shell to start on a machine under full load. Most hangs have cut the connection by now, and then the answer
/// comes at once.
const SHELL: Duration = Duration::from_secs(30);

/// Whether the kernel that runs is known to be the one that was meant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Proven {
    Yes,
    No,
}

/// The agent is of no more use: was it the kernel (a result) or the lab (void)?
async fn after_loss(machine: &mut dyn Booted, rule: &str, error: &LinkError, proven: Proven) -> Stay {
    let hung = proven == Proven::Yes && silent(machine, error).await;
    let deadline = Instant::now() + LAST_WORDS;
    loop {
        let console = match machine.state() {
            MachineState::Died(end) => {
                return failed(FailureClass::Crash, "crash", format!("{error}; {end}"));
            }
            MachineState::Gone(cause) => return void("machine", &format!("{error}; {cause}")),
            MachineState::Running { console } => console,
        };
        match error {
            LinkError::Agent { code, .. } => return void(refusal(*code, rule), error),
            _ if Instant::now() < deadline => tokio::time::sleep(Duration::from_millis(100)).await,
            // The machine is on and nobody speaks. A hang must not be tried again until it does not happen.
            _ if hung => {
                let detail = format!("{error}; last console lines:\n{console}");
                return failed(FailureClass::Crash, "hang", detail);
            }
            _ => return void(rule, error),
        }
    }
}

/// Whether the machine does not answer. Where only the agent has ended, a shell still does.
async fn silent(machine: &mut dyn Booted, error: &LinkError) -> bool {
    match error {
        LinkError::Timeout { .. } => true,
        LinkError::Closed { .. } => !matches!(timeout(SHELL, machine.open("true")).await, Ok(Ok(_))),
        _ => false,
    }
}

/// The rule of a request that the agent refused.
fn refusal(code: ErrorCode, rule: &str) -> &str {
    match code {
        ErrorCode::Protocol => rule,
        ErrorCode::Board => "agent",
        ErrorCode::TargetMissing
        | ErrorCode::TargetAmbiguous
        | ErrorCode::TargetMismatch
        | ErrorCode::TargetBusy
        | ErrorCode::TargetReadOnly => "target",
    }
}
