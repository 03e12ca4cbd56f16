//! Synthetic runs, made as real ones are: through events and the one fold.

#![allow(dead_code, unused_imports, clippy::unwrap_used)]

mod labs;

pub(crate) use labs::{latencies, meta, three_kernels, two_kernels};

use kab_model::*;
use std::collections::BTreeMap;
use std::time::Duration;

/// The source of a variant that is built.
pub(crate) fn source(variant: &mut PlannedVariant) -> &mut PinnedKernel {
    match &mut variant.kernel {
        PlannedKernel::Built(source) => source,
        other => panic!("{other:?}"),
    }
}

/// A small generator, so that every test sees the same noise.
pub(crate) struct Noise(u64);

impl Noise {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1))
    }

    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// About standard normal.
    pub(crate) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.next()).sum::<f64>() - 6.0
    }
}

/// What happens to one variant on one board in one round.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fate {
    Fine,
    NoBoot,
    Crash,
    Void,
    /// kab ended during the visit, and it was made again.
    Interrupted,
    /// Nothing happened yet.
    Never,
    /// This trial of this cell is judged so; the others are fine.
    Trial {
        cell: usize,
        trial: u32,
        outcome: Outcome,
    },
}

/// A run in the making.
pub(crate) struct Lab {
    pub(crate) plan: Plan,
    /// IOPS of a cell before noise, by (board, variant, cell).
    pub(crate) level: Box<dyn Fn(usize, usize, usize) -> f64>,
    /// Deviation between boots and between trials.
    pub(crate) noise: (f64, f64),
    /// What a noted trial is slower by.
    pub(crate) noted_factor: f64,
    pub(crate) fates: BTreeMap<(usize, usize, usize), Fate>,
    pub(crate) broken_builds: Vec<usize>,
    pub(crate) same_image: Vec<usize>,
    pub(crate) accel: Accel,
    pub(crate) finished: bool,
    pub(crate) given_up: Vec<(usize, Option<usize>)>,
}

pub(crate) fn reason(rule: &str, detail: &str) -> Reason {
    Reason { rule: rule.to_owned(), detail: detail.to_owned() }
}

/// The level is a function; the rest tells a failing case apart.
impl std::fmt::Debug for Lab {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lab").field("plan", &self.plan).field("fates", &self.fates).finish_non_exhaustive()
    }
}

impl Lab {
    pub(crate) fn new(boards: &[&str], variants: &[&str], rounds: usize) -> Self {
        Self {
            plan: plan(boards, variants, rounds),
            level: Box::new(|_, _, cell| [4_526.0, 64_315.0, 6_577.0, 97_911.0][cell % 4]),
            noise: (0.01, 0.005),
            noted_factor: 1.0,
            fates: BTreeMap::new(),
            broken_builds: Vec::new(),
            same_image: Vec::new(),
            accel: Accel::Kvm,
            finished: true,
            given_up: Vec::new(),
        }
    }

    /// What every variant meets in one round of a board.
    pub(crate) fn in_round(&mut self, board: usize, round: usize, fate: &Fate) {
        for variant in 0..self.plan.variants.len() {
            self.fates.insert((board, variant, round), fate.clone());
        }
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        let mut events = vec![
            Event::Planned { plan: Box::new(self.plan.clone()) },
            Event::Opened { kab: "0.1.0".to_owned(), pid: 1 },
        ];
        for (index, variant) in self.plan.variants.iter().enumerate() {
            events.push(self.build(index, variant));
        }
        let mut noise = Noise::new(self.plan.seed);
        for board in 0..self.plan.boards.len() {
            self.board(board, &mut noise, &mut events);
        }
        if self.finished {
            events.push(Event::Finished);
        }
        events
    }

    pub(crate) fn run(&self) -> Run {
        Run::from_events(&self.events())
    }

    fn build(&self, index: usize, variant: &PlannedVariant) -> Event {
        if self.broken_builds.contains(&index) {
            let error = "drivers/ufs/core/ufshcd.c:7002:9: error: implicit declaration of function 'ufshcd_foo'\nmake: *** [Makefile:248] Error 2";
            return Event::BuildFailed {
                variant: variant.name.clone(),
                arch: Arch::X86_64,
                error: error.to_owned(),
            };
        }
        let image = if self.same_image.contains(&index) { 0 } else { index };
        let artifact = Artifact {
            key: format!("key{index}"),
            arch: Arch::X86_64,
            image: "/cache/bzImage".into(),
            image_digest: format!("image{image}"),
            build_id: Some(format!("id{image}")),
            dtbs: None,
            dtbs_digest: None,
            modules: None,
            modules_digest: None,
            tree: variant.source().unwrap().tree.clone(),
            config_digest: "config".to_owned(),
            config: "/cache/.config".into(),
            compiler: "gcc (Debian 14.2.0-19) 14.2.0".to_owned(),
            release: release(&variant.source().unwrap().reference),
            log: "/cache/log".into(),
            cached: false,
            build_ms: 1,
        };
        Event::Built { variant: variant.name.clone(), artifact, config: None }
    }

    fn board(&self, board: usize, noise: &mut Noise, events: &mut Vec<Event>) {
        let planned = &self.plan.boards[board];
        let name = planned.spec.name.clone();
        events.push(Event::Accelerated {
            board: name.clone(),
            accel: self.accel,
            emulator: "QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2)".to_owned(),
            reason: "probe boot".to_owned(),
        });
        let mut visit = 0;
        for (round, order) in planned.rounds.iter().enumerate() {
            for variant in order {
                let index = self.plan.variants.iter().position(|v| &v.name == variant).unwrap();
                if self.broken_builds.contains(&index) {
                    continue;
                }
                let fate = self.fates.get(&(board, index, round)).cloned().unwrap_or(Fate::Fine);
                if fate == Fate::Never {
                    continue;
                }
                let again = matches!(fate, Fate::Void | Fate::Interrupted);
                let attempts = if again { vec![fate, Fate::Fine] } else { vec![fate] };
                for fate in &attempts {
                    let key = VisitKey {
                        board: name.clone(),
                        round: round as u32,
                        variant: variant.clone(),
                        visit,
                    };
                    self.visit(&key, (board, index), fate, noise, events);
                    visit += 1;
                }
            }
        }
        for (_, variant) in self.given_up.iter().filter(|(at, _)| *at == board) {
            events.push(Event::GaveUp {
                board: name.clone(),
                variant: variant.map(|v| self.plan.variants[v].name.clone()),
                reason: reason("failed-boots", "2 boots in a row failed"),
            });
        }
    }

    fn visit(
        &self,
        key: &VisitKey,
        at: (usize, usize),
        fate: &Fate,
        noise: &mut Noise,
        events: &mut Vec<Event>,
    ) {
        let visit = || key.clone();
        events.push(Event::VisitStarted { visit: visit() });
        if *fate == Fate::NoBoot {
            events.push(Event::VisitFailed {
                visit: visit(),
                class: FailureClass::Boot,
                reason: reason(
                    "panic",
                    "Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)",
                ),
                console: None,
            });
            return;
        }
        events.push(Event::BootProved { visit: visit(), proof: proof(&self.plan.variants[at.1]) });
        let luck = self.noise.0 * noise.normal();
        for (index, cell) in self.plan.cells.iter().enumerate() {
            for trial in 0..self.plan.trials + self.plan.warmup {
                let warmup = trial < self.plan.warmup;
                let number = if warmup { trial } else { trial - self.plan.warmup };
                let outcome = match fate {
                    Fate::Trial { cell, trial, outcome } if *cell == index && *trial == number && !warmup => {
                        outcome.clone()
                    }
                    _ => Outcome::Ok,
                };
                let iops = (self.level)(at.0, at.1, index) * (luck + self.noise.1 * noise.normal()).exp();
                let noted = matches!(outcome, Outcome::Noted { .. });
                let iops = if noted { iops * self.noted_factor } else { iops };
                self.trial(key, cell, (warmup, number, 0), outcome.clone(), iops, events);
                if matches!(outcome, Outcome::Void { .. }) {
                    self.trial(key, cell, (warmup, number, 1), Outcome::Ok, iops, events);
                }
            }
            if *fate == Fate::Crash {
                events.push(Event::VisitFailed {
                    visit: visit(),
                    class: FailureClass::Crash,
                    reason: reason("oops", "BUG: kernel NULL pointer dereference, address: 0000000000000048"),
                    console: None,
                });
                return;
            }
        }
        events.push(match fate {
            Fate::Void => Event::VisitVoided {
                visit: visit(),
                reason: reason("agent-lost", "no answer for 30 s"),
                console: None,
            },
            Fate::Interrupted => Event::VisitVoided {
                visit: visit(),
                reason: reason("interrupted", "kab ended"),
                console: None,
            },
            _ => Event::VisitEnded { visit: visit(), console: None },
        });
    }

    fn trial(
        &self,
        visit: &VisitKey,
        cell: &Cell,
        (warmup, index, attempt): (bool, u32, u32),
        outcome: Outcome,
        iops: f64,
        events: &mut Vec<Event>,
    ) {
        let key = TrialKey { visit: visit.clone(), cell: cell.id.clone(), warmup, index, attempt };
        let ios = (iops * 30.0) as u64;
        let sample = outcome.counts().then(|| Sample {
            total_ios: ios,
            io_bytes: ios * 4096,
            runtime_ms: 30_000,
            iops,
            bw: iops * 4096.0,
            usr_pct: 4.62,
            sys_pct: 21.45,
            cpu_per_io: Some(14_100.0 * (4_526.0 / iops).powf(0.05)),
            clat_mean: Some(1e9 / iops),
            clat_bins: bins(ios, 1e9 / iops),
        });
        events.push(Event::TrialStarted { trial: key.clone() });
        events.push(Event::TrialEnded {
            trial: key,
            record: Box::new(record()),
            outcome,
            sample,
            derivation: DERIVATION,
        });
    }
}

/// A histogram with median and 99th percentile at fixed multiples of the `typical` latency.
fn bins(ios: u64, typical: f64) -> LatencyBins {
    let shares = [(0.7, ios * 6 / 10), (1.2, ios * 38 / 100), (3.0, ios - ios * 6 / 10 - ios * 38 / 100)];
    let bin = |(factor, count): (f64, u64)| (count > 0).then(|| (middle(factor * typical), count));
    LatencyBins::new(shares.into_iter().filter_map(bin).collect())
}

/// The middle of fio's bucket of a latency.
pub(crate) fn middle(ns: f64) -> u64 {
    let ns = ns as u64;
    if ns < 128 {
        return ns;
    }
    let width = 1 << (ns.ilog2() - 6);
    ns / width * width + width / 2
}

fn blob() -> BlobId {
    "00".into()
}

fn record() -> TrialRecord {
    TrialRecord {
        argv: vec!["fio".to_owned()],
        exit: FioExit::Code(0),
        output: blob(),
        stdout: blob(),
        stderr: blob(),
        kernel_log: blob(),
        proc_stat: None,
        wall_ms: 30_100,
        planned_ms: Some(30_000),
        kernel_log_gap: None,
        cut: Vec::new(),
    }
}

fn release(reference: &str) -> String {
    format!("{}.0", reference.trim_start_matches('v'))
}

fn proof(variant: &PlannedVariant) -> BootProof {
    BootProof {
        identity: BootIdentity {
            boot_id: "b".to_owned(),
            build_id: None,
            cmdline: String::new(),
            release: release(&variant.source().unwrap().reference),
            version: "#1 SMP".to_owned(),
            machine: "x86_64".to_owned(),
            cpus: 2,
            memory: 1 << 30,
            fio: Some("fio-3.39".to_owned()),
        },
        stamp: variant.stamp.clone(),
        boot_ms: 900,
        agent: "agent".to_owned(),
    }
}

pub(crate) fn option(name: &str, value: &str) -> FioOption {
    FioOption { name: name.to_owned(), value: value.to_owned() }
}

fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for rw in ["randread", "randwrite"] {
        for jobs in ["1", "8"] {
            let axes = vec![option("rw", rw), option("numjobs", jobs)];
            let mut fio: Vec<FioOption> = [
                ("ioengine", "libaio"),
                ("direct", "1"),
                ("bs", "4k"),
                ("size", "32m"),
                ("runtime", "30s"),
                ("time_based", "1"),
                ("end_fsync", "1"),
                ("group_reporting", "1"),
            ]
            .map(|(name, value)| option(name, value))
            .to_vec();
            fio.extend(axes.clone());
            cells.push(Cell {
                id: CellId(format!("rand4k/{rw}/{jobs}")),
                workload: "rand4k".to_owned(),
                label: format!("{rw}/{jobs}"),
                axes,
                fio,
                target: "ufs0".into(),
                writes: rw == "randwrite",
                planned_ms: Some(30_000),
            });
        }
    }
    cells
}

fn planned_variant(index: usize, name: &str) -> PlannedVariant {
    let commit = |seed: usize| format!("{seed:02x}f41df1cb26").repeat(4)[..40].to_owned();
    PlannedVariant {
        name: name.into(),
        stamp: format!("s{index}"),
        kernel: PlannedKernel::Built(Box::new(PinnedKernel {
            repo: "/home/me/src/linux".to_owned(),
            reference: name.split(' ').next().unwrap().to_owned(),
            base_commit: commit(index),
            commit: commit(index),
            tree: commit(index + 16),
            describe: None,
            changes: Vec::new(),
            config: vec![ConfigItem::Base("defconfig".to_owned())],
            toolchain: Toolchain::Gcc,
            overlay: None,
            placebo: false,
        })),
        changed_files: if index == 0 { Vec::new() } else { vec!["drivers/ufs/core/ufshcd.c".to_owned()] },
        cmdline: None,
        knobs: Vec::new(),
        fio: Vec::new(),
    }
}

fn board(name: &str) -> BoardSpec {
    BoardSpec {
        name: name.into(),
        tags: Vec::new(),
        arch: Arch::X86_64,
        boot: Boot::Qemu(QemuSpec {
            machine: "q35".to_owned(),
            memory: 1 << 30,
            cpus: 2,
            disks: vec![Disk { name: "ufs0".into(), size: 1 << 30, kind: DiskKind::Ufs { mcq: true } }],
            accel: Accel::Auto,
            cmdline: None,
        }),
        dtb: None,
        boot_timeout: Duration::from_secs(60),
    }
}

/// Rounds whose order changes: a rotation that also turns around, so that no variant leads.
fn rounds(names: &[VariantName], rounds: usize) -> Vec<Vec<VariantName>> {
    (0..rounds)
        .map(|round| {
            let mut order = names.to_vec();
            order.rotate_left(round % names.len());
            if round % 2 == 1 {
                order.reverse();
            }
            order
        })
        .collect()
}

fn plan(boards: &[&str], variants: &[&str], count: usize) -> Plan {
    let names: Vec<VariantName> = variants.iter().map(|name| VariantName::from(*name)).collect();
    Plan {
        name: "ufs-threaded-irq".to_owned(),
        title: Some("scsi: ufs: core: move some irq handling back to hardirq".to_owned()),
        experiment_digest: "8d2f".repeat(16),
        seed: 42,
        variants: variants.iter().enumerate().map(|(index, name)| planned_variant(index, name)).collect(),
        baseline: names[0].clone(),
        pairs: names[1..].iter().map(|name| (name.clone(), names[0].clone())).collect(),
        order: Order::Random,
        boards: boards
            .iter()
            .map(|name| PlannedBoard { spec: board(name), rounds: rounds(&names, count) })
            .collect(),
        cells: cells(),
        trials: 3,
        warmup: 1,
        cooldown_ms: 5000,
        limits: Limits::default(),
        report: ReportSpec {
            primary: Metric::Iops,
            metrics: vec![Metric::Iops, Metric::Bw, Metric::CpuPerIo, Metric::ClatP99],
            same_within: Vec::new(),
        },
    }
}
