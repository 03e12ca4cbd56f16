//! /proc/interrupts and the vectors of a device.

use crate::View;
use crate::form::cpus;
use crate::view::natural;

/// An interrupt of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vector {
    /// Its number.
    pub irq: u32,
    /// What the driver calls it: `nvme0q3`, `ufshcd`.
    pub name: String,
    /// Deliveries to each online CPU, in the order of [`crate::interrupts::columns`].
    pub counts: Vec<u64>,
}

/// CPUs of the columns of /proc/interrupts; those that are online.
pub(crate) fn columns(text: &str) -> Vec<u32> {
    let head = text.lines().next().unwrap_or_default();
    head.split_whitespace().filter_map(|word| word.strip_prefix("CPU")?.parse().ok()).collect()
}

/// The numbered lines of /proc/interrupts; sums such as `NMI:` are left out.
pub fn vectors(text: &str) -> Vec<Vector> {
    let columns = columns(text).len();
    let vector = |line: &str| {
        let (irq, rest) = line.split_once(':')?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let counts: Vec<u64> = words.iter().take(columns).map_while(|word| word.parse().ok()).collect();
        // Between counts and name stand the controller and its own number for the line; drivers that share it follow
        // with commas.
        let name = words.get(counts.len()..)?.last()?.to_string();
        Some(Vector { irq: irq.trim().parse().ok()?, name, counts })
    };
    text.lines().skip(1).filter_map(vector).collect()
}

/// Interrupts of a device that lies at `real`, in the order of their numbers: by the message-signalled ones that sysfs
/// lists, else by the name that its driver gives them.
pub(crate) fn of_device(view: &dyn View, real: &str, names: &[String]) -> Vec<Vector> {
    let all = vectors(&view.read("/proc/interrupts").unwrap_or_default());
    let listed: Vec<u32> = ancestors(real)
        .map(|folder| view.list(&format!("{folder}/msi_irqs")))
        .find(|numbers| !numbers.is_empty())
        .unwrap_or_default()
        .iter()
        .filter_map(|number| number.parse().ok())
        .collect();
    let is_listed = |vector: &Vector| listed.contains(&vector.irq);
    let is_named = |vector: &Vector| names.iter().any(|name| name_fits(&vector.name, name));
    let mut found: Vec<Vector> = all.iter().filter(|vector| is_listed(vector)).cloned().collect();
    if found.is_empty() {
        found = all.into_iter().filter(is_named).collect();
    }
    // `nvme0q10` after `nvme0q9`, and numbers need not follow queues.
    found.sort_by_key(|vector| (natural(&vector.name), vector.irq));
    found
}

/// A driver's name for an interrupt begins with the device's, and goes on with a queue: never with another digit.
fn name_fits(vector: &str, device: &str) -> bool {
    let rest = vector.strip_prefix(device);
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
        || vector.contains(device) && !device.ends_with(|c: char| c.is_ascii_digit())
}

fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| path.rsplit_once('/').map(|(parent, _)| parent))
        .take_while(|path| path.len() > "/sys/devices".len())
}

/// Where interrupts should go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spread {
    /// One vector to the fastest CPU, several over all of them.
    Auto,
    /// All to the fastest.
    Fastest,
    /// Over all, one after the other.
    Over,
}

impl Spread {
    pub(crate) fn parse(word: &str) -> Option<Self> {
        match word {
            "auto" => Some(Self::Auto),
            "fastest" => Some(Self::Fastest),
            "spread" => Some(Self::Over),
            _ => None,
        }
    }

    /// The CPU of the vector at `index` of `count`.
    pub(crate) fn cpu(self, index: usize, count: usize, online: &[u32], fastest: u32) -> u32 {
        let over = || online.get(index % online.len().max(1)).copied().unwrap_or(fastest);
        match self {
            Self::Fastest => fastest,
            Self::Auto if count == 1 => fastest,
            Self::Auto | Self::Over => over(),
        }
    }
}

/// The CPU that the board's description names, else the last of those with the greatest capacity or frequency: clusters
/// are numbered from small to big, and the first CPU serves what nobody directed elsewhere.
pub(crate) fn fastest_cpu(view: &dyn View, online: &[u32]) -> u32 {
    let speed = |cpu: u32| {
        let file = |name: &str| {
            let text = view.read(&format!("/sys/devices/system/cpu/cpu{cpu}/{name}"))?;
            text.trim().parse::<u64>().ok()
        };
        file("cpu_capacity").or_else(|| file("cpufreq/cpuinfo_max_freq")).unwrap_or(0)
    };
    online.iter().copied().max_by_key(|cpu| (speed(*cpu), *cpu)).unwrap_or(0)
}

/// Online CPUs.
pub(crate) fn online(view: &dyn View) -> Vec<u32> {
    view.read("/sys/devices/system/cpu/online").and_then(|text| cpus(&text)).unwrap_or_else(|| vec![0])
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "           CPU0       CPU2\n  0:         46          0   IO-APIC   2-edge      timer\n\
                        136:          5          7     GICv3 297 Level     1d84000.ufshc\n\
                        NMI:          0          0   Non-maskable interrupts\nERR:          0\n";

    #[test]
    fn lines_are_cut_by_the_cpus_of_the_head() {
        assert_eq!(columns(TEXT), [0, 2]);
        let found = vectors(TEXT);
        assert_eq!(found.len(), 2);
        assert_eq!(found[1], Vector { irq: 136, name: "1d84000.ufshc".into(), counts: vec![5, 7] });
    }

    #[test]
    fn a_device_is_not_its_neighbour_with_more_digits() {
        assert!(name_fits("nvme1q3", "nvme1") && !name_fits("nvme10q3", "nvme1"));
        assert!(name_fits("virtio0-req.0", "virtio0") && !name_fits("virtio01", "virtio0"));
        assert!(name_fits("qcom-ufshcd-esi", "ufshcd") && name_fits("mmc0", "mmc0"));
        assert!(!name_fits("xhci-mmc0", "mmc0"));
    }
}
