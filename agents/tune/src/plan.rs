//! From what is wanted to an ordered list of changes.

use crate::catalogue::{self, Stage};
use crate::kinds::{Board, Place};
use crate::{Device, Form, Need, Profile, Setting, View};
use serde::{Deserialize, Serialize};

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// Which settings.
    pub profile: Profile,
    /// The CPU that interrupts go to, where the lab knows it.
    pub fastest_cpu: Option<u32>,
}

/// What will be done on this board.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TuningPlan {
    /// In the order in which they are made.
    pub changes: Vec<Change>,
    /// Settings that this board cannot have.
    pub lacking: Vec<Lack>,
}

/// A file and what becomes of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The setting's knob.
    pub knob: String,
    /// Which file.
    pub path: String,
    /// How it reads back.
    pub form: Form,
    /// When its turn is.
    pub stage: Stage,
    /// What it reads now, without newline.
    pub from: String,
    /// What is written. Absent where another change disturbs it and it has to be put back afterwards.
    pub to: Option<String>,
    /// Whether it must work.
    pub need: Need,
}

impl Change {
    /// Whether the file already reads as wanted.
    pub fn is_in_place(&self) -> bool {
        self.to.as_deref().is_none_or(|to| self.form.same(to, &self.from))
    }
}

/// A setting that a board cannot have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lack {
    /// The setting's knob.
    pub knob: String,
    /// Why, in words.
    pub reason: String,
    /// Whether it must be there.
    pub need: Need,
}

/// What it takes to tune a board. `disk` is the name of the target's disk or partition in sysfs.
pub fn plan(wanted: &Wanted, view: &dyn View, disk: Option<&str>) -> TuningPlan {
    let device = disk.map(|disk| Device::find(view, disk)).unwrap_or_default();
    let board = Board { view, device: &device, fastest_cpu: wanted.fastest_cpu };
    let mut plan = TuningPlan::default();
    for setting in wanted.profile.wanted() {
        add(&mut plan, &board, setting);
    }
    plan.changes.sort_by_key(|change| change.stage);
    order_limits(&mut plan.changes);
    keep_what_schedulers_reset(&mut plan.changes, view);
    plan
}

fn add(plan: &mut TuningPlan, board: &Board<'_>, setting: &Setting) {
    let lack = |reason| Lack { knob: setting.knob.clone(), reason, need: setting.need };
    let Some(knob) = catalogue::find(&setting.knob) else {
        plan.lacking.push(lack("there is no such knob".to_owned()));
        return;
    };
    match board.places(knob.kind, &setting.knob, &setting.value) {
        Ok(places) => {
            for Place { path, form, to } in places {
                let from = board.view.read(&path).unwrap_or_default().trim_end().to_owned();
                // A path that two settings name belongs to the later one.
                plan.changes.retain(|change| change.path != path);
                let (knob, stage) = (setting.knob.clone(), stage_of(knob.stage, &path));
                plan.changes.push(Change { knob, path, form, stage, from, to: Some(to), need: setting.need });
            }
        }
        Err(reason) => plan.lacking.push(lack(reason)),
    }
}

/// A path that was written out has its turn where its knob would.
fn stage_of(stage: Stage, path: &str) -> Stage {
    match path.rsplit_once('/') {
        Some((folder, file)) if folder.ends_with("/queue") => {
            if file == "scheduler" {
                Stage::Scheduler
            } else {
                Stage::Queue
            }
        }
        Some((_, "scaling_min_freq" | "scaling_max_freq")) => Stage::Limits,
        _ => stage,
    }
}

/// The pair of a domain's limits: kernels refuse or bend a lower limit above the upper one, so whichever makes room
/// goes first.
fn order_limits(changes: &mut [Change]) {
    let frequency = |text: &str| text.trim().parse::<u64>().ok();
    let start = changes.iter().position(|change| change.stage == Stage::Limits).unwrap_or(changes.len());
    let end = changes[start..].iter().position(|change| change.stage != Stage::Limits);
    let end = end.map_or(changes.len(), |length| start + length);
    let limits = &mut changes[start..end];
    let raised: Vec<String> = limits
        .iter()
        .filter(|change| is_min(&change.path))
        .filter(|min| {
            let max = limits.iter().find(|other| domain(other) == domain(min) && !is_min(&other.path));
            let to = min.to.as_deref().and_then(frequency);
            to > max.and_then(|max| frequency(&max.from)).or(to)
        })
        .map(|change| domain(change).to_owned())
        .collect();
    limits.sort_by_key(|change| {
        let domain = domain(change);
        let max_first = raised.iter().any(|raised| raised == domain);
        (domain.to_owned(), is_min(&change.path) == max_first)
    });
}

fn is_min(path: &str) -> bool {
    path.ends_with("min_freq")
}

fn domain(change: &Change) -> &str {
    change.path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// A scheduler that changes takes these with it; they are recorded before, and put back after it.
fn keep_what_schedulers_reset(changes: &mut Vec<Change>, view: &dyn View) {
    let schedulers: Vec<Change> = changes
        .iter()
        .filter(|change| change.stage == Stage::Scheduler && !change.is_in_place())
        .cloned()
        .collect();
    for scheduler in schedulers {
        for file in ["nr_requests", "wbt_lat_usec"] {
            let path = format!("{}/{file}", domain(&scheduler));
            let Some(from) = view.read(&path) else { continue };
            if changes.iter().any(|change| change.path == path) {
                continue;
            }
            let from = from.trim_end().to_owned();
            let at =
                changes.iter().rposition(|change| change.stage <= Stage::Queue).map_or(0, |last| last + 1);
            let kept =
                Change { path, from, to: None, stage: Stage::Queue, form: Form::Words, ..scheduler.clone() };
            changes.insert(at, kept);
        }
    }
}
