//! Block devices as sysfs shows them.

use crate::refusal::Refusal;
use kab_wire::Listed;
use std::fs;
use std::path::{Path, PathBuf};

/// sysfs counts in these, whatever the logical block.
const SECTOR: u64 = 512;

/// A whole disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Disk {
    /// Name in /sys/block.
    pub(crate) name: String,
    /// `major:minor`
    pub(crate) number: String,
    /// Bytes.
    pub(crate) size: u64,
    pub(crate) model: Option<String>,
    pub(crate) logical_block: Option<u32>,
    pub(crate) read_only: bool,
    folder: PathBuf,
}

impl Disk {
    /// The only disk below `sys` (normally /sys) that is what `listed` describes, and has its size. A file is no disk.
    pub(crate) fn find(sys: &Path, listed: &Listed) -> Result<Self, Refusal> {
        let what = describe(listed);
        let mut found: Vec<PathBuf> =
            folders(&sys.join("block")).into_iter().filter(|folder| is(folder, listed)).collect();
        let folder = match (found.pop(), found.is_empty()) {
            (None, _) => return Err(Refusal::Missing(what)),
            (Some(folder), true) => folder,
            (Some(folder), false) => {
                found.push(folder);
                let candidates = found.iter().map(|folder| name_of(folder)).collect::<Vec<_>>().join(", ");
                return Err(Refusal::Ambiguous { what, candidates });
            }
        };
        let disk = Self::read(folder);
        if disk.size != listed.size() {
            let (name, has, should) = (&disk.name, disk.size, listed.size());
            return Err(Refusal::Mismatch(format!(
                "{what} ({name}) has {has} bytes, the lab lists {should}"
            )));
        }
        Ok(disk)
    }

    /// Its node.
    pub(crate) fn node(&self) -> PathBuf {
        // sysfs has no slashes within names and writes `!` for them.
        Path::new("/dev").join(self.name.replace('!', "/"))
    }

    /// Devices that are built upon this disk or its partitions.
    pub(crate) fn holders(&self) -> Vec<String> {
        let partitions = folders(&self.folder).into_iter().filter(|folder| folder.join("partition").exists());
        let parts = std::iter::once(self.folder.clone()).chain(partitions);
        parts.flat_map(|part| folders(&part.join("holders"))).map(|holder| name_of(&holder)).collect()
    }

    fn read(folder: PathBuf) -> Self {
        let number = |file: &str| text(&folder.join(file)).and_then(|text| text.parse::<u64>().ok());
        Self {
            name: name_of(&folder),
            number: text(&folder.join("dev")).unwrap_or_default(),
            size: number("size").unwrap_or(0).saturating_mul(SECTOR),
            model: text(&folder.join("device/model")),
            logical_block: number("queue/logical_block_size").and_then(|size| u32::try_from(size).ok()),
            read_only: number("ro") == Some(1),
            folder,
        }
    }
}

/// What is looked for, in words.
pub(crate) fn describe(listed: &Listed) -> String {
    match listed {
        Listed::Serial { serial, .. } => format!("disk with serial number {serial:?}"),
        Listed::Pci { address, .. } => format!("disk at PCI address {address:?}"),
        Listed::File { path, .. } => format!("file {path:?}"),
    }
}

fn is(folder: &Path, listed: &Listed) -> bool {
    // A path of a disk with several, as NVMe makes them even where there is one: it has no node and cannot be opened.
    if text(&folder.join("hidden")).as_deref() == Some("1") {
        return false;
    }
    match listed {
        // virtio has the number at the disk, NVMe at its controller, padded with blanks.
        Listed::Serial { serial, .. } => {
            let found = text(&folder.join("serial")).or_else(|| text(&folder.join("device/serial")));
            !serial.is_empty() && found.as_deref() == Some(serial)
        }
        Listed::Pci { address, .. } => pci_address(folder).as_deref() == Some(address),
        Listed::File { .. } => false,
    }
}

/// The PCI function nearest to the disk: its path also names the bridges before it.
fn pci_address(folder: &Path) -> Option<String> {
    let path = fs::canonicalize(folder).ok()?;
    let component = path.components().rev().map(|part| part.as_os_str().to_string_lossy());
    component.into_iter().find(|part| is_pci_address(part)).map(Into::into)
}

/// `domain:bus:device.function`, all hexadecimal.
fn is_pci_address(text: &str) -> bool {
    let hex =
        |part: &str, length: usize| part.len() >= length && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let parts: Vec<&str> = text.split([':', '.']).collect();
    matches!(parts[..], [domain, bus, device, function]
        if hex(domain, 4) && hex(bus, 2) && hex(device, 2) && hex(function, 1) && text.contains('.'))
}

fn text(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_owned())
}

/// Entries in the order of their names.
fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

fn name_of(folder: &Path) -> String {
    folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use tempfile::TempDir;

    /// A disk of 2048 sectors whose device lies at `device` below devices/.
    fn add(sys: &TempDir, name: &str, device: &str, files: &[(&str, &str)]) {
        let folder = sys.path().join("devices").join(device).join("block").join(name);
        fs::create_dir_all(folder.join("queue")).unwrap();
        fs::create_dir_all(folder.join("holders")).unwrap();
        fs::create_dir_all(sys.path().join("block")).unwrap();
        symlink(&folder, sys.path().join("block").join(name)).unwrap();
        symlink(sys.path().join("devices").join(device), folder.join("device")).unwrap();
        let standard =
            [("size", "2048\n"), ("dev", "8:0\n"), ("ro", "0\n"), ("queue/logical_block_size", "4096\n")];
        for (file, content) in standard.iter().chain(files) {
            fs::write(folder.join(file), content).unwrap();
        }
    }

    fn board() -> TempDir {
        let sys = tempfile::tempdir().unwrap();
        add(&sys, "vda", "pci0000:00/0000:00:03.0/virtio1", &[("serial", "scratch")]);
        add(
            &sys,
            "nvme0n1",
            "pci0000:00/0000:00:01.0/0000:01:00.0/nvme/nvme0",
            &[("device/serial", "n0                  \n")],
        );
        add(
            &sys,
            "sda",
            "pci0000:00/0000:00:05.0/host0/target0:0:0/0:0:0:0",
            &[("device/model", "QEMU HARDDISK   \n")],
        );
        sys
    }

    const SIZE: u64 = 1 << 20;

    #[test]
    fn paths_of_a_multipath_disk_are_not_taken_for_it() {
        let sys = board();
        let controller = "pci0000:00/0000:00:01.0/0000:01:00.0/nvme/nvme0";
        add(&sys, "nvme0c0n1", controller, &[("hidden", "1\n"), ("device/serial", "n0\n")]);
        let listed = Listed::Serial { serial: "n0".into(), size: SIZE };
        assert_eq!(Disk::find(sys.path(), &listed).unwrap().name, "nvme0n1");
    }

    fn serial(serial: &str, size: u64) -> Listed {
        Listed::Serial { serial: serial.to_owned(), size }
    }

    fn pci(address: &str) -> Listed {
        Listed::Pci { address: address.to_owned(), size: SIZE }
    }

    #[test]
    fn disks_are_found_by_what_they_are() {
        let sys = board();
        for (listed, name) in
            [(serial("scratch", SIZE), "vda"), (serial("n0", SIZE), "nvme0n1"), (pci("0000:00:05.0"), "sda")]
        {
            assert_eq!(Disk::find(sys.path(), &listed).unwrap().name, name);
        }
        let disk = Disk::find(sys.path(), &pci("0000:00:05.0")).unwrap();
        assert_eq!((disk.size, disk.logical_block, disk.read_only), (SIZE, Some(4096), false));
        assert_eq!((disk.model.as_deref(), disk.number.as_str()), (Some("QEMU HARDDISK"), "8:0"));
        assert_eq!(disk.node(), Path::new("/dev/sda"));
    }

    #[test]
    fn neither_a_bridge_nor_a_part_of_a_serial_number_is_enough() {
        let sys = board();
        for listed in [pci("0000:00:01.0"), serial("scratc", SIZE), serial("", SIZE), pci("0000:00:09.0")] {
            assert!(matches!(Disk::find(sys.path(), &listed), Err(Refusal::Missing(_))), "{listed:?}");
        }
    }

    #[test]
    fn another_size_is_another_disk() {
        let sys = board();
        let refusal = Disk::find(sys.path(), &serial("scratch", SIZE + 512)).unwrap_err();
        assert!(matches!(refusal, Refusal::Mismatch(_)));
        assert!(refusal.to_string().contains("1048576 bytes, the lab lists 1049088"), "{refusal}");
    }

    #[test]
    fn two_of_a_kind_are_refused() {
        let sys = board();
        add(&sys, "vdb", "pci0000:00/0000:00:04.0/virtio2", &[("serial", "scratch")]);
        let refusal = Disk::find(sys.path(), &serial("scratch", SIZE)).unwrap_err();
        assert!(matches!(refusal, Refusal::Ambiguous { .. }));
        assert!(refusal.to_string().contains("vda, vdb"), "{refusal}");
    }

    #[test]
    fn holders_of_the_disk_and_its_partitions_are_named() {
        let sys = board();
        let disk = Disk::find(sys.path(), &serial("scratch", SIZE)).unwrap();
        let folder = sys.path().join("block/vda");
        fs::create_dir_all(folder.join("vda1/holders/dm-0")).unwrap();
        fs::write(folder.join("vda1/partition"), "1").unwrap();
        fs::create_dir_all(folder.join("holders/md1")).unwrap();
        assert_eq!(disk.holders(), ["md1", "dm-0"]);
    }
}
