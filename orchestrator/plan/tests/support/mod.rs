//! Experiments and labs made of a few numbers.
#![allow(clippy::unwrap_used, dead_code, unreachable_pub)]

use kab_model::{
    Accel, Arch, Base, BoardSpec, Boot, Cooldown, Disk, DiskKind, Experiment, FioOption, Kernel, KernelSpec,
    Lab, MatrixMap, Metric, Order, PinnedKernel, Plan, PlannedKernel, QemuSpec, ReportSpec, Schedule,
    Toolchain, Variant, Workload,
};
use kab_plan::{ResolvedVariant, make_plan};
use std::time::Duration;

/// Numbers of things in an experiment.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub variants: usize,
    pub boards: usize,
    pub visits: u32,
    pub cells: usize,
    pub trials: u32,
    pub warmup: u32,
    pub order: Order,
}

pub fn plan(shape: Shape, seed: u64) -> Plan {
    let experiment = experiment(shape);
    make_plan(&experiment, "digest", &lab(shape.boards), &resolved(shape.variants), seed).unwrap()
}

/// Variants `v0`, `v1`…; `v0` is the baseline.
pub fn experiment(shape: Shape) -> Experiment {
    let sizes: Vec<String> = (0..shape.cells).map(|cell| format!("{}k", 4 << cell)).collect();
    Experiment {
        name: "e".into(),
        title: None,
        variants: (0..shape.variants).map(variant).collect(),
        baseline: "v0".into(),
        against: Vec::new(),
        boards: (0..shape.boards).map(|board| format!("b{board}")).collect(),
        target: Some("disk".into()),
        workloads: vec![workload("w", &[("rw", "randread")], &[&[("bs", &sizes)]])],
        schedule: Schedule {
            visits: shape.visits,
            trials: shape.trials,
            warmup: shape.warmup,
            order: shape.order,
            cooldown: Cooldown { pause: Duration::from_millis(1500) },
            seed: None,
        },
        report: ReportSpec { primary: Metric::Iops, metrics: vec![Metric::Iops], same_within: Vec::new() },
    }
}

pub fn variant(number: usize) -> Variant {
    Variant {
        name: format!("v{number}").as_str().into(),
        kernel: Kernel::Built(Box::new(KernelSpec {
            repo: "https://git.example/linux".into(),
            base: Base::Ref(format!("v6.{number}")),
            changes: Vec::new(),
            ladder: false,
            config: Vec::new(),
            toolchain: Toolchain::Gcc,
            overlay: None,
            placebo: false,
        })),
        cmdline: None,
        knobs: Vec::new(),
        fio: Vec::new(),
    }
}

/// What git said of `v0`, `v1`…: each its own tree.
pub fn resolved(variants: usize) -> Vec<ResolvedVariant> {
    let resolved = |number| ResolvedVariant {
        variant: number,
        step: None,
        kernel: PlannedKernel::Built(Box::new(pinned(number))),
    };
    (0..variants).map(resolved).collect()
}

pub fn pinned(number: usize) -> PinnedKernel {
    PinnedKernel {
        repo: "https://git.example/linux".into(),
        reference: format!("v6.{number}"),
        base_commit: format!("{number:040x}"),
        commit: format!("{number:040x}"),
        tree: format!("{:040x}", number + 1000),
        describe: None,
        changes: Vec::new(),
        config: Vec::new(),
        toolchain: Toolchain::Gcc,
        overlay: None,
        placebo: false,
    }
}

pub fn workload<S: AsRef<str>>(name: &str, fio: &[(&str, &str)], maps: &[&[(&str, &[S])]]) -> Workload {
    let values = |values: &[S]| values.iter().map(|value| value.as_ref().to_owned()).collect();
    let map = |axes: &&[(&str, &[S])]| MatrixMap {
        axes: axes.iter().map(|(name, all)| ((*name).to_owned(), values(all))).collect(),
    };
    Workload {
        name: name.to_owned(),
        fio: fio.iter().map(|(name, value)| option(name, value)).collect(),
        matrix: maps.iter().map(map).collect(),
        exclude: Vec::new(),
        target: None,
    }
}

pub fn option(name: &str, value: &str) -> FioOption {
    FioOption { name: name.to_owned(), value: value.to_owned() }
}

/// Boards `b0`, `b1`…, each with a disk `disk`; even ones are tagged `even`.
pub fn lab(boards: usize) -> Lab {
    Lab { boards: (0..boards).map(board).collect() }
}

fn board(number: usize) -> BoardSpec {
    let disk = Disk { name: "disk".into(), size: 1 << 20, kind: DiskKind::Nvme };
    BoardSpec {
        name: format!("b{number}").as_str().into(),
        tags: if number.is_multiple_of(2) { vec!["even".into()] } else { Vec::new() },
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
    }
}
