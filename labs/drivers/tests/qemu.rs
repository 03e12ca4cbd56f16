//! The QEMU board against programs that stand in for QEMU and misbehave in known ways. A real boot is tested end to end,
//! with the whole of kab.
#![allow(clippy::unwrap_used, missing_docs)]

use kab_board::{Board, BootError, BootRequest, TargetIdentity};
use kab_drivers::{HostTools, QemuBoard};
use kab_lifeline::Lifeline;
use kab_model::{Accel, Arch, BoardSpec, Boot, Disk, DiskKind, QemuSpec};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const LINUX: &str = "echo '[    0.000000] Linux version 6.12.0 (me@here)'";

struct Lab {
    folder: TempDir,
    host: HostTools,
}

impl Lab {
    /// A host whose QEMU runs `script` in a shell; `$FOLDER` is a folder to leave traces in.
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let programs = folder.path().join("programs");
        std::fs::create_dir(&programs).unwrap();
        let qemu = format!(
            "#!/bin/sh\nFOLDER={}\nif [ \"$1\" = --version ]; then echo 'QEMU emulator version 10.0.2 (x)'; exit; fi\n\
             echo \"$@\" >> $FOLDER/arguments\n{script}\n",
            folder.path().display()
        );
        executable(&programs.join("qemu-system-x86_64"), &qemu);
        // Keeps the initramfs small.
        executable(&programs.join("fio"), "#!/bin/sh\n");
        let mut search = vec![programs];
        search.extend(HostTools::usual_search());
        let host = HostTools {
            lifeline: Lifeline::from_program(env!("CARGO_BIN_EXE_board-probe")),
            cache_dir: folder.path().join("cache"),
            work_dir: folder.path().join("work"),
            search,
        };
        Self { folder, host }
    }

    fn board(&self, change: impl FnOnce(&mut QemuSpec)) -> QemuBoard {
        let mut qemu = QemuSpec {
            machine: "q35".into(),
            memory: 1 << 30,
            cpus: 2,
            disks: vec![Disk { name: "nvme0".into(), size: 1 << 30, kind: DiskKind::Nvme }],
            accel: Accel::Tcg,
            cmdline: Some("quiet".into()),
        };
        change(&mut qemu);
        let boot_timeout = Duration::from_secs(2);
        let spec = BoardSpec {
            name: "vm".into(),
            tags: vec![],
            arch: Arch::X86_64,
            boot: Boot::Qemu(qemu),
            dtb: None,
            boot_timeout,
        };
        QemuBoard::new(&spec, &self.host)
    }

    fn request(&self) -> BootRequest {
        BootRequest {
            image: "/nonexistent/bzImage".into(),
            modules: None,
            cmdline: "x=1 kab=12ab".into(),
            accel: Accel::Tcg,
            emulator: "QEMU emulator version 10.0.2 (x)".into(),
            console: self.folder.path().join("console"),
        }
    }

    async fn boot_error(&self) -> BootError {
        self.board(|_| ()).boot(&self.request()).await.err().expect("nobody answers SSH here")
    }

    async fn kernel_error(&self) -> (String, String) {
        match self.boot_error().await {
            BootError::Kernel { cause, console } => (cause, console),
            BootError::Lab { cause } => panic!("blamed on the lab: {cause}"),
        }
    }

    fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(file)).unwrap_or_default()
    }

    /// Processes that mention this lab's folder in their arguments.
    fn processes(&self) -> Vec<String> {
        let mark = self.folder.path().to_str().unwrap();
        let lines = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| {
            String::from_utf8_lossy(&std::fs::read(entry.path().join("cmdline")).unwrap_or_default())
                .replace('\0', " ")
        });
        lines.filter(|line| line.contains(mark)).collect()
    }

    async fn until(&self, what: &str, condition: impl Fn(&Self) -> bool) {
        let end = Instant::now() + Duration::from_secs(20);
        while !condition(self) {
            assert!(Instant::now() < end, "not {what} in time: {:#?}", self.processes());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

fn executable(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn a_panic_is_the_kernels_and_shows_the_console() {
    let lab = Lab::new(&format!(
        "{LINUX}; echo '[ 1.0] Kernel panic - not syncing: bad \x1b[31mluck'; echo '[ 1.1] trace'"
    ));
    let (cause, console) = lab.kernel_error().await;
    assert_eq!(cause, "Kernel panic - not syncing: bad \\x1b[31mluck");
    assert!(
        console.starts_with("[    0.000000] Linux version") && console.ends_with("[ 1.1] trace"),
        "{console}"
    );
    assert!(lab.read("console").contains("bad \x1b[31mluck"), "the file keeps every byte");
    assert!(lab.read("arguments").contains("-append console=ttyS0 panic=-1 quiet x=1 kab=12ab -netdev"));
}

#[tokio::test]
async fn a_reset_is_the_kernels() {
    let (cause, _) = Lab::new(LINUX).kernel_error().await;
    assert_eq!(cause, "the machine reset or switched itself off");
}

#[tokio::test]
async fn silence_is_the_kernels_and_tells_how_far_it_came() {
    let lab = Lab::new(&format!("{LINUX}; sleep 1000"));
    let (cause, _) = lab.kernel_error().await;
    assert!(cause.starts_with("no SSH answer within "), "{cause}");
    assert!(cause.ends_with(" s: the kernel started, but init did not come up"), "{cause}");
    assert_eq!(lab.processes(), Vec::<String>::new());
}

#[tokio::test]
async fn a_kernel_without_network_is_told_what_it_lacks() {
    let lab = Lab::new(&format!("{LINUX}; echo 'kab-board: no network'; sleep 1000"));
    let (cause, _) = lab.kernel_error().await;
    assert!(cause.contains("CONFIG_VIRTIO_NET"), "{cause}");
}

#[tokio::test]
async fn qemus_own_failure_is_the_labs() {
    let lab = Lab::new("echo 'qemu-system-x86_64: -machine: unsupported machine type' >&2; exit 1");
    let error = lab.boot_error().await;
    assert!(matches!(error, BootError::Lab { .. }));
    assert_eq!(
        error.to_string(),
        "QEMU failed (exit code 1): qemu-system-x86_64: -machine: unsupported machine type"
    );
}

#[tokio::test]
async fn a_qemu_that_somebody_ended_is_the_labs() {
    let term = "echo 'qemu-system-x86_64: terminating on signal 15 from pid 7 (kill)' >&2; exit 0";
    let kill = "kill -KILL $$";
    for (script, said) in [(term, "somebody on this host ended QEMU: "), (kill, "QEMU failed (signal 9")] {
        let error = Lab::new(&format!("{LINUX}; {script}")).boot_error().await;
        assert!(matches!(error, BootError::Lab { .. }), "{error:?}");
        assert!(error.to_string().starts_with(said), "{error}");
    }
}

#[tokio::test]
async fn a_port_that_was_taken_is_tried_elsewhere() {
    let script = "if [ $(wc -l < $FOLDER/arguments) -lt 3 ]; then\n\
        echo 'qemu: -netdev user: Could not set up host forwarding rule' >&2; exit 1; fi; echo 'Kernel panic - not syncing: third'";
    let lab = Lab::new(script);
    let (cause, _) = lab.kernel_error().await;
    assert_eq!(cause, "Kernel panic - not syncing: third");
    assert_eq!(lab.read("arguments").lines().count(), 3);
}

#[tokio::test]
async fn disks_are_fresh_sparse_and_gone_afterwards() {
    let lab = Lab::new("stat -c '%n %s %b' $FOLDER/work/*/* > $FOLDER/disks");
    lab.kernel_error().await;
    let disks = lab.read("disks");
    assert!(disks.trim_end().ends_with("0-nvme0.img 1073741824 0"), "{disks}");
    assert_eq!(std::fs::read_dir(lab.folder.path().join("work")).unwrap().count(), 0);
}

/// Keeps the initramfs that it was given.
const KEEP: &str =
    "while [ $# -gt 0 ]; do [ \"$1\" = -initrd ] && cp \"$2\" $FOLDER/initrd; shift; done; exit 1";

#[tokio::test]
async fn modules_stand_behind_the_user_space_of_the_board() {
    let lab = Lab::new(KEEP);
    lab.boot_error().await;
    let initrd = lab.folder.path().join("initrd");
    let plain = std::fs::read(&initrd).unwrap();
    let modules = lab.folder.path().join("modules.cpio");
    std::fs::write(&modules, "070701 and a module.").unwrap();
    let request = BootRequest { modules: Some(modules.clone()), ..lab.request() };
    lab.board(|_| ()).boot(&request).await.err().unwrap();
    let both = std::fs::read(&initrd).unwrap();
    let at = both.len() - 20;
    assert_eq!(&both[at..], b"070701 and a module.");
    assert!(at.is_multiple_of(4) && both.starts_with(&plain) && at - plain.len() < 4);
    std::fs::remove_file(&modules).unwrap();
    match lab.board(|_| ()).boot(&request).await.err().unwrap() {
        BootError::Lab { cause } => assert!(cause.contains("modules.cpio into the initramfs"), "{cause}"),
        BootError::Kernel { cause, .. } => panic!("blamed on the kernel: {cause}"),
    }
}

#[tokio::test]
async fn a_dropped_boot_leaves_no_process() {
    let lab = Lab::new(&format!("{LINUX}; touch $FOLDER/up; sleep 1000 & wait"));
    let board = lab.board(|_| ());
    let request = lab.request();
    tokio::select! {
        _ = board.boot(&request) => panic!("it sleeps"),
        () = lab.until("up", |lab| lab.folder.path().join("up").exists()) => {}
    }
    lab.until("gone", |lab| lab.processes().is_empty()).await;
}

#[tokio::test]
async fn colliding_command_lines_never_boot() {
    let lab = Lab::new("");
    let request = BootRequest { cmdline: "quiet=2".into(), ..lab.request() };
    let error = lab.board(|_| ()).boot(&request).await.err().unwrap();
    assert_eq!(error.to_string(), "the kernel command line sets both `quiet` and `quiet=2`");
    assert_eq!(lab.read("arguments"), "");
}

#[tokio::test]
async fn kvm_is_taken_only_after_a_kernel_ran_on_it() {
    let lab = Lab::new(&format!("{LINUX}; echo 'kab-board: ready'; sleep 1000"));
    let prepared = lab.board(|qemu| qemu.accel = Accel::Auto).prepare(Path::new("/image")).await.unwrap();
    assert_eq!(prepared.emulator, "QEMU emulator version 10.0.2 (x)");
    if std::fs::File::options().read(true).write(true).open("/dev/kvm").is_ok() {
        assert_eq!((prepared.accel, prepared.reason.as_str()), (Accel::Kvm, "a probe boot answered"));
        assert!(lab.read("arguments").contains("-accel kvm -cpu host"));
    } else {
        assert_eq!(prepared.accel, Accel::Tcg);
        assert!(prepared.reason.starts_with("/dev/kvm cannot be opened"), "{}", prepared.reason);
    }
    assert_eq!(lab.processes(), Vec::<String>::new());
}

#[tokio::test]
async fn kvm_that_does_not_run_a_kernel_is_not_taken() {
    let lab = Lab::new("echo 'qemu: error: failed to set MSR 0x10a' >&2; exit 1");
    let auto = lab.board(|qemu| qemu.accel = Accel::Auto).prepare(Path::new("/image")).await.unwrap();
    assert_eq!(auto.accel, Accel::Tcg);
    assert!(
        auto.reason.contains("/dev/kvm cannot") || auto.reason.ends_with("failed to set MSR 0x10a"),
        "{}",
        auto.reason
    );
    let error = lab.board(|qemu| qemu.accel = Accel::Kvm).prepare(Path::new("/image")).await.unwrap_err();
    assert!(error.to_string().starts_with("the lab asks for KVM, but "), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_qemu_that_does_not_tell_its_version_is_given_up_and_ended() {
    let lab = Lab::new("");
    let program = lab.folder.path().join("programs/qemu-system-x86_64");
    executable(&program, "#!/bin/sh\nsleep 1000\n");
    let error = lab.board(|_| ()).prepare(Path::new("/image")).await.unwrap_err();
    assert!(
        error.to_string().ends_with("qemu-system-x86_64: it does not tell its version in time"),
        "{error}"
    );
    lab.until("gone", |lab| lab.processes().is_empty()).await;
}

#[tokio::test]
async fn impossible_boards_are_refused_before_anything_runs() {
    let lab = Lab::new("");
    let small = lab.board(|qemu| qemu.memory = 64 << 20).prepare(Path::new("/image")).await.unwrap_err();
    assert_eq!(small.to_string(), "board vm: its user space needs memory: 256MiB or more");
    let disk = |index: usize| Disk {
        name: format!("d{index}").as_str().into(),
        size: 1 << 20,
        kind: DiskKind::Virtio,
    };
    let many = lab.board(|qemu| qemu.disks = (0..16).map(disk).collect());
    let many = many.prepare(Path::new("/image")).await.unwrap_err();
    assert_eq!(many.to_string(), "board vm: QEMU boards have at most 15 disks");
    let boot = lab.board(|qemu| qemu.memory = 64 << 20).boot(&lab.request()).await.err().unwrap();
    assert_eq!(boot.to_string(), small.to_string());
    assert_eq!(lab.read("arguments"), "");
}

#[tokio::test]
async fn another_qemu_than_the_run_was_begun_with_never_boots() {
    let lab = Lab::new("");
    let request = BootRequest { emulator: "QEMU emulator version 9.0.0 (x)".into(), ..lab.request() };
    let error = lab.board(|_| ()).boot(&request).await.err().unwrap();
    assert!(matches!(error, BootError::Lab { .. }), "{error:?}");
    assert_eq!(
        error.to_string(),
        "the run was begun with \"QEMU emulator version 9.0.0 (x)\", and \"QEMU emulator version 10.0.2 (x)\" is installed \
         now: begin another run (kab run --new)"
    );
    assert_eq!(lab.read("arguments"), "");
}

#[test]
fn targets_are_the_boards_disks() {
    let lab = Lab::new("");
    let board = lab.board(|_| ());
    assert_eq!(
        board.target(&"nvme0".into()),
        Some(TargetIdentity::Serial { serial: "nvme0".into(), size: 1 << 30 })
    );
    assert_eq!(board.target(&"nvme1".into()), None);
}
