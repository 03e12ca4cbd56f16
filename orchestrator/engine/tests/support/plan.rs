//! Plans with a known order.

use kab_model::{
    Accel, Arch, BoardSpec, Boot, Cell, Disk, DiskKind, FioOption, Limits, Metric, Order, PinnedKernel, Plan,
    PlannedBoard, PlannedKernel, PlannedVariant, QemuSpec, ReportSpec, Toolchain, VariantName,
};
use std::time::Duration;

/// Board `b` visits `one` and `two` in each round; each visit has a warm-up and two trials of one cell.
pub fn plan(rounds: usize) -> Plan {
    let variants = vec![variant("one", None), variant("two", Some("mitigations=off"))];
    Plan {
        name: "e".into(),
        title: None,
        experiment_digest: "digest".into(),
        seed: 1,
        baseline: "one".into(),
        pairs: vec![("two".into(), "one".into())],
        order: Order::Random,
        boards: vec![board("b", vec![variants.iter().map(|v| v.name.clone()).collect(); rounds])],
        variants,
        cells: vec![cell("randread")],
        trials: 2,
        warmup: 1,
        cooldown_ms: 5000,
        limits: Limits::default(),
        report: ReportSpec { primary: Metric::Iops, metrics: Vec::new(), same_within: Vec::new() },
    }
}

fn variant(name: &str, cmdline: Option<&str>) -> PlannedVariant {
    PlannedVariant {
        name: name.into(),
        stamp: format!("stamp-{name}"),
        kernel: PlannedKernel::Built(Box::new(PinnedKernel {
            repo: "https://git.example/linux".into(),
            reference: "v6.15".into(),
            base_commit: "1".repeat(40),
            commit: "1".repeat(40),
            tree: "2".repeat(40),
            describe: None,
            changes: Vec::new(),
            config: Vec::new(),
            toolchain: Toolchain::Gcc,
            overlay: None,
            placebo: false,
        })),
        changed_files: Vec::new(),
        cmdline: cmdline.map(str::to_owned),
        knobs: Vec::new(),
        fio: Vec::new(),
    }
}

pub fn board(name: &str, rounds: Vec<Vec<VariantName>>) -> PlannedBoard {
    let disk = Disk { name: "disk".into(), size: 1 << 20, kind: DiskKind::Nvme };
    let spec = BoardSpec {
        name: name.into(),
        tags: Vec::new(),
        arch: Arch::X86_64,
        boot: Boot::Qemu(QemuSpec {
            machine: "q35".into(),
            memory: 1 << 30,
            cpus: 1,
            disks: vec![disk],
            accel: Accel::Tcg,
            cmdline: None,
        }),
        dtb: None,
        boot_timeout: Duration::from_secs(60),
    };
    PlannedBoard { spec, rounds }
}

pub fn cell(rw: &str) -> Cell {
    let axes = vec![FioOption { name: "rw".into(), value: rw.into() }];
    Cell {
        id: format!("w/{rw}").as_str().into(),
        workload: "w".into(),
        label: rw.into(),
        fio: [vec![FioOption { name: "bs".into(), value: "4k".into() }], axes.clone()].concat(),
        axes,
        target: "disk".into(),
        writes: false,
        planned_ms: Some(2000),
    }
}
