//! A disk that takes half a line. The limit on the size of files stands in for it: a write that crosses it is cut
//! short, and the next one fails.
#![allow(clippy::unwrap_used)]

mod support;

use kab_model::{Event, Reason};
use kab_store::{LogError, RunLog, RunReader};
use std::fs;
use std::path::Path;
use std::process::Command;
use support::{Bench, events_file, opened};

const RUN: &str = "KAB_TEST_RUN";

/// Blocks of 512 bytes that `ulimit -f` lets a file have.
const BLOCKS: u64 = 16;

#[test]
fn half_an_event_is_taken_back_and_the_run_goes_on() {
    if let Some(run) = std::env::var_os(RUN) {
        return fill(Path::new(&run));
    }
    let bench = Bench::new();
    let run = bench.written(&[opened(1)]);
    let script = format!("ulimit -f {BLOCKS} && trap '' XFSZ && exec \"$0\" --exact --nocapture \"$1\"");
    let output = Command::new("sh")
        .args(["-c", &script])
        .arg(std::env::current_exe().unwrap())
        .arg("half_an_event_is_taken_back_and_the_run_goes_on")
        .env(RUN, &run)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("filled"), "the other process did not run the test: {said}");

    let mut log = RunLog::open(&run).unwrap();
    assert!(log.run().finished, "the event that still fitted is there");
    let number = log.append(opened(2)).unwrap().seq;
    assert_eq!(RunReader::open(&run).unwrap().events().unwrap().len() as u64, number + 1);
}

/// The part under the limit.
fn fill(run: &Path) {
    let mut log = RunLog::open(run).unwrap();
    let long = |length: usize| Event::GaveUp {
        board: "b".into(),
        variant: None,
        reason: Reason { rule: "long".into(), detail: "x".repeat(length) },
    };
    while fs::metadata(events_file(run)).unwrap().len() < BLOCKS * 512 - 1000 {
        log.append(long(300)).unwrap();
    }
    let whole = (fs::read(events_file(run)).unwrap(), log.run().clone());
    for _ in 0..3 {
        let error = log.append(long(5000)).unwrap_err();
        assert!(matches!(error, LogError::Io { action: "append to", .. }), "{error:?}");
        assert_eq!((fs::read(events_file(run)).unwrap(), log.run().clone()), whole, "half an event is left");
    }
    let noise: Vec<u8> =
        (0..20_000u64).flat_map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes()).collect();
    assert!(log.put(&noise).is_err());
    assert_eq!(fs::read_dir(run.join("blobs")).unwrap().count(), 0, "half a blob is left");
    log.append(Event::Finished).unwrap();
    println!("filled");
}
