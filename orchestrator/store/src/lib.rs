//! The run log: append only, durable before visible, blobs named by their content.
//!
//! A run is a folder: `run.json` (format version and digests), `events.jsonl` (one event a line), `blobs/<blake3>`
//! (zstd), `experiment.yaml` and `lab.yaml` as they were. A line counts once it ends in a newline; a torn last line,
//! which a crash may leave, is dropped when the log is opened for writing.

mod archive;
mod blobs;
mod events;
mod log;
mod quick;
mod runs;

pub use archive::ArchiveError;
pub use blobs::BlobError;
pub use log::{Durable, FORMAT, LogError, RunHeader, RunLog, RunReader};
pub use runs::{POSTED, Store, StoreError, Unfinished};
