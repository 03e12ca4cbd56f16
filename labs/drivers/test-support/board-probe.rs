//! Boots a kernel on a virtual board with one disk of each kind and runs a command there, by hand:
//!
//! `cargo run -p kab-drivers --bin board-probe -- bzImage tcg 'uname -a; ls -l /sys/block'`
//!
//! The second argument is `auto`, `tcg` or `kvm`; the third defaults to a look around; a fourth is added to the kernel command
//! line. The tests use this program as supervisor of theirs.

use kab_board::{Board, BootError, BootRequest, MachineState};
use kab_drivers::{HostTools, QemuBoard};
use kab_model::{Accel, Arch, BoardSpec, Boot, Disk, DiskKind, QemuSpec};
use std::time::Duration;
use tokio::io::AsyncReadExt;

const LOOK_AROUND: &str = "uname -a; cat /proc/cmdline /proc/sys/kernel/random/boot_id; free -m; ls -l /sys/block; fio --version; ps";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    kab_lifeline::main_hook();
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(run())
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let image = args.next().ok_or("first argument: a boot image")?;
    let accel = match args.next().as_deref() {
        Some("tcg") => Accel::Tcg,
        Some("kvm") => Accel::Kvm,
        _ => Accel::Auto,
    };
    // Commands are constants of the program everywhere else; here the program is the user's tool.
    let command: &'static str = args.next().map_or(LOOK_AROUND, |command| command.leak());
    let work = tempfile::tempdir()?;
    let host = HostTools {
        lifeline: kab_lifeline::Lifeline::this_program(),
        cache_dir: std::env::temp_dir().join("kab-example-cache"),
        work_dir: work.path().to_owned(),
        search: HostTools::usual_search(),
    };
    let board = QemuBoard::new(&spec(accel), &host);
    let prepared = board.prepare(image.as_ref()).await?;
    eprintln!("{prepared:?}");
    let request = BootRequest {
        image: image.into(),
        modules: None,
        cmdline: args.next().unwrap_or_default(),
        accel: prepared.accel,
        emulator: prepared.emulator,
        console: work.path().join("console"),
    };
    let mut machine = match board.boot(&request).await {
        Err(BootError::Kernel { cause, console }) => {
            eprintln!("{console}\n\nthe kernel did not deliver: {cause}");
            return Ok(());
        }
        booted => booted?,
    };
    eprintln!("up after {:?}", machine.boot_time());
    let mut channel = machine.open(command).await?;
    drop(channel.stdin);
    let (mut out, mut err) = (String::new(), String::new());
    tokio::try_join!(channel.stdout.read_to_string(&mut out), channel.stderr.read_to_string(&mut err))?;
    println!("{out}{err}");
    if let MachineState::Died(end) | MachineState::Gone(end) = machine.state() {
        eprintln!("{end}");
    }
    machine.shutdown().await;
    Ok(())
}

fn spec(accel: Accel) -> BoardSpec {
    let disk = |name: &str, kind| Disk { name: name.into(), size: 1 << 30, kind };
    BoardSpec {
        name: "example".into(),
        tags: vec![],
        arch: Arch::X86_64,
        boot: Boot::Qemu(QemuSpec {
            machine: "q35".into(),
            memory: 1 << 30,
            cpus: 2,
            disks: vec![
                disk("ufs0", DiskKind::Ufs { mcq: true }),
                disk("ufs1", DiskKind::Ufs { mcq: false }),
                disk("nvme0", DiskKind::Nvme),
                disk("vd0", DiskKind::Virtio),
            ],
            accel,
            cmdline: None,
        }),
        dtb: None,
        boot_timeout: Duration::from_secs(120),
    }
}
