//! The kernel builder as the engine and `kab build` use it.

use crate::places::Places;
use async_trait::async_trait;
use kab_engine::{BuildFailure, BuildFault, Builder};
use kab_kernels::{BuildError, BuildIdError, ConfigError, Kernels, MakeError, Progress, Settings};
use kab_lifeline::Lifeline;
use kab_model::{Arch, Artifact, KernelDifference, PlannedVariant};
use std::error::Error;
use tokio_util::sync::CancellationToken;

/// The kernels of this user's cache.
pub(crate) fn kernels(places: &Places) -> Kernels {
    let path = std::env::var_os("PATH").unwrap_or_default();
    Kernels::new(Settings::new(&places.cache, Lifeline::this_program(), path))
}

/// Builds kernels for the engine.
pub(crate) struct KernelBuilder {
    kernels: Kernels,
    cancel: CancellationToken,
}

impl KernelBuilder {
    /// `cancel` ends a build in order; dropping the future ends it, too.
    pub(crate) fn new(kernels: Kernels, cancel: CancellationToken) -> Self {
        Self { kernels, cancel }
    }
}

#[async_trait]
impl Builder for KernelBuilder {
    async fn build(
        &self,
        variant: &PlannedVariant,
        arch: Arch,
        progress: &(dyn Fn(String) + Send + Sync),
    ) -> Result<Artifact, BuildFailure> {
        let report = |step: Progress| progress(kernel_line(&step));
        let built = self.kernels.build(variant, arch, &report, &self.cancel).await;
        built.map_err(|error| BuildFailure { fault: fault(&error), message: chain(&error) })
    }

    fn difference(&self, baseline: &Artifact, variant: &Artifact) -> KernelDifference {
        kab_kernels::difference(baseline, variant)
    }
}

/// Whether the variant itself cannot be built, or this host cannot build now.
fn fault(error: &BuildError) -> BuildFault {
    match error {
        BuildError::Make(error) | BuildError::Config(ConfigError::Make(error)) => match error {
            MakeError::Failed(_) => BuildFault::Variant,
            MakeError::Process { .. } | MakeError::Log { .. } => BuildFault::Host,
        },
        BuildError::Config(ConfigError::File { .. }) | BuildError::BuildId(BuildIdError::Read { .. }) => {
            BuildFault::Host
        }
        BuildError::Config(_) | BuildError::BuildId(_) | BuildError::Running => BuildFault::Variant,
        BuildError::Overlay(error) if error.is_the_variants() => BuildFault::Variant,
        BuildError::Prebuilt(error) if error.is_the_kernels() => BuildFault::Variant,
        BuildError::Tools(_)
        | BuildError::Overlay(_)
        | BuildError::Prebuilt(_)
        | BuildError::SigningKey(_)
        | BuildError::Lock(_)
        | BuildError::Cache(_)
        | BuildError::Mirror(_)
        | BuildError::SourceGone { .. } => BuildFault::Host,
    }
}

/// An error with its causes, each once.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

/// A step of the builder in words.
pub(crate) fn kernel_line(step: &Progress) -> String {
    match step {
        Progress::Waiting { holder } => format!("waiting for another kab: {holder}"),
        Progress::Fetching { repo, percent: Some(percent) } => format!("fetching from {repo}, {percent}%"),
        Progress::Fetching { repo, percent: None } => format!("fetching from {repo}"),
        Progress::Applying { done, total, subject } => format!("applying {}/{total}: {subject}", done + 1),
        Progress::CheckingOut => "checking out".to_owned(),
        Progress::Configuring => "configuring".to_owned(),
        Progress::Compiling { steps, estimate: Some(estimate), .. } => {
            format!("compiling, {steps} of about {estimate} steps")
        }
        Progress::Compiling { steps, estimate: None, log } => {
            format!("compiling, {steps} steps (log {})", log.display())
        }
    }
}
