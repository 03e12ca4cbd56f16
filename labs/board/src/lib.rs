//! What a board can do, apart from how: the traits that drivers implement and the engine uses.
//!
//! A [`Board`] turns a [`BootRequest`] into a [`Booted`] machine or a [`BootError`]; a [`Booted`] machine opens
//! channels to constant commands and is shut down. Everything is cancelled by dropping the future; a dropped
//! [`Booted`] leaves no process behind.

mod lease;

use async_trait::async_trait;
use kab_model::TargetName;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};

pub use lease::{HostLease, LeaseError};

/// A device under test that can be brought up with a kernel.
#[async_trait]
pub trait Board: Send + Sync {
    /// Whether this host has what the board needs, found before anything is built for it. Boots nothing.
    async fn check(&self) -> Result<(), BootError>;

    /// Facts that must stay the same through a run, found before the first visit: a virtual board decides here which
    /// accelerator it uses, by a probe boot of `image` where that is needed.
    async fn prepare(&self, image: &Path) -> Result<Prepared, BootError>;

    /// Boots the request's kernel and returns once a shell answers.
    async fn boot(&self, request: &BootRequest) -> Result<Box<dyn Booted>, BootError>;

    /// How the agent tells a scratch target from everything else on the board; absent where the lab lists none of
    /// that name.
    fn target(&self, name: &TargetName) -> Option<TargetIdentity>;
}

/// What a scratch target is known by on the board, and the size that it must have in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetIdentity {
    /// The whole disk with this serial number.
    Serial {
        /// As the kernel shows it, without padding.
        serial: String,
        /// Bytes.
        size: u64,
    },
    /// The only disk behind this PCI function, `0000:00:05.0`.
    Pci {
        /// Domain, bus, device and function.
        address: String,
        /// Bytes.
        size: u64,
    },
}

/// What [`Board::prepare`] decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// Accelerator, for a virtual board.
    pub accel: kab_model::Accel,
    /// First line of the emulator's `--version`.
    pub emulator: String,
    /// Why this accelerator, in words.
    pub reason: String,
}

/// A kernel to boot.
#[derive(Clone, Debug)]
pub struct BootRequest {
    /// Boot image on the host.
    pub image: PathBuf,
    /// Its modules on the host, a cpio archive of `lib/modules/…`; absent where it has none.
    pub modules: Option<PathBuf>,
    /// Variant's command line and stamp, put after the board's own.
    pub cmdline: String,
    /// Accelerator that [`Board::prepare`] decided.
    pub accel: kab_model::Accel,
    /// Emulator that [`Board::prepare`] found. A board whose emulator is another one by now does not boot.
    pub emulator: String,
    /// File that receives the serial console, created anew.
    pub console: PathBuf,
}

/// A machine that is up.
#[async_trait]
pub trait Booted: Send {
    /// Runs one constant command in a shell on the board and returns its streams.
    async fn open(&mut self, command: &'static str) -> Result<ExecChannel, TransportError>;

    /// How the machine is doing now.
    fn state(&mut self) -> MachineState;

    /// Time from power-on until the shell answered.
    fn boot_time(&self) -> Duration;

    /// Powers the machine off and waits until it is gone.
    async fn shutdown(self: Box<Self>);
}

/// How a machine that was up is doing. All texts are escaped for a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MachineState {
    /// It is on, which does not say that it answers.
    Running {
        /// Last console lines.
        console: String,
    },
    /// The guest ended: a panic, a reset, a power-off. Cause and last console lines.
    Died(String),
    /// The emulator failed, or something on the host ended it: the lab's fault. Cause, one line.
    Gone(String),
}

/// The streams of a command on the board.
pub struct ExecChannel {
    /// To the command's standard input; dropping it is end of file.
    pub stdin: Box<dyn AsyncWrite + Send + Unpin>,
    /// The command's standard output.
    pub stdout: Box<dyn AsyncRead + Send + Unpin>,
    /// The command's standard error.
    pub stderr: Box<dyn AsyncRead + Send + Unpin>,
}

/// Why a board did not come up.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
    /// The kernel did not deliver: it panicked, exited, or never answered. A result about the variant.
    #[error("{cause}; last console lines:\n{console}")]
    Kernel {
        /// What was seen, one line.
        cause: String,
        /// Last lines of the console, escaped for a terminal.
        console: String,
    },
    /// The lab could not even try: an emulator is missing, a disk cannot be made. Never the variant's fault.
    #[error("{cause}")]
    Lab {
        /// What is wrong and what to do, one line or a few.
        cause: String,
    },
}

/// Why a channel failed.
#[derive(Debug, thiserror::Error)]
#[error("{cause}")]
pub struct TransportError {
    /// What is wrong, one line.
    pub cause: String,
}
