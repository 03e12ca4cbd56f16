//! A validated lab: what lab.yaml means.

use crate::{BoardName, TargetName};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// All boards of a lab file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lab {
    /// In the order of the file; names unique.
    pub boards: Vec<BoardSpec>,
}

/// One device under test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoardSpec {
    /// Its name.
    pub name: BoardName,
    /// Words by which an experiment may ask for it.
    pub tags: Vec<String>,
    /// Architecture of its kernel.
    pub arch: Arch,
    /// How a kernel gets onto it.
    pub boot: Boot,
    /// Its device tree among those that the kernel builds, such as `qcom/sm8650-qrd.dtb`; absent where firmware or the
    /// emulator supplies it.
    pub dtb: Option<String>,
    /// How long a boot may take until the agent answers, before a slow host stretches it.
    pub boot_timeout: Duration,
}

impl BoardSpec {
    /// Names of everything that a workload may write.
    pub fn targets(&self) -> impl Iterator<Item = &TargetName> {
        let Boot::Qemu(qemu) = &self.boot;
        qemu.disks.iter().map(|disk| &disk.name)
    }
}

/// Kernel architectures that kab builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arch {
    /// 64-bit x86.
    X86_64,
    /// 64-bit Arm.
    Arm64,
}

impl Arch {
    /// The value of `ARCH=` in the kernel's make.
    pub fn kernel_name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Arm64 => "arm64",
        }
    }
}

/// How a kernel gets onto a board.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Boot {
    /// A virtual machine on this host.
    Qemu(QemuSpec),
}

/// A QEMU machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QemuSpec {
    /// QEMU's machine type.
    pub machine: String,
    /// Guest memory in bytes.
    pub memory: u64,
    /// Virtual CPUs.
    pub cpus: u32,
    /// Disks in order; each is a scratch target by birth. Names unique.
    pub disks: Vec<Disk>,
    /// Which accelerator.
    pub accel: Accel,
    /// Added to the kernel command line before the variant's.
    pub cmdline: Option<String>,
}

/// The accelerator of a QEMU machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Accel {
    /// KVM where a probe boot has answered, else TCG.
    #[default]
    Auto,
    /// Software emulation.
    Tcg,
    /// Hardware virtualisation; an error where it does not work.
    Kvm,
}

/// A disk of a QEMU machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Disk {
    /// Its name as a target; also its serial number.
    pub name: TargetName,
    /// Size in bytes.
    pub size: u64,
    /// Which controller.
    pub kind: DiskKind,
}

/// Controllers that QEMU emulates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiskKind {
    /// A UFS controller with one logical unit of 4096-byte blocks.
    Ufs {
        /// Multi-circular queues; off means one legacy interrupt.
        mcq: bool,
    },
    /// An NVMe controller with one name space.
    Nvme,
    /// A virtio block device.
    Virtio,
}
