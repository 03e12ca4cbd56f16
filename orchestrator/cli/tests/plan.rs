//! What `kab plan` tells of variants, on a real git repository. Nothing is built or booted.
#![allow(clippy::unwrap_used)]

mod support;

use std::path::Path;
use std::process::Command;
use support::{Bench, LAB};

fn git(folder: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command
        .current_dir(folder)
        .args(["-c", "user.name=Uma User", "-c", "user.email=uma@example.com"])
        .args(args);
    let output = command.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A repository with two files, tagged, and on top of it two patches with a cover letter as an mbox.
fn repository(bench: &Bench) -> String {
    let folder = bench.path().join("linux");
    std::fs::create_dir(&folder).unwrap();
    for file in ["a.c", "b.c"] {
        std::fs::write(folder.join(file), "int x;\n").unwrap();
    }
    git(&folder, &["init", "-q", "-b", "main"]);
    git(&folder, &["add", "-A"]);
    git(&folder, &["commit", "-q", "-m", "begin"]);
    git(&folder, &["tag", "v6.0"]);
    let base = git(&folder, &["rev-parse", "HEAD"]);
    for file in ["a.c", "b.c"] {
        std::fs::write(folder.join(file), "int y;\n").unwrap();
        git(&folder, &["commit", "-q", "-a", "-m", &format!("{file}: rename x")]);
    }
    let cover = ["format-patch", "-q", "--cover-letter", "-v2", "--thread", "-o", "../out", "-2"];
    git(&folder, &cover);
    git(&folder, &["reset", "-q", "--hard", "HEAD~2"]);
    let mut mails: Vec<_> =
        std::fs::read_dir(bench.path().join("out")).unwrap().map(|e| e.unwrap().path()).collect();
    mails.sort();
    let text: String = mails.iter().map(|mail| std::fs::read_to_string(mail).unwrap()).collect();
    bench.write("v2.mbox", &text.replace("*** SUBJECT HERE ***", "x: a better name"));
    base
}

fn planned(bench: &Bench, variants: &str) -> String {
    bench.write("lab.yaml", LAB);
    let text = format!(
        "name: e\nkernel: {{repo: ./linux, config: [tinyconfig]}}\nvariants: {variants}\nboards: [vm]\ntarget: disk\n\
         workloads: [{{name: w, fio: {{rw: randread, bs: 4k, time_based: 1, runtime: 10s}}}}]\n\
         schedule: {{visits: 2, trials: 2, warmup: 0, seed: 1}}\n"
    );
    bench.write("e.yaml", &text);
    bench.expect(0, &["plan", "e.yaml"]).0
}

#[test]
fn each_variant_is_told_with_what_it_is_and_what_differs() {
    let bench = Bench::new();
    let base = repository(&bench);
    let told = planned(
        &bench,
        "{stock: {ref: v6.0}, series: {ref: v6.0, series: ./v2.mbox}, \
         lockdep: {from: stock, config: [CONFIG_PROVE_LOCKING=y]}, quiet: {from: stock, cmdline: quiet}, \
         long: {from: stock, fio: {runtime: 60s}}}",
    );
    let of = |name: &str| {
        let (_, rest) = told.split_once(&format!("variant {name:?}")).unwrap();
        rest.split("\n\n").next().unwrap().to_owned()
    };
    let stock = of("stock");
    assert!(stock.starts_with(" (baseline)\n") && stock.contains("v6.0 of "), "{told}");
    assert!(stock.contains(&format!("-> {base} (v6.0)")), "{told}");
    assert!(stock.contains("to be built, the first of its configuration here"), "{told}");
    let series = of("series");
    assert!(series.contains("series v2.mbox: \"x: a better name\" v2, 2 patches, <"), "{told}");
    assert!(series.contains("    a.c: rename x\n    b.c: rename x\n"), "{told}");
    assert!(series.contains("differs from the baseline in 2 files: a.c, b.c"), "{told}");
    assert!(of("lockdep").contains("  config +CONFIG_PROVE_LOCKING=y\n"), "{told}");
    assert!(of("quiet").contains("  command line quiet, the baseline's is none\n"), "{told}");
    assert!(of("long").contains("  fio runtime=60s\n"), "{told}");
    // Two trials with a boot.
    assert!(
        stock.contains("a visit takes about 33 s") && of("long").contains("a visit takes about 2 min"),
        "{told}"
    );
}

#[test]
fn several_repositories_go_into_one_plan() {
    let bench = Bench::new();
    let base = repository(&bench);
    git(bench.path(), &["clone", "-q", "linux", "fork"]);
    let fork = bench.path().join("fork");
    std::fs::write(fork.join("a.c"), "int z;\n").unwrap();
    git(&fork, &["commit", "-q", "-a", "-m", "fork: z"]);
    let head = git(&fork, &["rev-parse", "HEAD"]);
    let told = planned(&bench, "{stock: {ref: v6.0}, fork: {repo: ./fork, ref: main}}");
    assert!(
        told.contains(&format!("linux -> {base}")) && told.contains(&format!("fork -> {head}")),
        "{told}"
    );
    assert!(told.contains("differs from the baseline in 1 file: a.c"), "{told}");
}
