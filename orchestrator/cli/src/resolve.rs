//! From files to a plan: sources are pinned by git, the rest is pure.

use crate::builder::{chain, kernel_line};
use crate::exit::{Exit, Failure};
use crate::input::Input;
use crate::progress::Lines;
use kab_kernels::{Kernels, PrebuiltError, ResolveError, Resolved};
use kab_model::{
    Arch, Base, Kernel, KernelSpec, PinnedFile, PinnedKernel, Plan, PlannedKernel, PlannedVariant, Variant,
    VariantName,
};
use kab_plan::{ResolvedVariant, make_plan};
use std::path::Path;
use tokio_util::sync::CancellationToken;

/// Resolves all variants and makes the plan.
pub(crate) async fn plan(
    input: &Input,
    kernels: &Kernels,
    seed: u64,
    lines: &Lines,
    cancel: &CancellationToken,
) -> Result<Plan, Failure> {
    // What cannot be is said before minutes go into what can.
    for variant in &input.experiment.variants {
        supported(variant)?;
    }
    let arch = input.lab.boards.first().map_or(Arch::X86_64, |board| board.arch);
    let mut resolved = Vec::new();
    for (index, variant) in input.experiment.variants.iter().enumerate() {
        resolved.extend(resolve((index, variant), arch, kernels, lines, cancel).await?);
    }
    let mut plan = make_plan(&input.experiment, &input.experiment_digest, &input.lab, &resolved, seed)
        .map_err(crate::exit::usage)?;
    note_changes(&mut plan, kernels, cancel).await?;
    Ok(plan)
}

async fn resolve(
    (index, variant): (usize, &Variant),
    arch: Arch,
    kernels: &Kernels,
    lines: &Lines,
    cancel: &CancellationToken,
) -> Result<Vec<ResolvedVariant>, Failure> {
    let alone = |kernel| Ok(vec![ResolvedVariant { variant: index, step: None, kernel }]);
    let spec = match &variant.kernel {
        Kernel::Built(spec) => spec,
        Kernel::Prebuilt(files) => {
            let pinned = kab_kernels::pin_prebuilt(files, arch);
            return alone(pinned.map_err(|error| unusable(&variant.name, &error))?.0);
        }
        Kernel::Running => return alone(PlannedKernel::Running),
    };
    let report = |progress| lines.show(&format!("variant {:?}: {}", variant.name.0, kernel_line(&progress)));
    let overlay = spec.overlay.as_deref().map(kab_kernels::pin).transpose();
    let overlay = overlay.map_err(|error| unusable(&variant.name, &error))?;
    let resolved = kernels.resolve(spec, &report, cancel).await;
    lines.clear();
    let resolved = resolved.map_err(|error| failure(Some(&variant.name), &error))?;
    for warning in resolved.iter().flat_map(|kernel| &kernel.warnings) {
        lines.say(&format!("variant {:?}: {warning}", variant.name.0));
    }
    let kernels = resolved.into_iter().map(|kernel| ResolvedVariant {
        variant: index,
        step: kernel.step.as_ref().map(|step| step.index),
        kernel: PlannedKernel::Built(Box::new(pinned(spec, kernel, overlay.clone()))),
    });
    Ok(kernels.collect())
}

fn unusable(variant: &VariantName, error: &PrebuiltError) -> Failure {
    Failure::new(Exit::Usage, format!("variant {:?}: {}", variant.0, chain(error)))
}

/// Refuses what is read and not done yet: it must not be measured as if it were.
fn supported(variant: &Variant) -> Result<(), Failure> {
    if variant.knobs.is_empty() {
        return Ok(());
    }
    let name = &variant.name.0;
    Err(Failure::new(Exit::Usage, format!("variant {name:?}: `knobs:` is not supported in this version yet")))
}

fn pinned(spec: &KernelSpec, resolved: Resolved, overlay: Option<PinnedFile>) -> PinnedKernel {
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
        overlay,
        placebo: spec.placebo,
    }
}

/// Files that differ from the baseline, for kernels that are built.
async fn note_changes(plan: &mut Plan, kernels: &Kernels, cancel: &CancellationToken) -> Result<(), Failure> {
    let tree = |variant: &PlannedVariant| variant.source().map(|source| source.tree.clone());
    let Some(base) = plan.variant(&plan.baseline).and_then(tree) else { return Ok(()) };
    for variant in &mut plan.variants {
        let Some(tree) = tree(variant).filter(|tree| *tree != base) else { continue };
        let changed = kernels.changed_files(&base, &tree, cancel).await;
        variant.changed_files = changed.map_err(|error| failure(None, &error))?;
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
        ResolveError::Repository { repo, .. } if Path::new(repo).is_absolute() => Exit::Usage,
        _ => Exit::Lab,
    };
    let whom = variant.map_or_else(String::new, |variant| format!("variant {:?}: ", variant.0));
    Failure::new(exit, format!("{whom}{}", chain(error)))
}
