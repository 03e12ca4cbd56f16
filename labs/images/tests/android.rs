//! Boot images against the tools of AOSP: what `mkbootimg` makes of the same parts, and what `unpack_bootimg` finds in ours.
#![allow(clippy::unwrap_used)]

use kab_images::android::{
    Addresses, BootImage, BootImageError, BootImageInfo, Header, ReadError, VendorBootImage,
};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const CMDLINE: &str = "console=ttyMSM0,115200 root=/dev/ram0 rw";

struct Parts {
    folder: TempDir,
    kernel: Vec<u8>,
    ramdisk: Vec<u8>,
    dtb: Vec<u8>,
}

impl Parts {
    /// Sizes that fill no page.
    fn new() -> Self {
        let content =
            |seed: usize, size: usize| (0..size).map(|n| (n * seed % 251) as u8).collect::<Vec<u8>>();
        let mut dtb = content(13, 5_000);
        dtb[..4].copy_from_slice(&[0xd0, 0x0d, 0xfe, 0xed]);
        let parts = Self {
            folder: tempfile::tempdir().unwrap(),
            kernel: content(31, 70_001),
            ramdisk: content(7, 9_999),
            dtb,
        };
        for (name, bytes) in [("kernel", &parts.kernel), ("ramdisk", &parts.ramdisk), ("dtb", &parts.dtb)] {
            std::fs::write(parts.path(name), bytes).unwrap();
        }
        std::fs::write(parts.path("kernel-dtb"), [&parts.kernel[..], &parts.dtb].concat()).unwrap();
        parts
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn image<'a>(&'a self, header: Header, cmdline: &'a str) -> BootImage<'a> {
        let dtb: &[u8] = if matches!(header, Header::V3 | Header::V4) { &[] } else { &self.dtb };
        BootImage { kernel: &self.kernel, ramdisk: &self.ramdisk, dtb, cmdline, header }
    }

    fn vendor(&self, version_4: bool) -> VendorBootImage<'_> {
        VendorBootImage {
            ramdisk: &self.ramdisk,
            dtb: &self.dtb,
            cmdline: CMDLINE,
            bootconfig: if version_4 { b"androidboot.hardware=sim\n" } else { b"" },
            version_4,
            page_size: 4096,
            addresses: Addresses::from_base(0x8000_0000),
        }
    }

    /// What the tool makes, with paths relative to the parts' folder. Nothing where this version of it cannot.
    fn mkbootimg(&self, arguments: &str, output: &str) -> Option<Vec<u8>> {
        let mut command = Command::new("mkbootimg");
        command.current_dir(self.folder.path()).args(arguments.split(' ')).args(["--cmdline", CMDLINE]);
        let said = command.output().expect("the package mkbootimg is installed");
        let stderr = String::from_utf8_lossy(&said.stderr);
        if stderr.contains("not supported") || stderr.contains("unrecognized arguments") {
            return None;
        }
        assert!(said.status.success(), "{stderr}");
        Some(std::fs::read(self.path(output)).unwrap())
    }
}

/// Mends the size of its own header where an old version of the tool has it wrong (29 has; 34 has not).
fn with_header_size(mut image: Vec<u8>, at: usize, wrong: u32, right: u32) -> Vec<u8> {
    let field = &mut image[at..at + 4];
    if *field == wrong.to_le_bytes() {
        field.copy_from_slice(&right.to_le_bytes());
    }
    image
}

/// `unpack_bootimg`'s report and the folder that it filled.
fn unpack(image: &[u8], folder: &Path) -> String {
    let file = folder.join("image");
    std::fs::write(&file, image).unwrap();
    let out = folder.join("out");
    let said =
        Command::new("unpack_bootimg").arg("--boot_img").arg(&file).arg("--out").arg(&out).output().unwrap();
    assert!(said.status.success(), "{said:?}");
    String::from_utf8(said.stdout).unwrap()
}

fn v0(page_size: u32) -> Header {
    Header::V0 { page_size, addresses: Addresses::from_base(0x8000_0000) }
}

fn v2(page_size: u32) -> Header {
    Header::V2 { page_size, addresses: Addresses::from_base(0x8000_0000) }
}

#[test]
fn images_are_those_of_mkbootimg() {
    let parts = Parts::new();
    for page in [2048, 4096] {
        let arguments = format!(
            "--header_version 0 --base 0x80000000 --pagesize {page} --kernel kernel-dtb --ramdisk ramdisk -o out.img"
        );
        let theirs = parts.mkbootimg(&arguments, "out.img").unwrap();
        assert!(parts.image(v0(page), CMDLINE).to_bytes().unwrap() == theirs, "version 0, pages of {page}");
        let arguments = format!(
            "--header_version 2 --base 0x80000000 --pagesize {page} --kernel kernel --ramdisk ramdisk --dtb dtb -o out.img"
        );
        let theirs = parts.mkbootimg(&arguments, "out.img").unwrap();
        assert!(parts.image(v2(page), CMDLINE).to_bytes().unwrap() == theirs, "version 2, pages of {page}");
    }
    let theirs = parts
        .mkbootimg("--header_version 3 --kernel kernel --ramdisk ramdisk -o out.img", "out.img")
        .unwrap();
    let theirs = with_header_size(theirs, 20, 1596, 1580);
    assert!(parts.image(Header::V3, CMDLINE).to_bytes().unwrap() == theirs, "version 3");
    // Version 4 is younger than some distributions' tool.
    if let Some(theirs) =
        parts.mkbootimg("--header_version 4 --kernel kernel --ramdisk ramdisk -o out.img", "out.img")
    {
        assert!(parts.image(Header::V4, CMDLINE).to_bytes().unwrap() == theirs, "version 4");
    }
}

#[test]
fn vendor_images_are_those_of_mkbootimg() {
    let parts = Parts::new();
    let shared = "--base 0x80000000 --pagesize 4096 --vendor_ramdisk ramdisk --dtb dtb --vendor_boot out.img --vendor_cmdline";
    let with_cmdline = |version: u32, more: &[&str]| {
        let mut command = Command::new("mkbootimg");
        command.current_dir(parts.folder.path()).args(["--header_version", &version.to_string()]);
        let said = command.args(shared.split(' ')).arg(CMDLINE).args(more).output().unwrap();
        said.status.success().then(|| std::fs::read(parts.path("out.img")).unwrap())
    };
    let theirs = with_header_size(with_cmdline(3, &[]).unwrap(), 2096, 2108, 2112);
    assert!(parts.vendor(false).to_bytes().unwrap() == theirs, "version 3");
    std::fs::write(parts.path("bootconfig"), "androidboot.hardware=sim\n").unwrap();
    if let Some(theirs) = with_cmdline(4, &["--vendor_bootconfig", "bootconfig"]) {
        assert!(parts.vendor(true).to_bytes().unwrap() == theirs, "version 4");
    }
}

#[test]
fn unpack_bootimg_finds_the_parts() {
    let parts = Parts::new();
    let folder = tempfile::tempdir().unwrap();
    let report = unpack(&parts.image(v2(4096), CMDLINE).to_bytes().unwrap(), folder.path());
    for (name, bytes) in [("kernel", &parts.kernel), ("ramdisk", &parts.ramdisk), ("dtb", &parts.dtb)] {
        assert!(std::fs::read(folder.path().join("out").join(name)).unwrap() == *bytes, "{name}");
    }
    assert!(report.contains(CMDLINE) && report.contains("81f00000"), "{report}");
}

/// The layout of version 4 by its numbers, where no tool is at hand that knows it.
#[test]
fn version_4_has_its_layout() {
    let parts = Parts::new();
    let word = |image: &[u8], at: usize| u32::from_le_bytes(image[at..at + 4].try_into().unwrap());
    let boot = parts.image(Header::V4, CMDLINE).to_bytes().unwrap();
    assert_eq!([8, 12, 20, 40, 1580].map(|at| word(&boot, at)), [70_001, 9_999, 1584, 4, 0]);
    assert_eq!(boot.len(), 4096 * (1 + 18 + 3));
    let vendor = parts.vendor(true).to_bytes().unwrap();
    assert!(vendor.starts_with(b"VNDRBOOT"));
    let table = [2112, 2116, 2120, 2124].map(|at| word(&vendor, at));
    assert_eq!((word(&vendor, 8), table), (4, [108, 1, 108, 25]));
    // Header, 3 pages of ramdisk, 2 of device tree, the table, the boot configuration.
    assert_eq!(vendor.len(), 4096 * 8);
    assert_eq!([0, 4, 8].map(|at| word(&vendor, 4096 * 6 + at)), [9_999, 0, 1]);
    assert!(vendor[4096 * 7..].starts_with(b"androidboot.hardware=sim\n"));
}

#[test]
fn headers_read_back() {
    let parts = Parts::new();
    let long = "x".repeat(1_500);
    for (header, dtb_size) in
        [(v0(2048), None), (v2(4096), Some(5_000)), (Header::V3, None), (Header::V4, None)]
    {
        let image = parts.image(header, &long).to_bytes().unwrap();
        let info = BootImageInfo::read(&image[..image.len().min(4096)], image.len() as u64).unwrap();
        assert_eq!((info.version, info.dtb_size), (header.version(), dtb_size));
        assert_eq!((info.ramdisk_size, info.cmdline.as_str()), (9_999, long.as_str()));
        let cut = (image.len() - 9_000) as u64;
        assert!(
            matches!(BootImageInfo::read(&image[..4096], cut), Err(ReadError::Short { .. })),
            "{header:?}"
        );
        assert!(matches!(BootImageInfo::read(&image[..30], 30), Err(ReadError::Short { .. })), "{header:?}");
    }
    assert_eq!(BootImageInfo::read(b"\x1f\x8b\x08", 3), Err(ReadError::Magic));
    let mut odd = parts.image(v2(4096), "").to_bytes().unwrap();
    odd[40] = 9;
    assert_eq!(BootImageInfo::read(&odd[..4096], odd.len() as u64), Err(ReadError::Version { version: 9 }));
    (odd[40], odd[36]) = (2, 7);
    assert!(matches!(BootImageInfo::read(&odd[..4096], odd.len() as u64), Err(ReadError::PageSize { .. })));
}

#[test]
fn what_does_not_fit_is_refused() {
    let parts = Parts::new();
    let error = |image: BootImage<'_>| image.to_bytes().unwrap_err();
    let long = "x".repeat(1_536);
    assert_eq!(
        error(parts.image(v2(4096), &long)).to_string(),
        "the command line has 1536 bytes, and an image of header version 2 takes 1535"
    );
    assert_eq!(error(parts.image(v0(3000), "")), BootImageError::PageSize { page_size: 3000 });
    assert_eq!(error(parts.image(Header::V3, "a\0b")), BootImageError::CmdlineNul);
    let image = parts.image(v2(4096), "");
    assert_eq!(error(BootImage { dtb: &[], ..image }), BootImageError::NoDtb { version: 2 });
    assert_eq!(error(BootImage { dtb: &[1, 2, 3, 4, 5], ..image }), BootImageError::DtbMagic);
    assert_eq!(error(BootImage { header: Header::V3, ..image }), BootImageError::Dtb { version: 3 });
    assert_eq!(error(BootImage { kernel: &[], ..image }), BootImageError::Kernel);
}
