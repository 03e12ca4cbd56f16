//! All knobs, in the order in which they are set.

use crate::profile::is_tunable_path;
use serde::{Deserialize, Serialize};

/// When a knob is set. What changes others comes before them: a scheduler resets the depth of its queue, clock scaling
/// turns the write booster, queues may move interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Programs that would change knobs back.
    Programs,
    /// Which CPUs there are.
    Cpus,
    /// What frequencies there are.
    Boost,
    /// Who chooses frequencies.
    Governor,
    /// Between which limits; the pair of each domain has its own order.
    Limits,
    /// Idle states.
    Idle,
    /// Clock scaling of the controller.
    Scaling,
    /// Other power saving of the controller and its link.
    Power,
    /// The queue's scheduler.
    Scheduler,
    /// The rest of the queue.
    Queue,
    /// Where interrupts go.
    Interrupts,
    /// Everything else.
    System,
}

/// A knob, or a family of them.
#[derive(Clone, Copy, Debug)]
pub struct Knob {
    /// As a profile names it; one that ends in `.` goes on with a name of the user's choice.
    pub name: &'static str,
    /// One line for help.
    pub about: &'static str,
    /// When it is set.
    pub stage: Stage,
    pub(crate) kind: Kind,
}

/// Where a knob's files are and what a value means for them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// One file.
    File(&'static str),
    /// A file of each cpufreq policy.
    Policy(&'static str),
    /// A limit of each cpufreq policy, kHz; `min` and `max` are the hardware's.
    PolicyLimit(&'static str),
    /// Turbo frequencies, wherever the driver has the switch.
    Boost,
    /// `disable` of all idle states but the first.
    Idle,
    /// A file of each devfreq device that is no GPU.
    Devfreq(&'static str),
    /// A limit of each of them, Hz; `min` and `max` are those of its table.
    DevfreqLimit(&'static str),
    /// A file of the target's UFS host controller.
    UfsHost(&'static str),
    /// Run-time power management of the target's devices.
    PowerControl,
    /// A file of the target's NVMe controller.
    Nvme(&'static str),
    /// A file of the queue of each of the target's disks.
    Queue(&'static str),
    /// The target's interrupts.
    Interrupts,
    /// `/proc/sys/…`, dots for slashes.
    Sysctl,
    /// `/sys/module/MODULE/parameters/PARAMETER`
    Module,
    /// Another file of the queue of each of the target's disks.
    AnyQueue,
    /// An Android property.
    Property,
    /// A unit of systemd: `running` or `stopped`.
    Service,
    /// A path as it is.
    Path,
}

const fn knob(name: &'static str, stage: Stage, kind: Kind, about: &'static str) -> Knob {
    Knob { name, about, stage, kind }
}

/// All knobs, in the order in which they are set.
pub fn catalogue() -> &'static [Knob] {
    KNOBS
}

/// The knob of that name; families are known by their beginning.
pub(crate) fn find(name: &str) -> Option<&'static Knob> {
    if name.starts_with('/') {
        return is_tunable_path(name).then_some(&PATH);
    }
    KNOBS.iter().find(|knob| knob.name == name && !name.ends_with('.')).or_else(|| {
        KNOBS.iter().find(|knob| {
            let rest = knob.name.ends_with('.').then(|| name.strip_prefix(knob.name)).flatten();
            // The rest becomes a part of a path.
            rest.is_some_and(|rest| !rest.split('.').any(str::is_empty) && !rest.contains(['/', '\0', '\n']))
        })
    })
}

static PATH: Knob = knob("/", Stage::System, Kind::Path, "a file below /sys or /proc/sys");

#[rustfmt::skip]
static KNOBS: &[Knob] = &[
    knob("service.", Stage::Programs, Kind::Service, "a unit of systemd: running or stopped"),
    knob("property.", Stage::Programs, Kind::Property, "an Android property"),
    knob("cpu.smt", Stage::Cpus, Kind::File("/sys/devices/system/cpu/smt/control"), "sibling threads: on or off"),
    knob("cpufreq.boost", Stage::Boost, Kind::Boost, "turbo frequencies: 0 or 1"),
    knob("cpufreq.governor", Stage::Governor, Kind::Policy("scaling_governor"), "who chooses the CPUs' frequency"),
    knob("cpufreq.epp", Stage::Governor, Kind::Policy("energy_performance_preference"), "hint to a hardware governor"),
    knob("cpufreq.min", Stage::Limits, Kind::PolicyLimit("scaling_min_freq"), "lowest CPU frequency: min, max or kHz"),
    knob("cpufreq.max", Stage::Limits, Kind::PolicyLimit("scaling_max_freq"), "highest CPU frequency: min, max or kHz"),
    knob("devfreq.governor", Stage::Governor, Kind::Devfreq("governor"), "who chooses the frequency of buses and controllers"),
    knob("devfreq.min", Stage::Limits, Kind::DevfreqLimit("min_freq"), "lowest frequency of buses and controllers: min, max or Hz"),
    knob("devfreq.max", Stage::Limits, Kind::DevfreqLimit("max_freq"), "highest frequency of buses and controllers: min, max or Hz"),
    knob("cpuidle.disable", Stage::Idle, Kind::Idle, "1 turns all idle states but the first off"),
    knob("ufs.clkscale_enable", Stage::Scaling, Kind::UfsHost("clkscale_enable"), "0 pins the controller to its highest gear"),
    knob("ufs.clkgate_enable", Stage::Power, Kind::UfsHost("clkgate_enable"), "0 keeps the controller's clocks running"),
    knob("ufs.auto_hibern8", Stage::Power, Kind::UfsHost("auto_hibern8"), "idle time before the link sleeps, us; 0: never"),
    knob("ufs.rpm_lvl", Stage::Power, Kind::UfsHost("rpm_lvl"), "depth of run-time sleep, 0 to 6"),
    knob("ufs.wb_on", Stage::Power, Kind::UfsHost("wb_on"), "write booster: 0 or 1"),
    knob("power.control", Stage::Power, Kind::PowerControl, "run-time sleep of the target's devices: on (none) or auto"),
    knob("nvme.latency_tolerance", Stage::Power, Kind::Nvme("power/pm_qos_latency_tolerance_us"), "0 turns autonomous sleep off"),
    knob("pcie.aspm", Stage::Power, Kind::File("/sys/module/pcie_aspm/parameters/policy"), "power saving of PCI Express links"),
    knob("queue.scheduler", Stage::Scheduler, Kind::Queue("scheduler"), "the I/O scheduler"),
    knob("queue.", Stage::Queue, Kind::AnyQueue, "another file of the queue: nr_requests, nomerges, rq_affinity, ..."),
    knob("irq.affinity", Stage::Interrupts, Kind::Interrupts, "the target's interrupts: auto, fastest, spread or CPUs"),
    knob("mount.debugfs", Stage::System, Kind::File("mount:/sys/kernel/debug"), "1: debugfs is mounted"),
    knob("memory.thp", Stage::System, Kind::File("/sys/kernel/mm/transparent_hugepage/enabled"), "huge pages: always, madvise, never"),
    knob("memory.ksm", Stage::System, Kind::File("/sys/kernel/mm/ksm/run"), "merging of equal pages: 0 or 1"),
    knob("sysctl.", Stage::System, Kind::Sysctl, "a file below /proc/sys, dots for slashes"),
    knob("module.", Stage::System, Kind::Module, "MODULE.PARAMETER"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_whole_or_by_their_family() {
        for (name, found) in [
            ("queue.scheduler", Some("queue.scheduler")),
            ("queue.rq_affinity", Some("queue.")),
            ("sysctl.vm.swappiness", Some("sysctl.")),
            ("/sys/kernel/mm/ksm/run", Some("/")),
            ("/sys/../etc/passwd", None),
            ("/etc/passwd", None),
            ("queue.../../x", None),
            ("queue.", None),
            ("queue", None),
            ("cpufreq.speed", None),
        ] {
            assert_eq!(find(name).map(|knob| knob.name), found, "{name}");
        }
    }
}
