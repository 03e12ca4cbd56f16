//! One visit: boot, prove, run all cells.

use crate::Progress;
use crate::engine::{Engine, EngineError};
use crate::prove::{prove, stamp_argument};
use crate::session::{self, Session};
use crate::trial;
use kab_board::{BootError, BootRequest, Booted};
use kab_link::{ErrorCode, LinkError};
use kab_model::{BootIdentity, BootProof, Event, FailureClass, Reason, VisitKey};
use kab_plan::{NextTrial, next_trial};
use std::time::Duration;
use tokio::time::Instant;

/// How a visit went.
pub(crate) enum Stay {
    /// All cells are through.
    Complete,
    /// The variant did not deliver.
    Failed(FailureClass, Reason),
    /// The lab's fault.
    Void(Reason),
}

fn void(rule: &str, detail: &impl ToString) -> Stay {
    Stay::Void(Reason { rule: rule.to_owned(), detail: detail.to_string() })
}

/// Boots the variant and stays until its cells are through. Dropping the future ends fio and the machine.
pub(crate) async fn stay(engine: &mut Engine, key: &VisitKey) -> Result<Stay, EngineError> {
    engine.parts.observer.progress(Progress::Booting { visit: key });
    let request = boot_request(engine, key);
    let mut machine = match engine.parts.boards[&key.board].boot(&request).await {
        Ok(machine) => machine,
        Err(error) => return Ok(not_booted(error)),
    };
    let stay = with_machine(engine, key, machine.as_mut()).await;
    machine.shutdown().await;
    stay
}

/// What a boot that failed means.
pub(crate) fn not_booted(error: BootError) -> Stay {
    match error {
        BootError::Kernel { cause, console } => {
            let detail = format!("{cause}\n{console}");
            Stay::Failed(FailureClass::Boot, Reason { rule: "boot".to_owned(), detail })
        }
        BootError::Lab { cause } => void("lab", &cause),
    }
}

fn boot_request(engine: &Engine, key: &VisitKey) -> BootRequest {
    let variant = engine.planned(&key.variant);
    let artifact =
        engine.parts.log.run().artifact(&key.variant).expect("the planner visits only what is built");
    let own = variant.cmdline.as_deref().map(|cmdline| format!("{cmdline} ")).unwrap_or_default();
    BootRequest {
        image: artifact.image.clone(),
        cmdline: format!("{own}{}", stamp_argument(&variant.stamp)),
        accel: engine.accel(&key.board).unwrap_or_default(),
        console: engine.console_path(key),
    }
}

async fn with_machine(
    engine: &mut Engine,
    key: &VisitKey,
    machine: &mut dyn Booted,
) -> Result<Stay, EngineError> {
    let opened = session::open(machine, &engine.parts.agent).await;
    let (mut session, identity) = match opened {
        Ok(opened) => opened,
        Err(error) => return Ok(after_loss(machine, "agent", &error, Proven::No).await),
    };
    if let Err(error) = proven(engine, key, &identity) {
        return Ok(void("wrong-kernel", &error));
    }
    if identity.fio.is_none() {
        let detail = format!("there is no fio on board {}: install it there", key.board);
        return Ok(void("fio-missing", &detail));
    }
    let proof = proof(engine, key, identity, machine);
    engine.append(Event::BootProved { visit: key.clone(), proof })?;
    if let Err(error) = trial::find_targets(engine, key, &mut session).await {
        return Ok(after_loss(machine, "target", &error, Proven::Yes).await);
    }
    let stay = all_trials(engine, key, &mut session, machine).await?;
    session.close().await;
    Ok(stay)
}

fn proven(engine: &Engine, key: &VisitKey, identity: &BootIdentity) -> Result<(), crate::ProofError> {
    let run = engine.parts.log.run();
    let build_id = run.artifact(&key.variant).map(|artifact| artifact.build_id.as_str()).unwrap_or_default();
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

async fn all_trials(
    engine: &mut Engine,
    key: &VisitKey,
    session: &mut Session,
    machine: &mut dyn Booted,
) -> Result<Stay, EngineError> {
    loop {
        let run = engine.parts.log.run();
        let visit = run.boards[&key.board].visits.iter().rfind(|visit| &visit.key == key);
        match next_trial(&engine.plan, run, visit.expect("the visit was started by this engine")) {
            NextTrial::End => return Ok(Stay::Complete),
            NextTrial::Void(reason) => return Ok(Stay::Void(reason)),
            NextTrial::Run(trial) => {
                if let Some(error) = trial::run(engine, session, trial).await? {
                    return Ok(after_loss(machine, "agent-lost", &error, Proven::Yes).await);
                }
            }
        }
    }
}

/// A kernel that dies takes the link with it at once, and its last words reach the console a moment later.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Whether the kernel that runs is known to be the one that was meant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Proven {
    Yes,
    No,
}

/// The agent is of no more use: was it the kernel (a result) or the lab (void)?
async fn after_loss(machine: &mut dyn Booted, rule: &str, error: &LinkError, proven: Proven) -> Stay {
    let deadline = Instant::now() + LAST_WORDS;
    loop {
        if let Some(console) = machine.died() {
            let detail = format!("{error}; last console lines:\n{console}");
            return Stay::Failed(FailureClass::Crash, Reason { rule: "crash".to_owned(), detail });
        }
        match error {
            LinkError::Agent { code, .. } => return void(refusal(*code, rule), error),
            _ if Instant::now() < deadline => tokio::time::sleep(Duration::from_millis(100)).await,
            // The connection is there and nobody speaks. A hang must not be tried again until it does not happen.
            LinkError::Timeout { .. } if proven == Proven::Yes => {
                let detail = error.to_string();
                return Stay::Failed(FailureClass::Crash, Reason { rule: "hang".to_owned(), detail });
            }
            _ => return void(rule, error),
        }
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
