//! From files to a plan: sources are pinned by git, the rest is pure.

use crate::builder::{chain, kernel_line};
use crate::exit::{Exit, Failure};
use crate::input::Input;
use crate::progress::Lines;
use kab_kernels::{Kernels, ResolveError, Resolved};
use kab_model::{Base, Kernel, KernelSpec, PinnedKernel, Plan, PlannedKernel, Variant, VariantName};
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
    let Kernel::Built(spec) = &variant.kernel else {
        let message =
            format!("variant {:?}: only kernels from git are supported in this version", variant.name.0);
        return Err(Failure::new(Exit::Usage, message));
    };
    let resolved = kernels.resolve(spec, &report, cancel).await;
    lines.clear();
    let mut resolved = resolved.map_err(|error| failure(Some(&variant.name), &error))?;
    for warning in &resolved[0].warnings {
        lines.say(&format!("variant {:?}: {warning}", variant.name.0));
    }
    let kernel = PlannedKernel::Built(Box::new(pinned(spec, resolved.remove(0))));
    Ok(ResolvedVariant { kernel, changed_files: Vec::new() })
}

fn pinned(spec: &KernelSpec, resolved: Resolved) -> PinnedKernel {
    let reference = match &spec.base {
        Base::Ref(reference) => reference.clone(),
        Base::Tree => "working tree".to_owned(),
        Base::Range { from, to } => format!("{from}..{to}"),
    };
    PinnedKernel {
        repo: spec.repo.clone(),
        reference,
        base_commit: resolved.base_commit,
        commit: resolved.commit,
        tree: resolved.tree,
        describe: resolved.describe,
        changes: resolved.changes,
        config: spec.config.clone(),
        toolchain: spec.toolchain.clone(),
        overlay: None,
        placebo: spec.placebo,
    }
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
    let PlannedKernel::Built(base) = resolved[baseline].kernel.clone() else { return Ok(()) };
    for variant in resolved {
        let PlannedKernel::Built(source) = &variant.kernel else { continue };
        if source.tree == base.tree {
            continue;
        }
        variant.changed_files = kernels
            .changed_files(&base.tree, &source.tree, cancel)
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
        | ResolveError::NotRevertable { .. }
        | ResolveError::NotLocal { .. }
        | ResolveError::EmptyRange { .. }
        | ResolveError::LongLadder { .. }
        | ResolveError::Series(_)
        | ResolveError::Conflict(_) => Exit::Usage,
        ResolveError::Repository { repo, .. } if std::path::Path::new(repo).is_absolute() => Exit::Usage,
        _ => Exit::Lab,
    };
    let whom = variant.map_or_else(String::new, |variant| format!("variant {:?}: ", variant.0));
    Failure::new(exit, format!("{whom}{}", chain(error)))
}
