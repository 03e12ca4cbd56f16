//! What crashes, damage and other versions may leave of a log, and what is made of it.
#![allow(clippy::unwrap_used)]

mod support;

use kab_model::{Event, Run};
use kab_store::{FORMAT, LogError, RunLog, RunReader};
use proptest::prelude::*;
use std::path::Path;
use support::{Bench, event, opened, read, told, write};

fn events(run: &Path) -> Result<Vec<Event>, LogError> {
    Ok(RunReader::open(run)?.events()?.into_iter().map(|logged| logged.event).collect())
}

/// Ends of the lines of a log.
fn ends(bytes: &[u8]) -> Vec<usize> {
    bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(index, _)| index + 1).collect()
}

/// Opens for writing and appends; afterwards the log has the first `kept` events and the new one.
fn goes_on(run: &Path, kept: &[Event]) {
    let new = opened(4711);
    RunLog::open(run).unwrap().append(new.clone()).unwrap();
    let after = RunReader::open(run).unwrap().events().unwrap();
    assert!(after.iter().enumerate().all(|(index, logged)| logged.seq == index as u64));
    let after: Vec<Event> = after.into_iter().map(|logged| logged.event).collect();
    assert_eq!(after, [kept, &[new]].concat());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn a_log_reads_back_and_folds_as_written(added in prop::collection::vec(event(), 0..12)) {
        let bench = Bench::new();
        let mut log = bench.create("e");
        for event in &added {
            let durable = log.append(event.clone()).unwrap();
            prop_assert_eq!(&durable.event, event);
            // What an observer may see is in the file already.
            let stored = log.reader().events().unwrap();
            prop_assert_eq!(stored.last(), Some(&*durable));
        }
        let all = events(log.reader().folder()).unwrap();
        prop_assert_eq!(&all[1..], &added[..]);
        prop_assert_eq!(log.run(), &Run::from_events(&all));
        let folder = log.reader().folder().to_owned();
        drop(log);
        let again = RunLog::open(&folder).unwrap();
        prop_assert_eq!(again.run(), &Run::from_events(&all));
    }
}

proptest! {
    // Each case has a thousand cuts.
    #![proptest_config(ProptestConfig::with_cases(3))]

    #[test]
    fn a_cut_anywhere_loses_at_most_the_torn_event(
        added in prop::collection::vec(event(), 1..6),
        appended_at in any::<prop::sample::Index>(),
    ) {
        let bench = Bench::new();
        let run = bench.written(&added);
        let (bytes, all) = (read(&run), events(&run).unwrap());
        let ends = ends(&bytes);
        for cut in 0..bytes.len() {
            write(&run, &bytes[..cut]);
            let kept = ends.iter().filter(|end| **end <= cut).count();
            prop_assert_eq!(&events(&run).unwrap()[..], &all[..kept], "cut at {}", cut);
        }
        let cut = appended_at.index(bytes.len());
        write(&run, &bytes[..cut]);
        goes_on(&run, &all[..ends.iter().filter(|end| **end <= cut).count()]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn anything_behind_the_last_newline_is_a_torn_event(
        added in prop::collection::vec(event(), 0..3),
        mut rest in prop::collection::vec(any::<u8>(), 1..40),
        holes in any::<bool>(),
    ) {
        let bench = Bench::new();
        let run = bench.written(&added);
        let all = events(&run).unwrap();
        rest.retain(|byte| *byte != b'\n');
        if holes {
            // The end of an append is on the disk, its beginning is not.
            rest.splice(0..0, [0, 0]);
            rest.push(b'\n');
        }
        write(&run, &[read(&run), rest].concat());
        prop_assert_eq!(&events(&run).unwrap(), &all);
        goes_on(&run, &all);
    }

    #[test]
    fn a_damaged_byte_is_told_or_changes_nothing_but_its_own_event(
        added in prop::collection::vec(event(), 1..5),
        at in any::<prop::sample::Index>(),
        to in prop::option::of(1u8..),
    ) {
        let bench = Bench::new();
        let run = bench.written(&added);
        let (mut bytes, all) = (read(&run), events(&run).unwrap());
        let at = at.index(bytes.len());
        let line = ends(&bytes).iter().filter(|end| **end <= at).count();
        bytes.splice(at..=at, to);
        write(&run, &bytes);
        if let Ok(found) = events(&run) {
            prop_assert!(found.len() + 1 >= all.len(), "{} of {}", found.len(), all.len());
            for (index, event) in found.iter().enumerate().filter(|(index, _)| *index != line) {
                prop_assert_eq!(event, &all[index]);
            }
        }
    }
}

#[test]
fn doubled_missing_and_exchanged_lines_are_told_with_their_place() {
    let bench = Bench::new();
    let run = bench.written(&[opened(1), opened(2), opened(3)]);
    let bytes = read(&run);
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    for (order, place) in [
        (vec![0, 1, 1, 2, 3], (3, 2, 1)),
        (vec![0, 2, 3], (2, 1, 2)),
        (vec![0, 1, 3, 2], (3, 2, 3)),
        (vec![1, 2, 3], (1, 0, 1)),
    ] {
        write(&run, &order.iter().flat_map(|line| lines[*line].to_vec()).collect::<Vec<u8>>());
        for error in [events(&run).unwrap_err(), RunLog::open(&run).unwrap_err()] {
            let LogError::Sequence { line, expected, found, .. } = error else { panic!("{error:?}") };
            assert_eq!((line, expected, found), place, "{order:?}");
        }
    }
}

#[test]
fn a_line_that_is_no_event_is_told_with_its_place() {
    let bench = Bench::new();
    let run = bench.written(&[opened(1), opened(2)]);
    let text = String::from_utf8(read(&run)).unwrap();
    for (wrong, line) in [
        (text.replace(r#""pid":1"#, r#""pid":-1"#), 2),
        (text.replace(r#"{"v":2,"seq":1"#, r#""v":2,"seq":1"#), 2),
        (format!("{text}\n"), 4),
        (format!("{text}rubbish\n"), 4),
    ] {
        write(&run, wrong.as_bytes());
        let error = events(&run).unwrap_err();
        assert!(matches!(error, LogError::Line { line: found, .. } if found == line), "{error:?}");
        assert!(error.to_string().ends_with(&format!("events.jsonl:{line}: not an event of this format")));
        assert!(RunLog::open(&run).is_err());
    }
}

#[test]
fn an_event_of_a_newer_kab_is_named() {
    let bench = Bench::new();
    let run = bench.written(&[]);
    let newer =
        format!("{}{{\"v\":{},\"seq\":1,\"at_ms\":0,", String::from_utf8(read(&run)).unwrap(), FORMAT + 1);
    write(&run, format!("{newer}\"event\":{{\"kind\":\"paused\",\"why\":[1]}}}}\n").as_bytes());
    let error = events(&run).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "{}:2: event \"paused\" of format 3; this kab reads up to 2: use a newer one",
            run.join("events.jsonl").display()
        )
    );
    // A kind that this kab knows is read, but not continued.
    write(&run, format!("{newer}\"event\":{{\"kind\":\"finished\",\"why\":[1]}}}}\n").as_bytes());
    assert_eq!(events(&run).unwrap()[1], Event::Finished);
    assert!(matches!(RunLog::open(&run).unwrap_err(), LogError::Newer { found: 3, .. }));
}

#[test]
fn a_newer_format_is_read_and_not_continued() {
    let bench = Bench::new();
    let run = bench.written(&[opened(1)]);
    let header = std::fs::read_to_string(run.join("run.json")).unwrap();
    let newer = header.replace("\"format\": 2", "\"format\": 3");
    std::fs::write(run.join("run.json"), &newer).unwrap();
    assert_eq!(events(&run).unwrap().len(), 2);
    let error = RunLog::open(&run).unwrap_err();
    assert!(
        error.to_string().ends_with("has format 3, newer than this kab's 2: it can be read, not continued")
    );
    std::fs::write(run.join("run.json"), newer.replace("created_ms", "created_us")).unwrap();
    let error = RunReader::open(&run).unwrap_err();
    assert!(error.to_string().contains("the header of a run of format 3; this kab reads up to 2"), "{error}");
    std::fs::write(run.join("run.json"), header.replace("created_ms", "created_us")).unwrap();
    let error = RunReader::open(&run).unwrap_err();
    assert!(
        told(&error).contains("run.json: not the header of a run: missing field `created_ms`"),
        "{error}"
    );
}

#[test]
fn an_older_format_is_refused_with_what_to_do() {
    let bench = Bench::new();
    let run = bench.written(&[opened(1)]);
    let header = std::fs::read_to_string(run.join("run.json")).unwrap();
    std::fs::write(run.join("run.json"), header.replace("\"format\": 2", "\"format\": 1")).unwrap();
    let error = RunReader::open(&run).unwrap_err().to_string();
    assert!(error.contains("has format 1, which no released kab wrote"), "{error}");
    assert!(error.contains(&format!("remove {}", run.display())), "{error}");
    assert!(RunLog::open(&run).is_err());
}

#[test]
fn a_second_writer_is_refused_and_told_who_the_first_is() {
    let bench = Bench::new();
    let mut first = bench.create("e");
    let folder = first.reader().folder().to_owned();
    let error = RunLog::open(&folder).unwrap_err();
    let owner = format!("in use by another kab (process {});", std::process::id());
    assert!(error.to_string().contains(&owner), "{error}");
    // It took nothing from the first one, and readers are free.
    first.append(opened(1)).unwrap();
    assert_eq!(events(&folder).unwrap().len(), 2);
    drop(first);
    RunLog::open(&folder).unwrap().append(opened(2)).unwrap();
}

#[test]
fn the_digest_of_the_data_leaves_a_torn_event_out() {
    let bench = Bench::new();
    let run = bench.written(&[opened(1)]);
    let digest = || RunReader::open(&run).unwrap().data_digest().unwrap();
    let (bytes, whole) = (read(&run), digest());
    for torn in [&b"{\"v\""[..], b"\0\0\0}\n"] {
        write(&run, &[&bytes, torn].concat());
        assert_eq!(digest(), whole);
    }
    RunLog::open(&run).unwrap().append(Event::Finished).unwrap();
    assert_ne!(digest(), whole);
}
