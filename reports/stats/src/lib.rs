//! Intervals, tests, corrections and verdicts. Numbers only.
//!
//! The crate answers one question: given the trials of several kernels ("variants") on several workloads ("cells"), what may be
//! said about each pair? The unit of replication is the *visit* (one boot of one variant), never the single trial, because trials
//! inside a visit share its luck. [`judge`] runs the whole procedure for one family (one primary metric); [`geomean()`] gives the
//! summary line over the cells. The other modules are the tests, corrections and planning numbers they are made of.
//!
//! Everything is a pure function of its arguments: no text, no I/O, no clock; randomness comes in as a seed. All p-values are
//! two-sided. "S4", "S5" and so on in the docs are the steps of the statistical method that the project documents. On
//! [`Scale::Log`] every effect, interval and margin is a natural logarithm of a ratio; [`Scale::to_percent`] turns it into the
//! number to print.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod aa;
pub mod bootstrap;
pub mod cell;
pub mod change;
pub mod combine;
pub mod counts;
pub mod geomean;
pub mod histogram;
pub mod hl;
pub mod multiplicity;
pub mod outliers;
pub mod permutation;
pub mod planning;
pub mod ranks;
pub mod sample;
pub mod sequential;
pub mod t;
pub mod trend;
pub mod types;
pub mod units;
pub mod verdict;

pub use cell::{CellTest, Gate, Method, PairTest, VoidCounts};
pub use geomean::{GeomeanSummary, geomean};
pub use histogram::{Histogram, Quantile};
pub use t::TTest;
pub use types::{Better, CellInput, CellRule, Interval, PValue, Pair, Row, RuleError, Scale};
pub use units::{BadValue, Unit, Units};
pub use verdict::{CellVerdict, Evidence, MoreBlocks, NoVerdict, Shown, ShownBy, Verdict, judge};
