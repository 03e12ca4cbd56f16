//! What lies behind a target's disk.

use crate::View;
use crate::view::natural;

/// Disks of a target and the controller that they hang on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// Names in /sys/block: the target's disk, what it is built upon and what is built upon it.
    pub disks: Vec<String>,
    /// Where the bottom disks really lie in /sys/devices.
    pub places: Vec<String>,
    /// Folders of UFS host controllers.
    pub ufs_hosts: Vec<String>,
    /// Names of NVMe controllers.
    pub nvme: Vec<String>,
    /// What drivers may call its interrupts.
    pub interrupt_names: Vec<String>,
}

impl Device {
    /// Looks at a disk, or a partition, by its name.
    pub fn find(view: &dyn View, name: &str) -> Self {
        let mut device = Self::default();
        let disk = whole_disk(view, name);
        device.add(view, &disk, &mut |view, disk| {
            [names(view, disk, "slaves"), names(view, disk, "holders")].concat()
        });
        let bottoms: Vec<String> =
            device.disks.iter().filter(|disk| names(view, disk, "slaves").is_empty()).cloned().collect();
        for disk in bottoms {
            if let Some(place) = view.real(&format!("/sys/block/{disk}")) {
                device.look_at(view, place);
            }
        }
        device
    }

    fn add(&mut self, view: &dyn View, disk: &str, next: &mut dyn FnMut(&dyn View, &str) -> Vec<String>) {
        if self.disks.iter().any(|known| known == disk) {
            return;
        }
        self.disks.push(disk.to_owned());
        for other in next(view, disk) {
            self.add(view, &whole_disk(view, &other), next);
        }
    }

    fn look_at(&mut self, view: &dyn View, place: String) {
        let mut folder = place.as_str();
        while let Some((parent, own)) = folder.rsplit_once('/') {
            let exists = |file: &str| view.read(&format!("{folder}/{file}")).is_some();
            let is_ufs =
                ["rpm_lvl", "clkgate_enable", "clkscale_enable", "auto_hibern8"].into_iter().any(exists);
            if is_ufs {
                push(&mut self.ufs_hosts, folder);
                push(&mut self.interrupt_names, "ufshcd");
                push(&mut self.interrupt_names, own);
            }
            // A controller; its name spaces (nvme0n1) lie below.
            let is_numbered = |prefix: &str| {
                let rest = own.strip_prefix(prefix).unwrap_or_default();
                !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit())
            };
            if is_numbered("nvme") {
                push(&mut self.nvme, own);
            }
            if ["nvme", "virtio", "mmc"].into_iter().any(is_numbered) {
                push(&mut self.interrupt_names, own);
            }
            folder = parent;
        }
        self.places.push(place);
    }
}

fn push(list: &mut Vec<String>, item: &str) {
    if !list.iter().any(|known| known == item) {
        list.push(item.to_owned());
    }
}

/// A partition's folder lies in its disk's.
fn whole_disk(view: &dyn View, name: &str) -> String {
    if view.real(&format!("/sys/block/{name}")).is_some() {
        return name.to_owned();
    }
    let real = view.real(&format!("/sys/class/block/{name}"));
    let parent = real.as_deref().and_then(|real| real.rsplit('/').nth(1).map(str::to_owned));
    parent
        .filter(|parent| view.real(&format!("/sys/block/{parent}")).is_some())
        .unwrap_or_else(|| name.to_owned())
}

/// What a disk is built upon (`slaves`) or what is built upon it or one of its partitions (`holders`).
fn names(view: &dyn View, disk: &str, folder: &str) -> Vec<String> {
    let own = format!("/sys/block/{disk}");
    let parts =
        view.list(&own).into_iter().filter(|name| name.starts_with(disk)).map(|name| format!("{own}/{name}"));
    let mut all: Vec<String> = std::iter::once(own.clone())
        .chain(parts)
        .flat_map(|place| view.list(&format!("{place}/{folder}")))
        .collect();
    all.sort_by_key(|name| natural(name));
    all
}
