//! Run to findings to one view to text.
//!
//! [`findings`] folds a [`kab_model::Run`] and its statistics into [`Findings`]: numbers and names, no layout. [`text`] and
//! [`markdown`] lay them out as a [`View`] of ready pieces, and a template joins the pieces. Templates only format: whatever
//! needs arithmetic or a decision has happened before. Nothing here does I/O or reads a clock.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod blocks;
mod boards;
mod build_error;
mod command;
mod differences;
mod findings;
mod gather;
mod groups;
mod layout;
mod made;
mod notes;
mod quantity;
mod render;
mod sections;
mod tallies;
mod verdicts;
mod view;

pub use findings::*;
pub use gather::findings;
pub use render::{Options, RenderError, markdown, text};
pub use view::{Block, BoardView, Column, Listed, Named, Table, View};
