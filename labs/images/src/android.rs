//! Android boot images: what fastboot boards boot.
//!
//! | version | kernel, ramdisk | device tree | command line |
//! |---|---|---|---|
//! | 0 | with load addresses, pages of the board's size | after the kernel, in the same file | 512 + 1024 bytes |
//! | 2 | 〃 | a section of its own | 〃 |
//! | 3, 4 | no addresses, pages of 4096 | in `vendor_boot`, another image | 1536 bytes, and 2048 in `vendor_boot` |
//!
//! Every version has its number at byte 40. Source of the layouts: AOSP `system/tools/mkbootimg`, bootimg.h.

use sha1::{Digest, Sha1};

const MAGIC: &[u8; 8] = b"ANDROID!";
const VENDOR_MAGIC: &[u8; 8] = b"VNDRBOOT";

/// Page size of versions 3 and 4.
const PAGE: usize = 4096;

/// Bytes of the headers.
const HEADER_V2: u32 = 1660;
const HEADER_V3: u32 = 1580;
const HEADER_V4: u32 = 1584;
const VENDOR_HEADER_V3: u32 = 2112;
const VENDOR_HEADER_V4: u32 = 2128;

/// Bytes of one entry in `vendor_boot`'s table of ramdisks.
const TABLE_ENTRY: u32 = 108;

/// `VENDOR_RAMDISK_TYPE_PLATFORM`.
const PLATFORM_RAMDISK: u32 = 1;

/// Where a boot loader puts the parts, as physical addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// Of the kernel.
    pub kernel: u32,
    /// Of the ramdisk.
    pub ramdisk: u32,
    /// Of the device tree, version 2.
    pub dtb: u64,
    /// Of the tags that boot loaders of old pass.
    pub tags: u32,
}

impl Addresses {
    /// The usual offsets from the start of memory: kernel at 32 KiB, ramdisk at 16 MiB, device tree at 31 MiB, tags at 256 bytes.
    pub fn from_base(base: u32) -> Self {
        Self {
            kernel: base.wrapping_add(0x0000_8000),
            ramdisk: base.wrapping_add(0x0100_0000),
            dtb: u64::from(base) + 0x01f0_0000,
            tags: base.wrapping_add(0x0000_0100),
        }
    }
}

/// Version of a boot image, with what only that version says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// The device tree, if any, follows the kernel.
    V0 {
        /// A power of two from 2048.
        page_size: u32,
        /// Load addresses.
        addresses: Addresses,
    },
    /// The device tree has a section.
    V2 {
        /// A power of two from 2048.
        page_size: u32,
        /// Load addresses.
        addresses: Addresses,
    },
    /// The device tree is in `vendor_boot`.
    V3,
    /// As version 3, and `vendor_boot` may have several ramdisks.
    V4,
}

/// What goes into a boot image. An empty slice is absent.
#[derive(Clone, Copy, Debug)]
pub struct BootImage<'a> {
    /// `Image`, `Image.gz` or the like.
    pub kernel: &'a [u8],
    /// A compressed or plain initramfs.
    pub ramdisk: &'a [u8],
    /// A flattened device tree, for versions 0 and 2.
    pub dtb: &'a [u8],
    /// The kernel's command line.
    pub cmdline: &'a str,
    /// Version and layout.
    pub header: Header,
}

/// What goes into a `vendor_boot` image of version 3 or 4.
#[derive(Clone, Copy, Debug)]
pub struct VendorBootImage<'a> {
    /// The ramdisk that is put before the one of the boot image.
    pub ramdisk: &'a [u8],
    /// A flattened device tree.
    pub dtb: &'a [u8],
    /// Put before the command line of the boot image.
    pub cmdline: &'a str,
    /// `key=value` lines for version 4.
    pub bootconfig: &'a [u8],
    /// Version 4 instead of 3.
    pub version_4: bool,
    /// A power of two from 2048.
    pub page_size: u32,
    /// Load addresses.
    pub addresses: Addresses,
}

/// Why there is no image.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BootImageError {
    /// Longer than the header has room for.
    #[error("the command line has {length} bytes, and an image of header version {version} takes {limit}")]
    Cmdline {
        /// Bytes.
        length: usize,
        /// Bytes, without the end mark.
        limit: usize,
        /// Of the header.
        version: u32,
    },
    /// It would end early.
    #[error("the command line has a NUL character")]
    CmdlineNul,
    /// No kernel.
    #[error("the kernel is empty")]
    Kernel,
    /// A device tree where the header has no place for it.
    #[error("an image of header version {version} has no device tree: it belongs into vendor_boot")]
    Dtb {
        /// Of the header.
        version: u32,
    },
    /// Versions 2 and `vendor_boot` need one.
    #[error("an image of header version {version} needs a device tree")]
    NoDtb {
        /// Of the header.
        version: u32,
    },
    /// What should be a device tree is none.
    #[error("the device tree does not begin with d00dfeed")]
    DtbMagic,
    /// No power of two from 2048 to 65536.
    #[error("{page_size} is no page size of a boot image: a power of two from 2048 to 65536")]
    PageSize {
        /// As given.
        page_size: u32,
    },
    /// The header has 32 bits for a size.
    #[error("a part of {size} bytes is too large for a boot image")]
    Size {
        /// Bytes.
        size: usize,
    },
}

impl Header {
    /// The number at byte 40.
    pub fn version(self) -> u32 {
        match self {
            Self::V0 { .. } => 0,
            Self::V2 { .. } => 2,
            Self::V3 => 3,
            Self::V4 => 4,
        }
    }
}

impl BootImage<'_> {
    /// The image. Deterministic: the same parts give the same bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, BootImageError> {
        if self.kernel.is_empty() {
            return Err(BootImageError::Kernel);
        }
        check_dtb(self.dtb)?;
        let version = self.header.version();
        match self.header {
            Header::V0 { page_size, addresses } => {
                let with_dtb = [self.kernel, self.dtb].concat();
                self.with_addresses(&with_dtb, &[], page_size, addresses)
            }
            Header::V2 { .. } if self.dtb.is_empty() => Err(BootImageError::NoDtb { version }),
            Header::V2 { page_size, addresses } => {
                self.with_addresses(self.kernel, self.dtb, page_size, addresses)
            }
            Header::V3 | Header::V4 if !self.dtb.is_empty() => Err(BootImageError::Dtb { version }),
            Header::V3 | Header::V4 => self.without_addresses(),
        }
    }

    fn with_addresses(
        &self,
        kernel: &[u8],
        dtb: &[u8],
        page_size: u32,
        addresses: Addresses,
    ) -> Result<Vec<u8>, BootImageError> {
        const FIRST: usize = 512;
        const SECOND: usize = 1024;
        let version = self.header.version();
        let page = page(page_size)?;
        // One byte of the second half ends the text.
        let cmdline = cmdline(self.cmdline, FIRST + SECOND - 1, version)?;
        let (first, second) = cmdline.split_at(cmdline.len().min(FIRST));
        let mut out = Bytes::default();
        out.bytes(MAGIC);
        out.words(&[size(kernel)?, addresses.kernel]);
        out.words(&[size(self.ramdisk)?, if self.ramdisk.is_empty() { 0 } else { addresses.ramdisk }]);
        // No second stage; then the tags.
        out.words(&[0, 0, addresses.tags, page_size, version, 0]);
        out.padded(b"", 16);
        out.padded(first, FIRST);
        out.padded(&id(kernel, self.ramdisk, dtb, version), 32);
        out.padded(second, SECOND);
        if version == 2 {
            // No device tree of a recovery.
            out.words(&[0, 0, 0, HEADER_V2, size(dtb)?]);
            out.long(addresses.dtb);
        }
        out.align(page);
        for section in [kernel, self.ramdisk, dtb] {
            out.section(section, page);
        }
        Ok(out.0)
    }

    fn without_addresses(&self) -> Result<Vec<u8>, BootImageError> {
        const CMDLINE: usize = 1536;
        let version = self.header.version();
        let cmdline = cmdline(self.cmdline, CMDLINE - 1, version)?;
        let mut out = Bytes::default();
        out.bytes(MAGIC);
        out.words(&[size(self.kernel)?, size(self.ramdisk)?, 0]);
        out.words(&[if version == 3 { HEADER_V3 } else { HEADER_V4 }, 0, 0, 0, 0, version]);
        out.padded(cmdline, CMDLINE);
        if version == 4 {
            // No signature.
            out.words(&[0]);
        }
        out.align(PAGE);
        out.section(self.kernel, PAGE);
        out.section(self.ramdisk, PAGE);
        Ok(out.0)
    }
}

impl VendorBootImage<'_> {
    /// The image. Deterministic.
    pub fn to_bytes(&self) -> Result<Vec<u8>, BootImageError> {
        const CMDLINE: usize = 2048;
        let version = if self.version_4 { 4 } else { 3 };
        check_dtb(self.dtb)?;
        if self.dtb.is_empty() {
            return Err(BootImageError::NoDtb { version });
        }
        let page = page(self.page_size)?;
        let cmdline = cmdline(self.cmdline, CMDLINE - 1, version)?;
        let ramdisk = size(self.ramdisk)?;
        let mut out = Bytes::default();
        out.bytes(VENDOR_MAGIC);
        out.words(&[version, self.page_size, self.addresses.kernel, self.addresses.ramdisk, ramdisk]);
        out.padded(cmdline, CMDLINE);
        out.words(&[self.addresses.tags]);
        out.padded(b"", 16);
        out.words(&[if self.version_4 { VENDOR_HEADER_V4 } else { VENDOR_HEADER_V3 }, size(self.dtb)?]);
        out.long(self.addresses.dtb);
        let entries = u32::from(self.version_4 && !self.ramdisk.is_empty());
        if self.version_4 {
            out.words(&[entries * TABLE_ENTRY, entries, TABLE_ENTRY, size(self.bootconfig)?]);
        }
        out.align(page);
        out.section(self.ramdisk, page);
        out.section(self.dtb, page);
        if entries > 0 {
            // One ramdisk from the start, of the platform's kind, without a name, for every board.
            out.words(&[ramdisk, 0, PLATFORM_RAMDISK]);
            out.padded(b"", 32 + 64);
            out.align(page);
        }
        if self.version_4 {
            out.section(self.bootconfig, page);
        }
        Ok(out.0)
    }
}

/// What a finished boot image says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootImageInfo {
    /// Version of its header.
    pub version: u32,
    /// Bytes.
    pub page_size: u32,
    /// Bytes of the kernel, which begins at the second page.
    pub kernel_size: u32,
    /// Bytes of the ramdisk.
    pub ramdisk_size: u32,
    /// Bytes of the device tree's section; absent before version 2 and from version 3.
    pub dtb_size: Option<u32>,
    /// Command line.
    pub cmdline: String,
}

/// Why a file is not sent as a boot image.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The usual client would wrap it into an image of its own making, silently.
    #[error("it does not begin with ANDROID!, so it is no boot image")]
    Magic,
    /// It ends within what its header announces.
    #[error("it has {size} bytes, and its header announces at least {announced}")]
    Short {
        /// Bytes.
        size: u64,
        /// Bytes.
        announced: u64,
    },
    /// Only 0 to 4 exist.
    #[error("header version {version} is unknown")]
    Version {
        /// As found.
        version: u32,
    },
    /// No page size.
    #[error("pages of {page_size} bytes")]
    PageSize {
        /// As found.
        page_size: u32,
    },
    /// Nothing to boot.
    #[error("it has no kernel")]
    NoKernel,
}

impl BootImageInfo {
    /// Reads the header of a file of `size` bytes from its first page (4096 bytes, or all of a shorter file).
    pub fn read(start: &[u8], size: u64) -> Result<Self, ReadError> {
        if !start.starts_with(MAGIC) {
            return Err(ReadError::Magic);
        }
        let word = |at: usize| start.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
        let short = |announced: u64| ReadError::Short { size, announced };
        let need = |at: usize| word(at).ok_or_else(|| short(at as u64 + 4));
        let version = need(40)?;
        let text = |from: usize, length: usize| {
            let bytes = start.get(from..from + length).unwrap_or_default();
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
            String::from_utf8_lossy(&bytes[..end]).into_owned()
        };
        let info = match version {
            0..=2 => Self {
                version,
                page_size: need(36)?,
                kernel_size: need(8)?,
                ramdisk_size: need(16)?,
                dtb_size: if version == 2 { Some(need(1648)?) } else { None },
                cmdline: text(64, 512) + &text(608, 1024),
            },
            3 | 4 => Self {
                version,
                page_size: 4096,
                kernel_size: need(8)?,
                ramdisk_size: need(12)?,
                dtb_size: None,
                cmdline: text(44, 1536),
            },
            _ => return Err(ReadError::Version { version }),
        };
        if page(info.page_size).is_err() {
            return Err(ReadError::PageSize { page_size: info.page_size });
        }
        if info.kernel_size == 0 {
            return Err(ReadError::NoKernel);
        }
        let pages = |bytes: u32| u64::from(bytes).next_multiple_of(u64::from(info.page_size));
        let second = if version <= 2 { need(24)? } else { 0 };
        let sections = [info.kernel_size, info.ramdisk_size, second];
        // The last page need not be full.
        let announced = u64::from(info.page_size)
            + sections.into_iter().map(pages).sum::<u64>()
            + u64::from(info.dtb_size.unwrap_or(0));
        let padding = u64::from(info.page_size) - 1;
        if size + padding < announced { Err(short(announced)) } else { Ok(info) }
    }
}

/// A digest that tells images apart; no boot loader checks it.
fn id(kernel: &[u8], ramdisk: &[u8], dtb: &[u8], version: u32) -> [u8; 20] {
    let mut sha = Sha1::new();
    let mut part = |bytes: &[u8]| {
        sha.update(bytes);
        // `size` has been asked before.
        sha.update(u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
    };
    part(kernel);
    part(ramdisk);
    // The second stage.
    part(&[]);
    if version == 2 {
        // The recovery's device tree.
        part(&[]);
        part(dtb);
    }
    sha.finalize().into()
}

fn cmdline(text: &str, limit: usize, version: u32) -> Result<&[u8], BootImageError> {
    if text.contains('\0') {
        return Err(BootImageError::CmdlineNul);
    }
    if text.len() > limit {
        return Err(BootImageError::Cmdline { length: text.len(), limit, version });
    }
    Ok(text.as_bytes())
}

fn check_dtb(dtb: &[u8]) -> Result<(), BootImageError> {
    let fits = dtb.is_empty() || dtb.starts_with(&[0xd0, 0x0d, 0xfe, 0xed]);
    if fits { Ok(()) } else { Err(BootImageError::DtbMagic) }
}

fn page(page_size: u32) -> Result<usize, BootImageError> {
    if page_size.is_power_of_two() && (2048..=65536).contains(&page_size) {
        Ok(page_size as usize)
    } else {
        Err(BootImageError::PageSize { page_size })
    }
}

fn size(part: &[u8]) -> Result<u32, BootImageError> {
    u32::try_from(part.len()).map_err(|_| BootImageError::Size { size: part.len() })
}

/// An image as it grows. Numbers are little-endian.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn words(&mut self, words: &[u32]) {
        words.iter().for_each(|word| self.bytes(&word.to_le_bytes()));
    }

    fn long(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    /// Bytes and zeros, `length` in all.
    fn padded(&mut self, bytes: &[u8], length: usize) {
        self.bytes(bytes);
        self.0.resize(self.0.len() + length - bytes.len(), 0);
    }

    fn align(&mut self, page: usize) {
        self.0.resize(self.0.len().next_multiple_of(page), 0);
    }

    fn section(&mut self, bytes: &[u8], page: usize) {
        self.bytes(bytes);
        self.align(page);
    }
}
