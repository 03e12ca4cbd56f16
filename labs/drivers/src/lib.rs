//! Concrete board drivers, one folder each, and what they share.
//!
//! Virtual boards ([`QemuBoard`]) boot an image on QEMU with an [`initramfs`] made of this host's own programs; every
//! board is talked to over [`Ssh`]. [`fastboot`] is the client for boot loaders.

pub mod fastboot;
mod host;
pub mod initramfs;
mod keys;
mod qemu;
mod ssh;

pub use host::HostTools;
pub use keys::{BoardKeys, KeysError};
pub use qemu::{CmdlineError, LimitError, QemuBoard, check_cmdline, check_limits, disk_identity};
pub use ssh::{Ssh, SshError, SshTarget};
