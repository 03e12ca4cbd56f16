//! A conversation with one agent.

use crate::LinkError;
use crate::bootstrap::{AgentBinary, push};
use crate::channel::Channel;
use crate::text;
use crate::trial::{self, Progress, TrialResult};
use kab_board::ExecChannel;
use kab_wire::{ErrorCode, Identity, Listed, PROTOCOL, Target, ToAgent, ToHost, TrialRequest};
use std::time::Duration;

/// Time from the last pushed byte to the agent's first word: a program start and the hashing of a megabyte, in emulation.
const HELLO: Duration = Duration::from_secs(60);

/// Time for an answer that needs a few files and at most one short program (`fio --version`, which links dozens of
/// libraries: seconds in emulation).
const ANSWER: Duration = Duration::from_secs(60);

/// Time for the agent to leave when told to: it has nothing left to stop.
const CLOSE: Duration = Duration::from_secs(10);

/// An agent that runs on a board and is the one that was meant. It does one thing at a time.
pub struct Agent {
    channel: Channel,
    digest: String,
    pid: u32,
    /// A request was sent and its answer has not been read to the end.
    busy: bool,
}

impl Agent {
    /// Brings the agent up at the other end of a channel to [`crate::BOOTSTRAP`].
    pub async fn connect(channel: ExecChannel, binary: &AgentBinary) -> Result<Self, LinkError> {
        let mut channel = Channel::new(channel);
        push(&mut channel, binary).await?;
        let first = within("greeting of the agent", HELLO, message(&mut channel)).await?;
        let ToHost::Hello { protocol, digest, pid } = first else {
            return Err(LinkError::protocol(&format_args!("it began with {}", kind(&first))));
        };
        if protocol != PROTOCOL {
            return Err(LinkError::protocol(&format_args!(
                "it speaks version {protocol}, this kab {PROTOCOL}"
            )));
        }
        if digest != binary.digest {
            return Err(LinkError::Digest { expected: binary.digest.clone(), found: digest });
        }
        channel.send(&ToAgent::Hello { protocol: PROTOCOL }).await?;
        Ok(Self { channel, digest, pid, busy: false })
    }

    /// BLAKE3 of the program that answers, by its own word.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The agent's process id on the board.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// What the board is.
    pub async fn identify(&mut self) -> Result<Identity, LinkError> {
        match self.ask(&ToAgent::Identify, "answer to who it is").await? {
            ToHost::Identity { identity } => Ok(identity),
            other => Err(unexpected(&other)),
        }
    }

    /// Whether a target is there, free, and what the lab lists.
    pub async fn find_target(&mut self, listed: &Listed) -> Result<Target, LinkError> {
        let request = ToAgent::FindTarget { listed: listed.clone() };
        match self.ask(&request, "answer about the target").await? {
            ToHost::Target { target } => Ok(target),
            other => Err(unexpected(&other)),
        }
    }

    /// Runs a trial to its end and collects its evidence. `progress` is called about once a second. A trial that failed is a
    /// result; a target that may not be used is [`LinkError::Agent`]. To cancel, drop the future and the agent.
    pub async fn run_trial(
        &mut self,
        request: TrialRequest,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<TrialResult, LinkError> {
        self.begin()?;
        let result = trial::run(&mut self.channel, request, progress).await;
        self.end(result)
    }

    /// Sends the agent away and waits until it has gone, or for ten seconds.
    pub async fn close(mut self) {
        // It may have gone already.
        let leave = async {
            let _ = self.channel.send(&ToAgent::Bye).await;
            self.channel.end().await;
        };
        let _ = tokio::time::timeout(CLOSE, leave).await;
    }

    async fn ask(&mut self, request: &ToAgent, what: &'static str) -> Result<ToHost, LinkError> {
        self.begin()?;
        let exchange = async {
            self.channel.send(request).await?;
            answer(&mut self.channel).await
        };
        let result = within(what, ANSWER, exchange).await;
        self.end(result)
    }

    /// A request whose future was dropped leaves an answer on its way that belongs to nothing.
    fn begin(&mut self) -> Result<(), LinkError> {
        if std::mem::replace(&mut self.busy, true) {
            return Err(LinkError::protocol(&"an earlier request was given up halfway"));
        }
        Ok(())
    }

    fn end<T>(&mut self, result: Result<T, LinkError>) -> Result<T, LinkError> {
        self.busy = !matches!(result, Ok(_) | Err(LinkError::Agent { .. }));
        result
    }
}

/// The next message; a refusal is an error.
pub(crate) async fn answer(channel: &mut Channel) -> Result<ToHost, LinkError> {
    match message(channel).await? {
        // The agent leaves after these.
        ToHost::Error { code: ErrorCode::Protocol, message } => {
            Err(LinkError::protocol(&format_args!("it complains: {message}")))
        }
        ToHost::Error { code, message } => Err(LinkError::Agent { code, message }),
        other => Ok(other),
    }
}

async fn message(channel: &mut Channel) -> Result<ToHost, LinkError> {
    channel.frame().await?.message().map(text::clean).map_err(|error| LinkError::protocol(&error))
}

/// A wait with a name and an end.
pub(crate) async fn within<T>(
    what: &'static str,
    limit: Duration,
    wait: impl Future<Output = Result<T, LinkError>>,
) -> Result<T, LinkError> {
    tokio::time::timeout(limit, wait).await.unwrap_or(Err(LinkError::Timeout { what, limit }))
}

pub(crate) fn unexpected(message: &ToHost) -> LinkError {
    LinkError::protocol(&format_args!("{} was no answer to the request", kind(message)))
}

fn kind(message: &ToHost) -> &'static str {
    match message {
        ToHost::Hello { .. } => "a greeting",
        ToHost::Identity { .. } => "an identity",
        ToHost::Target { .. } => "a target",
        ToHost::Progress { .. } => "progress",
        ToHost::TrialDone { .. } => "the end of a trial",
        ToHost::Error { .. } => "an error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_wait_ends_and_says_for_what() {
        let limit = Duration::from_millis(1);
        let waited = within::<()>("word from the board", limit, std::future::pending()).await;
        assert_eq!(
            waited.map_err(|error| error.to_string()),
            Err("no word from the board within 0.001 s".to_owned())
        );
    }
}
