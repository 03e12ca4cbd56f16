//! What a trial reads or writes, and how it is told from everything else on the board.

use serde::{Deserialize, Serialize};

/// A target as the lab lists it: how it is found, and the size that it must have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Listed {
    /// The whole disk with this serial number (NVMe and virtio disks have one).
    Serial {
        /// As the kernel shows it, without padding.
        serial: String,
        /// Bytes.
        size: u64,
    },
    /// The only disk behind this PCI function, for logical units without a useful serial number (UFS).
    Pci {
        /// `0000:00:05.0`
        address: String,
        /// Bytes.
        size: u64,
    },
    /// A regular file that exists.
    File {
        /// Absolute path.
        path: String,
        /// Bytes.
        size: u64,
    },
}

impl Listed {
    /// The size that the target must have, bytes.
    pub fn size(&self) -> u64 {
        match self {
            Self::Serial { size, .. } | Self::Pci { size, .. } | Self::File { size, .. } => *size,
        }
    }
}

/// A target that was found and is what the lab lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Device node or file on the board; holds for this boot only.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// What the kernel calls the model, where it says.
    pub model: Option<String>,
    /// Bytes of a logical block; absent for a file.
    pub logical_block: Option<u32>,
    /// Whether it is a block device.
    pub block: bool,
}
