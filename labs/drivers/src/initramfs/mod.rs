//! The root file system of virtual boards: busybox, Dropbear and fio of this host, in one initramfs.
//!
//! It is the same for every variant. It stays uncompressed: QEMU hands it over by DMA, while a kernel under TCG takes two to
//! three seconds to decompress what fio's libraries weigh (80 MB on Debian). Made once for each content: the file's name is
//! the digest of its bytes. As it holds the boards' host key, only its owner may read it.

mod libraries;

use crate::host::HostTools;
use crate::keys::BoardKeys;
use kab_board::BootError;
use kab_images::{Archive, ArchiveError};
use kab_lifeline::Command;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Printed on the console when everything but the SSH server is up.
pub(crate) const READY: &str = "kab-board: ready";

/// Printed on the console instead where the kernel offers no network device.
pub(crate) const NO_NETWORK: &str = "kab-board: no network";

/// Least memory of a machine, bytes: the archive is in memory twice while it is unpacked.
pub(crate) const LEAST_MEMORY: u64 = 256 << 20;

/// For `busybox --list`, a small static program, from a cold disk at worst.
const LIST: Duration = Duration::from_secs(5);

/// Where Dropbear finds its host key.
const HOST_KEY: &str = "etc/dropbear/host_ed25519";

/// busybox runs `start` once and Dropbear for ever; as process 1 it also reaps orphans. Dropbear: in the foreground, log to
/// the console, no passwords, no forwarding, no message of the day, a window that fits a push of the agent.
const INITTAB: &str = "::sysinit:/etc/start\n\
    ::respawn:/usr/sbin/dropbear -F -E -s -j -k -m -W 262144 -r /etc/dropbear/host_ed25519\n";

/// The archive as a file in the cache, made now if need be. Blocks while it reads some 80 MB.
pub fn in_cache(host: &HostTools, keys: &BoardKeys) -> Result<PathBuf, BootError> {
    let bytes = archive(host, keys)?.to_bytes();
    let digest = blake3::hash(&bytes).to_hex();
    let path = host.cache_dir.join(format!("initramfs-{}.cpio", &digest[..24]));
    let complete = path.metadata().is_ok_and(|metadata| metadata.len() == bytes.len() as u64);
    if !complete {
        publish(&path, &bytes)
            .map_err(|error| lab(format!("cannot write the initramfs {}: {error}", path.display())))?;
    }
    Ok(path)
}

/// Everything that goes in.
pub fn archive(host: &HostTools, keys: &BoardKeys) -> Result<Archive, BootError> {
    let mut archive = Archive::new();
    programs(&mut archive, host)?;
    settings(&mut archive, keys).map_err(lab)?;
    Ok(archive)
}

fn programs(archive: &mut Archive, host: &HostTools) -> Result<(), BootError> {
    let busybox = host.find("busybox", "busybox-static")?;
    let dropbear = host.find("dropbear", "dropbear-bin")?;
    let fio = host.find("fio", "fio")?;
    for (program, place) in
        [(&busybox, "bin/busybox"), (&dropbear, "usr/sbin/dropbear"), (&fio, "usr/bin/fio")]
    {
        archive.file(place, 0o755, read(program)?).map_err(lab)?;
        for library in libraries::of(host, program)? {
            archive.file(&library.to_string_lossy(), 0o755, read(&library)?).map_err(lab)?;
        }
    }
    for applet in applets(host, &busybox)? {
        let place = format!("bin/{applet}");
        if !archive.contains(&place) {
            archive.symlink(&place, "busybox").map_err(lab)?;
        }
    }
    // Where a library lies off the loader's own path, its cache tells the guest's loader as it tells the host's.
    let cache = Path::new("/etc/ld.so.cache");
    if libraries::need_cache(archive) && cache.exists() {
        archive.file("etc/ld.so.cache", 0o644, read(cache)?).map_err(lab)?;
    }
    Ok(())
}

fn settings(archive: &mut Archive, keys: &BoardKeys) -> Result<(), ArchiveError> {
    for folder in ["dev", "proc", "run", "sys", "tmp"] {
        archive.folder(folder, 0o755)?;
    }
    // The kernel opens the console before anything is mounted.
    archive.device("dev/console", 0o600, 5, 1)?;
    archive.device("dev/null", 0o666, 1, 3)?;
    // By this name busybox is init.
    archive.symlink("init", "bin/busybox")?;
    archive.file("etc/start", 0o755, include_bytes!("start.sh").to_vec())?;
    let files = [
        ("etc/inittab", INITTAB),
        ("etc/passwd", "root:*:0:0:root:/root:/bin/sh\n"),
        ("etc/group", "root:*:0:\n"),
        ("etc/shells", "/bin/sh\n"),
        ("etc/nsswitch.conf", "passwd: files\ngroup: files\n"),
    ];
    for (path, content) in files {
        archive.file(path, 0o644, content.into())?;
    }
    archive.file(HOST_KEY, 0o600, keys.host_for_dropbear())?;
    // Dropbear insists on folders that only their owner may write.
    archive.folder("root", 0o700)?;
    archive.folder("root/.ssh", 0o700)?;
    archive.file("root/.ssh/authorized_keys", 0o600, keys.authorized().into())
}

/// Names by which this busybox can be called.
fn applets(host: &HostTools, busybox: &Path) -> Result<Vec<String>, BootError> {
    let failed =
        |error: &dyn std::fmt::Display| lab(format!("cannot run {} --list: {error}", busybox.display()));
    let said = host.ask(Command::new(busybox).arg("--list"), LIST).map_err(|error| failed(&error))?;
    if !said.ended.success() {
        return Err(failed(&said.ended));
    }
    let list: Vec<String> = said.stdout.lines().map(str::to_owned).collect();
    for needed in ["sh", "init", "mount", "ip", "hostname", "mkdir"] {
        if !list.iter().any(|applet| applet == needed) {
            return Err(lab(format!(
                "{} lacks `{needed}`: install the package busybox-static",
                busybox.display()
            )));
        }
    }
    Ok(list)
}

fn read(path: &Path) -> Result<Vec<u8>, BootError> {
    std::fs::read(path).map_err(|error| lab(format!("cannot read {}: {error}", path.display())))
}

/// Writes under another name and renames, so that nobody boots half an archive.
fn publish(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

#[allow(clippy::needless_pass_by_value)] // So that it fits `map_err`.
fn lab(cause: impl ToString) -> BootError {
    BootError::Lab { cause: cause.to_string() }
}
