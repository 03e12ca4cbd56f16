//! A connection to a board's SSH server, and commands on it.
//!
//! The server must prove to hold the one key that is expected: there is no "accept any". A link on which nothing answers
//! any more is closed by keepalives, so that readers see an end instead of waiting for ever.

use kab_board::{ExecChannel, TransportError};
use russh::client::{self, Handle};
use russh::keys::{PrivateKey, PrivateKeyWithHashAlg, PublicKey, PublicKeyOrCertificate};
use russh::{Channel, ChannelMsg};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncWriteExt, DuplexStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Unanswered questions after which the link counts as dead.
const KEEPALIVE_MISSES: usize = 3;

/// Bytes that wait between the link and a reader or writer before the other side has to wait.
const BUFFER: usize = 256 * 1024;

/// Whom to reach, as whom, and how both prove who they are.
#[derive(Clone, Debug)]
pub struct SshTarget {
    /// Where the server listens.
    pub address: SocketAddr,
    /// Who to log in as.
    pub user: String,
    /// What to log in with.
    pub key: Arc<PrivateKey>,
    /// What the server must have.
    pub host_key: PublicKey,
    /// Silence after which the server is asked whether it is still there. A link is dead after three such questions
    /// without an answer. [`SshTarget::KEEPALIVE`] suits boards.
    pub keepalive: Duration,
    /// Most that a command may take to start. [`SshTarget::START`] suits boards.
    pub start: Duration,
}

impl SshTarget {
    /// A guest under full load answers within seconds; a dead one is noticed after 20 s.
    pub const KEEPALIVE: Duration = Duration::from_secs(5);

    /// Two questions to the server and a new process. A dead server is noticed by keepalives before that; this is for one
    /// that lives and does not start what it was asked for.
    pub const START: Duration = Duration::from_secs(30);
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum SshError {
    /// Nobody listens, or who listens speaks no SSH, or the link broke on the way. Trying again may help.
    #[error("no SSH at {address}")]
    Connect {
        /// Where.
        address: SocketAddr,
        /// What the library saw.
        source: russh::Error,
    },
    /// Somebody else's server.
    #[error("the SSH server at {address} has another host key than expected")]
    HostKey {
        /// Where.
        address: SocketAddr,
    },
    /// The server does not let us in.
    #[error("the SSH server at {address} refuses the key of {user}")]
    Refused {
        /// Where.
        address: SocketAddr,
        /// As whom.
        user: String,
    },
}

/// A connection that is logged in. Dropping it closes it and ends its channels.
pub struct Ssh {
    handle: Handle<Pinned>,
    start: Duration,
    /// Carry bytes between channels and their users.
    pumps: JoinSet<()>,
}

impl Ssh {
    /// Connects and logs in. Sets no time limit of its own: the caller knows how long is too long.
    pub async fn connect(target: &SshTarget) -> Result<Self, SshError> {
        let address = target.address;
        let config = client::Config {
            keepalive_interval: Some(target.keepalive),
            keepalive_max: KEEPALIVE_MISSES,
            nodelay: true,
            ..client::Config::default()
        };
        let failed = |source| match source {
            russh::Error::UnknownKey => SshError::HostKey { address },
            source => SshError::Connect { address, source },
        };
        let server = Pinned { host_key: target.host_key.clone() };
        let mut handle = client::connect(Arc::new(config), address, server).await.map_err(failed)?;
        // The hash matters for RSA keys alone.
        let hash = handle.best_supported_rsa_hash().await.map_err(failed)?.flatten();
        let key = PrivateKeyWithHashAlg::new(Arc::clone(&target.key), hash);
        let answer = handle.authenticate_publickey(&target.user, key).await.map_err(failed)?;
        if !answer.success() {
            return Err(SshError::Refused { address, user: target.user.clone() });
        }
        Ok(Self { handle, start: target.start, pumps: JoinSet::new() })
    }

    /// Runs a command. Its streams end when it ends or the link is lost; in the second case `after_loss` is awaited
    /// first, for who wants to know more before anybody acts on the loss.
    pub async fn open(
        &mut self,
        command: &str,
        after_loss: impl Future<Output = ()> + Send + 'static,
    ) -> Result<ExecChannel, TransportError> {
        let (channel, early) = match timeout(self.start, self.started(command)).await {
            Ok(started) => started?,
            Err(_) => {
                let limit = self.start.as_secs_f64();
                return Err(TransportError { cause: format!("no command starts over SSH within {limit} s") });
            }
        };
        while self.pumps.try_join_next().is_some() {}
        let (stdin, from_user) = tokio::io::duplex(BUFFER);
        let (stdout, to_stdout) = tokio::io::duplex(BUFFER);
        let (stderr, to_stderr) = tokio::io::duplex(BUFFER);
        let (reader, writer) = channel.split();
        self.pumps.spawn(async move {
            let sending = send(writer, from_user);
            let receiving = receive(early, reader, to_stdout, to_stderr, after_loss);
            // The command's end is the end of both; an end of its input is not.
            tokio::select! {
                () = receiving => {}
                () = sending => {}
            }
        });
        Ok(ExecChannel { stdin: Box::new(stdin), stdout: Box::new(stdout), stderr: Box::new(stderr) })
    }

    /// Whether the link is gone.
    pub fn is_closed(&self) -> bool {
        self.handle.is_closed()
    }

    /// A channel on which the command has started, and what it said before the server confirmed that: the messages of a
    /// short command may overtake the confirmation.
    async fn started(&self, command: &str) -> Result<Started, TransportError> {
        let failed =
            |error: russh::Error| TransportError { cause: format!("cannot run a command over SSH: {error}") };
        let mut channel = self.handle.channel_open_session().await.map_err(failed)?;
        channel.exec(true, command).await.map_err(failed)?;
        let mut early = Vec::new();
        loop {
            match channel.wait().await {
                Some(ChannelMsg::Success) => return Ok((channel, early)),
                // A command that has ended has started, whatever became of the confirmation.
                None | Some(ChannelMsg::Close) if early.iter().any(is_exit) => return Ok((channel, early)),
                None | Some(ChannelMsg::Close) => {
                    let cause = "the SSH server closed the channel before the command had started".to_owned();
                    return Err(TransportError { cause });
                }
                Some(ChannelMsg::Failure) => {
                    return Err(TransportError { cause: "the SSH server does not run commands".to_owned() });
                }
                Some(message) => early.push(message),
            }
        }
    }
}

type Started = (Channel<client::Msg>, Vec<ChannelMsg>);

/// Carries the user's bytes to the command, and then the end of file. Never returns.
async fn send(writer: russh::ChannelWriteHalf<client::Msg>, mut from_user: DuplexStream) {
    let mut to_command = writer.make_writer();
    if tokio::io::copy(&mut from_user, &mut to_command).await.is_ok() {
        let _ = to_command.shutdown().await;
    }
    // The write half closes the channel when it is dropped: it lives as long as the command.
    std::future::pending::<()>().await;
}

/// Carries the command's bytes to the user until one of them is gone.
async fn receive(
    early: Vec<ChannelMsg>,
    mut reader: russh::ChannelReadHalf,
    mut to_stdout: DuplexStream,
    mut to_stderr: DuplexStream,
    after_loss: impl Future<Output = ()>,
) {
    let mut ended = false;
    let mut early = early.into_iter();
    loop {
        let message = match early.next() {
            Some(message) => message,
            None => match reader.wait().await {
                Some(message) => message,
                None => break,
            },
        };
        // Who drops one stream may still read the other.
        match message {
            ChannelMsg::Data { data } => drop(to_stdout.write_all(&data).await),
            ChannelMsg::ExtendedData { data, ext: 1 } => drop(to_stderr.write_all(&data).await),
            message if is_exit(&message) => ended = true,
            ChannelMsg::Close => break,
            _ => {}
        }
    }
    if !ended {
        after_loss.await;
    }
}

fn is_exit(message: &ChannelMsg) -> bool {
    matches!(message, ChannelMsg::ExitStatus { .. } | ChannelMsg::ExitSignal { .. })
}

/// Accepts one host key and no other.
struct Pinned {
    host_key: PublicKey,
}

impl client::Handler for Pinned {
    type Error = russh::Error;

    async fn check_server_key(&mut self, server: &PublicKeyOrCertificate) -> Result<bool, russh::Error> {
        // A certificate would vouch for a key by way of an authority, and we know of none.
        Ok(
            matches!(server, PublicKeyOrCertificate::PublicKey { key, .. } if key.key_data() == self.host_key.key_data()),
        )
    }
}
