//! Whole reports of synthetic runs with known effects, as snapshots.

#![allow(clippy::unwrap_used)]

mod support;

use kab_model::{
    Accel, Applied, BuildState, CommitInfo, ConfigItem, ConfigValue, Event, KernelDifference, Knob,
    NodeChange, Outcome, PinnedFile, PlannedKernel, PropertyChange, Run, SeriesInfo, SymbolChange,
    TreeChange, VariantName,
};
use kab_report::{Findings, Options, findings, markdown, text};
use support::{Fate, Lab, meta, option, reason, source, three_kernels, two_kernels};

fn found(lab: &Lab) -> Findings {
    findings(&lab.run(), &meta())
}

fn short(lab: &Lab) -> String {
    text(&found(lab), Options::default()).unwrap()
}

fn full() -> Options {
    Options { full: true, unicode: false }
}

#[test]
fn three_kernels_on_two_boards() {
    insta::assert_snapshot!(short(&three_kernels()));
}

#[test]
fn three_kernels_in_full() {
    let mut lab = three_kernels();
    lab.plan.boards.truncate(1);
    lab.plan.cells.truncate(2);
    insta::assert_snapshot!(text(&found(&lab), full()).unwrap());
}

#[test]
fn three_kernels_in_markdown() {
    insta::assert_snapshot!(markdown(&found(&three_kernels()), Options::default()).unwrap());
}

#[test]
fn three_kernels_in_full_markdown() {
    let mut lab = three_kernels();
    lab.plan.boards.truncate(1);
    lab.plan.cells.truncate(1);
    insta::assert_snapshot!(markdown(&found(&lab), full()).unwrap());
}

#[test]
fn worse_better_and_same() {
    insta::assert_snapshot!(short(&two_kernels(8, [0.85, 1.0, 1.12, 1.0])));
}

#[test]
fn undecided_when_boots_are_noisy() {
    let mut lab = two_kernels(6, [0.97, 1.0, 1.03, 0.99]);
    lab.noise = (0.06, 0.01);
    insta::assert_snapshot!(short(&lab));
}

#[test]
fn two_boots_carry_no_verdict() {
    insta::assert_snapshot!(short(&two_kernels(2, [0.7; 4])));
}

#[test]
fn a_variant_that_never_boots_is_the_answer() {
    let mut lab = Lab::new(&["vm-ufs", "vm-nvme"], &["v6.15", "v6.16", "v6.17-rc1"], 6);
    for round in 0..2 {
        lab.fates.insert((0, 2, round), Fate::NoBoot);
    }
    for round in 2..6 {
        lab.fates.insert((0, 2, round), Fate::Never);
    }
    lab.given_up = vec![(0, Some(2))];
    insta::assert_snapshot!(short(&lab));
}

#[test]
fn a_variant_that_cannot_be_built() {
    let mut lab = two_kernels(5, [1.0; 4]);
    lab.broken_builds = vec![1];
    insta::assert_snapshot!(short(&lab));
}

#[test]
fn crashes_failed_and_void_trials() {
    let mut lab = two_kernels(8, [0.97; 4]);
    let failed = Outcome::Failed {
        reasons: vec![reason("io-error", "fio: io_u error on file /dev/sda: Input/output error")],
    };
    let void = Outcome::Void { reasons: vec![reason("host-load", "load average 3.1 on 2 CPUs")] };
    lab.fates.insert((0, 1, 1), Fate::Crash);
    lab.fates.insert((0, 1, 2), Fate::Crash);
    lab.fates.insert((0, 1, 3), Fate::Trial { cell: 1, trial: 0, outcome: failed });
    lab.fates.insert((0, 0, 4), Fate::Trial { cell: 2, trial: 2, outcome: void });
    lab.fates.insert((0, 0, 5), Fate::Void);
    insta::assert_snapshot!(short(&lab));
}

#[test]
fn noted_trials_stay_and_a_verdict_that_rests_on_them_says_so() {
    let mut lab = two_kernels(8, [1.0; 4]);
    lab.plan.trials = 1;
    lab.noise = (0.004, 0.002);
    lab.noted_factor = 0.8;
    let stall = Outcome::Noted {
        reasons: vec![reason("rcu-stall", "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks")],
    };
    for round in [1, 3, 6] {
        lab.fates.insert((0, 1, round), Fate::Trial { cell: 1, trial: 0, outcome: stall.clone() });
    }
    let report = short(&lab);
    let unwrapped = report.replace("\n  ", " ");
    assert!(unwrapped.contains("B vs A in randread/8 would be same instead of undecided."), "{report}");
    insta::assert_snapshot!(report);
}

#[test]
fn emulation_and_an_unfinished_run_are_said_first() {
    let mut lab = two_kernels(8, [0.9; 4]);
    lab.accel = Accel::Tcg;
    lab.finished = false;
    for round in 4..8 {
        lab.in_round(0, round, &Fate::Never);
    }
    let report = short(&lab);
    assert!(report.starts_with("INCOMPLETE: 8 of 16 boots done"));
    assert!(report.lines().take(6).any(|line| line.contains("not hardware")));
    insta::assert_snapshot!(report);
}

#[test]
fn seven_variants_fit_in_72_columns() {
    let names = [
        "v6.11",
        "v6.12",
        "v6.13",
        "v6.14",
        "v6.15",
        "v6.16",
        "v6.17 with a name that goes on and on and on, for a whole line and more",
    ];
    let mut lab = Lab::new(&["vm-ufs"], &names, 8);
    let base = [4_526.0, 64_315.0, 6_577.0, 97_911.0];
    lab.level = Box::new(move |_, variant, cell| base[cell] * (1.0 - 0.02 * variant as f64));
    insta::assert_snapshot!(short(&lab));
}

#[test]
fn only_what_differs_is_told() {
    let mut lab = two_kernels(5, [1.0; 4]);
    let variant = &mut lab.plan.variants[1];
    source(variant).changes.clear();
    variant.changed_files = (1..=5).map(|file| format!("block/blk-{file}.c")).collect();
    variant.cmdline = Some("ufshcd_core.use_mcq_mode=0".to_owned());
    source(variant).config.push(ConfigItem::Fragment("/home/me/ufs.config".into()));
    let (symbol, value) = ("CONFIG_PROVE_LOCKING".to_owned(), ConfigValue::No);
    source(variant).config.push(ConfigItem::Option { symbol, value, optional: false });
    let report = short(&lab).replace("\n  ", " ");
    let told = "A->B: 5 files, such as block/blk-1.c, block/blk-2.c; config +ufs.config, +CONFIG_PROVE_LOCKING=n; \
                cmdline none -> ufshcd_core.use_mcq_mode=0\n";
    assert!(report.contains(told), "{report}");
    assert!(!report.contains("/home"), "{report}");
    assert!(!report.contains("compiler"), "{report}");
}

#[test]
fn identical_images_are_named() {
    let mut lab = two_kernels(6, [1.0; 4]);
    lab.same_image = vec![1];
    let report = short(&lab);
    assert!(report.contains("B = v6.16 + series (A + 1 patch, identical by construction to A)"), "{report}");
    assert!(report.contains("B vs A: IOPS identical in all 4 tests"), "{report}");
}

/// What the planner leaves out is neither missing nor incomplete.
#[test]
fn what_is_identical_needs_no_numbers_of_its_own() {
    let mut lab = two_kernels(6, [1.0; 4]);
    lab.same_image = vec![1];
    for round in 0..6 {
        lab.fates.insert((0, 1, round), Fate::Never);
    }
    let report = short(&lab);
    assert!(report.contains("B vs A: IOPS identical in all 4 tests"), "{report}");
    assert!(!report.contains("INCOMPLETE") && !report.contains("no verdict"), "{report}");
    insta::assert_snapshot!(report);
}

/// One variant of each kind; the letters are in this order.
fn all_kinds() -> Lab {
    let names =
        ["v6.16", "series", "reverted", "my tree", "mcq dtb", "rq2", "depth 8", "prebuilt", "placebo"];
    let mut lab = Lab::new(&["vm-ufs"], &names, 2);
    lab.same_image = vec![4, 5, 6];
    for variant in &mut lab.plan.variants {
        variant.changed_files.clear();
        source(variant).reference = "v6.16".to_owned();
    }
    let commit =
        CommitInfo { commit: "3c7ac40d7322".repeat(4)[..40].to_owned(), subject: "ufs: spin".to_owned() };
    let series = SeriesInfo {
        source: "x.mbox".to_owned(),
        title: Some("scsi: ufs: fewer locks".to_owned()),
        version: Some(3),
        message_id: Some("20250730.1@lists.example".to_owned()),
        subjects: vec!["scsi: ufs: spare a lock".to_owned()],
        of: Some(2),
    };
    let variants = &mut lab.plan.variants;
    source(&mut variants[1]).changes = vec![Applied::Series(series)];
    source(&mut variants[2]).changes = vec![Applied::Revert(commit)];
    source(&mut variants[3]).changes = vec![Applied::Uncommitted { files: 2 }];
    source(&mut variants[4]).changes = vec![Applied::DeviceTree { source: "sm8650-mcq.patch".to_owned() }];
    variants[5].knobs = vec![Knob { name: "queue.rq_affinity".to_owned(), value: "2".to_owned() }];
    variants[6].fio = vec![option("iodepth", "8")];
    source(&mut variants[8]).placebo = true;
    lab
}

#[test]
fn every_kind_of_variant_is_told() {
    let mut lab = all_kinds();
    let mut run = lab.run();
    let file = PinnedFile { path: "/home/me/Image".into(), digest: "d".to_owned() };
    lab.plan.variants[7].kernel = PlannedKernel::Prebuilt { image: file, dtb: None, modules: None };
    run.plan = Some(lab.plan);
    let report = text(&findings(&run, &meta()), Options::default()).unwrap();
    assert!(!report.contains("/home"), "{report}");
    insta::assert_snapshot!(report);
}

#[test]
fn what_tells_kernels_apart_is_named() {
    let mut lab = Lab::new(&["vm-ufs"], &["base", "mcq dtb", "lockdep off"], 2);
    lab.same_image = vec![1];
    for variant in &mut lab.plan.variants {
        variant.changed_files.clear();
    }
    source(&mut lab.plan.variants[1]).changes = vec![Applied::DeviceTree { source: "mcq.patch".to_owned() }];
    let asked =
        ConfigItem::Option { symbol: "CONFIG_PROVE_LOCKING".into(), value: ConfigValue::No, optional: false };
    source(&mut lab.plan.variants[2]).config.push(asked);
    let mut run = lab.run();
    let Some(BuildState::Built(artifact)) = run.builds.get_mut(&VariantName("mcq dtb".into())) else {
        panic!("not built")
    };
    artifact.dtbs_digest = Some("other".to_owned());
    let queues =
        PropertyChange { name: "queues".into(), from: Some("<0x1>".into()), to: Some("<0x8>".into()) };
    let node = NodeChange {
        node: "/soc@0/ufshc@1d84000".into(),
        change: TreeChange::Changed(vec![queues]),
        trees: vec!["qcom/sm8650-qrd.dtb".into()],
    };
    let nodes = KernelDifference { symbols: Vec::new(), nodes: vec![node] };
    let off = |symbol: &str| SymbolChange { symbol: symbol.into(), from: Some("y".into()), to: None };
    let symbols = vec![off("CONFIG_LOCKDEP"), off("CONFIG_PROVE_LOCKING"), off("CONFIG_TRACE_IRQFLAGS")];
    let symbols = KernelDifference { symbols, nodes: Vec::new() };
    for (name, difference) in [("mcq dtb", nodes), ("lockdep off", symbols)] {
        run.apply(&Event::Compared { variant: name.into(), difference: Box::new(difference) });
    }
    let report = text(&findings(&run, &meta()), Options::default()).unwrap();
    let flat = report.replace("\n  ", " ");
    let tree =
        "A->B: device tree only, by mcq.patch; device tree /soc@0/ufshc@1d84000: queues <0x1> -> <0x8>\n";
    assert!(flat.contains(tree), "{report}");
    // The same by a series.
    let Some(plan) = &mut run.plan else { panic!("no plan") };
    source(&mut plan.variants[1]).changes = vec![Applied::Series(SeriesInfo::default())];
    let by_series = text(&findings(&run, &meta()), Options::default()).unwrap();
    let only = "A->B: device tree only, /soc@0/ufshc@1d84000: queues <0x1> -> <0x8>\n";
    assert!(by_series.replace("\n  ", " ").contains(only), "{by_series}");
    let config = "A->C: config +CONFIG_PROVE_LOCKING=n; final .config CONFIG_LOCKDEP y -> n, \
                  CONFIG_TRACE_IRQFLAGS y -> n\n";
    assert!(flat.contains(config), "{report}");
    assert!(!report.contains("identical") && !report.contains("final .config differs"), "{report}");
}

#[test]
fn interrupted_visits_are_told_and_not_tested() {
    let mut lab = two_kernels(8, [1.0; 4]);
    for round in 0..7 {
        lab.fates.insert((0, 1, round), Fate::Interrupted);
    }
    let report = short(&lab);
    assert!(report.contains("Interrupted by the operator and repeated: B 7 boots\n"), "{report}");
    assert!(!report.contains("Fisher") && !report.contains("lab's fault"), "{report}");
}

#[test]
fn unlike_workloads_are_summarised_apart() {
    let mut lab = two_kernels(8, [0.8, 0.8, 1.0, 1.0]);
    for cell in &mut lab.plan.cells[2..] {
        cell.workload = "control".to_owned();
    }
    let report = short(&lab);
    let of = |name: &str| report.lines().find(|line| line.starts_with(name)).unwrap_or("").to_owned();
    assert!(of("geomean rand4k").contains("-20."), "{report}");
    assert!(of("geomean control").contains("+0.") || of("geomean control").contains("-0."), "{report}");
    assert!(of("  rand4k: A ").contains("; B vs A +") && !of("  control: A ").is_empty(), "{report}");
}

#[test]
fn a_ref_is_told_with_what_it_names() {
    let mut lab = Lab::new(&["vm-ufs"], &["base", "v6.17"], 5);
    source(&mut lab.plan.variants[0]).reference = "linus".to_owned();
    source(&mut lab.plan.variants[0]).describe = Some("v6.16-rc1-12-g0ff41df1cb26".to_owned());
    source(&mut lab.plan.variants[1]).describe = Some("v6.17".to_owned());
    let report = short(&lab);
    assert!(report.contains("  A = base (linus: v6.16-rc1-12-g0ff41df1cb26)\n  B = v6.17\n"), "{report}");
}

#[test]
fn one_variant_has_numbers_and_no_verdict() {
    let lab = Lab::new(&["vm-ufs"], &["v6.16"], 3);
    let report = short(&lab);
    assert!(report.starts_with("One variant: nothing to compare."), "{report}");
    assert!(report.contains("randread/1"), "{report}");
}

#[test]
fn a_run_without_a_plan_renders() {
    let empty = findings(&Run::default(), &meta());
    assert!(text(&empty, full()).unwrap().contains("INCOMPLETE"));
    assert!(markdown(&empty, full()).unwrap().contains("INCOMPLETE"));
}

#[test]
fn percentages_follow_from_the_means_beside_them() {
    let mut checked = 0;
    for variants in 2..=7 {
        let names: Vec<String> = (0..variants).map(|v| format!("v6.{v}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut lab = Lab::new(&["vm"], &names, 5);
        let base = [152.4, 64_315.0, 6_577.0, 97_911.0];
        lab.level =
            Box::new(move |_, variant, cell| base[cell] * (1.0 + 0.07 * variant as f64 - 0.02 * cell as f64));
        checked += closing_rows(&short(&lab));
    }
    assert!(checked > 40, "only {checked} changes were found beside their means");
}

/// Checks every change in a table that also has the means of its pair; the number of them.
fn closing_rows(report: &str) -> usize {
    let mut head: Vec<String> = Vec::new();
    let mut checked = 0;
    for line in report.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if line.contains("[95% CI]") {
            // Letters before the first "vs" are columns of means; the last one is the pair's candidate.
            // A head over shortened labels is no letter.
            let cleaned = line.replace("[95% CI]", " ").replace("rand ", " ");
            head = cleaned.split_whitespace().map(str::to_owned).collect();
            continue;
        }
        if !["rand", "read", "write"].iter().any(|start| line.starts_with(start)) || head.is_empty() {
            continue;
        }
        let first_pair = head.iter().position(|word| word == "vs").unwrap() - 1;
        let letters = &head[..first_pair];
        let means = &words[1..=letters.len()];
        let changes: Vec<f64> = words
            .iter()
            .filter_map(|word| word.strip_suffix('%'))
            .map(|word| word.parse().unwrap())
            .collect();
        for (pair, change) in head[first_pair..].chunks(3).zip(changes) {
            let mean = |letter: &String| letters.iter().position(|l| l == letter).map(|at| means[at]);
            let (Some(candidate), Some(reference)) = (mean(&pair[0]), mean(&pair[2])) else { continue };
            let ((c_low, c_high), (r_low, r_high)) = (rounding(candidate), rounding(reference));
            let (low, high) = (100.0 * (c_low / r_high - 1.0), 100.0 * (c_high / r_low - 1.0));
            assert!(low - 0.051 <= change && change <= high + 0.051, "{line}: {change} not in {low}..{high}");
            checked += 1;
        }
    }
    checked
}

/// The values that are printed as `text`.
fn rounding(text: &str) -> (f64, f64) {
    let decimals = text.split_once('.').map_or(0, |(_, digits)| digits.len());
    let (value, half) = (text.parse::<f64>().unwrap(), 0.5 * 10f64.powi(-(decimals as i32)));
    (value - half, value + half)
}
