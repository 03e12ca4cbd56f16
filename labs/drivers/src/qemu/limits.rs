//! What a virtual board can be at all, told from its description alone.

use super::arguments::MOST_DISKS;
use crate::initramfs::LEAST_MEMORY;
use kab_model::QemuSpec;

/// Why a board is refused, whatever boots on it.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// Too little memory to unpack the initramfs.
    #[error("its user space needs memory: {}MiB or more", least >> 20)]
    Memory {
        /// Bytes.
        least: u64,
    },
    /// More disks than PCI addresses for them.
    #[error("QEMU boards have at most {most} disks")]
    Disks {
        /// How many there may be.
        most: usize,
    },
}

/// Checks a board's description against what its machine and its user space need.
pub fn check_limits(board: &QemuSpec) -> Result<(), LimitError> {
    if board.disks.len() > MOST_DISKS {
        return Err(LimitError::Disks { most: MOST_DISKS });
    }
    if board.memory < LEAST_MEMORY {
        return Err(LimitError::Memory { least: LEAST_MEMORY });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kab_model::{Accel, Disk, DiskKind};

    fn board(memory: u64, disks: usize) -> QemuSpec {
        let disk = |index: usize| Disk {
            name: format!("d{index}").as_str().into(),
            size: 1 << 20,
            kind: DiskKind::Virtio,
        };
        let disks = (0..disks).map(disk).collect();
        QemuSpec { machine: "q35".into(), memory, cpus: 1, disks, accel: Accel::Auto, cmdline: None }
    }

    #[test]
    fn limits_are_met_exactly() {
        assert_eq!(check_limits(&board(256 << 20, 15)), Ok(()));
        assert_eq!(check_limits(&board(256 << 20, 16)), Err(LimitError::Disks { most: 15 }));
        assert_eq!(check_limits(&board((256 << 20) - 1, 0)), Err(LimitError::Memory { least: 256 << 20 }));
    }
}
