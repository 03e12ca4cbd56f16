//! `kab check` on faulty and good files, by exit code and message.
#![allow(clippy::unwrap_used)]

mod support;

use std::path::{Path, PathBuf};
use support::{Bench, workspace};

fn yaml_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(yaml_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn every_faulty_file_ends_with_exit_code_2_and_a_place() {
    let bench = Bench::new();
    let files: Vec<PathBuf> = ["experiment", "lab"]
        .iter()
        .flat_map(|kind| yaml_files(&workspace().join("orchestrator/model/tests/bad").join(kind)))
        .collect();
    assert!(files.len() >= 20, "only {} faulty files", files.len());
    for file in files {
        let path = file.to_string_lossy();
        let (out, err) = bench.expect(2, &["check", &path]);
        assert!(out.is_empty(), "{path}: {out}");
        assert!(err.contains("error: "), "{path}: {err}");
        assert!(err.contains(&format!(" --> {path}:")), "no place in {path}: {err}");
    }
}

#[test]
fn the_demo_is_free_of_errors_and_of_warnings() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.path().join(".cache/kab/linux-source")).unwrap();
    let demo = workspace().join("labs/demo");
    let file = |name: &str| demo.join(name).to_string_lossy().into_owned();
    let (out, err) = bench.expect(0, &["check", &file("ufs-threaded-irq.yaml"), &file("lab.yaml")]);
    assert!(out.ends_with("no errors\n"), "{out}");
    assert_eq!(err, "");
}

#[test]
fn what_a_virtual_board_cannot_do_is_told_before_anything_is_built() {
    let bench = Bench::new();
    bench.write(
        "lab.yaml",
        "boards:\n  vm: {arch: x86_64, boot: {qemu: {disks: [{nvme: {name: n, size: 1GiB}}]}}}\n  \
         arm: {arch: arm64, boot: {qemu: {disks: [{nvme: {name: n, size: 1GiB}}]}}}\n",
    );
    bench.write(
        "e.yaml",
        "name: e\nkernel: {repo: .}\nvariants:\n  a: {running: true}\n  b: {ref: v1, dts: ./lab.yaml}\n  \
         c: {ref: v1, dtbo: ./lab.yaml}\n  d: {image: ./lab.yaml, dtb: ./lab.yaml}\nboards: [vm, arm]\ntarget: n\n\
         workloads: [{name: w, fio: {rw: read}}]\n",
    );
    let (_, err) = bench.expect(2, &["check", "e.yaml", "lab.yaml"]);
    for told in [
        "board vm is a virtual machine, which runs nothing before kab boots it",
        "boards that are never rebooted are not supported in this version",
        "board arm is arm64: virtual boards are x86_64 in this version",
    ] {
        assert!(err.contains(told), "no {told:?} in {err}");
    }
    let trees = err.matches("error: board vm has its device tree from the emulator").count();
    assert_eq!(trees, 3, "{err}");
}

#[test]
fn missing_files_and_labs_say_what_to_do() {
    let bench = Bench::new();
    let (_, err) = bench.expect(2, &["check", "nowhere.yaml"]);
    assert!(err.contains("cannot read nowhere.yaml"), "{err}");
    bench.write("e.yaml", "name: e\n");
    let (_, err) = bench.expect(2, &["run", "e.yaml"]);
    assert!(err.contains("--lab FILE"), "{err}");
    let (_, err) = bench.expect(2, &["report", "last"]);
    assert!(err.contains("kab runs list"), "{err}");
}

#[test]
fn schemas_are_json_and_help_has_examples() {
    let bench = Bench::new();
    for of in ["experiment", "lab", "report", "report-json"] {
        let (out, _) = bench.expect(0, &["schema", of]);
        let schema: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert!(schema["properties"].is_object(), "{out}");
    }
    for command in ["aa", "lab", "check", "schema", "plan", "build", "run", "report", "runs"] {
        let (out, _) = bench.expect(0, &[command, "--help"]);
        assert!(out.contains("Example"), "{command}: {out}");
    }
}

#[test]
fn arguments_of_run_that_mean_nothing_are_refused() {
    let bench = Bench::new();
    let cases: [(&[&str], &str); 7] = [
        (&["run"], "<EXPERIMENT>"),
        (&["run", "e.yaml", "--resume", "last"], "cannot be used with"),
        (&["run", "--resume", "last", "--quick"], "cannot be used with"),
        (&["run", "--resume", "last", "--lab", "lab.yaml"], "cannot be used with"),
        (&["run", "e.yaml", "--for", "soon"], "write for instance 90min or 8h"),
        (&["run", "e.yaml", "--for", "5ms"], "at least a second"),
        (&["run", "--resume", "20"], "kab runs list"),
    ];
    for (arguments, told) in cases {
        let (out, err) = bench.expect(2, arguments);
        assert!(out.is_empty() && err.contains(told), "{arguments:?}: {err}");
    }
}

#[test]
fn sequential_order_is_warned_of() {
    let bench = Bench::new();
    bench.write(
        "e.yaml",
        "name: e\nkernel: {repo: .}\nvariants: {a: {ref: v1}, b: {ref: v2}}\nboards: [vm]\ntarget: n\n\
         schedule: {order: sequential}\nworkloads: [{name: w, fio: {rw: read}}]\n",
    );
    let (_, err) = bench.expect(0, &["check", "e.yaml"]);
    assert!(err.contains("a drift of the board cannot be told from a difference"), "{err}");
    assert!(err.contains("e.yaml:6:19"), "{err}");
}

#[test]
fn a_plan_is_a_job_file_for_fio() {
    let bench = Bench::new();
    bench.write(
        "lab.yaml",
        "boards: {vm: {arch: x86_64, boot: {qemu: {disks: [{nvme: {name: n-0, size: 1GiB}}]}}}}\n",
    );
    bench.write(
        "e.yaml",
        "name: e\nkernel: {repo: .}\nvariants: {a: {ref: v1}, b: {ref: v2}}\nboards: [vm]\ntarget: n-0\n\
         workloads: [{name: w, fio: {bs: 4k, size: 64k, time_based: true, runtime: 50ms}, matrix: {rw: [randread, read]}}]\n",
    );
    let (out, _) = bench.expect(0, &["plan", "e.yaml", "--fio"]);
    assert!(out.starts_with("; e, by kab: N_0=/dev/... fio FILE\n[global]\nstonewall\n"), "{out}");
    assert!(out.contains("[w-randread]\nfilename=${N_0}\nallow_file_create=0\nbs=4k\n"), "{out}");
    let (jobs, target) = (bench.write("e.fio", &out), bench.write("disk", &"x".repeat(1 << 16)));
    let fio = std::process::Command::new("fio").env("N_0", &target).arg(&jobs).output().unwrap();
    let told =
        format!("{out}{}{}", String::from_utf8_lossy(&fio.stdout), String::from_utf8_lossy(&fio.stderr));
    assert!(fio.status.success() && told.matches("err= 0").count() == 2, "{told}");
}
