//! Boards whose boots have scripted fates, and one whose shell is this machine's.

use super::builder::ScriptedBuilder;
use super::peer::{Condition, Peer, TrialFate};
use async_trait::async_trait;
use kab_board::{
    Board, BootError, BootRequest, Booted, ExecChannel, MachineState, Prepared, TargetIdentity,
    TransportError,
};
use kab_engine::Builder;
use kab_model::{Accel, BoardName, TargetName, VariantName};
use kab_wire::ErrorCode;
use std::collections::{BTreeSet, VecDeque};
use std::fs::{self, File, TryLockError};
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How a boot goes.
#[derive(Clone, Debug, PartialEq)]
pub enum Fate {
    Well,
    /// The kernel panics on its way up.
    NoBoot,
    /// The lab cannot even try.
    LabFault,
    /// No command can be run.
    NoShell,
    /// The shell ends before it becomes the agent.
    NoAgent,
    OtherKernel,
    NoStamp,
    /// It says that it is the boot that was there before.
    OldBoot,
    NoFio,
    /// The agent refuses the target.
    NoTarget(ErrorCode),
    /// It hears of its end and never powers off.
    NoEnd,
    /// Trials of this visit, in their order; all later ones go well.
    Trials(Vec<TrialFate>),
}

/// Everything that the doubles share.
pub struct World {
    fates: Mutex<VecDeque<Fate>>,
    prepared: Mutex<VecDeque<BootError>>,
    lacking: Mutex<Option<String>>,
    unbuildable: Mutex<BTreeSet<VariantName>>,
    boots: Mutex<Vec<BootRequest>>,
    /// The host cannot build.
    out_of_order: Mutex<bool>,
    /// What builds append to their build-ids.
    drift: Mutex<&'static str>,
    /// The user interrupts as soon as something is built.
    impatient: Mutex<Option<CancellationToken>>,
    /// Boots before this world began.
    earlier: Mutex<usize>,
    /// Machines that are up.
    up: Mutex<usize>,
    /// Machines that were shut down in order.
    shut_down: Mutex<usize>,
    pub lease: PathBuf,
}

impl World {
    pub fn new(fates: impl IntoIterator<Item = Fate>, lease: PathBuf) -> Self {
        Self {
            fates: Mutex::new(fates.into_iter().collect()),
            prepared: Mutex::default(),
            lacking: Mutex::default(),
            unbuildable: Mutex::default(),
            out_of_order: Mutex::default(),
            drift: Mutex::default(),
            impatient: Mutex::default(),
            boots: Mutex::default(),
            earlier: Mutex::default(),
            up: Mutex::default(),
            shut_down: Mutex::default(),
            lease,
        }
    }

    pub fn board(self: &Arc<Self>, _name: &BoardName) -> Box<dyn Board> {
        Box::new(ScriptedBoard(Arc::clone(self)))
    }

    pub fn builder(self: &Arc<Self>) -> Box<dyn Builder> {
        Box::new(ScriptedBuilder(Arc::clone(self)))
    }

    /// The next check of a board finds that the host lacks something.
    pub fn lacks(&self, cause: &str) {
        *self.lacking.lock().unwrap() = Some(cause.to_owned());
    }

    /// The next preparation of a board ends like this.
    pub fn cannot_prepare(&self, error: BootError) {
        self.prepared.lock().unwrap().push_back(error);
    }

    pub fn cannot_build(&self, variant: &str) {
        self.unbuildable.lock().unwrap().insert(variant.into());
    }

    pub fn interrupted_while_building(&self, user: CancellationToken) {
        *self.impatient.lock().unwrap() = Some(user);
    }

    pub fn impatient(&self) -> Option<CancellationToken> {
        self.impatient.lock().unwrap().clone()
    }

    pub fn unbuildable(&self, variant: &VariantName) -> bool {
        self.unbuildable.lock().unwrap().contains(variant)
    }

    /// Where images and configurations lie.
    pub fn cache(&self) -> PathBuf {
        self.lease.with_file_name("cache")
    }

    pub fn host_cannot_build(&self, cannot: bool) {
        *self.out_of_order.lock().unwrap() = cannot;
    }

    pub fn out_of_order(&self) -> bool {
        *self.out_of_order.lock().unwrap()
    }

    /// From now on the same source gives another kernel.
    pub fn builds_drift(&self) {
        *self.drift.lock().unwrap() = "-other";
    }

    pub fn drift(&self) -> &'static str {
        *self.drift.lock().unwrap()
    }

    pub fn boots(&self) -> Vec<BootRequest> {
        self.boots.lock().unwrap().clone()
    }

    /// Boot ids go on from here.
    pub fn skip_boots(&self, boots: usize) {
        *self.earlier.lock().unwrap() = boots;
    }

    pub fn shut_down(&self) -> usize {
        *self.shut_down.lock().unwrap()
    }

    /// No machine is up, and nobody holds the host.
    pub fn nothing_is_left(&self) {
        assert_eq!(*self.up.lock().unwrap(), 0, "machines are still up");
        if let Ok(lease) = File::open(&self.lease) {
            lease.try_lock().expect("the host lease is still held");
        }
    }

    /// Whatever loads the host happens under the lease.
    pub fn measuring_is_exclusive(&self) {
        let lease = File::open(&self.lease).unwrap();
        assert!(matches!(lease.try_lock(), Err(TryLockError::WouldBlock)), "nobody holds the host lease");
    }
}

struct ScriptedBoard(Arc<World>);

#[async_trait]
impl Board for ScriptedBoard {
    async fn check(&self) -> Result<(), BootError> {
        match self.0.lacking.lock().unwrap().take() {
            Some(cause) => Err(BootError::Lab { cause }),
            None => Ok(()),
        }
    }

    async fn prepare(&self, _image: &Path) -> Result<Prepared, BootError> {
        self.0.measuring_is_exclusive();
        match self.0.prepared.lock().unwrap().pop_front() {
            Some(error) => Err(error),
            None => {
                Ok(Prepared { accel: Accel::Tcg, emulator: "double 1".into(), reason: "scripted".into() })
            }
        }
    }

    async fn boot(&self, request: &BootRequest) -> Result<Box<dyn Booted>, BootError> {
        self.0.measuring_is_exclusive();
        let number = {
            let mut boots = self.0.boots.lock().unwrap();
            boots.push(request.clone());
            boots.len() + *self.0.earlier.lock().unwrap()
        };
        fs::write(&request.console, format!("console of boot {number}\n")).unwrap();
        let fate = self.0.fates.lock().unwrap().pop_front().unwrap_or(Fate::Well);
        match fate {
            Fate::NoBoot => {
                return Err(BootError::Kernel {
                    cause: "it panicked".into(),
                    console: "Kernel panic".into(),
                });
            }
            Fate::LabFault => return Err(BootError::Lab { cause: "no emulator".into() }),
            _ => {}
        }
        *self.0.up.lock().unwrap() += 1;
        let condition = Arc::default();
        let peer = Peer::new(&fate, request, number, Arc::clone(&condition));
        Ok(Box::new(Machine { world: Arc::clone(&self.0), peer, condition, fate }))
    }

    fn target(&self, name: &TargetName) -> Option<TargetIdentity> {
        (name.0 == "disk").then(|| TargetIdentity::Serial { serial: "disk".into(), size: 1 << 20 })
    }
}

struct Machine {
    world: Arc<World>,
    peer: Peer,
    condition: Arc<Mutex<Condition>>,
    fate: Fate,
}

#[async_trait]
impl Booted for Machine {
    async fn open(&mut self, command: &'static str) -> Result<ExecChannel, TransportError> {
        let condition = *self.condition.lock().unwrap();
        match (command, condition) {
            ("true", Condition::Well) => return shell(command),
            ("true", Condition::Hung) => std::future::pending().await,
            ("true", _) => return Err(TransportError { cause: "no connection".into() }),
            _ => assert_eq!(command, kab_link::BOOTSTRAP),
        }
        match self.fate {
            Fate::NoShell => Err(TransportError { cause: "no channel".into() }),
            Fate::NoAgent => Ok(ExecChannel {
                stdin: Box::new(tokio::io::sink()),
                stdout: Box::new(tokio::io::empty()),
                stderr: Box::new(Cursor::new("no room\n")),
            }),
            _ => Ok(self.peer.clone().start()),
        }
    }

    fn state(&mut self) -> MachineState {
        match *self.condition.lock().unwrap() {
            Condition::Well | Condition::Hung | Condition::CutOff => {
                MachineState::Running { console: "the last line".into() }
            }
            Condition::Panicked => MachineState::Died("Kernel panic; last console lines:\na patch".into()),
            Condition::Killed => MachineState::Gone("somebody killed the emulator".into()),
        }
    }

    fn boot_time(&self) -> Duration {
        Duration::from_millis(1234)
    }

    async fn shutdown(self: Box<Self>) {
        if self.fate == Fate::NoEnd {
            std::future::pending::<()>().await;
        }
        *self.world.shut_down.lock().unwrap() += 1;
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        *self.world.up.lock().unwrap() -= 1;
    }
}

/// A board that is this machine: real shell, real agent.
pub struct ThisMachine;

#[async_trait]
impl Board for ThisMachine {
    async fn check(&self) -> Result<(), BootError> {
        Ok(())
    }

    async fn prepare(&self, _image: &Path) -> Result<Prepared, BootError> {
        Ok(Prepared { accel: Accel::Tcg, emulator: "none".into(), reason: "it is up".into() })
    }

    async fn boot(&self, _request: &BootRequest) -> Result<Box<dyn Booted>, BootError> {
        Ok(Box::new(Self))
    }

    fn target(&self, _name: &TargetName) -> Option<TargetIdentity> {
        Some(TargetIdentity::Serial { serial: "no disk has this serial number".into(), size: 1 << 20 })
    }
}

#[async_trait]
impl Booted for ThisMachine {
    async fn open(&mut self, command: &'static str) -> Result<ExecChannel, TransportError> {
        shell(command)
    }

    fn state(&mut self) -> MachineState {
        MachineState::Running { console: String::new() }
    }

    fn boot_time(&self) -> Duration {
        Duration::ZERO
    }

    async fn shutdown(self: Box<Self>) {}
}

/// A command in this machine's shell. It ends with its input.
fn shell(command: &str) -> Result<ExecChannel, TransportError> {
    let mut child = tokio::process::Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| TransportError { cause: error.to_string() })?;
    Ok(ExecChannel {
        stdin: Box::new(child.stdin.take().unwrap()),
        stdout: Box::new(child.stdout.take().unwrap()),
        stderr: Box::new(child.stderr.take().unwrap()),
    })
}
