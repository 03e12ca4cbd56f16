//! KVM or TCG.
//!
//! That /dev/kvm opens proves little: on some nested hosts guests stop after the BIOS. So before `auto` takes KVM, a
//! kernel has to boot on it, which takes a second or two where it works.

use super::arguments::{Start, arguments};
use super::board::{QemuBoard, free_port};
use super::cmdline;
use super::machine::Machine;
use super::version::Qemu;
use crate::host::stretched_now;
use kab_board::BootError;
use kab_model::Accel;
use std::path::Path;
use std::time::Duration;

/// From power-on to the kernel's first line; the BIOS and the decompression take half a second.
const FIRST_LINE: Duration = Duration::from_secs(5);

/// From there to init.
const INIT: Duration = Duration::from_secs(10);

/// The accelerator for a board and why.
pub(super) async fn choose(
    board: &QemuBoard,
    qemu: &Qemu,
    image: &Path,
) -> Result<(Accel, String), BootError> {
    match board.qemu.accel {
        Accel::Tcg => Ok((Accel::Tcg, "the lab says so".to_owned())),
        Accel::Kvm => match kvm_works(board, qemu, image).await? {
            Ok(()) => Ok((Accel::Kvm, "the lab says so, and a probe boot answered".to_owned())),
            Err(why) => Err(BootError::Lab { cause: format!("the lab asks for KVM, but {why}") }),
        },
        Accel::Auto => Ok(match kvm_works(board, qemu, image).await? {
            Ok(()) => (Accel::Kvm, "a probe boot answered".to_owned()),
            Err(why) => (Accel::Tcg, why),
        }),
    }
}

/// The inner error says why KVM does not work, the outer one why nobody could tell.
async fn kvm_works(board: &QemuBoard, qemu: &Qemu, image: &Path) -> Result<Result<(), String>, BootError> {
    if let Err(error) = std::fs::File::options().read(true).write(true).open("/dev/kvm") {
        return Ok(Err(format!("/dev/kvm cannot be opened: {error}")));
    }
    let initramfs = board.initramfs().await?;
    let folder = board.work_folder()?;
    let append = cmdline::whole(None, "");
    let ssh_port = free_port()?;
    let start =
        Start { accel: Accel::Kvm, image, initramfs: &initramfs, append: &append, ssh_port, disks: &[] };
    let arguments = arguments(&board.qemu, &start);
    let console = folder.path().join("console");
    let mut machine = Machine::start(&board.host, &qemu.program, arguments, &console).await?;
    let alive = machine.proof_of_life(stretched_now(FIRST_LINE), stretched_now(INIT)).await;
    machine.stop().await;
    Ok(alive.map_err(|why| format!("a probe boot on KVM failed: {why}")))
}
