//! Blobs: what is put comes back, and nothing else does.
#![allow(clippy::unwrap_used)]

mod support;

use kab_model::BlobId;
use kab_store::BlobError;
use proptest::prelude::*;
use std::fs;
use support::{Bench, told};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_was_put_comes_back_and_damage_is_told(
        bytes in prop::collection::vec(any::<u8>(), 0..3000),
        at in any::<prop::sample::Index>(),
        flip in 1u8..,
    ) {
        let bench = Bench::new();
        let log = bench.create("e");
        let id = log.put(&bytes).unwrap();
        prop_assert_eq!(&log.put(&bytes).unwrap(), &id);
        prop_assert_eq!(&log.reader().blob(&id).unwrap(), &bytes);

        let path = log.reader().folder().join("blobs").join(&id.0);
        let mut stored = fs::read(&path).unwrap();
        let at = at.index(stored.len());
        stored[at] ^= flip;
        fs::write(&path, &stored).unwrap();
        // A bit of zstd's header may mean nothing to the content.
        if let Ok(read) = log.reader().blob(&id) {
            prop_assert_eq!(&read, &bytes);
        }
        fs::write(&path, &stored[..at]).unwrap();
        prop_assert!(log.reader().blob(&id).is_err(), "cut at {}", at);
        prop_assert_eq!(&log.put(&bytes).unwrap(), &id, "put again");
        prop_assert_eq!(&log.reader().blob(&id).unwrap(), &bytes, "and repaired");
    }
}

#[test]
fn other_bytes_under_a_name_are_told() {
    let bench = Bench::new();
    let log = bench.create("e");
    let (one, other) = (log.put(b"one").unwrap(), log.put(b"other").unwrap());
    let blobs = log.reader().folder().join("blobs");
    fs::copy(blobs.join(&other.0), blobs.join(&one.0)).unwrap();
    let error = log.reader().blob(&one).unwrap_err();
    assert!(matches!(&error, BlobError::Corrupt { found, .. } if *found == other), "{error:?}");
}

#[test]
fn a_missing_blob_and_a_name_that_is_none_are_told() {
    let bench = Bench::new();
    let log = bench.create("e");
    let missing = log.reader().blob(&BlobId("0".repeat(64))).unwrap_err();
    assert!(told(&missing).contains("No such file"), "{}", told(&missing));
    for name in ["", "../run.json", "/dev/zero", &"g".repeat(64)] {
        let error = log.reader().blob(&BlobId(name.into())).unwrap_err();
        assert!(told(&error).ends_with("this is no blob's name"), "{}", told(&error));
    }
}

#[test]
fn what_a_crash_left_among_the_blobs_does_no_harm() {
    let bench = Bench::new();
    let log = bench.create("e");
    fs::write(log.reader().folder().join("blobs/.tmpAbCdEf"), b"half").unwrap();
    let id = log.put(b"whole").unwrap();
    assert_eq!(log.reader().blob(&id).unwrap(), b"whole");
    assert_eq!(log.reader().events().unwrap().len(), 1);
}
