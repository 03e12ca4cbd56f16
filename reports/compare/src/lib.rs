//! Compares fio results that somebody has: files, captures and mails of any fio, without a lab.
//!
//! A [`Reading`] keeps a few numbers of each result of an input, whatever its size; [`Gathering`] takes them. [`Comparison`]
//! groups them by cell (what the job options say), judges them with kab-stats and tells honestly where that cannot be
//! done. The formats only lay out. No I/O, no clock.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod cell;
mod gather;
mod judge;
mod layout;

pub use gather::{Gathering, Reading};
pub use judge::{Cell, Change, Comparison, Metric, Remark, Variant};
pub use layout::{csv, html, json, markdown, text};
