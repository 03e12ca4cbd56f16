//! What is rendered is what the real fio takes: it runs a tiny job of each form and tells the options that it understood.
#![allow(clippy::unwrap_used)]

use kab_fio::{JobSpec, Section, TargetKind, argv, job_file};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

const OPTIONS: [&[(&str, &str)]; 4] = [
    &[("rw", "randread"), ("bs", "4k"), ("size", "64k"), ("ioengine", "psync"), ("direct", "0")],
    &[
        ("rw", "read"),
        ("bs", "4k,8k"),
        ("size", "64k"),
        ("time_based", ""),
        ("runtime", "100ms"),
        ("ramp_time", "0"),
    ],
    &[
        ("rw", "randrw"),
        ("rwmixread", "70"),
        ("bssplit", "4k/50:8k/50"),
        ("size", "64k"),
        ("numjobs", "2"),
        ("group_reporting", ""),
    ],
    // The engine's own option stands before the engine.
    &[
        ("hipri", "0"),
        ("ioengine", "io_uring"),
        ("rw", "write"),
        ("bs", "4096"),
        ("size", "16k"),
        ("description", "a b: 'c'"),
    ],
];

fn fio(folder: &Path, arguments: &[String]) -> String {
    let output = Command::new("fio").current_dir(folder).args(arguments).output().expect("fio is installed");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(output.status.success(), "fio {arguments:?}: {said}");
    said
}

/// The options of the first job as fio tells them.
fn told(folder: &Path) -> BTreeMap<String, String> {
    let report = kab_fio::parse(&std::fs::read(folder.join("out.json")).unwrap()).unwrap();
    let options = report.options.iter().chain(&report.jobs[0].options);
    options.map(|(name, value)| (name.clone(), value.clone())).collect()
}

#[test]
fn the_same_options_arrive_by_arguments_and_by_a_file() {
    for options in OPTIONS {
        // Not every machine that tests kab has io_uring; its options are checked by parsing alone.
        let runs = !options.contains(&("ioengine", "io_uring"));
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a:b.dat");
        let (target, output) = (target.to_str().unwrap(), folder.path().join("out.json"));
        let spec =
            JobSpec { name: "j", options, target, kind: TargetKind::File, output: output.to_str().unwrap() };
        let mut arguments = argv(&spec).unwrap();
        let escaped = target.replace(':', "\\:");
        let file =
            job_file(&[Section { name: "j", options, target: &escaped, kind: TargetKind::File }]).unwrap();
        std::fs::write(folder.path().join("j.fio"), &file).unwrap();
        let by_file = |extra: &str| {
            let all = ["--output-format=json", "--output=out.json", extra, "j.fio"];
            fio(folder.path(), &all.map(str::to_owned));
        };
        if !runs {
            arguments.insert(0, "--parse-only".to_owned());
            fio(folder.path(), &arguments);
            by_file("--parse-only");
            continue;
        }
        fio(folder.path(), &arguments);
        let mut by_arguments = told(folder.path());
        // It has its own place in a file.
        by_arguments.remove("name");
        by_file("--eta=never");
        let mut by_file = told(folder.path());
        by_file.remove("stonewall");
        for (name, value) in options {
            assert_eq!(
                by_arguments.get(*name).map(String::as_str).unwrap_or(""),
                *value,
                "{name}: {by_arguments:?}"
            );
        }
        // fio 3.33 leaves a switch without a value out, and in a file it has one.
        by_file.retain(|name, _| !options.contains(&(name.as_str(), "")));
        by_arguments.retain(|_, value| !value.is_empty());
        assert_eq!(by_arguments, by_file);
    }
}

#[test]
fn a_device_that_is_not_there_is_no_file_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let options = [("rw", "write"), ("size", "4k")];
    let target = folder.path().join("sdz");
    let section =
        Section { name: "j", options: &options, target: target.to_str().unwrap(), kind: TargetKind::Device };
    std::fs::write(folder.path().join("j.fio"), job_file(&[section]).unwrap()).unwrap();
    let status = Command::new("fio").arg(folder.path().join("j.fio")).output().unwrap().status;
    assert!(!status.success() && !target.exists());
}
