//! The program behind the tests: supervises their children, and is itself a kab that a test can kill.

use kab_kernels::{Kernels, Settings};
use kab_lifeline::Lifeline;
use kab_model::{Arch, KernelSpec, PinnedKernel, PlannedKernel, PlannedVariant, VariantName};
use tokio_util::sync::CancellationToken;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    kab_lifeline::main_hook();
    build()
}

/// `kernels-probe CACHE SEARCH_PATH SPEC.json` resolves a [`KernelSpec`], builds it and prints the artifact as JSON; steps go
/// to standard error.
#[tokio::main(flavor = "current_thread")]
async fn build() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [cache, search_path, spec] = args.as_slice() else { return Err("three arguments are needed".into()) };
    let spec: KernelSpec = serde_json::from_slice(&std::fs::read(spec)?)?;
    let kernels = Kernels::new(Settings::new(cache, Lifeline::this_program(), search_path));
    let (report, cancel) = (|progress| eprintln!("{progress:?}"), CancellationToken::new());
    let resolved = kernels.resolve(&spec, &report, &cancel).await?.remove(0);
    eprintln!("{resolved:?}");
    let variant = PlannedVariant {
        name: VariantName("probe".to_owned()),
        stamp: String::new(),
        kernel: PlannedKernel::Built(Box::new(PinnedKernel {
            repo: spec.repo,
            reference: "probe".to_owned(),
            base_commit: resolved.base_commit,
            commit: resolved.commit,
            tree: resolved.tree,
            describe: resolved.describe,
            changes: resolved.changes,
            config: spec.config,
            toolchain: spec.toolchain,
            overlay: None,
            placebo: spec.placebo,
        })),
        changed_files: Vec::new(),
        cmdline: None,
        knobs: Vec::new(),
        fio: Vec::new(),
    };
    let artifact = kernels.build(&variant, Arch::X86_64, &report, &cancel).await?;
    println!("{}", serde_json::to_string(&artifact)?);
    Ok(())
}
