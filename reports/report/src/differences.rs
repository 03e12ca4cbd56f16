//! What differs between variants, and only that: source, configuration, command line, compiler, image.

use crate::findings::{Difference, Series, Variant};
use crate::quantity::letter;
use kab_model::{
    Applied, BuildState, ConfigItem, DIFFERENCES_KEPT, Plan, PlannedKernel, PlannedVariant, Run,
};

/// The plan stops listing changed files here.
const FILES_LISTED: usize = 1000;

/// All variants of the plan, described against the baseline.
pub(crate) fn variants(run: &Run, plan: &Plan) -> Vec<Variant> {
    (0..plan.variants.len()).map(|index| variant(run, plan, index)).collect()
}

fn variant(run: &Run, plan: &Plan, index: usize) -> Variant {
    let planned = &plan.variants[index];
    let baseline = plan.variant(&plan.baseline).filter(|baseline| baseline.name != planned.name);
    Variant {
        letter: letter(index),
        name: planned.name.0.clone(),
        reference: planned.source().map(|source| source.reference.clone()).unwrap_or_default(),
        describe: planned.source().and_then(|source| source.describe.clone()),
        commit: planned.source().map(|source| source.commit.clone()).unwrap_or_default(),
        release: release(run, planned),
        on_top_of: on_top_of(plan, index),
        patches: patches(planned),
        series: series(planned),
        differences: baseline.map(|baseline| differences(run, planned, baseline)).unwrap_or_default(),
        build_error: match run.builds.get(&planned.name) {
            Some(BuildState::Failed(error)) => Some(error.clone()),
            _ => None,
        },
        same_as: same_as(run, plan, index),
    }
}

/// What booted says it best; before that, what was built.
fn release(run: &Run, planned: &PlannedVariant) -> Option<String> {
    run.visits()
        .filter(|visit| visit.key.variant == planned.name)
        .find_map(|visit| visit.proof.as_ref().map(|proof| proof.identity.release.clone()))
        .or_else(|| run.artifact(&planned.name).map(|artifact| artifact.release.clone()))
}

/// The variant whose commit the series went onto; a reference of this variant's pairs rather than another.
fn on_top_of(plan: &Plan, index: usize) -> Option<usize> {
    let planned = &plan.variants[index];
    let source = planned.source().filter(|source| !source.changes.is_empty())?;
    let commit = |at: usize| plan.variants[at].source().map(|source| &source.commit);
    let base = |at: &usize| *at != index && commit(*at) == Some(&source.base_commit);
    let judged = |at: &usize| {
        plan.pairs
            .iter()
            .any(|(candidate, reference)| *candidate == planned.name && *reference == plan.variants[*at].name)
    };
    let all = 0..plan.variants.len();
    all.clone().filter(base).find(judged).or_else(|| all.clone().find(base))
}

/// Subjects of the series.
fn patches(planned: &PlannedVariant) -> Vec<String> {
    let subjects = |change: &Applied| match change {
        Applied::Series(series) => series.subjects.clone(),
        _ => Vec::new(),
    };
    planned.changes().iter().flat_map(subjects).collect()
}

/// What the cover letters say.
fn series(planned: &PlannedVariant) -> Vec<Series> {
    let told = |change: &Applied| match change {
        Applied::Series(series) => Some(Series {
            title: series.title.clone(),
            version: series.version,
            message_id: series.message_id.clone(),
            applied: series.subjects.len(),
            of: series.of,
        }),
        _ => None,
    };
    planned.changes().iter().filter_map(told).collect()
}

/// The variant that stands for this one: no measurement can tell the two apart.
fn same_as(run: &Run, plan: &Plan, index: usize) -> Option<usize> {
    let same = run.same_as(&plan.variants[index].name)?;
    plan.variants.iter().position(|variant| variant.name == *same)
}

fn differences(run: &Run, planned: &PlannedVariant, baseline: &PlannedVariant) -> Vec<Difference> {
    let mut found = Vec::new();
    if let (Some(theirs), Some(ours)) = (baseline.source(), planned.source())
        && ours.repo != theirs.repo
    {
        found.push(Difference::Repository { from: repo_name(&theirs.repo), to: repo_name(&ours.repo) });
    }
    if !planned.changed_files.is_empty() {
        let count = planned.changed_files.len();
        found.push(Difference::Files {
            files: planned.changed_files.clone(),
            count,
            more: count >= FILES_LISTED,
        });
    }
    found.extend(changes(run, planned, baseline));
    found.extend(config(run, planned, baseline));
    found.extend(compared(run, planned, baseline));
    if cmdline(planned) != cmdline(baseline) {
        found.push(Difference::Cmdline {
            from: cmdline(baseline).to_owned(),
            to: cmdline(planned).to_owned(),
        });
    }
    let (from, to) = compilers(run, baseline, planned);
    // A kernel that somebody else built may not tell.
    if from != to && !from.is_empty() && !to.is_empty() {
        found.push(Difference::Compiler { from, to });
    }
    found.extend(settings(planned, baseline));
    found
}

/// What was changed besides series, and kernels that were not built here.
fn changes(run: &Run, planned: &PlannedVariant, baseline: &PlannedVariant) -> Vec<Difference> {
    let mut found = Vec::new();
    let own = || planned.changes().iter().filter(|change| !baseline.changes().contains(change));
    let reverts = own().filter_map(|change| match change {
        Applied::Revert(commit) => {
            let hash: String = commit.commit.chars().take(12).collect();
            Some(format!("{hash} (\"{}\")", commit.subject))
        }
        _ => None,
    });
    let commits: Vec<String> = reverts.collect();
    if !commits.is_empty() {
        found.push(Difference::Reverts { commits });
    }
    found.extend(own().filter_map(|change| match change {
        Applied::Uncommitted { files } => Some(Difference::Uncommitted { files: *files }),
        _ => None,
    }));
    let patches = own().filter_map(|change| match change {
        Applied::DeviceTree { source } => Some(source.clone()),
        _ => None,
    });
    let overlay = |variant: &PlannedVariant| variant.source().and_then(|source| source.overlay.clone());
    let overlay =
        overlay(planned).filter(|own| overlay(baseline).is_none_or(|other| other.digest != own.digest));
    let overlay = overlay.and_then(|file| Some(file.path.file_name()?.to_string_lossy().into_owned()));
    let sources: Vec<String> = patches.chain(overlay).collect();
    if !sources.is_empty() {
        let only = same_image(run, planned, baseline);
        found.push(Difference::DeviceTree { sources, only });
    }
    let built = |variant: &PlannedVariant| matches!(variant.kernel, PlannedKernel::Built(_));
    if built(planned) != built(baseline) {
        found.push(Difference::Prebuilt);
    }
    let placebo = |variant: &PlannedVariant| variant.source().is_some_and(|source| source.placebo);
    if placebo(planned) != placebo(baseline) {
        found.push(Difference::Placebo);
    }
    found
}

/// Knobs and fio options, `+` added and `-` missing against the baseline.
fn settings(planned: &PlannedVariant, baseline: &PlannedVariant) -> Vec<Difference> {
    let knobs = |variant: &PlannedVariant| -> Vec<String> {
        variant.knobs.iter().map(|knob| format!("{}={}", knob.name, knob.value)).collect()
    };
    let fio = |variant: &PlannedVariant| -> Vec<String> {
        variant.fio.iter().map(|option| format!("{}={}", option.name, option.value)).collect()
    };
    let mut found = Vec::new();
    let items = signed(&knobs(planned), &knobs(baseline));
    if !items.is_empty() {
        found.push(Difference::Knobs { items });
    }
    let items = signed(&fio(planned), &fio(baseline));
    if !items.is_empty() {
        found.push(Difference::Fio { items });
    }
    found
}

fn signed(own: &[String], other: &[String]) -> Vec<String> {
    let missing = other.iter().filter(|item| !own.contains(item)).map(|item| format!("-{item}"));
    let added = own.iter().filter(|item| !other.contains(item)).map(|item| format!("+{item}"));
    missing.chain(added).collect()
}

fn config(run: &Run, planned: &PlannedVariant, baseline: &PlannedVariant) -> Option<Difference> {
    let digest = |variant: &PlannedVariant| run.artifact(&variant.name).map(|a| a.config_digest.clone());
    let (ours, theirs) = (&planned.source()?.config, &baseline.source()?.config);
    let added = ours.iter().filter(|item| !theirs.contains(item)).map(|item| ('+', item));
    let missing = theirs.iter().filter(|item| !ours.contains(item)).map(|item| ('-', item));
    let items: Vec<String> = missing.chain(added).map(|(sign, item)| format!("{sign}{item}")).collect();
    if !items.is_empty() {
        return Some(Difference::Config { items });
    }
    if run.differences.get(&planned.name).is_some_and(|found| !found.symbols.is_empty()) {
        return None;
    }
    let (ours, theirs) = (digest(planned)?, digest(baseline)?);
    (ours != theirs).then_some(Difference::FinalConfig)
}

/// What tells the built kernels apart. Symbols that were asked for, which [`config`] tells, are left out.
fn compared(run: &Run, planned: &PlannedVariant, baseline: &PlannedVariant) -> Vec<Difference> {
    let Some(difference) = run.differences.get(&planned.name) else { return Vec::new() };
    let asked = |symbol: &str| {
        let items = planned.source().map(|source| source.config.as_slice()).unwrap_or_default();
        items.iter().any(|item| matches!(item, ConfigItem::Option { symbol: own, .. } if own == symbol))
    };
    let symbols: Vec<String> =
        difference.symbols.iter().filter(|change| !asked(&change.symbol)).map(ToString::to_string).collect();
    let nodes: Vec<String> = difference.nodes.iter().map(ToString::to_string).collect();
    let mut found = Vec::new();
    if !symbols.is_empty() {
        let (count, more) = (symbols.len(), difference.symbols.len() >= DIFFERENCES_KEPT);
        found.push(Difference::Symbols { symbols, count, more });
    }
    if !nodes.is_empty() {
        let (count, more) = (nodes.len(), nodes.len() >= DIFFERENCES_KEPT);
        let told = planned.changes().iter().any(|change| matches!(change, Applied::DeviceTree { .. }))
            || planned.source().is_some_and(|source| source.overlay.is_some());
        let only = !told && same_image(run, planned, baseline);
        found.push(Difference::Nodes { nodes, only, count, more });
    }
    found
}

fn same_image(run: &Run, one: &PlannedVariant, other: &PlannedVariant) -> bool {
    let image = |variant: &PlannedVariant| run.artifact(&variant.name).map(|a| &a.image_digest);
    image(one).is_some_and(|own| image(other) == Some(own))
}

/// What every variant was configured with, in the baseline's order.
pub(crate) fn common_config(plan: &Plan) -> Vec<String> {
    let Some(baseline) = plan.variant(&plan.baseline).and_then(PlannedVariant::source) else {
        return Vec::new();
    };
    let built = || plan.variants.iter().filter_map(PlannedVariant::source);
    let everywhere = |item: &&ConfigItem| built().all(|source| source.config.contains(item));
    baseline.config.iter().filter(everywhere).map(ToString::to_string).collect()
}

fn cmdline(variant: &PlannedVariant) -> &str {
    variant.cmdline.as_deref().unwrap_or("").trim()
}

/// Where one of the two was not built, only what was asked for can be compared.
fn compilers(run: &Run, baseline: &PlannedVariant, planned: &PlannedVariant) -> (String, String) {
    let asked = |variant: &PlannedVariant| {
        variant.source().map(|source| source.toolchain.to_string()).unwrap_or_default()
    };
    match (run.artifact(&baseline.name), run.artifact(&planned.name)) {
        (Some(from), Some(to)) => (from.compiler.clone(), to.compiler.clone()),
        _ => (asked(baseline), asked(planned)),
    }
}

/// A URL as it is; of a path only the last part.
fn repo_name(repo: &str) -> String {
    if repo.contains("://") {
        return repo.to_owned();
    }
    repo.trim_end_matches('/').rsplit('/').next().unwrap_or(repo).to_owned()
}
