//! The GNU build-id of an ELF file, read from its note sections. Nothing but headers and notes is loaded: a
//! vmlinux with debug information is huge.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Type of a section that holds notes.
const SHT_NOTE: u32 = 7;
/// Type of the build-id note, under the owner `GNU`.
const NT_GNU_BUILD_ID: u32 = 3;
/// Section headers that are looked at; a kernel has dozens.
const MAX_SECTIONS: u64 = 65_536;
/// Size of a note section that is read, bytes; a kernel's is below 1 kB.
const MAX_NOTES: u64 = 1 << 20;

/// Why a file has no build-id to tell.
#[derive(Debug, thiserror::Error)]
pub enum BuildIdError {
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// It is not an ELF file of a kind that is known here (64 bits, little endian).
    #[error("{} is no 64-bit little-endian ELF file", path.display())]
    NotElf {
        /// The file.
        path: PathBuf,
    },
    /// It has no such note: linked without `--build-id`.
    #[error("{} has no GNU build-id", path.display())]
    Absent {
        /// The file.
        path: PathBuf,
    },
}

/// The build-id of an ELF file, lower-case hexadecimal.
pub(crate) fn build_id(path: &Path) -> Result<String, BuildIdError> {
    let read = |source| BuildIdError::Read { path: path.to_owned(), source };
    let mut file = File::open(path).map_err(read)?;
    let found = find(&mut file).map_err(read)?;
    match found {
        Found::Id(bytes) => Ok(hexadecimal(&bytes)),
        Found::Nothing => Err(BuildIdError::Absent { path: path.to_owned() }),
        Found::OtherFormat => Err(BuildIdError::NotElf { path: path.to_owned() }),
    }
}

/// The build-id of an ELF file in memory, where it has one.
pub(crate) fn build_id_in(bytes: &[u8]) -> Option<String> {
    match find(&mut std::io::Cursor::new(bytes)) {
        Ok(Found::Id(id)) => Some(hexadecimal(&id)),
        _ => None,
    }
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[derive(Debug, PartialEq)]
enum Found {
    Id(Vec<u8>),
    Nothing,
    OtherFormat,
}

fn find(file: &mut (impl Read + Seek)) -> std::io::Result<Found> {
    // ELF64 header: 64 bytes; e_shoff at 40, e_shentsize at 58, e_shnum at 60.
    let header = at(file, 0, 64)?;
    if header.len() < 64 || !header.starts_with(b"\x7fELF\x02\x01") {
        return Ok(Found::OtherFormat);
    }
    let (table, entry_size) = (u64_at(&header, 40), u64::from(u16_at(&header, 58)));
    let mut count = u64::from(u16_at(&header, 60));
    if entry_size < 64 {
        return Ok(Found::Nothing);
    }
    if count == 0 {
        // More than 65,279 sections: the count is the size of section 0.
        let first = at(file, table, 64)?;
        count = if first.len() == 64 { u64_at(&first, 32) } else { 0 };
    }
    for index in 0..count.min(MAX_SECTIONS) {
        let Some(offset) = index.checked_mul(entry_size).and_then(|skip| table.checked_add(skip)) else {
            break;
        };
        let section = at(file, offset, 64)?;
        if section.len() < 64 || u32_at(&section, 4) != SHT_NOTE {
            continue;
        }
        let notes = at(file, u64_at(&section, 24), u64_at(&section, 32).min(MAX_NOTES))?;
        if let Some(id) = in_notes(&notes) {
            return Ok(Found::Id(id));
        }
    }
    Ok(Found::Nothing)
}

/// Walks the notes of a section: sizes of owner and content, type, then both padded to 4 bytes.
fn in_notes(mut notes: &[u8]) -> Option<Vec<u8>> {
    while notes.len() >= 12 {
        let (name_size, size, kind) = (u32_at(notes, 0), u32_at(notes, 4), u32_at(notes, 8));
        let (name_size, size) = (usize::try_from(name_size).ok()?, usize::try_from(size).ok()?);
        let content = 12usize.checked_add(name_size.checked_next_multiple_of(4)?)?;
        let name = notes.get(12..12usize.checked_add(name_size)?)?;
        let bytes = notes.get(content..content.checked_add(size)?)?;
        if kind == NT_GNU_BUILD_ID && name == b"GNU\0" && !bytes.is_empty() {
            return Some(bytes.to_vec());
        }
        notes = notes.get(content.checked_add(size.checked_next_multiple_of(4)?)?..)?;
    }
    None
}

/// Up to `length` bytes at `offset`; fewer at the end of the file.
fn at(file: &mut (impl Read + Seek), offset: u64, length: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // Offsets beyond i64 are refused by seek; they can only come from a broken file.
    if file.seek(SeekFrom::Start(offset)).is_ok() {
        Read::by_ref(file).take(length).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

fn u16_at(bytes: &[u8], offset: usize) -> u16 {
    u16::from_le_bytes(array(bytes, offset))
}

fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(array(bytes, offset))
}

fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(array(bytes, offset))
}

/// `N` bytes at `offset`, zeros beyond the end.
fn array<const N: usize>(bytes: &[u8], offset: usize) -> [u8; N] {
    let mut array = [0; N];
    for (target, source) in array.iter_mut().zip(bytes.iter().skip(offset)) {
        *target = *source;
    }
    array
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::Cursor;

    fn note(owner: &[u8], kind: u32, content: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(u32::try_from(owner.len()).unwrap().to_le_bytes());
        bytes.extend(u32::try_from(content.len()).unwrap().to_le_bytes());
        bytes.extend(kind.to_le_bytes());
        for part in [owner, content] {
            bytes.extend(part);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        bytes
    }

    fn elf(notes: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[40..48].copy_from_slice(&64u64.to_le_bytes());
        bytes[58..60].copy_from_slice(&64u16.to_le_bytes());
        bytes[60..62].copy_from_slice(&2u16.to_le_bytes());
        let mut section = vec![0; 64];
        section[4..8].copy_from_slice(&SHT_NOTE.to_le_bytes());
        section[24..32].copy_from_slice(&192u64.to_le_bytes());
        section[32..40].copy_from_slice(&(notes.len() as u64).to_le_bytes());
        bytes.extend(vec![0; 64]);
        bytes.extend(section);
        bytes.extend(notes);
        bytes
    }

    #[test]
    fn the_id_is_found_behind_other_notes() {
        let mut notes = note(b"Linux\0", 0, &[1, 2, 3, 4, 5]);
        notes.extend(note(b"Xen\0", NT_GNU_BUILD_ID, b"no"));
        notes.extend(note(b"GNU\0", NT_GNU_BUILD_ID, &[0xab, 0x01, 0xff]));
        assert_eq!(find(&mut Cursor::new(elf(&notes))).unwrap(), Found::Id(vec![0xab, 0x01, 0xff]));
    }

    #[test]
    fn other_files_are_told_apart() {
        assert_eq!(find(&mut Cursor::new(b"#!/bin/sh".to_vec())).unwrap(), Found::OtherFormat);
        assert_eq!(find(&mut Cursor::new(elf(&note(b"Linux\0", 0, &[])))).unwrap(), Found::Nothing);
    }

    #[test]
    fn no_cut_or_changed_byte_panics() {
        let whole = elf(&note(b"GNU\0", NT_GNU_BUILD_ID, &[7; 20]));
        for length in 0..whole.len() {
            find(&mut Cursor::new(whole[..length].to_vec())).unwrap();
        }
        for place in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[place] ^= 0xff;
            find(&mut Cursor::new(bytes)).unwrap();
        }
    }
}
