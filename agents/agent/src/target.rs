//! The target of a trial: found, verified, and held so that nothing else uses it meanwhile.

use crate::refusal::Refusal;
use crate::sysfs::{Disk, describe};
use kab_wire::{Listed, Target};
use rustix::fs::{FlockOperation, Mode, OFlags, fstat, major, minor};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom};
use std::path::Path;

/// A target that is held for as long as this lives.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) target: Target,
    /// A disk is opened exclusively: mounts, swap, device mapper and other careful programs then get EBUSY, and fio, which does
    /// not ask for exclusiveness, still gets in. A file carries a lock that other agents respect.
    _file: File,
}

/// Finds the target anew, checks that it is what the lab lists, and takes it.
pub(crate) fn hold(listed: &Listed, writes: bool) -> Result<Held, Refusal> {
    match listed {
        Listed::File { path, size } => hold_file(Path::new(path), *size, listed),
        Listed::Serial { .. } | Listed::Pci { .. } => {
            let disk = Disk::find(Path::new("/sys"), listed)?;
            if writes && disk.read_only {
                return Err(Refusal::ReadOnly(disk.node().display().to_string()));
            }
            hold_disk(&disk)
        }
    }
}

/// Opens the disk for reading: closing a disk that was open for writing makes udev look at it again, in the next trial's
/// time.
fn hold_disk(disk: &Disk) -> Result<Held, Refusal> {
    let node = disk.node();
    let path = node.display().to_string();
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    let mut file = match rustix::fs::open(&node, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::BUSY) => return Err(Refusal::Busy { path, users: users(disk) }),
        Err(errno) => return Err(Refusal::file(&node)(errno.into())),
    };
    let number = fstat(&file).map(|stat| format!("{}:{}", major(stat.st_rdev), minor(stat.st_rdev)));
    if number != Ok(disk.number.clone()) {
        return Err(Refusal::Mismatch(format!("{path} is not the device {}", disk.number)));
    }
    let size = file.seek(SeekFrom::End(0)).map_err(Refusal::file(&node))?;
    if size != disk.size {
        return Err(Refusal::Mismatch(format!("{path} has {size} bytes, and {} by sysfs", disk.size)));
    }
    let target =
        Target { path, size, model: disk.model.clone(), logical_block: disk.logical_block, block: true };
    Ok(Held { target, _file: file })
}

fn hold_file(path: &Path, size: u64, listed: &Listed) -> Result<Held, Refusal> {
    if !path.is_absolute() {
        return Err(Refusal::Mismatch(format!("{} is no absolute path", describe(listed))));
    }
    // NONBLOCK: a named pipe in its place must not stop the agent before it is seen.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Err(Refusal::Missing(describe(listed))),
        Err(Errno::LOOP) => return Err(Refusal::Mismatch(format!("{} is a symbolic link", path.display()))),
        Err(errno) => return Err(Refusal::file(path)(errno.into())),
    };
    let metadata = file.metadata().map_err(Refusal::file(path))?;
    if !metadata.is_file() {
        return Err(Refusal::Mismatch(format!("{} is no regular file", path.display())));
    }
    if metadata.len() != size {
        let has = metadata.len();
        return Err(Refusal::Mismatch(format!("{} has {has} bytes, the lab lists {size}", path.display())));
    }
    let path = path.display().to_string();
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => return Err(Refusal::Busy { path, users: " by another agent".to_owned() }),
        Err(errno) => return Err(Refusal::file(path)(errno.into())),
    }
    Ok(Held { target: Target { path, size, model: None, logical_block: None, block: false }, _file: file })
}

/// Who uses a disk, as far as can be seen, as the rest of a sentence.
fn users(disk: &Disk) -> String {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mounted = mount_points(&mounts, &disk.node().display().to_string());
    let holders = disk.holders();
    let mut users = Vec::new();
    if !mounted.is_empty() {
        users.push(format!("mounted on {}", mounted.join(", ")));
    }
    if !holders.is_empty() {
        users.push(format!("part of {}", holders.join(", ")));
    }
    if users.is_empty() { " by another program".to_owned() } else { format!(": {}", users.join("; ")) }
}

/// Where a disk or its partitions are mounted. Names of partitions continue the disk's with a number, after a `p` where
/// the disk's ends in a digit.
fn mount_points(mounts: &str, node: &str) -> Vec<String> {
    let is_part = |device: &str| {
        device.strip_prefix(node).is_some_and(|rest| {
            let rest = if node.ends_with(|c: char| c.is_ascii_digit()) {
                rest.strip_prefix('p').unwrap_or(rest)
            } else {
                rest
            };
            rest.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    let fields = mounts.lines().filter_map(|line| line.split_once(' '));
    fields
        .filter(|(device, _)| is_part(device))
        .filter_map(|(_, rest)| rest.split(' ').next())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn listed(path: &Path, size: u64) -> Listed {
        Listed::File { path: path.display().to_string(), size }
    }

    #[test]
    fn a_file_is_held_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scratch");
        fs::write(&path, [0; 4096]).unwrap();
        let held = hold(&listed(&path, 4096), true).unwrap();
        assert_eq!((held.target.size, held.target.block), (4096, false));
        assert!(matches!(hold(&listed(&path, 4096), true), Err(Refusal::Busy { .. })));
        drop(held);
        hold(&listed(&path, 4096), true).unwrap();
    }

    #[test]
    fn a_file_that_is_not_as_listed_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scratch");
        fs::write(&path, [0; 4096]).unwrap();
        let link = folder.path().join("link");
        symlink(&path, &link).unwrap();
        assert!(matches!(hold(&listed(&path, 4097), true), Err(Refusal::Mismatch(_))));
        assert!(matches!(hold(&listed(&link, 4096), true), Err(Refusal::Mismatch(_))));
        assert!(matches!(hold(&listed(folder.path(), 4096), true), Err(Refusal::Mismatch(_))));
        assert!(matches!(hold(&listed(Path::new("scratch"), 4096), true), Err(Refusal::Mismatch(_))));
        assert!(matches!(hold(&listed(&folder.path().join("none"), 0), true), Err(Refusal::Missing(_))));
    }

    #[test]
    fn mounts_of_a_disk_are_told_from_its_neighbours() {
        let mounts = "/dev/sda / ext4 rw 0 0\n/dev/sda2 /data ext4 rw 0 0\n/dev/sdab /far ext4 rw 0 0\n\
                      /dev/nvme0n1p1 /boot vfat rw 0 0\n/dev/nvme0n12 /other ext4 rw 0 0\nproc /proc proc rw 0 0\n";
        assert_eq!(mount_points(mounts, "/dev/sda"), ["/", "/data"]);
        assert_eq!(mount_points(mounts, "/dev/nvme0n1"), ["/boot", "/other"]);
        assert!(mount_points(mounts, "/dev/vda").is_empty());
    }
}
