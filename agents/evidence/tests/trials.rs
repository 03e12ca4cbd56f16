//! One case for each folder of `tests/trials`: what a real fio 3.33 left behind, judged.
//!
//! `io-error` had its reads answered with EIO after 5000 of them; the signals were sent from outside; in
//! `no-space` the target was /dev/full. `record.json` is the stored record of the trial.

#![allow(clippy::unwrap_used)]

use kab_evidence::{Judgement, RawTrial, derive};
use kab_model::{FioExit, Outcome, TrialRecord};
use proptest::prelude::*;
use std::path::{Path, PathBuf};

struct Stored {
    record: TrialRecord,
    output: Vec<u8>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Stored {
    fn load(case: &str) -> Self {
        let folder = trials().join(case);
        let read = |file: &str| std::fs::read(folder.join(file)).unwrap();
        let record = serde_json::from_slice(&read("record.json")).unwrap();
        Self { record, output: read("output"), stdout: read("stdout"), stderr: read("stderr") }
    }

    fn judge(&self, kernel_log: &str) -> Judgement {
        derive(&RawTrial {
            record: &self.record,
            output: &self.output,
            stdout: &self.stdout,
            stderr: &self.stderr,
            kernel_log: kernel_log.as_bytes(),
        })
    }
}

fn trials() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trials")
}

fn rules(judgement: &Judgement) -> Vec<&str> {
    judgement.outcome.reasons().iter().map(|reason| reason.rule.as_str()).collect()
}

#[test]
fn every_trial_is_judged_as_recorded() {
    let mut cases: Vec<String> = std::fs::read_dir(trials())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    cases.sort();
    let told: String = cases.iter().map(|case| tell(case, &Stored::load(case).judge(""))).collect();
    insta::with_settings!({omit_expression => true}, { insta::assert_snapshot!("trials", told) });
}

fn tell(case: &str, judgement: &Judgement) -> String {
    let mut told = format!("{case}: {}\n", judgement.outcome.word());
    for reason in judgement.outcome.reasons() {
        told.push_str(&format!("  {reason}\n"));
    }
    if let Some(sample) = &judgement.sample {
        told.push_str(&format!("  {sample:?}\n"));
    }
    told
}

#[test]
fn a_judgement_is_the_same_every_time() {
    let stored = Stored::load("ok-clones-randrw");
    let log = "4,1,1,-;WARNING: CPU: 0 PID: 1 at a.c:1 f\n";
    let first = stored.judge(log);
    for _ in 0..10 {
        assert_eq!(stored.judge(log), first);
    }
    let bits = |judgement: &Judgement| judgement.sample.as_ref().unwrap().cpu_per_io.unwrap().to_bits();
    assert_eq!(bits(&stored.judge(log)), bits(&first));
}

/// A stored run keeps samples as JSON; reading them back must give the same bits.
#[test]
fn a_sample_survives_its_storage_bit_for_bit() {
    let sample = Stored::load("ok-clones-randrw").judge("").sample.unwrap();
    let text = serde_json::to_string(&sample).unwrap();
    assert_eq!(serde_json::from_str::<kab_model::Sample>(&text).unwrap(), sample);
}

#[test]
fn what_the_kernel_did_is_noted_and_counted() {
    let noted = Stored::load("ok").judge("4,7,1,-;INFO: task fio:411 blocked for more than 120 seconds.\n");
    assert_eq!((noted.outcome.word(), rules(&noted)), ("noted", vec!["hung-task"]));
    assert_eq!(noted.sample, Stored::load("ok").judge("").sample, "the numbers stay what they are");
}

#[test]
fn a_panic_outweighs_what_it_leaves_behind() {
    let panic = "2,7,1,-;Kernel panic - not syncing: Fatal exception\n";
    for (case, rest) in
        [("main-killed", vec!["fio-killed"]), ("bad-option", vec!["fio-refused"]), ("ok", vec![])]
    {
        let judged = Stored::load(case).judge(panic);
        assert_eq!(judged.outcome.word(), "failed", "{case}");
        assert_eq!(rules(&judged), [vec!["kernel-panic"], rest].concat(), "{case}");
        assert_eq!(judged.sample, None, "{case}");
    }
}

#[test]
fn a_missing_fio_is_the_labs_fault() {
    let mut stored = Stored::load("main-killed");
    stored.record.exit = FioExit::NotStarted("fio: No such file or directory".into());
    let judged = stored.judge("");
    assert_eq!((judged.outcome.word(), rules(&judged)), ("void", vec!["fio-missing"]));
}

#[test]
fn a_detail_has_no_control_characters_and_an_end() {
    let mut stored = Stored::load("main-killed");
    stored.record.exit = FioExit::NotStarted(format!("\u{1b}[2J{}", "x".repeat(5000)));
    let judged = stored.judge("");
    let detail = &judged.outcome.reasons()[0].detail;
    assert!(detail.starts_with("[2Jxx") && detail.len() == 1000, "{detail:?}");
}

#[test]
fn a_stall_cannot_make_a_trial_void() {
    let mut stored = Stored::load("ok");
    retime(&mut stored, 2000, 4500);
    stored.record.wall_ms = 4600;
    let judged = stored.judge("");
    assert_eq!((judged.outcome.word(), rules(&judged)), ("noted", vec!["runtime-long"]));
    let (sample, usual) = (judged.sample.unwrap(), Stored::load("ok").judge("").sample.unwrap());
    assert!(sample.iops < usual.iops / 2.0, "the stall is in the number");
}

#[test]
fn a_clock_that_disagrees_makes_a_trial_void() {
    let mut stored = Stored::load("ok");
    retime(&mut stored, 2000, 15_372_283_518_324);
    let judged = stored.judge("");
    assert_eq!((judged.outcome.word(), rules(&judged)), ("void", vec!["clock"]));
}

#[test]
fn a_job_that_ends_early_without_error_is_void() {
    let mut stored = Stored::load("ok");
    retime(&mut stored, 2000, 900);
    let judged = stored.judge("");
    assert_eq!((judged.outcome.word(), rules(&judged)), ("void", vec!["runtime-off"]));
}

#[test]
fn a_lost_clone_is_noticed() {
    let mut stored = Stored::load("ok-clones-randrw");
    stored.record.argv.push("--numjobs=3".into());
    let judged = stored.judge("");
    assert_eq!((judged.outcome.word(), rules(&judged)), ("void", vec!["jobs-missing"]));
}

#[test]
fn no_io_is_failed_only_where_the_kernel_tells_of_trouble() {
    let mut stored = Stored::load("no-target");
    (stored.record.exit, stored.stderr, stored.stdout) = (FioExit::Code(0), vec![], vec![]);
    let quiet = stored.judge("");
    assert_eq!((quiet.outcome.word(), rules(&quiet)), ("void", vec!["no-io"]));
    let troubled =
        stored.judge("3,7,1,-;ufshcd-qcom 1d84000.ufshc: ufshcd_abort: Device abort task at tag 7\n");
    assert_eq!((troubled.outcome.word(), rules(&troubled)), ("failed", vec!["stalled", "ufs-error"]));
}

#[test]
fn cut_output_is_void_not_a_number() {
    let mut stored = Stored::load("ok");
    stored.output.truncate(stored.output.len() / 2);
    let judged = stored.judge("");
    assert_eq!((judged.outcome.word(), rules(&judged)), ("void", vec!["fio-output"]));
}

#[test]
fn output_that_was_not_kept_whole_is_void_even_where_it_reads_well() {
    let mut stored = Stored::load("ok");
    stored.record.cut = vec!["output".to_owned()];
    let judged = stored.judge("");
    assert_eq!((judged.outcome.word(), rules(&judged)), ("void", vec!["fio-output-cut"]));
    stored.output.truncate(stored.output.len() / 2);
    assert_eq!(rules(&stored.judge("")), ["fio-output-cut"], "the cause alone, not what it leads to");
}

#[test]
fn a_kernel_log_with_gaps_is_noted_and_the_numbers_stand() {
    let whole = Stored::load("ok");
    for (gap, cut, told) in [
        (Some("3 records lost"), vec![], "3 records lost"),
        (Some("unreadable: \u{1b}[2J"), vec![], "unreadable: [2J"),
        (None, vec!["kernel_log".to_owned()], "only its first 0 bytes were kept"),
    ] {
        let mut stored = Stored::load("ok");
        (stored.record.kernel_log_gap, stored.record.cut) = (gap.map(str::to_owned), cut);
        let judged = stored.judge("");
        assert_eq!((judged.outcome.word(), rules(&judged)), ("noted", vec!["kernel-log-incomplete"]));
        assert!(judged.outcome.reasons()[0].detail.ends_with(told), "{:?}", judged.outcome);
        assert_eq!(judged.sample, whole.judge("").sample);
    }
}

#[test]
fn fio_that_could_not_be_killed_failed_whatever_its_output() {
    let mut stored = Stored::load("main-killed");
    (stored.record.exit, stored.record.wall_ms) = (FioExit::Deadline, 305_000);
    stored.stderr =
        b"kab-agent: fio was left behind: it still was there\nprocess 7 (fio) in state D\n".to_vec();
    let judged = stored.judge("");
    assert_eq!((judged.outcome.word(), rules(&judged)), ("failed", vec!["fio-hang"]));
    let told = "fio had not ended after 305000 ms and could not be killed either";
    assert_eq!(judged.outcome.reasons()[0].detail, told);
}

#[test]
fn a_gap_in_the_kernel_log_is_no_trouble_by_itself() {
    let mut stored = Stored::load("no-target");
    (stored.record.exit, stored.stderr, stored.stdout) = (FioExit::Code(0), vec![], vec![]);
    stored.record.kernel_log_gap = Some("1 records lost".to_owned());
    let judged = stored.judge("");
    assert_eq!((judged.outcome.word(), rules(&judged)), ("void", vec!["no-io", "kernel-log-incomplete"]));
}

#[test]
fn cpu_cost_comes_from_busy_ticks_without_the_ramp() {
    let mut stored = Stored::load("ok");
    let before = "cpu  100 10 200 9000 50 5 6 7 100 0".to_owned();
    let after = "cpu  180 10 320 9900 99 7 8 9 180 0".to_owned(); // 80 + 120 + 2 + 2 + 2 busy ticks
    stored.record.proc_stat = Some((before, after.clone()));
    let sample = stored.judge("").sample.unwrap();
    assert_eq!(sample.cpu_per_io, Some(206.0 * 1e7 / sample.total_ios as f64));

    stored.record.argv.push("--ramp_time=2s".into());
    let ramped = stored.judge("").sample.unwrap().cpu_per_io.unwrap();
    let share = sample.runtime_ms as f64 / (sample.runtime_ms as f64 + 2000.0);
    assert!((ramped / sample.cpu_per_io.unwrap() - share).abs() < 1e-12);

    stored.record.proc_stat = Some((after, "cpu  1 1 1 1".to_owned()));
    assert_eq!(stored.judge("").sample.unwrap().cpu_per_io, None, "counters never go back");
}

proptest! {
    #[test]
    fn any_bytes_are_judged_and_only_counted_trials_have_numbers(
        case in prop::sample::select(vec!["ok", "io-error", "worker-killed", "bad-option"]),
        at in any::<prop::sample::Index>(),
        with in any::<u8>(),
        log in ".{0,200}",
        stat in "cpu( [0-9]{1,20}){0,10}",
        exit in prop::sample::select(vec![FioExit::Code(0), FioExit::Code(3), FioExit::Signal(9), FioExit::Deadline]),
    ) {
        let mut stored = Stored::load(case);
        if !stored.output.is_empty() {
            let at = at.index(stored.output.len());
            stored.output[at] = with;
        }
        stored.record.proc_stat = Some((stat.clone(), stat));
        stored.record.exit = exit;
        let judged = stored.judge(&log);
        prop_assert_eq!(judged.sample.is_some(), judged.outcome.counts());
        prop_assert_eq!(judged.outcome.reasons().is_empty(), judged.outcome == Outcome::Ok);
    }
}

/// Replaces the run time of the job's reads in fio's output.
fn retime(stored: &mut Stored, wanted: u64, told: u64) {
    let text = String::from_utf8(std::mem::take(&mut stored.output)).unwrap();
    let line = |ms: u64| format!("\"runtime\" : {ms}");
    let found = (wanted - 5..=wanted + 50).map(line).find(|line| text.contains(line.as_str())).unwrap();
    stored.output = text.replace(&found, &line(told)).into_bytes();
}
