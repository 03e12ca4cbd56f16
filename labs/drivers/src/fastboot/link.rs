//! What the protocol needs of whatever carries it.

use async_trait::async_trait;

/// Longest answer, bytes: the specification has 256, room is left for those who stretch it.
pub(super) const LONGEST_REPLY: usize = 4096;

/// Carries packets to one device and back. Setting deadlines is the caller's matter: a link that was dropped in the middle of a call
/// must not be used again.
#[async_trait]
pub trait Link: Send {
    /// Sends one command.
    async fn send(&mut self, command: &[u8]) -> Result<(), LinkError>;

    /// Sends a piece of an image. All but the last of a download are multiples of 4096 bytes.
    async fn send_data(&mut self, piece: &[u8]) -> Result<(), LinkError>;

    /// The next answer as it came, at most 4096 bytes.
    async fn receive(&mut self) -> Result<Vec<u8>, LinkError>;
}

/// Why a device cannot be talked to, or not any more.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// Nobody is there.
    #[error("no fastboot device at {address}: {reason}")]
    Absent {
        /// Where it should be.
        address: String,
        /// What was seen instead.
        reason: String,
    },
    /// More than one is there, and a write must never reach the wrong one.
    #[error("{count} fastboot devices at {address}: name the one that is meant by its port, `usb_path`")]
    Ambiguous {
        /// Where one should be.
        address: String,
        /// How many.
        count: usize,
    },
    /// Who answers is no fastboot device, or breaks the rules of the transport.
    #[error("{address} does not speak fastboot: {detail}")]
    Protocol {
        /// Where it is.
        address: String,
        /// What it said, one line.
        detail: String,
    },
    /// It was there and is gone.
    #[error("the connection to the fastboot device at {address} is lost: {reason}")]
    Lost {
        /// Where it was.
        address: String,
        /// What was seen, one line.
        reason: String,
    },
}
