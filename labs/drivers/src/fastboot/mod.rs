//! fastboot: the protocol by which boot loaders take images, over USB, UDP and TCP.
//!
//! [`Fastboot`] speaks the protocol over a [`Link`]; [`Address`] says where a device is and opens links to it. Every exchange
//! has a deadline of its own and is cancelled by dropping its future. A link on which anything went wrong but a plain
//! refusal is closed and not used again, since nobody knows what the device believes: a caller connects anew and asks.
//!
//! `OKAY` is a hint and no proof: boot loaders say it before they write, before they fail to boot, and for commands that they ignore.
//! What came up is for the caller to find out.
//!
//! Source of the protocol: AOSP `system/core/fastboot`, README.md, `tcp.cpp`, `udp.cpp`.

mod address;
mod client;
mod command;
mod link;
mod reply;
mod sparse;
mod tcp;
mod udp;
mod usb;

pub use address::{Address, AddressError};
pub use client::{Ack, Answer, Fastboot, FastbootError, Limits, Message, MessageKind, Observer};
pub use command::{Command, CommandError, Partition, Slot};
pub use link::{Link, LinkError};
pub use reply::{Reply, ReplyError, number};
pub use sparse::{Image, ImageError, Piece};
