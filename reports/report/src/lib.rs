//! Run to findings to one view to text.
//!
//! [`findings`] folds a [`kab_model::Run`] and its statistics into [`Findings`]: numbers and names, no layout. [`text`] and
//! [`markdown`] lay them out as a [`View`] of ready pieces, and a template joins the pieces. Templates only format: whatever
//! needs arithmetic or a decision has happened before. Nothing here does I/O or reads a clock.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod attest;
mod blocks;
mod boards;
mod boots;
mod build_error;
mod changelog;
mod command;
mod differences;
mod findings;
mod gather;
mod groups;
mod layout;
pub mod machine;
mod made;
mod noise;
mod notes;
mod page;
mod places;
mod plot;
mod posted;
mod quantity;
mod render;
mod samples;
mod schema;
mod sections;
mod tallies;
mod template_problem;
mod verdicts;
mod view;

pub use attest::{Tested, introduced, tested};
pub use boots::{Boot, Boots, Lost, PValues};
pub use changelog::changelog;
pub use findings::*;
pub use gather::findings;
pub use noise::{ENOUGH, FEW, Noise, known_noise, noise};
pub use page::{Latencies, PlotChoice, PlotError, PlotKind, html, svg};
pub use posted::{PostedFacts, PostedLine};
pub use quantity::letter;
pub use render::{Options, RenderError, csv, custom, json, markdown, text};
pub use schema::{schema_data, schema_view};
pub use template_problem::TemplateProblem;
pub use verdicts::{why as why_no_verdict, word as verdict_of};
pub use view::{Block, BoardView, Column, Listed, Named, Table, View};
