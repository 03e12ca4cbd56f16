//! The story of this crate's first half: a run becomes findings.

use crate::boots::Lost;
use crate::command;
use crate::differences;
use crate::findings::{
    Acceleration, Board, BoardFacts, Cell, CellMetric, Change, Changed, Detail, Family, Findings, Mean, Meta,
    Method, Progress, Tally, Verdict,
};
use crate::groups;
use crate::places::{Placed, Places};
use crate::posted;
use crate::samples::Trials;
use crate::tallies::{count_differences, failed_visits, tally};
use crate::verdicts::{Judged, mean};
use kab_model::{
    Accel, BoardRun, Boot, BuildState, DiskKind, FailureClass, Metric, Outcome, Plan, PlannedBoard, Run,
    Sample, VisitState,
};
use std::collections::BTreeMap;

/// Everything that a report prints about `run`. A run whose plan is not known yet gives findings without boards; an
/// unfinished one says so in [`Findings::progress`].
pub fn findings(run: &Run, meta: &Meta) -> Findings {
    match (&run.plan, &run.posted) {
        (Some(plan), _) => Gathering::new(run, plan).findings(meta),
        (None, Some(table)) => posted::findings(table, meta),
        (None, None) => Findings::empty(meta),
    }
}

/// What all boards share while findings are gathered.
struct Gathering<'a> {
    run: &'a Run,
    plan: &'a Plan,
    pairs: Vec<(usize, usize)>,
    same: Vec<bool>,
    places: Places<'a>,
    /// Metrics that the experiment asks for beside the primary one.
    exploratory: Vec<Metric>,
    all: Vec<(Metric, Judged)>,
    groups: Vec<groups::Cells>,
    /// Changes of CPU time an I/O, `[board][group][pair]`.
    cpu_changes: Vec<Vec<Vec<Change>>>,
}

impl<'a> Gathering<'a> {
    fn new(run: &'a Run, plan: &'a Plan) -> Self {
        let index = |name| plan.variants.iter().position(|variant| &variant.name == name);
        let pairs: Vec<(usize, usize)> = plan
            .pairs
            .iter()
            .filter_map(|(candidate, reference)| Some((index(candidate)?, index(reference)?)))
            .collect();
        let same = identical(run, plan, &pairs);
        let places = Places::of(run, plan);
        let judged = |metric| Judged::new(&places, plan, metric, Trials::Counted, &pairs, &same);
        let mut asked = plan.report.metrics.clone();
        asked.retain(|metric| *metric != plan.report.primary);
        asked.dedup();
        let all = Metric::ALL.into_iter().map(|metric| (metric, judged(metric))).collect();
        let (groups, cpu_changes) = (groups::cells(plan), Vec::new());
        let mut gathering =
            Self { run, plan, pairs, same, places, exploratory: asked, all, groups, cpu_changes };
        gathering.cpu_changes = gathering.cpu_changes();
        gathering
    }

    fn cpu_changes(&self) -> Vec<Vec<Vec<Change>>> {
        let cpu = self.judged(Metric::CpuPerIo);
        let of_board = |board: usize| {
            let measured = self.primary().measured(board, self.plan.variants.len());
            self.groups.iter().map(|group| cpu.common(board, &group.cells, &measured)).collect()
        };
        let cells: Vec<Vec<Vec<usize>>> = (0..self.plan.boards.len()).map(of_board).collect();
        cpu.judge_groups(&cells, &self.pairs, &self.same)
    }

    fn findings(&self, meta: &Meta) -> Findings {
        let plan = self.plan;
        let family = |metric: Metric, judged: &Judged| Family {
            metric,
            margin: plan.report.margin(metric),
            comparisons: judged.comparisons,
        };
        let boards: Vec<Board> = (0..plan.boards.len()).map(|board| self.board(board)).collect();
        Findings {
            meta: meta.clone(),
            name: plan.name.clone(),
            title: plan.title.clone(),
            experiment_digest: plan.experiment_digest.clone(),
            progress: progress(self.run, plan),
            variants: differences::variants(self.run, plan),
            baseline: plan.variants.iter().position(|variant| variant.name == plan.baseline).unwrap_or(0),
            pairs: self.pairs.clone(),
            primary: family(plan.report.primary, self.primary()),
            exploratory: self
                .exploratory
                .iter()
                .map(|metric| family(*metric, self.judged(*metric)))
                .collect(),
            without_noted: self.without_noted(&boards),
            boards,
            method: method(self.run, plan),
            posted: None,
        }
    }

    fn board(&self, board: usize) -> Board {
        let planned = &self.plan.boards[board];
        let nothing = BoardRun::default();
        let state = self.run.boards.get(&planned.spec.name).unwrap_or(&nothing);
        let tallies: Vec<Tally> =
            self.plan.variants.iter().map(|variant| tally(&state.visits, &variant.name)).collect();
        let count = tallies.len();
        let outliers = self.primary().outliers(board, count);
        let cpu = (self.judged(Metric::CpuPerIo), &*self.cpu_changes[board]);
        let variant = |name| self.plan.variants.iter().position(|variant| &variant.name == name);
        Board {
            name: planned.spec.name.0.clone(),
            facts: board_facts(self.plan, planned, state),
            about: None,
            cells: (0..self.plan.cells.len()).map(|cell| self.cell(board, cell, &tallies)).collect(),
            groups: groups::summaries(&self.groups, board, &self.pairs, count, self.primary(), cpu),
            count_differences: count_differences(&tallies, &outliers, &self.pairs),
            lost: lost(self.plan, state),
            tallies,
            outliers,
            given_up: state
                .given_up
                .iter()
                .map(|(name, reason)| (name.as_ref().and_then(variant), reason.to_string()))
                .collect(),
        }
    }

    fn cell(&self, board: usize, cell: usize, tallies: &[Tally]) -> Cell {
        let planned = &self.plan.cells[cell];
        let placed = self.places.boards[board][cell].as_slice();
        let blame = |variant: usize| self.is_to_blame(variant, placed, &tallies[variant]);
        let noted = noted(placed);
        let metric = |metric: Metric, judged: &Judged| CellMetric {
            metric,
            boots: judged.boots(board, cell, tallies.len(), &noted),
            means: (0..tallies.len())
                .map(|variant| mean(judged.mean(board, cell, variant), blame(variant)))
                .collect::<Vec<Mean>>(),
            changes: judged.changes(board, cell).to_vec(),
        };
        let mut metrics = vec![metric(self.plan.report.primary, self.primary())];
        metrics.extend(self.exploratory.iter().map(|name| metric(*name, self.judged(*name))));
        Cell {
            id: planned.id.0.clone(),
            label: planned.label.clone(),
            metrics,
            details: (0..tallies.len()).map(|variant| self.detail(board, cell, variant)).collect(),
            posted: Vec::new(),
        }
    }

    /// Whether a missing number is the variant's doing.
    fn is_to_blame(&self, variant: usize, placed: &[Placed], tally: &Tally) -> bool {
        let name = &self.plan.variants[variant].name;
        let failed_trial = || {
            let mut trials = placed.iter().filter(|placed| placed.variant == variant);
            trials.any(|placed| matches!(placed.trial.outcome, Some(Outcome::Failed { .. })))
        };
        matches!(self.run.builds.get(name), Some(BuildState::Failed(_)))
            || failed_visits(tally) > 0
            || failed_trial()
    }

    fn detail(&self, board: usize, cell: usize, variant: usize) -> Detail {
        let counted = self.places.boards[board][cell].iter().filter(|placed| placed.variant == variant);
        let samples: Vec<(u32, &Sample)> =
            counted.filter_map(|placed| Some((placed.visit.key.visit, placed.sample()?))).collect();
        let visits: Vec<Vec<&Sample>> = samples
            .chunk_by(|a, b| a.0 == b.0)
            .map(|visit| visit.iter().map(|(_, sample)| *sample).collect())
            .collect();
        let iops = self.judged(Metric::Iops).visits(board, cell, variant);
        let geometric =
            |metric| self.judged(metric).mean(board, cell, variant).filter(|value| value.is_finite());
        let share = |pick: fn(&Sample) -> f64| {
            let of_visit =
                |visit: &Vec<&Sample>| arithmetic(&visit.iter().map(|s| pick(s)).collect::<Vec<_>>());
            arithmetic(&visits.iter().filter_map(of_visit).collect::<Vec<_>>())
        };
        Detail {
            visits: visits.len(),
            trials: visits.iter().map(Vec::len).sum(),
            min_iops: iops.iter().copied().reduce(f64::min),
            max_iops: iops.iter().copied().reduce(f64::max),
            mean_iops: geometric(Metric::Iops),
            spread_pct: spread(&iops),
            modes: self.judged(Metric::Iops).modes(board, cell, variant),
            usr_pct: share(|sample| sample.usr_pct),
            sys_pct: share(|sample| sample.sys_pct),
            bw: geometric(Metric::Bw),
            cpu_per_io: geometric(Metric::CpuPerIo),
            clat_mean: geometric(Metric::ClatMean),
            clat_p50: geometric(Metric::ClatP50),
            clat_p99: geometric(Metric::ClatP99),
            clat_p999: geometric(Metric::ClatP999),
        }
    }

    fn primary(&self) -> &Judged {
        self.judged(self.plan.report.primary)
    }

    fn judged(&self, metric: Metric) -> &Judged {
        self.all
            .iter()
            .find_map(|(name, judged)| (*name == metric).then_some(judged))
            .expect("all metrics are judged when the gathering begins")
    }

    /// Judges once more without the noted trials; nothing is excluded by it, the reader only learns what rests on them.
    fn without_noted(&self, boards: &[Board]) -> Vec<Changed> {
        if boards.iter().flat_map(|board| &board.tallies).all(|tally| tally.noted_trials == 0) {
            return Vec::new();
        }
        let metric = self.plan.report.primary;
        let without =
            Judged::new(&self.places, self.plan, metric, Trials::WithoutNoted, &self.pairs, &self.same);
        let mut changed = Vec::new();
        for (board, found) in boards.iter().enumerate() {
            for (cell, _) in found.cells.iter().enumerate() {
                let verdicts = self.primary().changes(board, cell).iter().zip(without.changes(board, cell));
                for (pair, (with, without)) in verdicts.enumerate() {
                    // Too few trials left is no statement about the ones that were there.
                    if with.verdict != without.verdict && without.verdict != Verdict::NoVerdict {
                        let (with, without) = (with.verdict, without.verdict);
                        changed.push(Changed { board, cell, pair, with, without });
                    }
                }
            }
        }
        changed
    }
}

/// Visits that gave no numbers.
fn lost(plan: &Plan, state: &BoardRun) -> Vec<Lost> {
    let found = state.visits.iter().filter_map(|visit| {
        let why = match &visit.state {
            VisitState::Failed(FailureClass::Boot, reason) => format!("did not boot: {reason}"),
            VisitState::Failed(FailureClass::Crash, reason) => format!("crashed: {reason}"),
            VisitState::Void(reason) => format!("void: {reason}"),
            VisitState::Open | VisitState::Ended => return None,
        };
        let variant = plan.variants.iter().position(|variant| variant.name == visit.key.variant)?;
        Some(Lost { visit: visit.key.visit, round: visit.key.round, variant, why })
    });
    found.collect()
}

/// Noted trials of a cell by the number of the visit.
fn noted(placed: &[Placed]) -> BTreeMap<u32, usize> {
    let mut noted = BTreeMap::new();
    for placed in placed.iter().filter(|placed| !placed.trial.key.warmup && is_noted(placed)) {
        *noted.entry(placed.visit.key.visit).or_default() += 1;
    }
    noted
}

fn is_noted(placed: &Placed) -> bool {
    matches!(placed.trial.outcome, Some(Outcome::Noted { .. }))
}

/// Pairs whose variants have the same image and the same command line.
fn identical(run: &Run, plan: &Plan, pairs: &[(usize, usize)]) -> Vec<bool> {
    let variants = differences::variants(run, plan);
    let first = |index: usize| variants[index].same_as.unwrap_or(index);
    pairs.iter().map(|(candidate, reference)| first(*candidate) == first(*reference)).collect()
}

fn progress(run: &Run, plan: &Plan) -> Progress {
    Progress {
        finished: run.finished,
        done: run.visits().filter(|v| matches!(v.state, VisitState::Ended | VisitState::Failed(..))).count(),
        planned: plan
            .boards
            .iter()
            .flat_map(|board| board.rounds.iter().flatten())
            .filter(|variant| run.same_as(variant).is_none())
            .count(),
    }
}

fn board_facts(plan: &Plan, planned: &PlannedBoard, state: &BoardRun) -> BoardFacts {
    let Boot::Qemu(qemu) = &planned.spec.boot;
    let used = |name| plan.cells.iter().any(|cell| &cell.target == name);
    let kind = |kind| match kind {
        DiskKind::Ufs { mcq: true } => "UFS (MCQ)",
        DiskKind::Ufs { mcq: false } => "UFS (no MCQ)",
        DiskKind::Nvme => "NVMe",
        DiskKind::Virtio => "virtio",
    };
    let accel = state.accel.as_ref().map_or(qemu.accel, |(accel, _, _)| *accel);
    BoardFacts {
        arch: planned.arch().kernel_name().to_owned(),
        machine: qemu.machine.clone(),
        cpus: qemu.cpus,
        memory: qemu.memory,
        disks: qemu
            .disks
            .iter()
            .filter(|disk| used(&disk.name))
            .map(|disk| (disk.name.0.clone(), kind(disk.kind).to_owned(), disk.size))
            .collect(),
        accel: match accel {
            Accel::Tcg => Acceleration::Tcg,
            Accel::Kvm => Acceleration::Kvm,
            Accel::Auto => Acceleration::Unknown,
        },
        emulator: state.accel.as_ref().map(|(_, emulator, _)| emulator.clone()),
        cmdline: qemu.cmdline.clone(),
    }
}

fn method(run: &Run, plan: &Plan) -> Method {
    let fio = run.visits().filter_map(|visit| visit.proof.as_ref()?.identity.fio.clone());
    let compilers =
        plan.variants.iter().filter_map(|variant| run.artifact(&variant.name)).map(|a| a.compiler.clone());
    Method {
        rounds: plan.boards.iter().map(|board| board.rounds.len()).max().unwrap_or(0),
        order: plan.order,
        seed: plan.seed,
        trials: plan.trials,
        warmup: plan.warmup,
        times: once(plan.cells.iter().filter_map(command::timing)),
        cooldown_ms: plan.cooldown_ms,
        fio_versions: once(fio),
        commands: command::summarise(&plan.cells),
        config: differences::common_config(plan),
        compilers: once(compilers),
    }
}

/// Each value once, in the order of the first appearance.
fn once<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}

fn arithmetic(values: &[f64]) -> Option<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    mean.is_finite().then_some(mean)
}

/// Coefficient of variation in percent, from logarithms as everything else here.
fn spread(values: &[f64]) -> Option<f64> {
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let mean = arithmetic(&logs)?;
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    let variance = squares / logs.len().checked_sub(1).filter(|df| *df > 0)? as f64;
    Some(100.0 * variance.sqrt()).filter(|spread| spread.is_finite())
}
