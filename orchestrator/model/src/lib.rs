//! The vocabulary of kab: experiment, lab, plan, events, and [`Run`] with its one fold [`Run::apply`].
//!
//! Everything here is plain data. Parsing of the user's YAML lives in [`yaml`]; nothing else touches text
//! that a person wrote. Names follow the glossary of ARCHITECTURE.md.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod artifact;
mod bins;
mod difference;
mod event;
mod experiment;
mod ids;
mod lab;
mod outcome;
mod plan;
mod run;
mod sample;
mod table;
pub mod yaml;

pub use artifact::{Artifact, Toolchain};
pub use bins::LatencyBins;
pub use difference::{
    DIFFERENCES_KEPT, KernelDifference, NodeChange, PropertyChange, SymbolChange, TreeChange,
};
pub use event::{BootIdentity, BootProof, Event, FailureClass, FioExit, Logged, TrialRecord};
pub use experiment::{
    Base, Change, ConfigItem, ConfigValue, Cooldown, Experiment, FioOption, Kernel, KernelSpec, Knob,
    MatrixMap, Metric, Order, Prebuilt, ReportSpec, Schedule, SeriesSource, SeriesSpec, Variant, Workload,
};
pub use ids::{BlobId, BoardName, CellId, RunId, TargetName, TrialKey, VariantName, VisitKey};
pub use lab::{Accel, Arch, BoardSpec, Boot, Disk, DiskKind, Lab, QemuSpec};
pub use outcome::{Outcome, Reason};
pub use plan::{
    Applied, Cell, CommitInfo, Limits, PinnedFile, PinnedKernel, Plan, PlannedBoard, PlannedKernel,
    PlannedVariant, SeriesInfo,
};
pub use run::{BoardRun, BuildState, Run, TrialState, Visit, VisitState};
pub use sample::{DERIVATION, Sample};
pub use table::{Posted, PostedBoard, PostedCell, PostedRow, PostedValues};
