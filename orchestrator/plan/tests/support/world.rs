//! A world in which builds, boots and trials have fates, and kab itself may end after any event.

use kab_model::{
    Arch, Artifact, BlobId, BootIdentity, BootProof, Event, FailureClass, FioExit, Outcome, Plan, Reason,
    Run, TrialKey, TrialRecord, VariantName, VisitKey,
};
use kab_plan::{INTERRUPTED, Next, NextTrial, next, next_trial};
use std::collections::BTreeSet;

/// What may happen. Where a fate does not fit, as an unbootable kernel to a trial, all goes well.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fate {
    Well,
    /// A build fails, a boot or a link is lost.
    LabFault,
    NoBoot,
    Crash,
    Noted,
    FailedTrial,
    VoidTrial,
}

impl Fate {
    pub(crate) const ALL: [Self; 7] = [
        Self::Well,
        Self::LabFault,
        Self::NoBoot,
        Self::Crash,
        Self::Noted,
        Self::FailedTrial,
        Self::VoidTrial,
    ];
}

/// Fates in order, over and over, and the numbers of events after which kab ends.
#[derive(Clone, Debug)]
pub(crate) struct World {
    fates: Vec<Fate>,
    interrupted: BTreeSet<usize>,
    used: usize,
    /// Variants that are built into one image.
    same: BTreeSet<VariantName>,
}

impl World {
    pub(crate) fn new(fates: Vec<Fate>, interrupted: BTreeSet<usize>) -> Self {
        Self { fates, interrupted, used: 0, same: BTreeSet::new() }
    }

    /// All goes well, and these variants have the same image.
    pub(crate) fn same_images(variants: &[&str]) -> Self {
        let same = variants.iter().map(|name| VariantName::from(*name)).collect();
        Self { same, ..Self::new(vec![Fate::Well], BTreeSet::new()) }
    }

    fn build(&self, variant: &VariantName) -> Artifact {
        let mut artifact = artifact(variant);
        if self.same.contains(variant) {
            artifact.image_digest = "same".into();
        }
        artifact
    }

    fn fate(&mut self) -> Fate {
        self.used += 1;
        self.fates[(self.used - 1) % self.fates.len()]
    }
}

/// More than any of these plans can take: 2 boards x 3 rounds x 3 variants, each with its void visits, of at most 12
/// trials with their attempts.
const ENOUGH: usize = 5000;

/// Carries a plan out as an engine would; the events.
pub(crate) fn live(plan: &Plan, mut world: World) -> Vec<Event> {
    let mut life =
        Life { events: vec![Event::Planned { plan: Box::new(plan.clone()) }], run: Run::default() };
    life.run.apply(&life.events[0]);
    loop {
        // An engine that dies leaves its events; the next one has nothing else.
        if life.goes_on(plan, &mut world).is_ok() {
            return life.events;
        }
        life.run = Run::from_events(&life.events);
        life.events.push(Event::Opened { kab: "1".into(), pid: 1 });
        life.run.apply(life.events.last().unwrap());
    }
}

struct Life {
    events: Vec<Event>,
    run: Run,
}

struct Interrupted;

impl Life {
    fn add(&mut self, world: &mut World, event: Event) -> Result<(), Interrupted> {
        assert!(self.events.len() < ENOUGH, "this run does not end");
        self.run.apply(&event);
        self.events.push(event);
        // Once each, or kab would never get beyond.
        if world.interrupted.remove(&(self.events.len() - 1)) { Err(Interrupted) } else { Ok(()) }
    }

    fn goes_on(&mut self, plan: &Plan, world: &mut World) -> Result<(), Interrupted> {
        loop {
            let step = next(plan, &self.run);
            assert_eq!(step, next(plan, &Run::from_events(&self.events)), "a resumed run decides otherwise");
            let event = match step {
                Next::Build(variant) => match world.fate() {
                    Fate::LabFault => Event::BuildFailed { variant, arch: Arch::X86_64, error: "e".into() },
                    _ => Event::Built { artifact: world.build(&variant), variant, config: None },
                },
                Next::CloseInterrupted(visit) => {
                    Event::VisitVoided { visit, reason: reason(INTERRUPTED, "kab ended"), console: None }
                }
                Next::GiveUp { board, variant, reason } => Event::GaveUp { board, variant, reason },
                Next::Visit(visit) => self.visit(plan, world, visit)?,
                Next::Finish => {
                    self.add(world, Event::Finished)?;
                    return Ok(());
                }
            };
            self.add(world, event)?;
        }
    }

    /// One visit; its last event is returned.
    fn visit(&mut self, plan: &Plan, world: &mut World, visit: VisitKey) -> Result<Event, Interrupted> {
        self.add(world, Event::VisitStarted { visit: visit.clone() })?;
        match world.fate() {
            Fate::NoBoot => return Ok(failed(visit, FailureClass::Boot)),
            Fate::LabFault => return Ok(void(visit, reason("lab", "a cable"))),
            _ => self.add(world, Event::BootProved { visit: visit.clone(), proof: proof() })?,
        }
        loop {
            let open = self.run.boards[&visit.board].visits.last().unwrap();
            match next_trial(plan, &self.run, open) {
                NextTrial::End => return Ok(Event::VisitEnded { visit, console: None }),
                NextTrial::Void(reason) => return Ok(void(visit, reason)),
                NextTrial::Run(trial) => {
                    self.add(world, Event::TrialStarted { trial: trial.clone() })?;
                    let outcome = match world.fate() {
                        Fate::Crash => return Ok(failed(visit, FailureClass::Crash)),
                        Fate::LabFault => return Ok(void(visit, reason("agent-lost", "a cable"))),
                        Fate::Noted => Outcome::Noted { reasons: vec![reason("kernel-warn", "w")] },
                        Fate::FailedTrial => Outcome::Failed { reasons: vec![reason("io-error", "e")] },
                        Fate::VoidTrial => Outcome::Void { reasons: vec![reason("fio-killed", "k")] },
                        Fate::Well | Fate::NoBoot => Outcome::Ok,
                    };
                    self.add(world, ended(trial, outcome))?;
                }
            }
        }
    }
}

fn reason(rule: &str, detail: &str) -> Reason {
    Reason { rule: rule.into(), detail: detail.into() }
}

fn failed(visit: VisitKey, class: FailureClass) -> Event {
    Event::VisitFailed { visit, class, reason: reason("panic", "p"), console: None }
}

fn void(visit: VisitKey, reason: Reason) -> Event {
    Event::VisitVoided { visit, reason, console: None }
}

fn ended(trial: TrialKey, outcome: Outcome) -> Event {
    let blob = || BlobId("0".repeat(64));
    let record = TrialRecord {
        argv: Vec::new(),
        exit: FioExit::Code(0),
        output: blob(),
        stdout: blob(),
        stderr: blob(),
        kernel_log: blob(),
        proc_stat: None,
        wall_ms: 1,
        planned_ms: None,
        kernel_log_gap: None,
        cut: Vec::new(),
    };
    Event::TrialEnded { trial, record: Box::new(record), outcome, sample: None, derivation: 1 }
}

pub(crate) fn artifact(variant: &VariantName) -> Artifact {
    Artifact {
        key: "k".into(),
        arch: Arch::X86_64,
        image: "/image".into(),
        image_digest: variant.0.clone(),
        build_id: Some("b".into()),
        dtbs: None,
        dtbs_digest: None,
        modules: None,
        modules_digest: None,
        tree: "t".into(),
        config_digest: "c".into(),
        config: "/config".into(),
        compiler: "gcc".into(),
        release: "6".into(),
        log: "/log".into(),
        cached: false,
        build_ms: 1,
    }
}

fn proof() -> BootProof {
    let identity = BootIdentity {
        boot_id: "b".into(),
        build_id: None,
        cmdline: String::new(),
        release: String::new(),
        version: String::new(),
        machine: String::new(),
        cpus: 1,
        memory: 1,
        fio: None,
    };
    BootProof { identity, stamp: "s".into(), boot_ms: 1, agent: "a".into() }
}
