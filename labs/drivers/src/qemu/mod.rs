//! Virtual boards: QEMU machines with the driver's own user space, reached over SSH.
//!
//! [`QemuBoard`] starts QEMU under a lifeline, watches its console and logs in. The stages: which QEMU ([`version`]), which
//! accelerator ([`accel`]), its command line ([`arguments`]) and the kernel's ([`cmdline`]), the running machine
//! ([`machine`]) and its [`console`].

mod accel;
mod arguments;
mod board;
mod cmdline;
mod console;
mod limits;
mod machine;
mod version;

pub use arguments::disk_identity;
pub use board::QemuBoard;
pub use cmdline::{CmdlineError, check_cmdline};
pub use limits::{LimitError, check_limits};
