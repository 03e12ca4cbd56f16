//! The agent on a booted machine.

use kab_board::Booted;
use kab_link::{Agent, AgentBinary, BOOTSTRAP, Identity, LinkError};
use kab_model::BootIdentity;

/// A conversation with the agent of one machine.
pub(crate) type Session = Agent;

/// Brings the agent up and asks what the board is.
pub(crate) async fn open(
    machine: &mut dyn Booted,
    agent: &AgentBinary,
) -> Result<(Session, BootIdentity), LinkError> {
    let channel =
        machine.open(BOOTSTRAP).await.map_err(|error| LinkError::Push { cause: error.to_string() })?;
    let mut session = Agent::connect(channel, agent).await?;
    let identity = session.identify().await?;
    Ok((session, boot_identity(identity)))
}

fn boot_identity(identity: Identity) -> BootIdentity {
    let Identity { boot_id, build_id, cmdline, release, version, machine, cpus, memory, fio } = identity;
    BootIdentity { boot_id, build_id, cmdline, release, version, machine, cpus, memory, fio }
}
