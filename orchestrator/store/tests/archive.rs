//! Runs as one file: whole, equal, and nothing from an archive leaves its place.
#![allow(clippy::unwrap_used)]

mod support;

use kab_store::{ArchiveError, FORMAT, LogError, RunReader};
use std::fs;
use std::io::Read;
use std::path::Path;
use support::{Bench, opened, told};

/// A run with events, blobs and input files.
fn run(bench: &Bench) -> RunReader {
    let mut log = bench.create("e");
    for bytes in [&b"output of fio"[..], &[0; 100_000]] {
        log.put(bytes).unwrap();
    }
    log.append(opened(1)).unwrap();
    let reader = log.reader().clone();
    fs::write(reader.folder().join("input-0-s\u{e4}ries 1.mbox"), "patch").unwrap();
    reader
}

fn exported(reader: &RunReader) -> Vec<u8> {
    let mut bytes = Vec::new();
    reader.export(&mut bytes).unwrap();
    bytes
}

/// Everything in a folder but the lock.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            all.extend(
                contents(&entry.path()).into_iter().map(|(inner, bytes)| (format!("{name}/{inner}"), bytes)),
            );
        } else if name != "lock" {
            all.push((name, fs::read(entry.path()).unwrap()));
        }
    }
    all.sort();
    all
}

#[test]
fn a_run_is_the_same_elsewhere_and_its_archive_each_time() {
    let (here, there) = (Bench::new(), Bench::new());
    let reader = run(&here);
    let bytes = exported(&reader);
    assert_eq!(bytes, exported(&reader));
    let imported = there.store.import(&bytes[..]).unwrap();
    assert_eq!(contents(imported.folder()), contents(reader.folder()));
    assert_eq!(imported.data_digest().unwrap(), reader.data_digest().unwrap());
    assert_eq!(exported(&imported), bytes);
    assert_eq!(there.store.import(&bytes[..]).unwrap().folder(), imported.folder(), "again is no error");
    assert_eq!(there.store.list().unwrap().len(), 1);
}

#[test]
fn half_an_event_stays_behind() {
    let (here, there) = (Bench::new(), Bench::new());
    let reader = run(&here);
    let log = reader.folder().join("events.jsonl");
    let whole = fs::read(&log).unwrap();
    fs::write(&log, [&whole[..], b"{\"v\":1,"].concat()).unwrap();
    let imported = there.store.import(&exported(&reader)[..]).unwrap();
    assert_eq!(fs::read(imported.folder().join("events.jsonl")).unwrap(), whole);
}

#[test]
fn another_run_of_the_same_id_is_not_overwritten() {
    let (here, there) = (Bench::new(), Bench::new());
    let reader = run(&here);
    let before = exported(&reader);
    there.store.import(&before[..]).unwrap();
    kab_store::RunLog::open(reader.folder()).unwrap().append(opened(2)).unwrap();
    let error = there.store.import(&exported(&reader)[..]).unwrap_err();
    assert!(matches!(error, ArchiveError::Other { .. }), "{error}");
}

/// The members of an archive, to be written again in another way.
fn members(archive: &[u8]) -> Vec<(String, Vec<u8>)> {
    let tar = zstd::decode_all(archive).unwrap();
    let mut archive = tar::Archive::new(&tar[..]);
    let member = |entry: std::io::Result<tar::Entry<'_, &[u8]>>| {
        let mut entry = entry.unwrap();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        (entry.path().unwrap().to_str().unwrap().to_owned(), bytes)
    };
    archive.entries().unwrap().map(member).collect()
}

fn packed(members: &[(String, Vec<u8>)], kind: tar::EntryType) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = tar::Header::new_gnu();
        // Names as an attacker writes them, which the library would refuse.
        header.as_old_mut().name[..name.len().min(100)]
            .copy_from_slice(&name.as_bytes()[..name.len().min(100)]);
        header.set_entry_type(if name.starts_with("export") { tar::EntryType::Regular } else { kind });
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        archive.append(&header, &bytes[..]).unwrap();
    }
    zstd::encode_all(&archive.into_inner().unwrap()[..], 1).unwrap()
}

/// Renames a member in the index, too.
fn renamed(members: &[(String, Vec<u8>)], from: &str, to: &str) -> Vec<(String, Vec<u8>)> {
    let mut members = members.to_vec();
    let index = String::from_utf8(members[0].1.clone()).unwrap();
    members[0].1 = index.replace(&format!("\"{from}\""), &format!("\"{to}\"")).into_bytes();
    members.iter_mut().filter(|(name, _)| name == from).for_each(|(name, _)| to.clone_into(name));
    members
}

#[test]
fn what_is_no_run_is_refused_and_leaves_nothing() {
    let (here, there) = (Bench::new(), Bench::new());
    let all = members(&exported(&run(&here)));
    let plain = tar::EntryType::Regular;
    let without = |name: &str| all.iter().filter(|(other, _)| other != name).cloned().collect::<Vec<_>>();
    let mut changed = all.clone();
    changed.last_mut().unwrap().1.push(b'x');
    let mut more = all.clone();
    more.push(("other".to_owned(), b"x".to_vec()));
    let mut twice = all.clone();
    twice.push(all[1].clone());
    let cases = [
        ("parent", packed(&renamed(&all, "lab.yaml", "../evil"), plain)),
        ("absolute", packed(&renamed(&all, "lab.yaml", "/tmp/evil"), plain)),
        ("deep", packed(&renamed(&all, "lab.yaml", "blobs/../../evil"), plain)),
        ("hidden", packed(&renamed(&all, "lab.yaml", ".evil"), plain)),
        ("lock", packed(&renamed(&all, "lab.yaml", "lock"), plain)),
        ("links", packed(&all, tar::EntryType::Symlink)),
        ("hard links", packed(&all, tar::EntryType::Link)),
        ("devices", packed(&all, tar::EntryType::Char)),
        ("changed", packed(&changed, plain)),
        ("more", packed(&more, plain)),
        ("twice", packed(&twice, plain)),
        ("no index", packed(&all[1..], plain)),
        ("no header", packed(&without("run.json"), plain)),
        ("cut", exported(&run(&here))[..200].to_vec()),
        ("empty", Vec::new()),
        ("text", b"not an archive at all".to_vec()),
    ];
    for (what, bytes) in cases {
        let error = there.store.import(&bytes[..]).expect_err(what);
        assert!(!told(&error).is_empty());
        let left: Vec<_> =
            fs::read_dir(there.store.folder()).unwrap().flatten().map(|entry| entry.path()).collect();
        assert!(left.is_empty(), "{what}: {left:?}");
        assert!(!there.store.folder().join("../evil").exists() && !Path::new("/tmp/evil").exists(), "{what}");
    }
    there.store.import(&packed(&all, plain)[..]).expect("the same without a change is taken");
}

#[test]
fn a_newer_archive_says_so() {
    let (here, there) = (Bench::new(), Bench::new());
    let mut all = members(&exported(&run(&here)));
    all[0].1 = String::from_utf8(all[0].1.clone())
        .unwrap()
        .replace(&format!("\"format\": {FORMAT}"), "\"format\": 99")
        .into_bytes();
    let error = there.store.import(&packed(&all, tar::EntryType::Regular)[..]).unwrap_err();
    assert!(matches!(error, ArchiveError::Newer { found: 99 }), "{error}");
}

#[test]
fn a_removed_run_is_gone_and_one_in_use_stays() {
    let bench = Bench::new();
    let log = bench.create("e");
    let reader = log.reader().clone();
    assert!(matches!(bench.store.remove(&reader), Err(LogError::InUse { .. })));
    assert!(reader.folder().exists());
    drop(log);
    bench.store.remove(&reader).unwrap();
    assert_eq!(fs::read_dir(bench.store.folder()).unwrap().count(), 0);
}
