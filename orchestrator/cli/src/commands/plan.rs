//! `kab plan`: what would be done, without doing it.

use crate::args::Files;
use crate::builder::{chain, kernels};
use crate::exit::{Exit, Failure};
use crate::input::{self, Input};
use crate::places::Places;
use crate::progress::{Lines, spoken};
use crate::{interrupt, known, resolve};
use clap::Args;
use kab_kernels::{Kernels, look_at};
use kab_model::{
    Applied, Artifact, Cell, CommitInfo, Order, PinnedKernel, Plan, PlannedKernel, PlannedVariant, SeriesInfo,
};
use kab_plan::{estimate, visit_of};
use kab_store::Store;
use std::fmt::Write;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Show what would be done: variants as commits, cells, order, time
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  kab plan ufs.yaml --lab lab.yaml\n  kab plan ufs.yaml --fio > ufs.fio    the same workloads \
                        without kab: UFS0=/dev/sdX fio ufs.fio"
)]
pub(crate) struct PlanCommand {
    #[command(flatten)]
    files: Files,
    /// Print the cells as a fio job file instead. Targets are environment variables, which fio puts in.
    #[arg(long)]
    fio: bool,
}

/// A boot of an emulated board on a slow host.
const BOOT: Duration = Duration::from_secs(12);

pub(crate) fn plan(command: &PlanCommand, places: &Places) -> Result<Exit, Failure> {
    let input = input::load(&command.files, places)?;
    if command.fio {
        crate::print_out(&job_file(&input)?)?;
        return Ok(Exit::Done);
    }
    interrupt::block_on(|stop| show(input, places, stop.in_order))
}

/// All cells as one job file.
fn job_file(input: &Input) -> Result<String, Failure> {
    let cells = kab_plan::expand(&input.experiment);
    let plain = |text: &str| {
        let keep = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
        text.chars().map(keep).collect::<String>()
    };
    let variable = |target: &str| plain(target).to_ascii_uppercase().replace(['-', '.'], "_");
    let options = |cell: &Cell| -> Vec<(String, String)> {
        cell.fio.iter().map(|option| (option.name.clone(), option.value.clone())).collect()
    };
    let target = |cell: &Cell| format!("${{{}}}", variable(&cell.target.0));
    let parts: Vec<_> = cells.iter().map(|cell| (plain(&cell.id.0), target(cell), options(cell))).collect();
    let sections: Vec<_> = parts
        .iter()
        .map(|(name, target, options)| kab_fio::Section {
            name,
            options,
            target,
            kind: kab_fio::TargetKind::Device,
        })
        .collect();
    let mut targets: Vec<&str> = parts.iter().map(|(_, target, _)| target.as_str()).collect();
    targets.sort_unstable();
    targets.dedup();
    let file = kab_fio::job_file(&sections).map_err(|error| Failure::new(Exit::Usage, error.to_string()))?;
    let variables: Vec<String> =
        targets.iter().map(|target| format!("{}=/dev/...", target.trim_matches(['$', '{', '}']))).collect();
    let writes = if cells.iter().any(|cell| cell.writes) { "; IT WRITES to its targets" } else { "" };
    Ok(format!("; {}, by kab: {} fio FILE{writes}\n{file}", input.experiment.name, variables.join(" ")))
}

async fn show(input: Input, places: &Places, cancel: CancellationToken) -> Result<Exit, Failure> {
    let lines = Lines::new();
    let kernels = kernels(places);
    // Only the order within the rounds depends on the seed, and a run without one chooses its own.
    let seed = input.experiment.schedule.seed;
    let plan = resolve::plan(&input, &kernels, seed.unwrap_or_default(), &lines, &cancel).await?;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{}{}",
        plan.name,
        plan.title.as_ref().map_or_else(String::new, |title| format!(": {title}"))
    );
    for variant in &plan.variants {
        explain_variant(&mut out, &plan, variant, &kernels, &cancel).await?;
    }
    explain_work(&mut out, &plan, seed.is_some(), &Store::new(&places.runs));
    drop(lines);
    crate::print_out(&out)?;
    Ok(Exit::Done)
}

async fn explain_variant(
    out: &mut String,
    plan: &Plan,
    variant: &PlannedVariant,
    kernels: &Kernels,
    cancel: &CancellationToken,
) -> Result<(), Failure> {
    let mark = if variant.name == plan.baseline { " (baseline)" } else { "" };
    let _ = writeln!(out, "\nvariant {:?}{mark}", variant.name.0);
    let Some(board) = plan.boards.first() else { return Ok(()) };
    match &variant.kernel {
        PlannedKernel::Built(source) => explain_source(out, source),
        PlannedKernel::Prebuilt { image, dtb, modules } => {
            let facts = look_at(&image.path, board.arch());
            let told = match &facts {
                Ok(facts) if !facts.release.is_empty() => facts.release.clone(),
                Ok(_) => "it does not tell its version".to_owned(),
                Err(error) => chain(error),
            };
            let _ = writeln!(out, "  image {} -> {told}", image.path.display());
            for (what, file) in [("device tree", dtb), ("modules", modules)] {
                let Some(file) = file else { continue };
                let _ = writeln!(out, "  {what} {}", file.path.display());
            }
        }
        PlannedKernel::Running => {
            let _ = writeln!(out, "  what the board runs");
        }
    }
    if !variant.changed_files.is_empty() {
        let _ = writeln!(
            out,
            "  differs from the baseline in {}: {}",
            count(variant.changed_files.len(), "file", "files"),
            some(&variant.changed_files)
        );
    }
    if let Some(twin) = twin(plan, variant) {
        let _ = writeln!(out, "  the same kernel as {:?}: nothing but noise can differ", twin.name.0);
    }
    for item in requested(plan, variant) {
        let _ = writeln!(out, "  {item}");
    }
    let found = kernels.cached(variant, board.arch(), cancel).await;
    if let Ok(Some(artifact)) = &found {
        explain_built(out, plan, (variant, artifact), kernels, cancel).await;
    }
    let state = match found {
        Ok(Some(artifact)) => format!("built: {}", artifact.release),
        Ok(None) => match kernels.build_time(variant, board.arch(), cancel).await {
            Ok(Some(time)) => format!("to be built, about {} going by the last build", spoken(time)),
            _ => "to be built, the first of its configuration here: how long is not known".to_owned(),
        },
        Err(error) if error.is_cancelled() => return Err(Failure::new(Exit::Interrupted, "interrupted")),
        Err(error) => format!("cannot be built here: {}", chain(&error)),
    };
    if variant.source().is_some() {
        let _ = writeln!(out, "  {} kernel {state}", board.arch().kernel_name());
    }
    let visit = visit_of(plan, variant).saturating_add(BOOT);
    let _ = writeln!(out, "  a visit takes about {}", spoken(visit));
    Ok(())
}

/// What was asked for otherwise than for the baseline, besides source.
fn requested(plan: &Plan, variant: &PlannedVariant) -> Vec<String> {
    let mut lines = Vec::new();
    let Some(baseline) = plan.variant(&plan.baseline).filter(|baseline| baseline.name != variant.name) else {
        return lines;
    };
    if let (Some(ours), Some(theirs)) = (variant.source(), baseline.source()) {
        let own =
            ours.config.iter().filter(|item| !theirs.config.contains(item)).map(|item| format!("+{item}"));
        let lost =
            theirs.config.iter().filter(|item| !ours.config.contains(item)).map(|item| format!("-{item}"));
        let items: Vec<String> = lost.chain(own).collect();
        if !items.is_empty() {
            lines.push(format!("config {}", some(&items)));
        }
        if ours.toolchain != theirs.toolchain {
            lines.push(format!("toolchain {}, the baseline's is {}", ours.toolchain, theirs.toolchain));
        }
    }
    let words = |variant: &PlannedVariant| variant.cmdline.clone().unwrap_or_else(|| "none".to_owned());
    if variant.cmdline != baseline.cmdline {
        lines.push(format!("command line {}, the baseline's is {}", words(variant), words(baseline)));
    }
    lines.extend(variant.fio.iter().map(|option| format!("fio {}={}", option.name, option.value)));
    lines.extend(variant.knobs.iter().map(|knob| format!("knob {}={}", knob.name, knob.value)));
    lines
}

/// What tells a kernel that is there from the baseline's, if that is there too.
async fn explain_built(
    out: &mut String,
    plan: &Plan,
    (variant, artifact): (&PlannedVariant, &Artifact),
    kernels: &Kernels,
    cancel: &CancellationToken,
) {
    let Some(baseline) = plan.variant(&plan.baseline).filter(|baseline| baseline.name != variant.name) else {
        return;
    };
    let Ok(Some(other)) = kernels.cached(baseline, artifact.arch, cancel).await else { return };
    let found = kab_kernels::difference(&other, artifact);
    let symbols: Vec<String> = found.symbols.iter().map(ToString::to_string).collect();
    let nodes: Vec<String> = found.nodes.iter().map(ToString::to_string).collect();
    for (what, one, items) in [("final .config", "symbol", symbols), ("device tree", "node", nodes)] {
        if !items.is_empty() {
            let many = format!("{one}s");
            let _ = writeln!(out, "  {what} differs in {}: {}", count(items.len(), one, &many), some(&items));
        }
    }
    if other.image_digest == artifact.image_digest {
        let _ = writeln!(out, "  the same image as the baseline's, byte by byte");
    }
}

/// Where a kernel comes from and what was applied, one line for each change.
fn explain_source(out: &mut String, source: &PinnedKernel) {
    let describe = source.describe.as_ref().map_or_else(String::new, |text| format!(" ({text})"));
    let _ = writeln!(out, "  {} of {} -> {}{describe}", source.reference, source.repo, source.base_commit);
    for change in &source.changes {
        let _ = match change {
            Applied::Series(series) => writeln!(out, "  {}", series_line(series)),
            Applied::Revert(commit) => writeln!(out, "  reverts {}", commit_line(commit)),
            Applied::Commit(commit) => writeln!(out, "  commit {}", commit_line(commit)),
            Applied::Uncommitted { files } => {
                writeln!(out, "  {} not committed", count(*files, "file", "files"))
            }
            Applied::DeviceTree { source } => writeln!(out, "  device tree patch {source}"),
        };
        if let Applied::Series(series) = change {
            for subject in &series.subjects {
                let _ = writeln!(out, "    {subject}");
            }
        }
    }
    if source.commit != source.base_commit {
        let _ = writeln!(out, "  = {}", source.commit);
    }
    if let Some(overlay) = &source.overlay {
        let _ = writeln!(out, "  device tree overlay {}", overlay.path.display());
    }
    if source.placebo {
        let _ = writeln!(out, "  placebo: functions aligned differently");
    }
}

/// `series SOURCE: "title" v2, 2 of 3 patches, <message-id>`.
fn series_line(series: &SeriesInfo) -> String {
    let mut parts: Vec<String> = Vec::new();
    if let Some(title) = &series.title {
        let version = series.version.filter(|version| *version > 1);
        parts.push(format!(
            "\"{title}\"{}",
            version.map_or_else(String::new, |version| format!(" v{version}"))
        ));
    }
    let applied = series.subjects.len();
    parts.push(match series.of {
        Some(of) => format!("{applied} of {of} patches"),
        None => count(applied, "patch", "patches"),
    });
    parts.extend(series.message_id.as_ref().map(|id| format!("<{id}>")));
    format!("series {}: {}", series.source, parts.join(", "))
}

fn commit_line(commit: &CommitInfo) -> String {
    format!("{} (\"{}\")", commit.commit.get(..12).unwrap_or(&commit.commit), commit.subject)
}

/// Another variant whose kernel and settings are the same.
fn twin<'a>(plan: &'a Plan, variant: &PlannedVariant) -> Option<&'a PlannedVariant> {
    plan.variants.iter().find(|other| {
        other.name != variant.name
            && (&other.cmdline, &other.knobs, &other.fio) == (&variant.cmdline, &variant.knobs, &variant.fio)
            && match (&other.kernel, &variant.kernel) {
                (PlannedKernel::Built(other), PlannedKernel::Built(own)) => {
                    !(other.placebo || own.placebo)
                        && (&other.tree, &other.config, &other.toolchain)
                            == (&own.tree, &own.config, &own.toolchain)
                        && other.overlay == own.overlay
                }
                (other, own) => other == own,
            }
    })
}

fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

fn some(files: &[String]) -> String {
    let shown = files.iter().take(5).map(String::as_str).collect::<Vec<_>>().join(", ");
    if files.len() > 5 { format!("{shown}, ...") } else { shown }
}

fn explain_work(out: &mut String, plan: &Plan, seeded: bool, store: &Store) {
    let _ = writeln!(
        out,
        "\ncells; in every visit each has {} and {}:",
        count(plan.warmup as usize, "warm-up", "warm-ups"),
        count(plan.trials as usize, "trial", "trials")
    );
    for cell in &plan.cells {
        let time =
            cell.planned_ms.map_or_else(|| "until done".to_owned(), |ms| spoken(Duration::from_millis(ms)));
        let writes = if cell.writes { "WRITES" } else { "reads" };
        let _ = writeln!(out, "  {}: {time}, {writes} {}", cell.id, cell.target);
    }
    for board in &plan.boards {
        let order = match plan.order {
            Order::Random if seeded => format!("random order (seed {})", plan.seed),
            Order::Random => "random order (seed chosen by each run)".to_owned(),
            Order::Abba => "ABBA order".to_owned(),
            Order::Sequential => "all rounds of one variant, then of the next".to_owned(),
        };
        let rounds = count(board.rounds.len(), "round", "rounds");
        let _ = writeln!(out, "board {}: {rounds}, {order}", board.spec.name);
        if let Some(line) = known::visible(store, plan, &board.spec.name.0, board.rounds.len()) {
            let _ = writeln!(out, "  {line}");
        }
        if seeded || plan.order != Order::Random {
            for (number, round) in board.rounds.iter().enumerate() {
                let names: Vec<&str> = round.iter().map(|name| name.0.as_str()).collect();
                let _ = writeln!(out, "  round {}: {}", number + 1, names.join(", "));
            }
        }
    }
    let cost = estimate(plan, BOOT);
    let _ = writeln!(
        out,
        "{} visits (a boot each), {} trials, {} of them writing; about {} without builds",
        cost.visits,
        cost.trials,
        cost.writing_trials,
        spoken(cost.total)
    );
}
