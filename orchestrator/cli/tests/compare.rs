//! `kab compare` as a user types it: files, globs, folders, mails, pipes; boots; formats; exit codes.
#![allow(clippy::unwrap_used)]

mod support;

use std::io::Write;
use std::process::Stdio;
use support::Bench;

/// One result of fio at this rate, as JSON.
fn result(ios: u64) -> String {
    format!(
        "{{\"fio version\":\"fio-3.36\",\"global options\":{{\"rw\":\"randread\",\"bs\":\"4k\",\"iodepth\":\"8\"}},\"jobs\":[\
         {{\"jobname\":\"a\",\"groupid\":0,\"error\":0,\"read\":{{\"io_bytes\":{},\"io_kbytes\":{},\"runtime\":1000,\
         \"total_ios\":{ios},\"clat_ns\":{{\"min\":1000,\"max\":90000,\"mean\":20000.0,\"stddev\":1.0,\"N\":{ios},\
         \"bins\":{{\"20000\":{ios}}}}}}}}}]}}\n",
        ios * 4096,
        ios * 4
    )
}

/// Folders `old` and `new` with five boots of two files each; the new ones are this many percent faster.
fn measured(percent: i64) -> Bench {
    let bench = Bench::new();
    for (side, factor) in [("old", 100), ("new", 100 + percent)] {
        for (boot, ios) in [10_000_i64, 10_050, 9_980, 10_020, 9_960].iter().enumerate() {
            let folder = bench.path().join(side).join(format!("boot{boot}"));
            std::fs::create_dir_all(&folder).unwrap();
            for trial in 0..2 {
                let ios = u64::try_from(ios * factor / 100 + trial).unwrap();
                std::fs::write(folder.join(format!("{trial}.json")), result(ios)).unwrap();
            }
        }
    }
    bench
}

#[test]
fn globs_folders_and_lists_of_files_mean_the_same() {
    let bench = measured(10);
    let boots = ["--boot-from", "directory"];
    let ways: [&[&str]; 3] = [
        &["base=old", "patched=new"],
        &["base=old/*/*.json", "patched=new/**/*.json"],
        &["base=old/boot0", "old/boot1", "old/boot2", "old/boot3", "old/boot4", "patched=new"],
    ];
    for way in ways {
        let (out, err) = bench.expect(0, &[&["compare"], way, &boots[..]].concat());
        assert_eq!(err, "");
        assert!(out.contains("A  base: 5 boots, 10 results, fio-3.36"), "{out}");
        assert!(out.contains("randread 4k qd8") && out.contains("+10.0%") && out.contains("better"), "{out}");
    }
}

#[test]
fn a_file_is_one_measurement_by_whatever_path() {
    let bench = measured(10);
    std::os::unix::fs::symlink(".", bench.path().join("old/loop")).unwrap();
    std::os::unix::fs::symlink("boot0", bench.path().join("old/boot9")).unwrap();
    let ways = ["base=old", "old/*/*.json", "old/boot1/0.json"];
    let (out, _) =
        bench.expect(0, &[&["compare"], &ways[..], &["patched=new", "--boot-from", "file"]].concat());
    assert!(out.contains("A  base: 10 boots, 10 results") && out.contains("B  patched: 10 boots"), "{out}");
}

#[test]
fn boots_come_from_folders_files_and_patterns() {
    let bench = measured(10);
    for (from, boots) in [("directory", "5 boots"), ("file", "10 boots"), ("boot([0-4])", "5 boots")] {
        let (out, _) = bench.expect(0, &["compare", "base=old", "patched=new", "--boot-from", from]);
        assert!(out.contains(&format!("A  base: {boots}")), "{from}: {out}");
    }
    for (from, told) in [
        ("boot[0-4]", "has no group in brackets"),
        ("boot([0-4", "--boot-from"),
        ("round([0-4])", "does not match this path"),
    ] {
        let (_, err) = bench.expect(2, &["compare", "base=old", "patched=new", "--boot-from", from]);
        assert!(err.contains(told), "{from}: {err}");
    }
}

#[test]
fn without_boots_there_is_no_verdict_and_nothing_to_fail_on() {
    let bench = measured(-10);
    let (out, _) = bench.expect(0, &["compare", "base=old", "patched=new"]);
    assert!(
        out.contains("no verdict: one boot per variant") && out.contains("--boot-from directory"),
        "{out}"
    );
    let (_, err) = bench.expect(2, &["compare", "base=old", "patched=new", "--fail-on", "worse"]);
    assert!(err.contains("--fail-on needs verdicts") && err.contains("--boot-from directory"), "{err}");
    let boots = ["--boot-from", "directory", "--fail-on", "worse"];
    bench.expect(1, &[&["compare", "base=old", "patched=new"], &boots[..]].concat());
    bench.expect(0, &[&["compare", "base=new", "patched=old"], &boots[..]].concat());
}

#[test]
fn metrics_and_formats() {
    let bench = measured(10);
    let with = |extra: &[&str]| {
        let all = [&["compare", "base=old", "patched=new", "--boot-from", "directory"], extra].concat();
        bench.expect(0, &all).0
    };
    assert!(with(&["--metric", "bw"]).contains("bandwidth"));
    assert!(with(&["--metric", "clat"]).contains("clat mean"));
    let percentile = with(&["--percentile", "99.9"]);
    assert!(percentile.contains("clat p99.9") && percentile.contains("same"), "{percentile}");
    let json: serde_json::Value = serde_json::from_str(&with(&["--json"])).unwrap();
    assert_eq!(json, serde_json::from_str::<serde_json::Value>(&with(&["--format", "json"])).unwrap());
    assert_eq!(json["cells"][0]["changes"][0]["verdict"], "better");
    assert!(with(&["--format", "csv"]).starts_with("cell,variant,metric,value,"));
    assert!(with(&["--format", "markdown"]).contains("| randread 4k qd8 |"));
    assert!(with(&["--format", "html"]).contains("<td>randread 4k qd8</td>"));
    for wrong in [["--percentile", "100"], ["--margin", "0"], ["--metric", "latency"]] {
        bench.expect(2, &[&["compare", "base=old", "patched=new"], &wrong[..]].concat());
    }
}

#[test]
fn mails_and_pipes_are_read_and_what_is_not_there_is_told() {
    let bench = Bench::new();
    let mail = "From: zoe@lab.example\nSubject: numbers\n\n> Before:\n>   read: IOPS=3D12.5k, BW=3D48.8MiB/s (51.2MB/s)(488MiB/1000=\n\
                1msec)\n> \n> After:\n>   read: IOPS=3D13.5k, BW=3D52.7MiB/s (55.3MB/s)(527MiB/10001msec)\n"
        .replace("Subject: numbers\n", "Subject: numbers\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n\
                                        Content-Transfer-Encoding: quoted-printable\n");
    bench.write("mail", &mail);
    let (out, _) = bench.expect(0, &["compare", "mail"]);
    assert!(out.contains("A  Before: 1 result") && out.contains("+8.0%"), "{out}");

    let mut child = bench
        .kab(&["compare", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(mail.as_bytes()).unwrap();
    let piped = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(piped.stdout).unwrap(), out, "{}", String::from_utf8_lossy(&piped.stderr));

    bench.write("notes.txt", "nothing here\n");
    let cases: [(&[&str], &str); 5] = [
        (&["compare"], "<NAME=FILES>"),
        (&["compare", "base=nowhere", "patched=mail"], "nowhere: no such file, and no file matches"),
        (&["compare", "base=*.json", "patched=mail"], "*.json: no such file, and no file matches"),
        (&["compare", "base=notes.txt", "patched=notes.txt"], "notes.txt: no output of fio in it"),
        (&["compare", "base=-", "patched=-"], "standard input (`-`) can be read once"),
    ];
    for (arguments, told) in cases {
        let (out, err) = bench.expect(2, arguments);
        assert!(out.is_empty() && err.contains(told), "{arguments:?}: {err}");
    }
}
