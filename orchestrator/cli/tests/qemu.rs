//! The main job on real boards: real git, real kernel builds, QEMU, an agent over SSH, fio.
//!
//! These run one at a time. The first builds a small kernel (minutes); the others build little or nothing.
#![allow(clippy::unwrap_used)]

mod support;

use kab_model::{Artifact, BuildState, Metric, Run, VariantName, VisitState};
use std::time::{Duration, Instant};
use support::{Bench, FIO, LAB, complete_visits, experiment, fixture};

/// Geometric mean of a variant's visits for a cell from fio's stored bytes alone, by a reader of its own: plain JSON, totals
/// and run time.
fn mean_iops(bench: &Bench, variant: &str, cell: &str) -> f64 {
    let reader = bench.reader();
    let run = reader.run().unwrap();
    let mut logs = Vec::new();
    for visit in run.visits().filter(|v| v.key.variant.0 == variant && matches!(v.state, VisitState::Ended)) {
        let mut trials: Vec<f64> = Vec::new();
        for trial in visit.trials.iter().filter(|trial| trial.key.cell.0 == cell && !trial.key.warmup) {
            let bytes = reader.blob(&trial.record.as_ref().unwrap().output).unwrap();
            let start = bytes.iter().position(|byte| *byte == b'{').unwrap();
            let json: serde_json::Value = serde_json::from_slice(&bytes[start..]).unwrap();
            let job = &json["jobs"][0];
            let side =
                if job["read"]["total_ios"].as_u64().unwrap() > 0 { &job["read"] } else { &job["write"] };
            let (ios, ms) = (side["total_ios"].as_f64().unwrap(), side["runtime"].as_f64().unwrap());
            trials.push((ios * 1000.0 / ms).ln());
        }
        trials.sort_by(f64::total_cmp);
        // statistics.md S3: the median of three or more trials, else the mean.
        let unit = if trials.len() >= 3 {
            trials[trials.len() / 2]
        } else {
            trials.iter().sum::<f64>() / trials.len() as f64
        };
        logs.push(unit);
    }
    (logs.iter().sum::<f64>() / logs.len() as f64).exp()
}

#[test]
fn qemu_a_delay_in_the_completion_path_is_found_worse() {
    let bench = Bench::new();
    let patch = fixture("slow-completion.patch");
    let variants = format!(
        "{{stock: {{ref: linux-source}}, slow: {{ref: linux-source, series: \"{}\"}}}}",
        patch.display()
    );
    bench.write("lab.yaml", LAB);
    bench.write("e.yaml", &experiment(&variants, "{visits: 6, trials: 3, warmup: 0, seed: 7}", FIO));

    let (built, _) = bench.expect(0, &["build", "e.yaml"]);
    assert_eq!(built.lines().count(), 2, "{built}");
    let (again, _) = bench.expect(0, &["build", "e.yaml"]);
    assert_eq!(again.matches("already built").count(), 2, "{again}");

    let (report, progress) = bench.expect(0, &["run", "e.yaml", "--full"]);
    println!("{report}");
    bench.wait_until_gone("after the run");
    assert!(progress.contains("left]") && progress.contains(" left"), "time left is shown: {progress}");
    assert!(report.lines().all(|line| line.len() <= 72 && line.is_ascii()), "{report}");

    let reader = bench.reader();
    let run = reader.run().unwrap();
    assert!(run.finished);
    assert_eq!(complete_visits(&run), 12);
    for cell in ["io/randread", "io/randwrite"] {
        // A millisecond on top of each I/O, which takes a few hundred microseconds under emulation: beyond doubt on a busy
        // host, too. At queue depth 1 no more than 1000 a second can complete.
        let (stock, slow) = (mean_iops(&bench, "stock", cell), mean_iops(&bench, "slow", cell));
        assert!(slow < 1000.0 && slow < 0.8 * stock, "{cell}: {slow} against {stock}");
        let change = format!("{:+.1}%", (slow / stock - 1.0) * 100.0);
        let label = cell.strip_prefix("io/").unwrap();
        let row = table_row(&report, label);
        assert!(row.contains(&change), "{change} from fio's bytes is not in: {row}");
        for mean in [stock, slow] {
            assert!(row.split_whitespace().any(|word| shows(word, mean)), "{mean} is not in: {row}");
        }
        assert!(row.trim_end().ends_with(" -"), "not found worse: {row}");
    }
    let (verified, _) = bench.expect(0, &["runs", "verify", "last"]);
    assert!(
        verified.contains("72 trials computed again") && verified.contains("all as stored"),
        "{verified}"
    );
    let (shown, _) = bench.expect(0, &["runs", "show", "last", "--trial", "0"]);
    assert!(shown.contains("\"fio version\"") && shown.contains("\"total_ios\""), "{shown}");
    traced_in_the_log(&run);
}

/// Whether a printed number is this one, in IOPS or kIOPS, rounded to the digits that it has.
fn shows(word: &str, value: f64) -> bool {
    let digits = word.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    [value, value / 1000.0].iter().any(|value| word == format!("{value:.digits$}"))
}

/// The first table row of a cell. A common prefix of the labels may stand in the head.
fn table_row<'a>(report: &'a str, label: &str) -> &'a str {
    let short = label.strip_prefix("rand").unwrap_or(label);
    let starts = |line: &&str| line.starts_with(label) || line.starts_with(short);
    report
        .lines()
        .find(|line| starts(line) && line.contains('%'))
        .unwrap_or_else(|| panic!("no row {label}:\n{report}"))
}

fn traced_in_the_log(run: &Run) {
    for visit in run.visits() {
        let proof = visit.proof.as_ref().unwrap();
        let Some(BuildState::Built(artifact)) = run.builds.get(&visit.key.variant) else {
            panic!("not built")
        };
        assert_eq!(proof.identity.build_id, artifact.build_id);
        assert!(proof.identity.cmdline.contains(&format!("kab={}", proof.stamp)));
        for (_, sample) in visit.counted() {
            assert!(sample.metric(Metric::Iops).unwrap() > 0.0);
            assert!(sample.metric(Metric::CpuPerIo).unwrap() > 0.0);
        }
    }
}

#[test]
fn qemu_killed_runs_go_on_where_they_were() {
    let kills: u32 = std::env::var("KAB_TEST_KILLS").map_or(5, |kills| kills.parse().unwrap());
    let mut random = Random::new();
    let bench = Bench::new();
    // A delay that no earlier run has built, so that the first kills meet make.
    let delay = 20 + random.below(60);
    let patch = std::fs::read_to_string(fixture("slow-completion.patch")).unwrap();
    bench.write("delay.patch", &patch.replace("udelay(1000)", &format!("udelay({delay})")));
    let variants = "{stock: {ref: linux-source}, slow: {ref: linux-source, series: ./delay.patch}}";
    bench.write("lab.yaml", LAB);
    // Long enough that no instant below is after its end.
    bench.write("e.yaml", &experiment(variants, "{visits: 4, trials: 2, warmup: 1}", FIO));

    let mut plan = None;
    for kill in 0..kills {
        let wait = Duration::from_millis(u64::from(500 + random.below(8_500)));
        let mut kab = bench.start(&["run", "e.yaml"], "err.log");
        let ended = wait_for(&mut kab, wait);
        kab.kill().unwrap();
        kab.wait().unwrap();
        println!("kill {kill} after {wait:?}, ended before: {ended}");
        bench.wait_until_gone(&format!("seed {}, kill {kill} after {wait:?}", random.seed));
        plan = plan.or_else(|| bench.run_so_far().and_then(|run| run.plan));
        assert!(!ended, "kab ended before it was killed");
    }
    let (events, _) = bench.expect(0, &["run", "e.yaml", "--json"]);
    println!("{}", bench.expect(0, &["report", "last"]).0);
    let log = std::fs::read_to_string(bench.reader().folder().join("events.jsonl")).unwrap();
    assert!(events.contains("\"trial_ended\"") && log.ends_with(&events), "{events}");
    let run = bench.reader().run().unwrap();
    assert!(run.finished);
    if let Some(plan) = plan {
        assert_eq!(run.plan.as_ref(), Some(&plan), "the plan is the one of the first start");
    }
    every_place_counts_once(&run);
    bench.expect(0, &["runs", "verify", "last"]);
    bench.wait_until_gone("at the end");
}

/// Each place of the plan has one complete visit with all its trials; every trial that is recorded is still there.
fn every_place_counts_once(run: &Run) {
    let plan = run.plan.as_ref().unwrap();
    for board in &plan.boards {
        for (round, variants) in board.rounds.iter().enumerate() {
            for variant in variants {
                let complete: Vec<_> = run.boards[&board.spec.name]
                    .visits
                    .iter()
                    .filter(|v| v.key.round as usize == round && &v.key.variant == variant)
                    .filter(|v| matches!(v.state, VisitState::Ended))
                    .collect();
                assert_eq!(complete.len(), 1, "round {round} of {variant}");
                assert_eq!(complete[0].counted().count(), plan.cells.len() * plan.trials as usize);
            }
        }
    }
    for visit in run.visits() {
        if let VisitState::Void(reason) = &visit.state {
            assert_eq!(reason.rule, "interrupted", "{reason}");
            assert_eq!(visit.counted().count(), 0, "nothing of an interrupted visit counts");
        }
    }
}

fn wait_for(child: &mut std::process::Child, time: Duration) -> bool {
    let deadline = Instant::now() + time;
    while Instant::now() < deadline {
        if child.try_wait().unwrap().is_some() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

/// Numbers that differ from run to run, with the seed for the message.
struct Random {
    seed: u64,
    state: u64,
}

impl Random {
    fn new() -> Self {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let seed =
            std::env::var("KAB_TEST_SEED").map_or(since.as_nanos() as u64, |seed| seed.parse().unwrap());
        println!("KAB_TEST_SEED={seed}");
        Self { seed, state: seed | 1 }
    }

    fn below(&mut self, limit: u32) -> u32 {
        // A linear congruential generator's upper bits.
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.state >> 33) % u64::from(limit)) as u32
    }
}

#[test]
fn qemu_swapped_images_are_caught() {
    let bench = Bench::new();
    let patch = fixture("slow-completion.patch");
    let variants = format!(
        "{{stock: {{ref: linux-source}}, slow: {{ref: linux-source, series: \"{}\"}}}}",
        patch.display()
    );
    bench.write("lab.yaml", LAB);
    bench.write("e.yaml", &experiment(&variants, "{visits: 1, trials: 1, warmup: 0}", FIO));
    // Both kernels are built and in the log; then the files behind the log's back change places.
    let mut kab = bench.start(&["run", "e.yaml"], "err.log");
    let deadline = Instant::now() + Duration::from_secs(1800);
    let built = |name: &str| bench.run_so_far()?.artifact(&VariantName(name.into())).cloned();
    while built("stock").is_none() || built("slow").is_none() {
        assert!(kab.try_wait().unwrap().is_none(), "kab ended early");
        assert!(Instant::now() < deadline, "the kernels were not built in time");
        std::thread::sleep(Duration::from_millis(100));
    }
    kab.kill().unwrap();
    kab.wait().unwrap();
    bench.wait_until_gone("after the builds");
    let (stock, slow) = (built("stock").unwrap(), built("slow").unwrap());
    assert_ne!(stock.build_id, slow.build_id);
    let swap = Swap::new(&stock.image, &slow.image);
    let (report, progress) = bench.expect(3, &["run", "e.yaml"]);
    drop(swap);
    let told = |runs: &Artifact, meant: &Artifact| {
        let id = |artifact: &Artifact| artifact.build_id.clone().unwrap();
        format!("the running kernel has build-id {}; {} was meant", id(runs), id(meant))
    };
    let (message, other) = (told(&slow, &stock), told(&stock, &slow));
    assert!(progress.contains(&message) || progress.contains(&other), "{progress}");
    let run = bench.reader().run().unwrap();
    assert_eq!(
        run.visits().flat_map(kab_model::Visit::counted).count(),
        0,
        "no number of a wrong kernel counts"
    );
    assert!(report.contains("Given up") && report.contains("wrong-kernel"), "{report}");
}

/// Two files in each other's place, until dropped.
struct Swap<'a>(&'a std::path::Path, &'a std::path::Path);

impl<'a> Swap<'a> {
    fn new(one: &'a std::path::Path, other: &'a std::path::Path) -> Self {
        let swap = Self(one, other);
        swap.exchange();
        swap
    }

    fn exchange(&self) {
        let aside = self.0.with_extension("aside");
        std::fs::rename(self.0, &aside).unwrap();
        std::fs::rename(self.1, self.0).unwrap();
        std::fs::rename(&aside, self.1).unwrap();
    }
}

impl Drop for Swap<'_> {
    fn drop(&mut self) {
        self.exchange();
    }
}

#[test]
fn qemu_what_fails_is_named_and_the_rest_is_kept() {
    let bench = Bench::new();
    let variants = format!(
        "{{good: {{ref: linux-source}},
  broken: {{ref: linux-source, series: \"{}\"}},
  panics: {{ref: linux-source, series: \"{}\"}},
  silent: {{ref: linux-source, series: \"{}\"}}}}",
        fixture("does-not-compile.patch").display(),
        fixture("panics-at-boot.patch").display(),
        fixture("hangs-at-boot.patch").display()
    );
    let lab = LAB.replace("    boot:", "    boot_timeout: 20s\n    boot:");
    bench.write("lab.yaml", &lab);
    bench.write("e.yaml", &experiment(&variants, "{visits: 3, trials: 1, warmup: 0}", FIO));
    let (report, progress) = bench.expect(4, &["run", "e.yaml"]);
    println!("{progress}\n{report}");
    // The compiler's line, the panic's line and the time-out, each with variant and board.
    assert!(progress.contains("kernel \"broken\": build failed"), "{progress}");
    assert!(progress.contains("this_does_not_compile"), "{progress}");
    assert!(progress.contains("vm round") && progress.contains("\"panics\": failed: boot:"), "{progress}");
    assert!(progress.contains("kab test: this kernel refuses to boot"), "{progress}");
    assert!(progress.contains("\"silent\": failed: boot:"), "{progress}");
    let run = bench.reader().run().unwrap();
    assert!(run.finished);
    assert_eq!(complete_visits(&run), 3, "the good variant was measured in every round");
    assert!(matches!(run.builds[&VariantName("broken".into())], BuildState::Failed(_)));
    let failed = |name: &str| {
        run.visits().filter(|v| v.key.variant.0 == name && matches!(v.state, VisitState::Failed(..))).count()
    };
    assert_eq!((failed("panics"), failed("silent")), (2, 2), "two failed boots in a row are enough");
    for name in ["broken", "panics", "silent"] {
        assert!(report.contains(name), "{name} is missing in:\n{report}");
    }
    bench.wait_until_gone("at the end");
}

#[test]
fn qemu_a_job_that_fio_refuses_ends_with_its_message() {
    let bench = Bench::new();
    bench.write("lab.yaml", LAB);
    let fio = FIO.replace("libaio", "no-such-engine");
    bench.write(
        "e.yaml",
        &experiment("{stock: {ref: linux-source}}", "{visits: 1, trials: 1, warmup: 0}", &fio),
    );
    let (_, progress) = bench.expect(3, &["run", "e.yaml"]);
    assert!(progress.contains("fio-refused") && progress.contains("no-such-engine"), "{progress}");
    assert!(progress.contains("board vm: given up"), "{progress}");
}

#[test]
fn qemu_a_series_that_does_not_apply_names_patch_file_and_hunk() {
    let bench = Bench::new();
    let patch = fixture("does-not-apply.patch");
    let variants = format!(
        "{{stock: {{ref: linux-source}}, other: {{ref: linux-source, series: \"{}\"}}}}",
        patch.display()
    );
    bench.write("lab.yaml", LAB);
    bench.write("e.yaml", &experiment(&variants, "{visits: 3}", FIO));
    let (_, message) = bench.expect(2, &["run", "e.yaml"]);
    for part in ["variant \"other\"", "change a line that is not there", "drivers/ufs/core/ufshcd.c", "10665"]
    {
        assert!(message.contains(part), "{part:?} is missing in: {message}");
    }
    assert!(!bench.store().exists(), "no run was begun");
}
