//! What fio is told and what it answers.
//!
//! Towards fio: [`argv`] renders a command line from the options a user wrote, to which kab adds only what
//! changes nothing measured; [`job_file`] the same as a file. [`lint()`], [`known_option`] and [`nearest_option`] say beforehand what would be
//! of no use or spoil a comparison.
//!
//! From fio: [`parse`] reads the JSON and JSON+ output of a run that kab started into a [`Report`]. [`read_any`] finds
//! what fio printed in anything that people have (files, consoles, mails; JSON, JSON+, text and terse of fio 2.0 to
//! 3.42; quoted, wrapped, cut), each output a [`Document`] with its lines. Both tell all in one set of units (I/Os,
//! bytes, nanoseconds, milliseconds). [`Totals`] adds a report up from its counters, because the rates that fio prints
//! are not always right.
//!
//! No I/O, no clock: bytes and text in, values out.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod clean;
mod decode;
mod found;
mod grade;
mod job;
mod job_file;
mod json;
mod lenient;
mod lint;
mod options;
mod prefix;
mod read;
mod report;
mod roles;
mod scan;
mod terse;
mod text;
mod totals;
mod undress;
mod units;

pub use decode::{ParseError, parse};
pub use found::{Damage, Document, Format, Found, Heading, Note, NoteKind, Role};
pub use grade::{Grade, Grading, Reason, grade};
pub use job::{
    Argument, JobError, JobSpec, TargetKind, arguments, argv, is_job_name, options_of, reported_jobs,
    reserved,
};
pub use job_file::{Section, job_file};
pub use lint::{Warning, lint};
pub use options::{known_option, nearest_option};
pub use read::read_any;
pub use report::{Basis, Direction, DiskUtil, Figure, GroupLine, Job, Latency, Report, Spread, What};
pub use totals::{Totals, percentile};
pub use units::{is_time_based, measured_runtime, parse_size, parse_time, planned_runtime, ramp_time};
