//! QEMU's command line.
//!
//! Every PCI function has a fixed address, the same for every variant and boot: network 0x3, random numbers 0x4, disk *i*
//! of the lab file 0x10 + *i*. By that address the agent tells one UFS unit from another; NVMe and virtio disks carry their
//! name as serial number.

use kab_board::TargetIdentity;
use kab_model::{Accel, Disk, DiskKind, QemuSpec};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// PCI device number of the first disk.
const FIRST_DISK: usize = 0x10;

/// The chipset of q35 sits at 0x1f.
pub(super) const MOST_DISKS: usize = 15;

/// Most queues that QEMU's UFS controller offers.
const MOST_UFS_QUEUES: u32 = 32;

/// What a start of QEMU needs besides the board's description.
pub(super) struct Start<'a> {
    pub(super) accel: Accel,
    pub(super) image: &'a Path,
    pub(super) initramfs: &'a Path,
    pub(super) append: &'a str,
    /// Port of this host that leads to the board's SSH server.
    pub(super) ssh_port: u16,
    /// One file for each disk that is attached, in order.
    pub(super) disks: &'a [PathBuf],
}

/// Everything after the program's name.
pub(super) fn arguments(spec: &QemuSpec, start: &Start<'_>) -> Vec<OsString> {
    let (accel, cpu) = match start.accel {
        Accel::Kvm => ("kvm", "host"),
        Accel::Auto | Accel::Tcg => ("tcg,thread=multi", "max"),
    };
    let mut arguments: Vec<OsString> = Vec::new();
    let mut add = |option: &str, value: OsString| arguments.extend([format!("-{option}").into(), value]);
    add("accel", accel.into());
    add("cpu", cpu.into());
    add("machine", (&spec.machine).into());
    add("smp", spec.cpus.to_string().into());
    add("m", format!("{}M", spec.memory >> 20).into());
    add("display", "none".into());
    add("serial", "stdio".into());
    add("kernel", start.image.into());
    add("initrd", start.initramfs.into());
    add("append", start.append.into());
    // Restricted: the guest reaches neither this host nor the network, it can only be reached.
    let forward = format!("user,id=n0,restrict=on,ipv6=off,hostfwd=tcp:127.0.0.1:{}-:22", start.ssh_port);
    add("netdev", forward.into());
    // Without its boot ROM the BIOS is faster.
    add("device", "virtio-net-pci,netdev=n0,addr=0x3,romfile=".into());
    add("device", "virtio-rng-pci,addr=0x4".into());
    for (index, (disk, file)) in spec.disks.iter().zip(start.disks).enumerate() {
        add("drive", drive(index, file));
        for device in devices(index, disk, spec.cpus) {
            add("device", device.into());
        }
    }
    arguments.extend(["-nodefaults", "-no-user-config", "-no-reboot"].map(OsString::from));
    arguments
}

/// `cache=unsafe`: the image lives as long as the machine, so nobody needs the host's disk to have it; without the
/// host's fsync the guest's flushes cost the same at every visit.
fn drive(index: usize, file: &Path) -> OsString {
    let mut drive = OsString::from(format!("if=none,id=d{index},format=raw,cache=unsafe,aio=threads,file="));
    // A comma would end the file's name: doubled it stands for itself.
    drive.push(file.to_string_lossy().replace(',', ",,"));
    drive
}

fn devices(index: usize, disk: &Disk, cpus: u32) -> Vec<String> {
    let address = FIRST_DISK + index;
    let name = &disk.name;
    match disk.kind {
        DiskKind::Nvme => vec![format!("nvme,drive=d{index},serial={name},addr={address:#x}")],
        DiskKind::Virtio => vec![format!("virtio-blk-pci,drive=d{index},serial={name},addr={address:#x}")],
        DiskKind::Ufs { mcq } => {
            // One queue for each CPU, and one that Linux sets aside for polling.
            let queues = (cpus + 1).min(MOST_UFS_QUEUES);
            // Absent where it is off: QEMU before 9.0 does not know the word.
            let mcq = if mcq { format!(",mcq=true,mcq-maxq={queues}") } else { String::new() };
            vec![
                format!("ufs,id=u{index},serial={name},addr={address:#x}{mcq}"),
                format!("ufs-lu,drive=d{index},bus=u{index},lun=0"),
            ]
        }
    }
}

/// How the agent tells disk `index` from everything else on the board.
pub fn disk_identity(index: usize, disk: &Disk) -> TargetIdentity {
    let size = disk.size;
    match disk.kind {
        DiskKind::Ufs { .. } => {
            TargetIdentity::Pci { address: format!("0000:00:{:02x}.0", FIRST_DISK + index), size }
        }
        DiskKind::Nvme | DiskKind::Virtio => TargetIdentity::Serial { serial: disk.name.0.clone(), size },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> QemuSpec {
        let disk = |name: &str, kind| Disk { name: name.into(), size: 1 << 30, kind };
        QemuSpec {
            machine: "q35".into(),
            memory: 1 << 30,
            cpus: 2,
            disks: vec![
                disk("ufs0", DiskKind::Ufs { mcq: true }),
                disk("ufs1", DiskKind::Ufs { mcq: false }),
                disk("nvme0", DiskKind::Nvme),
                disk("vd0", DiskKind::Virtio),
            ],
            accel: Accel::Auto,
            cmdline: None,
        }
    }

    /// One option with its value on a line.
    fn rendered(accel: Accel, disks: &[PathBuf]) -> String {
        let start = Start {
            accel,
            image: Path::new("/k/bzImage"),
            initramfs: Path::new("/c/i.cpio"),
            append: "console=ttyS0 panic=-1 kab=12ab",
            ssh_port: 4022,
            disks,
        };
        let arguments = arguments(&spec(), &start);
        let words: Vec<_> = arguments.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ").replace(" -", "\n-")
    }

    #[test]
    fn whole_machine() {
        let disks = ["/w/0.img", "/w/1.img", "/w/a,b/2.img", "/w/3.img"].map(PathBuf::from);
        insta::assert_snapshot!(rendered(Accel::Tcg, &disks));
    }

    #[test]
    fn without_disks_on_kvm() {
        insta::assert_snapshot!(rendered(Accel::Kvm, &[]));
    }

    #[test]
    fn identities_follow_the_addresses() {
        let spec = spec();
        let size = 1 << 30;
        let identity = |index: usize| disk_identity(index, &spec.disks[index]);
        assert_eq!(identity(1), TargetIdentity::Pci { address: "0000:00:11.0".into(), size });
        assert_eq!(identity(2), TargetIdentity::Serial { serial: "nvme0".into(), size });
        assert_eq!(identity(3), TargetIdentity::Serial { serial: "vd0".into(), size });
    }
}
