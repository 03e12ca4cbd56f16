//! From files to a plan: sources are pinned by git, the rest is pure.

use crate::builder::{chain, kernel_line};
use crate::exit::{Exit, Failure};
use crate::input::Input;
use crate::progress::Lines;
use kab_kernels::{Kernels, ResolveError};
use kab_model::{Plan, Variant, VariantName};
use kab_plan::{ResolvedVariant, make_plan};
use tokio_util::sync::CancellationToken;

/// Resolves all variants and makes the plan.
pub(crate) async fn plan(
    input: &Input,
    kernels: &Kernels,
    seed: u64,
    lines: &Lines,
    cancel: &CancellationToken,
) -> Result<Plan, Failure> {
    let mut resolved = Vec::new();
    for variant in &input.experiment.variants {
        resolved.push(resolve(variant, kernels, lines, cancel).await?);
    }
    note_changes(input, kernels, &mut resolved, cancel).await?;
    make_plan(&input.experiment, &input.experiment_digest, &input.lab, &resolved, seed)
        .map_err(crate::exit::usage)
}

async fn resolve(
    variant: &Variant,
    kernels: &Kernels,
    lines: &Lines,
    cancel: &CancellationToken,
) -> Result<ResolvedVariant, Failure> {
    let report = |progress| lines.show(&format!("variant {:?}: {}", variant.name.0, kernel_line(&progress)));
    let resolved = kernels.resolve(&variant.kernel, &report, cancel).await;
    lines.clear();
    let resolved = resolved.map_err(|error| failure(Some(&variant.name), &error))?;
    Ok(ResolvedVariant {
        base_commit: resolved.base_commit,
        commit: resolved.commit,
        tree: resolved.tree,
        describe: resolved.describe,
        series: resolved.series,
        changed_files: Vec::new(),
    })
}

async fn note_changes(
    input: &Input,
    kernels: &Kernels,
    resolved: &mut [ResolvedVariant],
    cancel: &CancellationToken,
) -> Result<(), Failure> {
    let variants = &input.experiment.variants;
    let baseline =
        variants.iter().position(|variant| variant.name == input.experiment.baseline).unwrap_or_default();
    let base = resolved[baseline].tree.clone();
    for variant in resolved.iter_mut().filter(|variant| variant.tree != base) {
        variant.changed_files = kernels
            .changed_files(&base, &variant.tree, cancel)
            .await
            .map_err(|error| failure(None, &error))?;
    }
    Ok(())
}

/// What was asked for is the user's; that git, disk or network do not work is the lab's.
fn failure(variant: Option<&VariantName>, error: &ResolveError) -> Failure {
    if error.is_cancelled() {
        return Failure::new(Exit::Interrupted, "interrupted");
    }
    let exit = match error {
        ResolveError::UnknownRef { .. }
        | ResolveError::NotRemote { .. }
        | ResolveError::Series(_)
        | ResolveError::Conflict(_) => Exit::Usage,
        ResolveError::Repository { repo, .. } if std::path::Path::new(repo).is_absolute() => Exit::Usage,
        _ => Exit::Lab,
    };
    let whom = variant.map_or_else(String::new, |variant| format!("variant {:?}: ", variant.0));
    Failure::new(exit, format!("{whom}{}", chain(error)))
}
