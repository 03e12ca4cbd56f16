//! What the booted machine says of itself.

use crate::refusal::Refusal;
use kab_wire::Identity;
use std::fs;
use std::process::{Command, Stdio};

/// Note type of a build-id, with owner "GNU".
const NT_GNU_BUILD_ID: u32 = 3;

/// Reads all facts.
pub(crate) fn read() -> Result<Identity, Refusal> {
    let text = |path: &str| fs::read_to_string(path).map_err(Refusal::file(path));
    let uname = rustix::system::uname();
    let field = |value: &std::ffi::CStr| value.to_string_lossy().into_owned();
    Ok(Identity {
        boot_id: text("/proc/sys/kernel/random/boot_id")?.trim().to_owned(),
        build_id: fs::read("/sys/kernel/notes").ok().and_then(|notes| build_id(&notes)),
        cmdline: text("/proc/cmdline")?.trim_end_matches('\n').to_owned(),
        release: field(uname.release()),
        version: field(uname.version()),
        machine: field(uname.machine()),
        cpus: online_cpus(),
        memory: memory(&text("/proc/meminfo")?),
        fio: fio_version(),
    })
}

/// The build-id among ELF notes: name length, description length and type in the machine's byte order, then both,
/// each padded to four bytes.
fn build_id(mut notes: &[u8]) -> Option<String> {
    let padded = |length: u32| (length as usize).checked_next_multiple_of(4);
    loop {
        let (header, rest) = notes.split_first_chunk::<12>()?;
        let word = |at: usize| Some(u32::from_ne_bytes(*header.get(at..)?.first_chunk()?));
        let (name_length, length, kind) = (word(0)?, word(4)?, word(8)?);
        let name = rest.get(..name_length as usize)?;
        let rest = rest.get(padded(name_length)?..)?;
        let description = rest.get(..length as usize)?;
        if name == b"GNU\0" && kind == NT_GNU_BUILD_ID {
            return Some(description.iter().map(|byte| format!("{byte:02x}")).collect());
        }
        notes = rest.get(padded(length)?..)?;
    }
}

/// All online CPUs of the machine; the agent's own affinity does not matter. A kernel for one CPU may not list it.
fn online_cpus() -> u32 {
    fs::read_to_string("/sys/devices/system/cpu/online").ok().and_then(|list| count_cpus(&list)).unwrap_or(1)
}

/// Members of a list such as `0-3,6`.
fn count_cpus(list: &str) -> Option<u32> {
    list.trim().split(',').try_fold(0u32, |count, range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        count.checked_add(last.checked_sub(first)?.checked_add(1)?)
    })
}

/// MemTotal in bytes, 0 where /proc/meminfo has none.
fn memory(meminfo: &str) -> u64 {
    let kib = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix("kB")?.trim().parse().ok());
    kib.unwrap_or(0u64).saturating_mul(1024)
}

fn fio_version() -> Option<String> {
    let output = Command::new("fio").arg("--version").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().next()?.trim();
    (output.status.success() && !line.is_empty()).then(|| line.to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn note(name: &[u8], kind: u32, description: &[u8]) -> Vec<u8> {
        let length = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap().to_ne_bytes();
        let mut note = [length(name), length(description), kind.to_ne_bytes()].concat();
        for part in [name, description] {
            note.extend_from_slice(part);
            note.resize(note.len().next_multiple_of(4), 0);
        }
        note
    }

    #[test]
    fn build_id_is_found_behind_other_notes() {
        let notes =
            [note(b"Linux\0", 257, &[0; 5]), note(b"GNU\0", 1, b"abi!"), note(b"GNU\0", 3, &[0xab, 0, 0x1f])]
                .concat();
        assert_eq!(build_id(&notes).as_deref(), Some("ab001f"));
        assert_eq!(build_id(&note(b"Xen\0", 3, b"1234")), None);
        for length in 0..notes.len() - 1 {
            assert_eq!(build_id(&notes[..length]), None, "cut at {length}");
        }
        assert_eq!(build_id(&[0xff; 64]), None);
    }

    #[test]
    fn cpus_and_memory_are_counted() {
        assert_eq!(
            [count_cpus("0\n"), count_cpus("0-3,6\n"), count_cpus(""), count_cpus("3-1")],
            [Some(1), Some(5), None, None]
        );
        assert_eq!(memory("MemFree: 1 kB\nMemTotal:        2048 kB\n"), 2 << 20);
        assert_eq!(memory(""), 0);
    }

    #[test]
    fn this_machine_has_an_identity() {
        let identity = read().unwrap();
        assert_eq!(identity.boot_id.len(), 36, "{identity:?}");
        assert!(identity.cpus >= 1 && identity.memory > 0 && !identity.release.is_empty(), "{identity:?}");
    }
}
