//! What tuning takes on boards of four kinds.
#![allow(clippy::unwrap_used)]

mod support;

use kab_tune::{Need, Profile, Setting, TuningPlan, Wanted, plan};
use support::{BOARDS, board, lines, plan_for, profile};

const HOST: &str = "/sys/devices/platform/soc/1a0000.ufs";

/// `(file name, to)` of needed changes below a folder.
fn below(plan: &TuningPlan, folder: &str) -> Vec<(String, String)> {
    let changes = plan.changes.iter().filter(|change| !change.is_in_place());
    changes
        .filter_map(|change| {
            let rest = change.path.strip_prefix(folder)?.trim_start_matches('/').to_owned();
            Some((rest, change.to.clone()?))
        })
        .collect()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(file, to)| ((*file).to_owned(), (*to).to_owned())).collect()
}

fn lacks(plan: &TuningPlan) -> Vec<&str> {
    plan.lacking.iter().map(|lack| lack.knob.as_str()).collect()
}

#[test]
fn an_mcq_soc_is_tuned_as_its_developers_do() {
    let plan = plan_for("mcq-soc", profile("performance"));
    assert_eq!(
        below(&plan, HOST),
        pairs(&[
            ("clkscale_enable", "0"),
            ("clkgate_enable", "0"),
            ("auto_hibern8", "0"),
            ("power/control", "on"),
            ("host0/target0:0:0/0:0:0:0/power/control", "on")
        ])
    );
    // One interrupt for each CPU, in the order of the queues.
    let spread: Vec<(String, String)> =
        (0..8).map(|cpu| (format!("{}/smp_affinity_list", 40 + cpu), cpu.to_string())).collect();
    assert_eq!(below(&plan, "/proc/irq"), spread);
    // The disk of the partition and what is built upon it; dm has no scheduler to choose.
    assert_eq!(
        below(&plan, "/sys/block/sda/queue"),
        pairs(&[("scheduler", "none"), ("nomerges", "2"), ("rq_affinity", "2")])
    );
    assert_eq!(
        below(&plan, "/sys/block/dm-3/queue"),
        pairs(&[("iostats", "1"), ("nomerges", "2"), ("rq_affinity", "2")])
    );
    assert_eq!(
        below(&plan, "/sys/class/devfreq"),
        pairs(&[("1a0000.ufs/min_freq", "300000000"), ("ddr-bus/min_freq", "2092000000")])
    );
    let idle = plan.changes.iter().filter(|change| change.knob == "cpuidle.disable");
    assert_eq!(idle.clone().count(), 16);
    assert!(idle.clone().all(|change| !change.path.contains("state0")));
    assert_eq!(below(&plan, "property:"), pairs(&[("logd.logpersistd.enable", "false")]));
    assert_eq!(below(&plan, "mount:"), pairs(&[("sys/kernel/debug", "1")]));
    assert_eq!(lacks(&plan), ["nvme.latency_tolerance"]);
}

#[test]
fn one_interrupt_goes_to_the_fastest_cpu() {
    let affinity = |wanted: Wanted, name: &str| {
        let (tree, disk) = board(name);
        below(&plan(&wanted, &tree, Some(disk)), "/proc/irq")
    };
    let auto = |fastest_cpu| Wanted { profile: profile("performance"), fastest_cpu };
    assert_eq!(affinity(auto(None), "single-irq-soc"), pairs(&[("33/smp_affinity_list", "3")]));
    assert_eq!(affinity(auto(Some(1)), "single-irq-soc"), pairs(&[("33/smp_affinity_list", "1")]));
    // The neighbour mmc10 keeps its own.
    assert_eq!(affinity(auto(None), "big-little-emmc"), pairs(&[("31/smp_affinity_list", "5")]));
    let fixed = Profile { name: "x".into(), settings: vec![Setting::new("irq.affinity", "2,3")] };
    assert_eq!(affinity(Wanted { profile: fixed, fastest_cpu: Some(1) }, "mcq-soc").len(), 8);
}

#[test]
fn limits_are_changed_in_the_order_that_kernels_take() {
    let order = |name: &str, profile: Profile, policy: &str| -> Vec<String> {
        let plan = plan_for(name, profile);
        below(&plan, policy).into_iter().map(|(file, _)| file).collect()
    };
    let policy0 = "/sys/devices/system/cpu/cpufreq/policy0";
    let policy4 = "/sys/devices/system/cpu/cpufreq/policy4";
    let up = ["scaling_governor", "scaling_max_freq", "scaling_min_freq"];
    assert_eq!(order("single-irq-soc", profile("performance"), policy0), up);
    assert_eq!(order("mcq-soc", profile("performance"), policy4), up);
    let mut low = profile("none");
    low.extend([Setting::new("cpufreq.max", "min"), Setting::new("cpufreq.min", "min")]);
    assert_eq!(order("big-little-emmc", low, policy4), ["scaling_min_freq", "scaling_max_freq"]);
}

#[test]
fn a_scheduler_comes_before_the_depth_that_it_resets() {
    let mut own = profile("none");
    own.extend([Setting::new("queue.nr_requests", "16"), Setting::new("queue.scheduler", "none")]);
    let found = lines(&plan_for("mcq-soc", own));
    assert_eq!(
        found,
        [
            "/sys/block/sda/queue/scheduler: none [mq-deadline] kyber -> none",
            "/sys/block/sda/queue/nr_requests: 128 -> 16",
        ]
    );
    // Where only the scheduler is asked for, what it resets is recorded.
    let mut own = profile("none");
    own.extend([Setting::new("/sys/block/sda/queue/scheduler", "kyber")]);
    let plan = plan_for("mcq-soc", own);
    let kept: Vec<(&str, &str)> = plan
        .changes
        .iter()
        .filter(|change| change.to.is_none())
        .map(|change| (change.path.rsplit('/').next().unwrap(), change.from.as_str()))
        .collect();
    assert_eq!(kept, [("nr_requests", "128"), ("wbt_lat_usec", "2000")]);
}

#[test]
fn a_server_says_what_it_lacks() {
    let plan = plan_for("x86-server", profile("server"));
    let missing = ["tuned", "power-profiles-daemon", "smartd"].map(|name| format!("service.{name}.service"));
    assert!(missing.iter().all(|name| lacks(&plan).contains(&name.as_str())), "{:?}", lacks(&plan));
    assert!(lacks(&plan).contains(&"sysctl.kernel.numa_balancing"));
    assert_eq!(
        below(&plan, "service:"),
        pairs(&[("irqbalance.service", "stopped"), ("fstrim.timer", "stopped")])
    );
    assert_eq!(below(&plan, "/sys/class/nvme"), pairs(&[("nvme1/power/pm_qos_latency_tolerance_us", "0")]));
    // Queue 0 first, then by the number of the queue and not of the interrupt.
    assert_eq!(
        below(&plan, "/proc/irq"),
        pairs(&[
            ("130/smp_affinity_list", "0"),
            ("132/smp_affinity_list", "1"),
            ("131/smp_affinity_list", "2")
        ])
    );
    assert_eq!(below(&plan, "/sys/module/pcie_aspm"), pairs(&[("parameters/policy", "performance")]));
    assert_eq!(below(&plan, "/sys/devices/pci0000:00"), pairs(&[("0000:00:1c.0/power/control", "on")]));
    let mut turbo = profile("none");
    turbo.extend([Setting::new("cpufreq.boost", "0")]);
    assert_eq!(
        lines(&plan_for("x86-server", turbo)),
        ["/sys/devices/system/cpu/intel_pstate/no_turbo: 0 -> 1"]
    );
}

#[test]
fn what_must_be_there_is_told_apart() {
    let mut own = profile("performance");
    own.extend([Setting { need: Need::Required, ..Setting::new("ufs.wb_on", "1") }]);
    own.extend([Setting::new("cpufreq.governor", "keep"), Setting::new("cpufreq.max", "keep")]);
    let plan = plan_for("mcq-soc", own);
    let required: Vec<_> = plan.lacking.iter().filter(|lack| lack.need == Need::Required).collect();
    assert_eq!(required.len(), 1);
    assert_eq!(required[0].reason, format!("{HOST}/wb_on is not there or cannot be read"));
    assert!(plan.changes.iter().all(|change| !change.path.ends_with("scaling_governor")));
}

#[test]
fn none_changes_nothing_and_a_file_as_target_has_no_queue() {
    for (name, ..) in BOARDS {
        assert_eq!(plan_for(name, profile("none")), TuningPlan::default());
    }
    let (tree, _) = board("mcq-soc");
    let plan = plan(&Wanted { profile: profile("performance"), fastest_cpu: None }, &tree, None);
    assert!(lacks(&plan).contains(&"queue.scheduler") && lacks(&plan).contains(&"irq.affinity"));
    assert!(plan.changes.iter().any(|change| change.knob == "cpuidle.disable"));
}

#[test]
fn every_built_in_setting_is_sound() {
    for (name, _) in kab_tune::BUILT_IN {
        for setting in profile(name).settings {
            assert_eq!(setting.check(), Ok(()), "{name}: {setting:?}");
        }
    }
    assert!(Setting::new("/etc/passwd", "1").check().is_err());
    assert!(Setting::new("cpufreq.speed", "1").check().is_err());
    assert!(Setting::new("queue.nomerges", "1\n2").check().is_err());
}
