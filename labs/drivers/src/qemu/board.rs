//! The virtual board: what a run sees of QEMU.

use super::accel;
use super::arguments::{Start, arguments, disk_identity};
use super::cmdline::{check_cmdline, whole};
use super::limits::{LimitError, check_limits};
use super::machine::{End, Machine};
use super::version::Qemu;
use crate::host::{HostTools, stretched_now};
use crate::initramfs;
use crate::keys::BoardKeys;
use crate::ssh::{Ssh, SshTarget};
use async_trait::async_trait;
use kab_board::{
    Board, BootError, BootRequest, Booted, ExecChannel, MachineState, Prepared, TargetIdentity,
    TransportError,
};
use kab_model::{Accel, Arch, BoardSpec, Boot, QemuSpec, TargetName};
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::OnceCell;

/// A port may be taken between the moment it was found free and QEMU's start, though hardly this often.
const PORT_TRIES: u32 = 5;

/// A QEMU machine with the driver's own user space.
///
/// **Disks** are sparse files, made anew for every boot. So every visit finds the same disk: reads of what was not
/// written return zeros without touching the host's disk, and no visit inherits another one's blocks or page cache. They
/// are unlinked as soon as QEMU holds them open: however a machine ends, its blocks are free again.
pub struct QemuBoard {
    pub(super) qemu: QemuSpec,
    pub(super) host: HostTools,
    name: String,
    arch: Arch,
    boot_timeout: Duration,
    /// Made at first use.
    user_space: OnceCell<(BoardKeys, PathBuf)>,
}

impl QemuBoard {
    /// A board of the lab. Touches nothing yet.
    pub fn new(spec: &BoardSpec, host: &HostTools) -> Self {
        let Boot::Qemu(qemu) = &spec.boot;
        Self {
            qemu: qemu.clone(),
            host: host.clone(),
            name: spec.name.0.clone(),
            arch: spec.arch,
            boot_timeout: spec.boot_timeout,
            user_space: OnceCell::new(),
        }
    }

    pub(super) async fn initramfs(&self) -> Result<PathBuf, BootError> {
        Ok(self.user_space().await?.1.clone())
    }

    /// A folder for one machine, removed when it is dropped.
    pub(super) fn work_folder(&self) -> Result<TempDir, BootError> {
        let folder = &self.host.work_dir;
        std::fs::create_dir_all(folder)
            .and_then(|()| TempDir::with_prefix_in(format!("{}-", self.name), folder))
            .map_err(|error| lab(format!("cannot make a folder in {}: {error}", folder.display())))
    }

    async fn user_space(&self) -> Result<&(BoardKeys, PathBuf), BootError> {
        let make = async || {
            let host = self.host.clone();
            let making = tokio::task::spawn_blocking(move || {
                let keys = BoardKeys::load_or_make(&host.cache_dir.join("keys")).map_err(lab)?;
                let archive = initramfs::in_cache(&host, &keys)?;
                Ok((keys, archive))
            });
            making.await.map_err(lab)?
        };
        self.user_space.get_or_try_init(make).await
    }

    fn impossible(&self, error: &LimitError) -> BootError {
        lab(format!("board {}: {error}", self.name))
    }

    /// Empty files of the disks' sizes.
    fn disk_files(&self, folder: &Path) -> Result<Vec<PathBuf>, BootError> {
        let make = |(index, disk): (usize, &kab_model::Disk)| {
            let path = folder.join(format!("{index}-{}.img", disk.name));
            let made = std::fs::File::create_new(&path).and_then(|file| file.set_len(disk.size));
            made.map_err(|error| lab(format!("cannot make the disk {}: {error}", path.display())))?;
            Ok(path)
        };
        self.qemu.disks.iter().enumerate().map(make).collect()
    }

    async fn start(
        &self,
        qemu: &Qemu,
        request: &BootRequest,
        accel: Accel,
        ssh_port: u16,
    ) -> Result<(Machine, TempDir), BootError> {
        let folder = self.work_folder()?;
        let initramfs = match &request.modules {
            Some(modules) => with_modules(&self.initramfs().await?, modules, folder.path())?,
            None => self.initramfs().await?,
        };
        let append = whole(self.qemu.cmdline.as_deref(), &request.cmdline);
        let disks = self.disk_files(folder.path())?;
        let (image, initramfs) = (request.image.as_path(), initramfs.as_path());
        let start = Start { accel, image, initramfs, append: &append, ssh_port, disks: &disks };
        let arguments = arguments(&self.qemu, &start);
        let machine = Machine::start(&self.host, &qemu.program, arguments, &request.console).await?;
        Ok((machine, folder))
    }
}

#[async_trait]
impl Board for QemuBoard {
    async fn check(&self) -> Result<(), BootError> {
        check_limits(&self.qemu).map_err(|error| self.impossible(&error))?;
        if self.arch != Arch::X86_64 {
            let arch = self.arch.kernel_name();
            return Err(lab(format!("a QEMU board of {arch} is not supported in this version yet")));
        }
        Qemu::find(&self.host).await?.check(&self.qemu)?;
        self.user_space().await?;
        Ok(())
    }

    async fn prepare(&self, image: &Path) -> Result<Prepared, BootError> {
        self.check().await?;
        let qemu = Qemu::find(&self.host).await?;
        let (accel, reason) = accel::choose(self, &qemu, image).await?;
        Ok(Prepared { accel, emulator: qemu.line, reason })
    }

    async fn boot(&self, request: &BootRequest) -> Result<Box<dyn Booted>, BootError> {
        check_cmdline(self.qemu.cmdline.as_deref(), Some(&request.cmdline)).map_err(lab)?;
        check_limits(&self.qemu).map_err(|error| self.impossible(&error))?;
        let qemu = Qemu::find(&self.host).await?;
        qemu.is_still(&request.emulator)?;
        let accel = match request.accel {
            Accel::Auto => accel::choose(self, &qemu, &request.image).await?.0,
            decided => decided,
        };
        let (keys, _) = self.user_space().await?;
        for _ in 0..PORT_TRIES {
            let port = free_port()?;
            let target = SshTarget {
                address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
                user: "root".to_owned(),
                key: keys.client.clone(),
                host_key: keys.host_public(),
                keepalive: SshTarget::KEEPALIVE,
                start: SshTarget::START,
            };
            let (mut machine, _folder) = self.start(&qemu, request, accel, port).await?;
            match machine.shell(&target, stretched_now(self.boot_timeout)).await {
                Ok(ssh) => {
                    let boot_time = machine.started.elapsed();
                    return Ok(Box::new(QemuBooted { ssh, machine, boot_time }));
                }
                Err(_) if machine.port_was_taken() => {}
                Err(error) => {
                    machine.stop().await;
                    return Err(error);
                }
            }
        }
        Err(lab(format!("no port of this host stays free long enough for QEMU, {PORT_TRIES} times in a row")))
    }

    fn target(&self, name: &TargetName) -> Option<TargetIdentity> {
        let mut disks = self.qemu.disks.iter().enumerate();
        disks.find(|(_, disk)| disk.name == *name).map(|(index, disk)| disk_identity(index, disk))
    }
}

/// A machine that answers.
struct QemuBooted {
    /// Before the machine, so that it is dropped first.
    ssh: Ssh,
    machine: Machine,
    boot_time: Duration,
}

#[async_trait]
impl Booted for QemuBooted {
    async fn open(&mut self, command: &'static str) -> Result<ExecChannel, TransportError> {
        // A panic cuts the link; whoever sees the streams end may ask at once how the machine is.
        self.ssh.open(command, self.machine.last_words()).await
    }

    fn state(&mut self) -> MachineState {
        let console = self.machine.console.last_lines();
        match self.machine.end() {
            None => MachineState::Running { console },
            Some(End::Guest(cause)) => MachineState::Died(format!("{cause}; last console lines:\n{console}")),
            Some(End::Host(cause)) => MachineState::Gone(cause),
        }
    }

    fn boot_time(&self) -> Duration {
        self.boot_time
    }

    /// Power is cut: nothing on the machine outlives it, so there is nothing to save.
    async fn shutdown(mut self: Box<Self>) {
        self.machine.stop().await;
    }
}

/// The user space with a kernel's modules behind it: the kernel unpacks archives one after another, each of which begins at
/// a multiple of four.
fn with_modules(initramfs: &Path, modules: &Path, folder: &Path) -> Result<PathBuf, BootError> {
    let whole = folder.join("initramfs.cpio");
    let append = |out: &mut std::fs::File, path: &Path| {
        let length = std::io::copy(&mut std::fs::File::open(path)?, out)?;
        let padding = length.next_multiple_of(4) - length;
        out.write_all(&[0; 4][..usize::try_from(padding).unwrap_or_default()])
    };
    let mut out = std::fs::File::create_new(&whole)
        .map_err(|error| lab(format!("cannot write the initramfs {}: {error}", whole.display())))?;
    for path in [initramfs, modules] {
        let failed = |error| lab(format!("cannot put {} into the initramfs: {error}", path.display()));
        append(&mut out, path).map_err(failed)?;
    }
    Ok(whole)
}

/// A port of the loopback interface that is free now.
pub(super) fn free_port() -> Result<u16, BootError> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|error| lab(format!("no free port on this host: {error}")))
}

#[allow(clippy::needless_pass_by_value)] // So that it fits `map_err`.
fn lab(cause: impl ToString) -> BootError {
    BootError::Lab { cause: cause.to_string() }
}
