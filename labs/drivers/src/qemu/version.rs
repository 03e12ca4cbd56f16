//! Which QEMU this is, and whether it has the devices that a board wants.

use crate::host::{HostTools, stretched_now, with_source};
use kab_board::BootError;
use kab_lifeline::{Command, Output};
use kab_model::{DiskKind, QemuSpec};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

/// Name of the program for x86-64.
const PROGRAM: &str = "qemu-system-x86_64";
const PACKAGE: &str = "qemu-system-x86";

/// For `--version`, which loads some hundred libraries, from a cold disk at worst.
const VERSION: Duration = Duration::from_secs(20);

/// Most of it that is read, bytes.
const MOST_SAID: u64 = 4 << 10;

/// An installed QEMU.
pub(super) struct Qemu {
    pub(super) program: PathBuf,
    /// First line of `--version`.
    pub(super) line: String,
    version: (u32, u32),
}

impl Qemu {
    /// Finds it and asks for its version.
    pub(super) async fn find(host: &HostTools) -> Result<Self, BootError> {
        let program = host.find(PROGRAM, PACKAGE)?;
        let command = Command::new(&program).arg("--version").stdout(Output::Pipe).stderr(Output::Null);
        let said = match timeout(stretched_now(VERSION), said(host, command)).await {
            Ok(said) => said.map_err(|error| unusable(&program, &error))?,
            Err(_) => return Err(unusable(&program, &"it does not tell its version in time")),
        };
        let line = said.lines().next().unwrap_or_default().to_owned();
        let version = parse(&line).ok_or_else(|| unusable(&program, &format!("{line:?} is no version")))?;
        Ok(Self { program, line, version })
    }

    /// Fails where it is another one than `line` says: numbers of two emulators cannot be compared.
    pub(super) fn is_still(&self, line: &str) -> Result<(), BootError> {
        if self.line == line {
            return Ok(());
        }
        let cause = format!(
            "the run was begun with {line:?}, and {:?} is installed now: begin another run (kab run --new)",
            self.line
        );
        Err(BootError::Lab { cause })
    }

    /// Fails where this QEMU is too old for a disk of the board.
    pub(super) fn check(&self, spec: &QemuSpec) -> Result<(), BootError> {
        for disk in &spec.disks {
            let DiskKind::Ufs { mcq } = disk.kind else { continue };
            let needed = if mcq { (9, 0) } else { (8, 2) };
            if self.version < needed {
                return Err(BootError::Lab { cause: too_old(&disk.name.0, mcq, needed, &self.line) });
            }
        }
        Ok(())
    }
}

/// Standard output of a command, which ends when the future is dropped.
async fn said(host: &HostTools, command: Command) -> Result<String, String> {
    let mut process = host.lifeline.start(command).await.map_err(|error| with_source(&error))?;
    let mut said = Vec::new();
    if let Some(stdout) = process.stdout.take() {
        stdout.take(MOST_SAID).read_to_end(&mut said).await.map_err(|error| error.to_string())?;
    }
    process.wait().await.map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&said).into_owned())
}

fn too_old(disk: &str, mcq: bool, needed: (u32, u32), line: &str) -> String {
    let what = if mcq { "a UFS disk with mcq: true" } else { "a UFS disk" };
    format!(
        "disk {disk}: {what} needs QEMU {}.{} or later, and this host has {line:?}; on Debian 12 install {PACKAGE} from \
         bookworm-backports, Debian 13 and Ubuntu 25.04 have a newer one",
        needed.0, needed.1
    )
}

fn unusable(program: &Path, error: &dyn std::fmt::Display) -> BootError {
    BootError::Lab { cause: format!("cannot use {}: {error}", program.display()) }
}

/// `QEMU emulator version 10.0.2 (Debian …)`
fn parse(line: &str) -> Option<(u32, u32)> {
    let mut numbers = line.split_once("version ")?.1.split(['.', ' ']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use kab_model::{Accel, Disk};

    fn qemu(line: &str) -> Qemu {
        Qemu { program: PROGRAM.into(), line: line.into(), version: parse(line).unwrap() }
    }

    fn board(kind: DiskKind) -> QemuSpec {
        QemuSpec {
            machine: "q35".into(),
            memory: 1 << 30,
            cpus: 1,
            disks: vec![Disk { name: "d0".into(), size: 1 << 30, kind }],
            accel: Accel::Auto,
            cmdline: None,
        }
    }

    #[test]
    fn versions_are_read() {
        assert_eq!(
            parse("QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2+deb13u1~bpo12+1)"),
            Some((10, 0))
        );
        assert_eq!(parse("QEMU emulator version 8.2.2"), Some((8, 2)));
        assert_eq!(parse("hello"), None);
    }

    #[test]
    fn old_versions_lack_disks() {
        let (old, middle) = (qemu("QEMU emulator version 7.2.15"), qemu("QEMU emulator version 8.2.2"));
        assert!(old.check(&board(DiskKind::Nvme)).is_ok());
        let error = old.check(&board(DiskKind::Ufs { mcq: false })).unwrap_err().to_string();
        assert!(error.starts_with("disk d0: a UFS disk needs QEMU 8.2 or later"), "{error}");
        assert!(middle.check(&board(DiskKind::Ufs { mcq: false })).is_ok());
        assert!(middle.check(&board(DiskKind::Ufs { mcq: true })).is_err());
        assert!(qemu("QEMU emulator version 9.0.0").check(&board(DiskKind::Ufs { mcq: true })).is_ok());
    }
}
