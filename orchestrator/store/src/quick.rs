//! The line of an ended trial, read without detours.
//!
//! Nearly all bytes of a log are ended trials. Their event is an internally tagged enum with flattened members, which serde can only
//! read by building a tree first; this reads the same line straight into its members. What does not fit exactly is left to the
//! general way, which also explains what is wrong, so that this one only ever changes how long it takes.

use kab_model::{
    BoardName, CellId, Event, Logged, Outcome, Reason, Sample, TrialKey, TrialRecord, VariantName, VisitKey,
};
use serde::Deserialize;

/// What every such line contains near its beginning.
const MARK: &[u8] = b"\"event\":{\"kind\":\"trial_ended\"";
/// Bytes before which it must stand.
const NEAR: usize = 120;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    v: u32,
    seq: u64,
    at_ms: i64,
    event: Ended,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ended {
    #[serde(rename = "kind")]
    _kind: Kind,
    trial: Key,
    record: Box<TrialRecord>,
    outcome: Word,
    reasons: Option<Vec<Reason>>,
    sample: Option<Sample>,
    derivation: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    TrialEnded,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Ok,
    Noted,
    Failed,
    Void,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Key {
    board: BoardName,
    round: u32,
    variant: VariantName,
    visit: u32,
    cell: CellId,
    warmup: bool,
    index: u32,
    attempt: u32,
}

/// The event of a line that is an ended trial of today's form; nothing for any other line.
pub(crate) fn ended_trial(line: &[u8]) -> Option<Logged> {
    let beginning = &line[..line.len().min(NEAR)];
    beginning.windows(MARK.len()).find(|window| *window == MARK)?;
    let Line { v, seq, at_ms, event } = serde_json::from_slice(line).ok()?;
    let outcome = match (event.outcome, event.reasons) {
        (Word::Ok, None) => Outcome::Ok,
        (Word::Noted, Some(reasons)) => Outcome::Noted { reasons },
        (Word::Failed, Some(reasons)) => Outcome::Failed { reasons },
        (Word::Void, Some(reasons)) => Outcome::Void { reasons },
        _ => return None,
    };
    let Key { board, round, variant, visit, cell, warmup, index, attempt } = event.trial;
    let visit = VisitKey { board, round, variant, visit };
    let trial = TrialKey { visit, cell, warmup, index, attempt };
    let (record, sample, derivation) = (event.record, event.sample, event.derivation);
    Some(Logged { v, seq, at_ms, event: Event::TrialEnded { trial, record, outcome, sample, derivation } })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use kab_model::{BlobId, FioExit};

    fn ended(outcome: Outcome, sample: bool, gap: Option<String>) -> Logged {
        let blob = || BlobId("ab".repeat(32));
        let record = TrialRecord {
            argv: vec!["fio".to_owned(), "--name=\"x\"\n".to_owned()],
            exit: FioExit::NotStarted("no \u{e4}".to_owned()),
            output: blob(),
            stdout: blob(),
            stderr: blob(),
            kernel_log: blob(),
            proc_stat: Some(("cpu 1".to_owned(), "cpu 2".to_owned())),
            wall_ms: 7,
            planned_ms: None,
            kernel_log_gap: gap,
            cut: Vec::new(),
        };
        let sample = sample.then_some(Sample {
            total_ios: 1,
            io_bytes: 4096,
            runtime_ms: 3,
            iops: 0.1 + 0.2,
            bw: 1e300,
            usr_pct: 0.0,
            sys_pct: 1.5,
            cpu_per_io: None,
            clat_mean: Some(2.5),
            clat_bins: kab_model::LatencyBins::new(vec![(1000, 2), (1016, 1)]),
        });
        let visit = VisitKey { board: "b".into(), round: 1, variant: "v".into(), visit: 3 };
        let trial = TrialKey { visit, cell: "w/1".into(), warmup: false, index: 2, attempt: 1 };
        let event = Event::TrialEnded { trial, record: Box::new(record), outcome, sample, derivation: 4 };
        Logged { v: 1, seq: 5, at_ms: -1, event }
    }

    #[test]
    fn both_ways_read_the_same() {
        let reasons = vec![Reason { rule: "r".to_owned(), detail: "d".to_owned() }];
        let outcomes = [
            Outcome::Ok,
            Outcome::Noted { reasons: reasons.clone() },
            Outcome::Failed { reasons: reasons.clone() },
            Outcome::Void { reasons },
        ];
        for outcome in outcomes {
            for (sample, gap) in [(true, None), (false, Some("3 records lost".to_owned()))] {
                let logged = ended(outcome.clone(), sample, gap);
                let line = serde_json::to_vec(&logged).unwrap();
                let general: Logged = serde_json::from_slice(&line).unwrap();
                assert_eq!(ended_trial(&line).unwrap(), general);
                assert_eq!(general, logged);
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_left_to_the_general_way() {
        let line = serde_json::to_string(&ended(Outcome::Ok, true, None)).unwrap();
        let newer = line.replace("\"derivation\":4", "\"derivation\":4,\"new\":1");
        assert!(ended_trial(newer.as_bytes()).is_none());
        assert!(serde_json::from_str::<Logged>(&newer).is_ok());
        let opened = Logged { v: 1, seq: 1, at_ms: 0, event: Event::Opened { kab: "0".to_owned(), pid: 1 } };
        assert!(ended_trial(&serde_json::to_vec(&opened).unwrap()).is_none());
        assert!(ended_trial(&line.as_bytes()[..200]).is_none());
    }
}
