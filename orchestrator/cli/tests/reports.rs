//! Reports, drafts and archives of stored runs, as a user makes them.
#![allow(clippy::unwrap_used)]

#[path = "../../../reports/report/tests/support/mod.rs"]
mod made;
mod support;

use kab_model::{Event, Logged};
use kab_store::{FORMAT, Store};
use made::{Fate, Lab, source, two_kernels};
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use support::Bench;

const POSTED: &str = "From: =?utf-8?q?Zo=C3=AB?= Lin <zoe@lab.example>\n\
    To: \"Doe, John\" <john@lab.example>\n\
    Cc: list@lists.example\n\
    Subject: [PATCH v2 0/2] scsi: demo: spare a lock\n\
    Date: Mon, 28 Jul 2025 17:19:00 +0200\n\
    Message-ID: <cover@lab.example>\n\
    \n\
    This spares a lock.\n";

/// Stores what happened in `lab` as one run, with the posted series as its input.
fn stored(bench: &Bench, lab: &Lab) -> PathBuf {
    let store = Store::new(bench.store());
    let files: [(&str, &[u8]); 3] = [
        ("experiment.yaml", b"name: e\n"),
        ("lab.yaml", b"boards: {}\n"),
        ("input-0-v2.mbox", POSTED.as_bytes()),
    ];
    let log = store.create(lab.plan.clone(), "lab", "0.1.0", &files).unwrap();
    let folder = log.reader().folder().to_owned();
    // Written at once: an append syncs each event, and there are many.
    let mut lines = fs::read_to_string(folder.join("events.jsonl")).unwrap();
    for (event, seq) in lab.events().into_iter().skip(1).zip(1..) {
        let logged = Logged { v: FORMAT, seq, at_ms: 0, event };
        assert!(!matches!(logged.event, Event::Planned { .. }));
        writeln!(lines, "{}", serde_json::to_string(&logged).unwrap()).unwrap();
    }
    fs::write(folder.join("events.jsonl"), lines).unwrap();
    folder
}

/// Two kernels, where the series is slower by a tenth in one test.
fn slower() -> Lab {
    two_kernels(6, [0.9, 1.0, 1.0, 1.0])
}

#[test]
fn a_run_carried_elsewhere_gives_the_same_reports() {
    let (here, there) = (Bench::new(), Bench::new());
    stored(&here, &slower());
    let file = there.path().join("run.tar.zst");
    let (out, _) = here.expect(0, &["runs", "export", "last", file.to_str().unwrap()]);
    let (again, _) = there.expect(0, &["runs", "import", "run.tar.zst"]);
    assert_eq!(
        out.split("data ").nth(1).unwrap().lines().next(),
        again.split("data ").nth(1).unwrap().lines().next()
    );
    let forms: [&[&str]; 7] = [
        &["--full"],
        &["--format", "markdown", "--full"],
        &["--changelog"],
        &["--format", "json"],
        &["--format", "csv"],
        &["--format", "svg", "--plot", "randread/1"],
        &["--format", "mail", "--reply-to", "cover@lab.example", "--quote"],
    ];
    for form in forms {
        let arguments: Vec<&str> = ["report", "last"].iter().chain(form).copied().collect();
        assert_eq!(here.expect(0, &arguments), there.expect(0, &arguments), "{form:?}");
    }
    let (_, err) = here.expect(2, &["runs", "export", "last", file.to_str().unwrap()]);
    assert!(err.contains("run.tar.zst"), "an existing file stays: {err}");
    fs::write(there.path().join("no.tar.zst"), "nothing").unwrap();
    there.expect(2, &["runs", "import", "no.tar.zst"]);
}

#[test]
fn a_run_is_removed_by_enough_digits() {
    let bench = Bench::new();
    let folder = stored(&bench, &slower());
    let id = folder.file_name().unwrap().to_str().unwrap().to_owned();
    for slip in ["last", &id[..3]] {
        bench.expect(2, &["runs", "rm", slip]);
    }
    bench.expect(2, &["runs", "rm", &id, "ffffffffffff"]);
    assert!(folder.exists(), "one wrong name, and nothing is removed");
    bench.expect(0, &["runs", "rm", &id[..6]]);
    assert!(!folder.exists());
}

#[test]
fn a_template_with_a_mistake_is_a_usage_error_with_its_place() {
    let bench = Bench::new();
    stored(&bench, &slower());
    bench.write("mine.j2", "{{ title }}\n{{ titel }}\n");
    let (out, err) = bench.expect(2, &["report", "last", "--template", "mine.j2"]);
    assert!(out.is_empty());
    assert!(err.contains("mine.j2:2: ") && err.contains("{{ titel }}") && err.contains("^^^^^"), "{err}");
    bench.write("mine.j2", "{{ data.run.visits_done }} boots\n");
    bench.expect(0, &["report", "last", "--template", "mine.j2", "-o", "out.txt"]);
    assert_eq!(fs::read_to_string(bench.path().join("out.txt")).unwrap(), "12 boots");
}

#[test]
fn a_draft_reads_back_as_the_report() {
    let bench = Bench::new();
    stored(&bench, &slower());
    bench.write("posted.mbox", POSTED);
    let arguments = ["report", "last", "--format", "mail", "--reply-to", "posted.mbox", "--tested-by"];
    let (draft, _) = bench.expect(0, &[&arguments[..], &["Kim Ode <kim@lab.example>"]].concat());
    let (report, _) = bench.expect(0, &["report", "last"]);
    let mail = kab_mail::read(draft.as_bytes()).unwrap().mails.remove(0);
    let body: Vec<&str> = mail.body.iter().map(|line| line.text.as_str()).collect();
    let expected = format!("{report}\nTested-by: Kim Ode <kim@lab.example> # on vm-ufs");
    assert_eq!(body.join("\n"), expected);
    assert!(
        draft.lines().all(|line| line.chars().count() <= 78 && line.is_ascii() || line.starts_with("To:")),
        "{draft}"
    );
    assert_eq!(mail.in_reply_to.as_deref(), Some("cover@lab.example"));
    assert_eq!(mail.references, ["cover@lab.example"]);
    assert_eq!(mail.subject.text, "Re: [PATCH v2 0/2] scsi: demo: spare a lock");
    assert_eq!(mail.to[0].name.as_deref(), Some("Zo\u{eb} Lin"));
    let cc: Vec<&str> = mail.cc.iter().map(|person| person.address.as_str()).collect();
    assert_eq!(cc, ["john@lab.example", "list@lists.example"]);
}

#[test]
fn git_send_email_takes_the_draft() {
    let bench = Bench::new();
    stored(&bench, &slower());
    bench.write("posted.mbox", POSTED);
    bench.expect(
        0,
        &["report", "last", "--format", "mail", "--reply-to", "posted.mbox", "--quote", "-o", "reply.eml"],
    );
    let output = Command::new("git")
        .args([
            "send-email",
            "--dry-run",
            "--confirm=never",
            "--from=Kim <kim@lab.example>",
            "--smtp-server=/bin/false",
        ])
        .args(["--suppress-cc=self", "reply.eml"])
        .current_dir(bench.path())
        .env("HOME", bench.path())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_NAME"), "Kim")))
        .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_EMAIL"), "kim@lab.example")))
        .output()
        .unwrap();
    let told =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "is git-email installed (`make packages`)? {told}");
    assert!(told.contains("In-Reply-To: <cover@lab.example>"), "{told}");
    assert!(told.contains("Subject: Re: [PATCH v2 0/2] scsi: demo: spare a lock"), "{told}");
    assert!(told.contains("-i zoe@lab.example john@lab.example list@lists.example\n"), "{told}");
    assert!(told.contains("Result: OK"), "{told}");
}

#[test]
fn tested_by_is_never_said_of_what_did_not_run() {
    let mut lab = slower();
    lab.fates.insert((0, 1, 2), Fate::Crash);
    let bench = Bench::new();
    stored(&bench, &lab);
    let arguments = ["report", "last", "--format", "mail", "--reply-to", "cover@lab.example"];
    let (draft, err) = bench.expect(0, &[&arguments[..], &["--tested-by", "Kim <kim@lab.example>"]].concat());
    assert!(!draft.contains("Tested-by"), "{draft}");
    assert!(err.contains("no Tested-by: vm-ufs: v6.16 + series failed 1 of 6 boots"), "{err}");
    let (_, err) = bench.expect(2, &[&arguments[..], &["--tested-by", "kim"]].concat());
    assert!(err.contains("Name <mail@host>"), "{err}");
}

#[test]
fn a_mail_that_is_not_there_is_told() {
    let bench = Bench::new();
    stored(&bench, &slower());
    bench.expect(2, &["report", "last", "--format", "mail"]);
    bench.expect(2, &["report", "last", "--format", "mail", "--reply-to", "nowhere.mbox"]);
    let (draft, err) =
        bench.expect(0, &["report", "last", "--format", "mail", "--reply-to", "<other@lab.example>"]);
    assert!(draft.starts_with("Subject: Re: scsi: ufs"), "{draft}");
    assert!(err.contains("b4 mbox other@lab.example"), "{err}");
}

#[test]
fn a_regression_is_told_to_those_who_care() {
    let mut lab = slower();
    source(&mut lab.plan.variants[1]).changes.clear();
    source(&mut lab.plan.variants[1]).commit = "1".repeat(40);
    for (variant, tag) in lab.plan.variants.iter_mut().zip(["v6.15", "v6.16"]) {
        source(variant).reference = tag.to_owned();
        source(variant).describe = Some(tag.to_owned());
    }
    let bench = Bench::new();
    stored(&bench, &lab);
    let scripts = bench.path().join("tree/scripts");
    fs::create_dir_all(&scripts).unwrap();
    let script = "die unless $ARGV[-1] eq 'drivers/ufs/core/ufshcd.c';\nprint qq(\"Roe, Max\" <max\\@lab.example>\\nufs\\@lists.example\\n);\n";
    fs::write(scripts.join("get_maintainer.pl"), script).unwrap();
    let arguments = ["report", "last", "--format", "mail", "--reply-to", "cover@lab.example", "--regression"];
    let (draft, _) = bench.expect(0, &[&arguments[..], &["--tree", "tree"]].concat());
    let mail = kab_mail::read(draft.as_bytes()).unwrap().mails.remove(0);
    assert!(mail.body.iter().any(|line| line.text == "#regzbot introduced: v6.15..v6.16"), "{draft}");
    let cc: Vec<&str> = mail.cc.iter().map(|person| person.address.as_str()).collect();
    assert!(
        ["regressions@lists.linux.dev", "max@lab.example", "ufs@lists.example"]
            .iter()
            .all(|one| cc.contains(one)),
        "{cc:?}"
    );
    let series = Bench::new();
    stored(&series, &slower());
    let (_, err) = series.expect(2, &arguments);
    assert!(err.contains("no regression to report"), "{err}");
}

#[test]
fn posted_figures_are_a_run_like_any_other() {
    let (here, there) = (Bench::new(), Bench::new());
    let table = include_str!("../../../reports/report/tests/posted/1-ufs-hardirq.yaml");
    here.write("mail.yaml", table);
    let (out, _) = here.expect(0, &["runs", "import", "--table", "mail.yaml"]);
    let again = here.expect(0, &["runs", "import", "--table", "mail.yaml"]).0;
    assert_eq!(out, again, "the same file is the same run");
    assert!(here.expect(0, &["runs", "list"]).0.contains("posted figures  ufs-hardirq"));
    assert!(here.expect(0, &["runs", "show", "last"]).0.contains("48 rows of posted figures"));
    assert!(here.expect(0, &["runs", "verify", "last"]).0.contains("all as stored"));
    let file = there.path().join("run.tar.zst");
    here.expect(0, &["runs", "export", "last", file.to_str().unwrap()]);
    there.expect(0, &["runs", "import", "run.tar.zst"]);
    for form in [&["--full"][..], &["--format", "html"], &["--format", "json"], &["--changelog"]] {
        let arguments: Vec<&str> = ["report", "last"].iter().chain(form).copied().collect();
        assert_eq!(here.expect(0, &arguments), there.expect(0, &arguments), "{form:?}");
    }
    let draft =
        ["report", "last", "--format", "mail", "--reply-to", "a@b.example", "--tested-by", "K <k@b.example>"];
    let (draft, err) = here.expect(0, &draft);
    assert!(!draft.contains("Tested-by") && err.contains("somebody else's"), "{err}");
    here.write("wrong.yaml", &table.replace("values: averages", "values: guesses"));
    let (_, err) = here.expect(2, &["runs", "import", "--table", "wrong.yaml"]);
    assert!(err.contains("wrong.yaml:") && err.contains("guesses"), "{err}");
}

#[test]
fn a_run_of_other_files_is_told_with_what_changed_and_a_finished_one_is_not_resumed() {
    let bench = Bench::new();
    let lab = "boards: {vm: {arch: x86_64, boot: {qemu: {disks: [{nvme: {name: n, size: 1GiB}}]}}}}\n";
    let now =
        "name: NAME\nkernel: {repo: .}\nvariants: {a: {ref: v1}, b: {ref: v2}}\nboards: [vm]\ntarget: n\n\
         workloads: [{name: w, fio: {rw: read, runtime: 5}}]\n"
            .replace("NAME", &slower().plan.name);
    let then = now.replace("runtime: 5", "runtime: 30");
    let store = Store::new(bench.store());
    let files: [(&str, &[u8]); 2] = [("experiment.yaml", then.as_bytes()), ("lab.yaml", lab.as_bytes())];
    let log = store.create(slower().plan, "lab", "0.1.0", &files).unwrap();
    let id = log.reader().header().id.clone();
    drop(log);
    bench.write("lab.yaml", lab);
    bench.write("e.yaml", &now);
    // There is no repository here: the run is found before anything is read from git.
    let (_, err) = bench.expect(2, &["run", "e.yaml"]);
    assert!(err.contains(&format!("run {id} of this experiment is unfinished and stays so")), "{err}");
    assert!(err.contains(&format!("`kab run --resume {id}`")), "{err}");
    assert!(err.contains("-workloads: [{name: w, fio: {rw: read, runtime: 30}}]"), "{err}");
    assert!(err.contains("+workloads: [{name: w, fio: {rw: read, runtime: 5}}]"), "{err}");

    fs::remove_dir_all(bench.store()).unwrap();
    stored(&bench, &slower());
    let (_, err) = bench.expect(2, &["run", "--resume", "last"]);
    assert!(err.contains("is finished: kab report "), "{err}");
}

#[test]
fn a_kernel_against_itself_tells_the_noise() {
    let bench = Bench::new();
    stored(&bench, &two_kernels(8, [0.9, 1.0, 1.0, 1.0]));
    let (out, _) = bench.expect(0, &["aa", "last"]);
    assert!(out.lines().all(|line| line.chars().count() <= 72), "{out}");
    assert!(out.contains("8 rounds see") && out.contains("randread/1"), "{out}");
    assert!(out.contains("little below 16") && !out.contains('!'), "{out}");
    let (json, _) = bench.expect(0, &["aa", "last", "--json", "--rounds", "25"]);
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    let cell = &value["cells"][0];
    let (noise, visible) =
        (cell["deviation_percent"].as_f64().unwrap(), cell["visible_percent"].as_f64().unwrap());
    // 25 blocks at a power of 0.8 see 0.83 deviations; a slower variant adds nothing to the noise.
    assert!((visible / noise - 0.83).abs() < 0.03, "{visible} {noise}");
    assert!(noise < 2.0 && cell["boots"] == 16, "{cell}");
    assert!((0.0..0.2).contains(&cell["significant"].as_f64().unwrap()), "{cell}");
    let (again, _) = bench.expect(0, &["aa", "last"]);
    assert_eq!(out, again);

    // The board is the same whichever way it is asked for.
    let (by_board, _) = bench.expect(0, &["lab", "noise", "vm-ufs"]);
    assert_eq!(by_board, out);
    let (_, err) = bench.expect(2, &["lab", "noise", "other"]);
    assert!(
        err.contains("on board \"other\" (runs are there of: vm-ufs)") && err.contains("visits: 8"),
        "{err}"
    );

    let single = Bench::new();
    stored(&single, &two_kernels(1, [1.0; 4]));
    let (_, err) = single.expect(2, &["aa", "last"]);
    assert!(err.contains("no variant with two boots"), "{err}");
}
