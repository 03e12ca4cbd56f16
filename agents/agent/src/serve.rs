//! The conversation with the host.

use crate::kmsg::KernelLog;
use crate::log::note;
use crate::ports::{Inbox, Incoming, Outbox};
use crate::refusal::Refusal;
use crate::trial::{self, Verdict};
use crate::{folder, identity, target};
use kab_wire::{ErrorCode, PROTOCOL, ToAgent, ToHost, TrialRequest};
use std::io;
use std::time::{Duration, Instant};

/// How often a running trial is reported.
const PROGRESS: Duration = Duration::from_secs(1);

/// Why the conversation ended before its time.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    #[error("cannot read the own program: {0}")]
    OwnProgram(io::Error),
    #[error("cannot write to the host: {0}")]
    Write(#[from] io::Error),
    #[error("the host broke the protocol: {0}")]
    Protocol(String),
}

/// Whether the conversation goes on.
enum Next {
    Go,
    End,
}

/// Serves the host on standard input and output until it leaves.
pub(crate) fn serve() -> Result<(), ServeError> {
    let digest = own_digest().map_err(ServeError::OwnProgram)?;
    folder::sweep();
    let mut session = Session { inbox: Inbox::start(), outbox: Outbox::open()?, log: KernelLog::open() };
    let hello =
        ToHost::Hello { protocol: PROTOCOL, digest: digest.to_hex().to_string(), pid: std::process::id() };
    session.outbox.send(&hello)?;
    match session.inbox.wait() {
        Incoming::Message(ToAgent::Hello { protocol: PROTOCOL }) => {}
        Incoming::Closed => return Ok(()),
        Incoming::Message(ToAgent::Hello { protocol }) => {
            return session.give_up(format!("the host speaks protocol {protocol}, this agent {PROTOCOL}"));
        }
        Incoming::Message(other) => return session.give_up(format!("{other:?} came before the greeting")),
        Incoming::Broken(error) => return session.give_up(error.to_string()),
    }
    while let Next::Go = session.step()? {}
    Ok(())
}

/// BLAKE3 of this program. A file whose content is not what its name says is removed, so that the next push of that
/// digest replaces it.
fn own_digest() -> io::Result<blake3::Hash> {
    let mut hasher = blake3::Hasher::new();
    io::copy(&mut std::fs::File::open("/proc/self/exe")?, &mut hasher)?;
    let digest = hasher.finalize();
    let path = std::env::current_exe()?;
    let named = path.file_name().and_then(|name| blake3::Hash::from_hex(name.as_encoded_bytes()).ok());
    if named.is_some_and(|named| named != digest) {
        note(format_args!("{} is not what its name says; removed", path.display()));
        std::fs::remove_file(&path)?;
    }
    Ok(digest)
}

struct Session {
    inbox: Inbox,
    outbox: Outbox,
    log: KernelLog,
}

impl Session {
    /// Serves one message.
    fn step(&mut self) -> Result<Next, ServeError> {
        let answer = match self.inbox.wait() {
            Incoming::Closed | Incoming::Message(ToAgent::Bye | ToAgent::Cancel) => return Ok(Next::End),
            Incoming::Broken(error) => return self.give_up(error.to_string()).map(|()| Next::End),
            Incoming::Message(ToAgent::RunTrial { request }) => return self.trial(&request),
            Incoming::Message(ToAgent::Identify) => {
                identity::read().map(|identity| ToHost::Identity { identity })
            }
            Incoming::Message(ToAgent::FindTarget { listed }) => {
                target::hold(&listed, false).map(|held| ToHost::Target { target: held.target })
            }
            Incoming::Message(ToAgent::Hello { .. }) => {
                Err(Refusal::Protocol("a second greeting".to_owned()))
            }
        };
        let answer = answer.unwrap_or_else(|refusal| error(&refusal));
        self.outbox.send(&answer)?;
        Ok(Next::Go)
    }

    /// Runs a trial and sends what it yielded.
    fn trial(&mut self, request: &TrialRequest) -> Result<Next, ServeError> {
        let Self { inbox, outbox, log } = self;
        let started = Instant::now();
        let mut reported = started;
        let result = trial::run(request, log, &mut || {
            // Whatever the host says during a trial ends it: it waits for the end, cancels, or has gone.
            if let Some(incoming) = inbox.look() {
                note(format_args!("trial stopped: {incoming:?}"));
                return Verdict::Stop;
            }
            if reported.elapsed() < PROGRESS {
                return Verdict::GoOn;
            }
            reported = Instant::now();
            let elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
            match outbox.send_unless_full(&ToHost::Progress { elapsed_ms }) {
                Ok(()) => Verdict::GoOn,
                Err(_) => Verdict::Stop,
            }
        });
        match result {
            Ok(None) => return Ok(Next::End),
            Err(refusal) => outbox.send(&error(&refusal))?,
            Ok(Some(finished)) => {
                outbox.send(&ToHost::TrialDone { done: finished.done })?;
                for (stream, bytes) in finished.streams {
                    outbox.send_stream(stream, &bytes)?;
                }
            }
        }
        Ok(Next::Go)
    }

    /// Tells the host what it did wrong and ends.
    fn give_up(&mut self, message: String) -> Result<(), ServeError> {
        self.outbox.send(&ToHost::Error { code: ErrorCode::Protocol, message: message.clone() })?;
        Err(ServeError::Protocol(message))
    }
}

fn error(refusal: &Refusal) -> ToHost {
    ToHost::Error { code: refusal.code(), message: refusal.to_string() }
}
