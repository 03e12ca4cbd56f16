//! Compares fio results that somebody has: files, captures and mails of any fio, without a lab.
//!
//! [`Gathering`] takes inputs one by one and keeps a few numbers of each result, whatever the input's size. [`Comparison`]
//! groups them by cell (what the job options say), judges them with kab-stats and tells honestly where that cannot be
//! done. The formats only lay out. No I/O, no clock.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod cell;
mod gather;
mod judge;
mod layout;

pub use gather::Gathering;
pub use judge::{Cell, Change, Comparison, Metric, Remark, Variant};
pub use layout::{csv, html, json, markdown, text};
