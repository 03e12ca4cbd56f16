//! What a kernel image says of itself, whoever built it: architecture, version, compiler, build-id, configuration.
//!
//! x86 images: Documentation/arch/x86/boot.rst; 64-bit Arm: Documentation/arch/arm64/booting.rst and, for those that
//! unpack themselves under EFI, drivers/firmware/efi/libstub/zboot-header.S. What is packed in a way that is not read here
//! (lz4, lzo, bzip2, bare lzma) still tells its version.

use crate::elf::{build_id_in, hexadecimal};
use kab_model::Arch;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Largest image that is read, bytes; one with everything built in has some 100 MiB.
const MOST: u64 = 512 << 20;
/// Begins the kernel's line about itself.
const BANNER: &[u8] = b"Linux version ";

/// Why a file is no kernel image that can be booted.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// It is something else.
    #[error("{} is no kernel image: {what}", path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// What it is instead, and what to give.
        what: &'static str,
    },
    /// It is for another architecture.
    #[error("{} is a kernel for {}, and the board is {}", path.display(), found.kernel_name(), wanted.kernel_name())]
    Architecture {
        /// The file.
        path: PathBuf,
        /// Its architecture.
        found: Arch,
        /// The board's.
        wanted: Arch,
    },
}

/// A kernel image, looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageFacts {
    /// Architecture.
    pub arch: Arch,
    /// As `uname -r` has it; empty where the image does not tell.
    pub release: String,
    /// First line of the compiler's `--version`, where the image tells.
    pub compiler: Option<String>,
    /// GNU build-id, lower-case hexadecimal, where it can be read.
    pub build_id: Option<String>,
    /// The configuration, where the kernel holds it (`CONFIG_IKCONFIG`).
    pub config: Option<String>,
}

/// Reads an image and checks that it is one for `wanted`.
pub fn look_at(path: &Path, wanted: Arch) -> Result<ImageFacts, ImageError> {
    let read = |source| ImageError::Read { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(read)?;
    file.take(MOST + 1).read_to_end(&mut bytes).map_err(read)?;
    let other = |what| ImageError::Other { path: path.to_owned(), what };
    if bytes.len() as u64 > MOST {
        return Err(other("it is larger than 512 MiB"));
    }
    let facts = facts(&bytes).map_err(other)?;
    if facts.arch != wanted {
        return Err(ImageError::Architecture { path: path.to_owned(), found: facts.arch, wanted });
    }
    Ok(facts)
}

fn facts(bytes: &[u8]) -> Result<ImageFacts, &'static str> {
    if bytes.get(0x202..0x206) == Some(b"HdrS") {
        return x86(bytes);
    }
    if bytes.get(56..60) == Some(b"ARM\x64") {
        return Ok(told_by(Arch::Arm64, bytes, None));
    }
    if bytes.starts_with(b"MZ") && bytes.get(4..8) == Some(b"zimg") {
        let payload = (u32_at(bytes, 8), u32_at(bytes, 12));
        let unpacked = slice(bytes, payload).and_then(unpack);
        return match unpacked {
            Some(kernel) if kernel.get(56..60) == Some(b"ARM\x64") => Ok(told_by(Arch::Arm64, &kernel, None)),
            _ => Err(
                "it unpacks itself under EFI and holds no kernel that can be read here; give the plain Image",
            ),
        };
    }
    if bytes.starts_with(b"\x1f\x8b") {
        return match unpack(bytes) {
            Some(kernel) if kernel.get(56..60) == Some(b"ARM\x64") => Ok(told_by(Arch::Arm64, &kernel, None)),
            _ => Err("it is a gzip file of something else"),
        };
    }
    Err(match bytes {
        [] => "it is empty",
        [0x7f, b'E', b'L', b'F', ..] => {
            "it is an ELF file, as vmlinux is; boards boot arch/x86/boot/bzImage or arch/arm64/boot/Image"
        }
        [b'A', b'N', b'D', b'R', b'O', b'I', b'D', b'!', ..] => {
            "it is an Android boot image; give the kernel that is in it"
        }
        _ => "neither a bzImage (x86-64) nor an Image (64-bit Arm)",
    })
}

fn x86(bytes: &[u8]) -> Result<ImageFacts, &'static str> {
    // Bit 0 of `xloadflags`, since protocol 2.12 (Linux 3.8): there is a 64-bit entry.
    if u16_at(bytes, 0x206) < 0x20c || u16_at(bytes, 0x236) & 1 == 0 {
        return Err("it is a kernel for 32-bit x86");
    }
    let text = match u16_at(bytes, 0x20e) {
        0 => None,
        place => bytes.get(usize::from(place) + 0x200..),
    };
    let told = text.map(line).unwrap_or_default();
    let sectors = if bytes[0x1f1] == 0 { 4 } else { u32::from(bytes[0x1f1]) };
    let begin = ((sectors + 1) * 512).saturating_add(u32_at(bytes, 0x248));
    let kernel = slice(bytes, (begin, u32_at(bytes, 0x24c))).and_then(unpack);
    Ok(told_by(Arch::X86_64, kernel.as_deref().unwrap_or_default(), Some(&told)))
}

/// What an unpacked kernel tells, with the version that the header around it has.
fn told_by(arch: Arch, kernel: &[u8], header: Option<&str>) -> ImageFacts {
    let banner = find(kernel, BANNER).map(|at| line(&kernel[at + BANNER.len()..]));
    let release = |text: &str| text.split(' ').next().unwrap_or_default().to_owned();
    ImageFacts {
        arch,
        release: header
            .filter(|text| !text.is_empty())
            .or(banner.as_deref())
            .map(release)
            .unwrap_or_default(),
        compiler: banner.as_deref().and_then(compiler),
        build_id: if kernel.starts_with(b"\x7fELF") { build_id_in(kernel) } else { only_note(kernel) },
        config: config(kernel),
    }
}

/// `6.12.48 (user@host) (gcc (Debian 12.2.0-14) 12.2.0, GNU ld 2.40) #1 SMP ...`: the second pair of brackets up to the last
/// comma.
fn compiler(banner: &str) -> Option<String> {
    let (_, rest) = banner.split_once(") (")?;
    let (inside, _) = rest.rsplit_once(") #")?;
    let (compiler, _linker) = inside.rsplit_once(", ")?;
    Some(compiler.to_owned())
}

/// The build-id of a bare Image. The program that it hands to processes (vDSO) has one, too: where several are found, none
/// is taken.
fn only_note(kernel: &[u8]) -> Option<String> {
    // Sizes of owner and content, type, owner; the content is a SHA-1.
    const NOTE: &[u8] = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0";
    let at = find(kernel, NOTE)? + NOTE.len();
    let id = kernel.get(at..at + 20)?;
    find(&kernel[at..], NOTE).is_none().then(|| hexadecimal(id))
}

/// kernel/configs.c: the packed `.config` between two marks.
fn config(kernel: &[u8]) -> Option<String> {
    let begin = find(kernel, b"IKCFG_ST\x1f\x8b")? + b"IKCFG_ST".len();
    String::from_utf8(unpack(&kernel[begin..])?).ok()
}

/// Largest dictionary of xz that is allocated, KiB: the kernel's tools use 32 to 128 MiB.
const DICTIONARY: u32 = 256 << 10;

/// gzip, zstd and xz; the kernel's tools put a size behind the end, which is left alone.
fn unpack(packed: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    match packed {
        [0x1f, 0x8b, ..] => {
            flate2::bufread::GzDecoder::new(packed).take(MOST).read_to_end(&mut out).ok()?;
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            let decoder = zstd::Decoder::with_buffer(packed).ok()?;
            decoder.single_frame().take(MOST).read_to_end(&mut out).ok()?;
        }
        [0xfd, b'7', b'z', b'X', b'Z', ..] => {
            let decoder = lzma_rust2::XzReader::new_mem_limit(packed, false, DICTIONARY);
            decoder.take(MOST).read_to_end(&mut out).ok()?;
        }
        _ => return None,
    }
    Some(out)
}

/// Text up to its end or the end of its line.
fn line(bytes: &[u8]) -> String {
    let end = bytes.iter().take(512).position(|byte| matches!(byte, 0 | b'\n')).unwrap_or(0);
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

fn find(bytes: &[u8], text: &[u8]) -> Option<usize> {
    memchr::memmem::find(bytes, text)
}

fn slice(bytes: &[u8], (begin, length): (u32, u32)) -> Option<&[u8]> {
    let begin = usize::try_from(begin).ok()?;
    bytes.get(begin..begin.checked_add(usize::try_from(length).ok()?)?)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |bytes| u16::from_le_bytes([bytes[0], bytes[1]]))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::Write;

    const LINE: &str =
        "6.9.1-x (u@h) (gcc (Debian 12.2.0-14) 12.2.0, GNU ld (GNU Binutils for Debian) 2.40) #1 SMP now\n";

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// As scripts/xz_wrap.sh packs for x86.
    fn xz(bytes: &[u8]) -> Vec<u8> {
        let mut input = tempfile::tempfile().unwrap();
        input.write_all(bytes).unwrap();
        std::io::Seek::rewind(&mut input).unwrap();
        let mut command = std::process::Command::new("xz");
        command.args(["--check=crc32", "--x86", "--lzma2=,dict=32MiB", "--stdout"]);
        command.stdin(input).output().unwrap().stdout
    }

    /// A bare kernel with everything that one tells.
    fn bare() -> Vec<u8> {
        let mut bytes = vec![0; 56];
        bytes.extend(b"ARM\x64\0\0\0\0Linux version ");
        bytes.extend(LINE.as_bytes());
        bytes.extend(b"\0\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0");
        bytes.extend([0xab; 20]);
        bytes.extend(b"IKCFG_ST");
        bytes.extend(gzip(b"CONFIG_SMP=y\n"));
        bytes.extend(b"IKCFG_ED");
        bytes
    }

    fn bzimage(payload: &[u8], flags: u16) -> Vec<u8> {
        let mut bytes = vec![0; 1024];
        bytes[0x1f1] = 1;
        bytes[0x202..0x206].copy_from_slice(b"HdrS");
        bytes[0x206..0x208].copy_from_slice(&0x20f_u16.to_le_bytes());
        bytes[0x20e..0x210].copy_from_slice(&0x100_u16.to_le_bytes());
        bytes[0x236..0x238].copy_from_slice(&flags.to_le_bytes());
        bytes[0x24c..0x250].copy_from_slice(&u32::try_from(payload.len()).unwrap().to_le_bytes());
        bytes[0x300..0x300 + LINE.len()].copy_from_slice(LINE.as_bytes());
        bytes.extend(payload);
        bytes.extend(b"size");
        bytes
    }

    #[test]
    fn a_bare_image_tells_all() {
        for image in [bare(), gzip(&bare())] {
            let told = facts(&image).unwrap();
            assert_eq!((told.arch, told.release.as_str()), (Arch::Arm64, "6.9.1-x"));
            assert_eq!(told.compiler.as_deref(), Some("gcc (Debian 12.2.0-14) 12.2.0"));
            assert_eq!(told.build_id, Some("ab".repeat(20)));
            assert_eq!(told.config.as_deref(), Some("CONFIG_SMP=y\n"));
        }
    }

    #[test]
    fn of_two_build_ids_none_is_taken() {
        let twice = [bare(), bare()].concat();
        assert_eq!(facts(&twice).unwrap().build_id, None);
    }

    #[test]
    fn an_x86_image_is_read_through_its_header() {
        let zstd = zstd::encode_all(&bare()[..], 3).unwrap();
        for payload in [gzip(&bare()), zstd, xz(&bare())] {
            let told = facts(&bzimage(&payload, 1)).unwrap();
            assert_eq!((told.arch, told.release.as_str()), (Arch::X86_64, "6.9.1-x"));
            assert_eq!(told.config.as_deref(), Some("CONFIG_SMP=y\n"));
        }
        let told = facts(&bzimage(b"\x02\x21\x4c\x18", 1)).unwrap();
        assert_eq!((told.release.as_str(), told.compiler, told.build_id), ("6.9.1-x", None, None));
    }

    #[test]
    fn other_files_are_named() {
        let mut boot = b"ANDROID!".to_vec();
        boot.resize(2048, 0);
        for (bytes, part) in [
            (Vec::new(), "empty"),
            (b"\x7fELF\x02\x01".to_vec(), "bzImage"),
            (boot, "Android boot image"),
            (bzimage(b"", 0), "32-bit"),
            (gzip(b"x"), "gzip file of something else"),
            (b"<html>".to_vec(), "neither"),
        ] {
            let error = facts(&bytes).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn images_cut_anywhere_are_no_panic() {
        let whole = bzimage(&gzip(&bare()), 1);
        for length in (0..whole.len()).step_by(7) {
            let _ = facts(&whole[..length]);
        }
    }

    #[test]
    fn another_architecture_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bare()).unwrap();
        let error = look_at(file.path(), Arch::X86_64).unwrap_err();
        assert!(error.to_string().ends_with("is a kernel for arm64, and the board is x86_64"), "{error}");
    }
}
