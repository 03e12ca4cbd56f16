//! The builder as the engine sees it; the command line injects the real one.

use async_trait::async_trait;
use kab_model::{Arch, Artifact, KernelDifference, PlannedVariant};

/// Turns a variant into an artifact, from the cache or by building.
#[async_trait]
pub trait Builder: Send + Sync {
    /// Builds one variant. `progress` receives lines for people. Cancelled by dropping the future.
    async fn build(
        &self,
        variant: &PlannedVariant,
        arch: Arch,
        progress: &(dyn Fn(String) + Send + Sync),
    ) -> Result<Artifact, BuildFailure>;

    /// What `variant` has otherwise than `baseline`, both as [`Builder::build`] returned them. What cannot be read any more is
    /// left out.
    fn difference(&self, baseline: &Artifact, variant: &Artifact) -> KernelDifference;
}

/// Why there is no artifact: first error lines and the place of the log, for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BuildFailure {
    /// Whose fault it is.
    pub fault: BuildFault,
    /// One line or a few.
    pub message: String,
}

/// Who keeps a kernel from being built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildFault {
    /// The variant: its source or configuration. A result, which another attempt would not change.
    Variant,
    /// The host: a missing tool, a full disk, a lost mirror, an interruption. Says nothing of the variant.
    Host,
}
