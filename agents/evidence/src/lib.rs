//! Judges raw trials: ok, noted, failed or void, and the sample.
//!
//! [`derive()`] is a pure function of stored bytes: the same trial gives the same judgement, bit for bit, so that
//! anyone can check a run's numbers against its evidence. Nothing here knows which variant ran.
//!
//! # The order of outcomes
//!
//! **failed > void > noted > ok.** Several rules may speak about one trial; the gravest class decides and the
//! others stay in the list of reasons.
//!
//! - *failed* before *void*: a failure is positive proof (a panic, an I/O error that fio died of, a hang) and
//!   what it leaves behind looks like the lab's fault, such as an empty output or a missing worker. Were void to
//!   win, a variant that crashes would be repeated until it does not.
//! - *void* before *noted*: without a sound measurement there is no number to note anything about.
//! - What merely takes long is not void: a device that stalls for a minute makes fio overrun its time, and
//!   leaving those trials out would flatter it. Its numbers stand, per measured second, as *noted*.
//! - A trial without I/O is void, unless the kernel log of its window tells of trouble: then it is *failed*.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod fio_facts;
mod fio_rules;
mod judge;
mod kernel_log;
mod kernel_rules;
mod raw;
mod rule;
mod sample;

pub use judge::{Judgement, derive};
pub use raw::RawTrial;
pub use rule::{Class, RuleInfo, rules};
