//! Reading YAML: every problem of a file at once, each with its place and a hint.
//!
//! A file passes through four stages: [`Source`] holds its text; `load` turns it into a tree in which every key and value
//! knows its place and every scalar is still text; `decode` walks the tree along the key tables of `experiment`, `kernel`,
//! `workload` and `lab`, collecting problems; [`check_pair`] looks at an experiment and a lab together. The same tables
//! yield the JSON Schemas, so that what is decoded, suggested and documented cannot drift apart.
//!
//! Nothing here reads files or the environment: [`Context`] brings in what a file's meaning depends on.

mod decode;
mod diagnostic;
mod experiment;
mod figure;
mod kernel;
mod keys;
mod knobs;
mod lab;
mod load;
mod located;
mod pair;
mod scalar;
mod schema;
mod source;
mod table;
mod tree;
mod variant;
mod workload;

pub use diagnostic::{Diagnostic, Diagnostics, Related, Severity, Style};
pub use experiment::parse_experiment;
pub use lab::parse_lab;
pub use located::{Context, Located};
pub use pair::check_pair;
pub use schema::{schema_experiment, schema_lab, schema_table};
pub use source::{Source, Span};
pub use table::parse_table;
