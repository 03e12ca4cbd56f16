//! How visits and trials ended, counted for each variant and compared between them.

use crate::findings::{CountDifference, Outliers, Seen, Tally};
use kab_model::{FailureClass, Outcome, Reason, VariantName, Visit, VisitState};
use kab_stats::counts::{Count, fisher};

/// The level below which a difference of counts is a finding.
const LEVEL: f64 = 0.05;

/// Rule of a void visit that kab itself ended: no fault of the board, so it is told and never tested.
pub(crate) const INTERRUPTED: &str = "interrupted";

/// The tally of one variant over the visits of one board.
pub(crate) fn tally(visits: &[Visit], variant: &VariantName) -> Tally {
    let mut tally = Tally::default();
    for visit in visits.iter().filter(|visit| &visit.key.variant == variant) {
        match &visit.state {
            VisitState::Void(reason) if reason.rule == INTERRUPTED => {
                let again = |later: &&Visit| later.key.visit > visit.key.visit && same_place(later, visit);
                let repeated = visits.iter().find(again).is_some();
                *(if repeated { &mut tally.interrupted } else { &mut tally.interrupted_for_good }) += 1;
                continue;
            }
            VisitState::Void(reason) => {
                see(&mut tally.void_visits, reason);
                continue;
            }
            VisitState::Failed(FailureClass::Boot, reason) => see(&mut tally.boot_failures, reason),
            VisitState::Failed(FailureClass::Crash, reason) => see(&mut tally.crashes, reason),
            VisitState::Open | VisitState::Ended => {}
        }
        tally.visits += 1;
        trials(visit, &mut tally);
    }
    tally
}

/// Whether two visits stand for the same variant and round.
fn same_place(a: &Visit, b: &Visit) -> bool {
    a.key.round == b.key.round && a.key.variant == b.key.variant
}

fn trials(visit: &Visit, tally: &mut Tally) {
    for trial in visit.trials.iter().filter(|trial| !trial.key.warmup) {
        let Some(outcome) = &trial.outcome else { continue };
        let (seen, count) = match outcome {
            Outcome::Ok => {
                tally.trials += 1;
                continue;
            }
            Outcome::Noted { .. } => (&mut tally.noted, &mut tally.noted_trials),
            Outcome::Failed { .. } => (&mut tally.failed, &mut tally.failed_trials),
            Outcome::Void { .. } => (&mut tally.void, &mut tally.void_trials),
        };
        *count += 1;
        outcome.reasons().iter().for_each(|reason| see(seen, reason));
        if !matches!(outcome, Outcome::Void { .. }) {
            tally.trials += 1;
        }
    }
}

/// One entry a rule: its first evidence stands for the others, whose time stamps or addresses differ.
fn see(seen: &mut Vec<Seen>, reason: &Reason) {
    match seen.iter_mut().find(|entry| entry.rule == reason.rule) {
        Some(entry) => entry.count += 1,
        None => seen.push(Seen { rule: reason.rule.clone(), detail: reason.detail.clone(), count: 1 }),
    }
}

/// Where the two variants of a pair do not end alike. `pairs` are indices in `tallies`.
pub(crate) fn count_differences(
    tallies: &[Tally],
    outliers: &[Outliers],
    pairs: &[(usize, usize)],
) -> Vec<CountDifference> {
    type Counter = (&'static str, fn(&Tally, &Outliers) -> (usize, usize));
    let counters: [Counter; 5] = [
        ("noted trials", |t, _| (t.noted_trials, t.trials)),
        ("failed trials", |t, _| (t.failed_trials, t.trials)),
        ("void trials", |t, _| (t.void_trials, t.trials + t.void_trials)),
        ("failed boots", |t, _| (failed_visits(t), t.visits)),
        ("outlying trials", |_, o| (o.low + o.high, o.of)),
    ];
    let mut found = Vec::new();
    for (pair, (candidate, reference)) in pairs.iter().enumerate() {
        for (what, counter) in counters {
            let of = |variant: usize| counter(&tallies[variant], &outliers[variant]);
            let (a, b) = (of(*candidate), of(*reference));
            let p = fisher(count(a), count(b)).get();
            if p <= LEVEL {
                found.push(CountDifference { what: what.to_owned(), pair, candidate: a, reference: b, p });
            }
        }
    }
    found
}

/// Visits that the variant did not deliver.
pub(crate) fn failed_visits(tally: &Tally) -> usize {
    tally.boot_failures.iter().chain(&tally.crashes).map(|seen| seen.count).sum()
}

fn count((hits, of): (usize, usize)) -> Count {
    Count { hits: hits as u64, of: of as u64 }
}
