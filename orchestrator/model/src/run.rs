//! The state of a run, and the one fold that makes it from events.
//!
//! Resume, `kab runs show` and reports all read this structure; nothing else interprets events.

use crate::{
    Accel, Artifact, BlobId, BoardName, BootProof, CellId, Event, FailureClass, KernelDifference, Outcome,
    Plan, PlannedVariant, Posted, Reason, Sample, TrialKey, TrialRecord, VariantName, VisitKey,
};
use std::collections::BTreeMap;

/// Everything that a log says, in the order of the plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// The plan; absent only before the first event.
    pub plan: Option<Plan>,
    /// Figures that somebody else posted, in place of a plan.
    pub posted: Option<Posted>,
    /// Builds by variant.
    pub builds: BTreeMap<VariantName, BuildState>,
    /// What kernels have otherwise than the baseline's, by variant; nothing is known of those that are not in it.
    pub differences: BTreeMap<VariantName, KernelDifference>,
    /// Boards by name.
    pub boards: BTreeMap<BoardName, BoardRun>,
    /// Whether the plan was carried out as far as it can be.
    pub finished: bool,
    /// How often a process took this run up.
    pub openings: u32,
}

/// A variant's kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum BuildState {
    /// There.
    Built(Box<Artifact>),
    /// Cannot be built; the text is for people.
    Failed(String),
}

/// What happened on one board.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BoardRun {
    /// Accelerator of a virtual board, with the emulator's version and the reason.
    pub accel: Option<(Accel, String, String)>,
    /// Visits in the order in which they were started; `visits[i].key.visit == i`.
    pub visits: Vec<Visit>,
    /// Variants (or all, for `None`) that were given up, with the reason.
    pub given_up: Vec<(Option<VariantName>, Reason)>,
}

/// One visit.
#[derive(Clone, Debug, PartialEq)]
pub struct Visit {
    /// Its key.
    pub key: VisitKey,
    /// Where it stands.
    pub state: VisitState,
    /// Evidence of the boot.
    pub proof: Option<BootProof>,
    /// Trials in the order in which they were started.
    pub trials: Vec<TrialState>,
    /// Serial console.
    pub console: Option<BlobId>,
}

impl Visit {
    /// Trials whose sample enters the numbers: ended, counted, no warm-up, in a visit that is over and not void. One that is
    /// still open may yet become void.
    pub fn counted(&self) -> impl Iterator<Item = (&TrialState, &Sample)> {
        let void = matches!(self.state, VisitState::Void(_) | VisitState::Open);
        self.trials
            .iter()
            .filter(move |trial| !void && !trial.key.warmup)
            .filter_map(|trial| trial.sample.as_ref().map(|sample| (trial, sample)))
    }

    /// Samples of one cell, in order.
    pub fn samples<'a>(&'a self, cell: &'a CellId) -> impl Iterator<Item = &'a Sample> {
        self.counted().filter(move |(trial, _)| &trial.key.cell == cell).map(|(_, sample)| sample)
    }
}

/// Where a visit stands.
#[derive(Clone, Debug, PartialEq)]
pub enum VisitState {
    /// Begun and not ended; after a restart that means interrupted.
    Open,
    /// Complete.
    Ended,
    /// The variant did not deliver.
    Failed(FailureClass, Reason),
    /// The lab's fault; nothing of it counts.
    Void(Reason),
}

/// One trial.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialState {
    /// Its key.
    pub key: TrialKey,
    /// Raw evidence, once it ended.
    pub record: Option<TrialRecord>,
    /// The judgement, once it ended.
    pub outcome: Option<Outcome>,
    /// Numbers, where it counts.
    pub sample: Option<Sample>,
    /// Version of the rules that judged it.
    pub derivation: u32,
}

impl Run {
    /// A run from all its events.
    pub fn from_events<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut run = Self::default();
        for event in events {
            run.apply(event);
        }
        run
    }

    /// Takes one event in. Events that speak of visits or trials that never began are ignored: the log is
    /// append only and written by this program, so they cannot arise, and a reader must never panic.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::Planned { plan } => self.plan_made(plan),
            Event::Imported { table } => self.posted = Some((**table).clone()),
            Event::Opened { .. } => {
                self.openings += 1;
                self.finished = false;
            }
            Event::Accelerated { board, accel, emulator, reason } => {
                self.board(board).accel = Some((*accel, emulator.clone(), reason.clone()));
            }
            Event::Built { variant, artifact, .. } => {
                self.builds.insert(variant.clone(), BuildState::Built(Box::new(artifact.clone())));
            }
            Event::BuildFailed { variant, error, .. } => {
                self.builds.insert(variant.clone(), BuildState::Failed(error.clone()));
            }
            Event::Compared { variant, difference } => {
                self.differences.insert(variant.clone(), (**difference).clone());
            }
            Event::VisitStarted { visit } => self.visit_started(visit),
            Event::BootProved { visit, proof } => {
                self.with_visit(visit, |visit| visit.proof = Some(proof.clone()));
            }
            Event::TrialStarted { trial } => self.trial_started(trial),
            Event::TrialEnded { trial, record, outcome, sample, derivation } => {
                self.with_trial(trial, |state| {
                    state.record = Some((**record).clone());
                    state.outcome = Some(outcome.clone());
                    state.sample.clone_from(sample);
                    state.derivation = *derivation;
                });
            }
            Event::VisitEnded { visit, console } => self.close(visit, VisitState::Ended, console.as_ref()),
            Event::VisitFailed { visit, class, reason, console } => {
                self.close(visit, VisitState::Failed(*class, reason.clone()), console.as_ref());
            }
            Event::VisitVoided { visit, reason, console } => {
                self.close(visit, VisitState::Void(reason.clone()), console.as_ref());
            }
            Event::GaveUp { board, variant, reason } => {
                self.board(board).given_up.push((variant.clone(), reason.clone()));
            }
            Event::Finished => self.finished = true,
        }
    }

    /// The variant that stands for this one where nothing that was built, booted or set tells the two apart: same image,
    /// device trees, modules, command line (without stamp), knobs and fio options. The baseline stands for its equals,
    /// else the first of them does. A placebo has no equals.
    pub fn same_as(&self, variant: &VariantName) -> Option<&VariantName> {
        let plan = self.plan.as_ref()?;
        let planned = plan.variant(variant)?;
        let baseline = plan.variant(&plan.baseline);
        let stands =
            baseline.into_iter().chain(&plan.variants).find(|other| self.are_same(planned, other))?;
        (&stands.name != variant).then_some(&stands.name)
    }

    fn are_same(&self, one: &PlannedVariant, other: &PlannedVariant) -> bool {
        fn words(variant: &PlannedVariant) -> Vec<&str> {
            variant.cmdline.iter().flat_map(|cmdline| cmdline.split_whitespace()).collect()
        }
        let placebo = |variant: &PlannedVariant| variant.source().is_some_and(|source| source.placebo);
        one.name == other.name
            || (!placebo(one) && !placebo(other) && words(one) == words(other))
                && (&one.knobs, &one.fio) == (&other.knobs, &other.fio)
                && self.bytes(one).is_some_and(|found| self.bytes(other) == Some(found))
    }

    /// Digests of what a variant boots.
    fn bytes(&self, variant: &PlannedVariant) -> Option<[Option<&String>; 3]> {
        let artifact = self.artifact(&variant.name)?;
        Some([Some(&artifact.image_digest), artifact.dtbs_digest.as_ref(), artifact.modules_digest.as_ref()])
    }

    /// The artifact of a variant, once it is there.
    pub fn artifact(&self, variant: &VariantName) -> Option<&Artifact> {
        match self.builds.get(variant) {
            Some(BuildState::Built(artifact)) => Some(artifact),
            _ => None,
        }
    }

    /// Visits of all boards, board by board in the order of the names.
    pub fn visits(&self) -> impl Iterator<Item = &Visit> {
        self.boards.values().flat_map(|board| &board.visits)
    }

    fn plan_made(&mut self, plan: &Plan) {
        for board in &plan.boards {
            self.boards.entry(board.spec.name.clone()).or_default();
        }
        self.plan = Some(plan.clone());
    }

    fn board(&mut self, name: &BoardName) -> &mut BoardRun {
        self.boards.entry(name.clone()).or_default()
    }

    fn visit_started(&mut self, key: &VisitKey) {
        self.board(&key.board).visits.push(Visit {
            key: key.clone(),
            state: VisitState::Open,
            proof: None,
            trials: Vec::new(),
            console: None,
        });
    }

    fn trial_started(&mut self, key: &TrialKey) {
        self.with_visit(&key.visit, |visit| {
            visit.trials.push(TrialState {
                key: key.clone(),
                record: None,
                outcome: None,
                sample: None,
                derivation: 0,
            });
        });
    }

    fn close(&mut self, key: &VisitKey, state: VisitState, console: Option<&BlobId>) {
        self.with_visit(key, |visit| {
            visit.state = state;
            visit.console = console.cloned();
        });
    }

    fn with_visit(&mut self, key: &VisitKey, change: impl FnOnce(&mut Visit)) {
        let visits = &mut self.board(&key.board).visits;
        if let Some(visit) = visits.iter_mut().rev().find(|visit| &visit.key == key) {
            change(visit);
        }
    }

    fn with_trial(&mut self, key: &TrialKey, change: impl FnOnce(&mut TrialState)) {
        self.with_visit(&key.visit, |visit| {
            if let Some(trial) = visit.trials.iter_mut().rev().find(|trial| &trial.key == key) {
                change(trial);
            }
        });
    }
}
