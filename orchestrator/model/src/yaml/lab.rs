//! lab.yaml.

use super::decode::{Decoder, Fields};
use super::diagnostic::Diagnostics;
use super::experiment::conclude;
use super::kernel::check_cmdline;
use super::keys::{Choice, Key, MapSpec, Shape};
use super::load::load;
use super::located::Located;
use super::scalar::{self, TextRule, bytes_text};
use super::source::{Source, Span};
use super::tree::{Entry, Node};
use crate::{Accel, Arch, BoardName, BoardSpec, Boot, Disk, DiskKind, Lab, QemuSpec, TargetName};
use std::collections::HashMap;

const MIB: u64 = 1 << 20;
const TIB: u64 = 1 << 40;
const NAME: Shape = Shape::Text(TextRule::Name);
/// Disks consist of whole blocks of this size on all controllers.
const BLOCK: u64 = 4096;

pub(super) const LAB: MapSpec = MapSpec {
    what: "a lab",
    hint: None,
    keys: &[Key::required("boards", BOARDS, "The devices that kernels are tried on, by name.")],
};

const BOARDS: Shape = Shape::Table(TextRule::Name, &Shape::Map(&BOARD));

const BOARD: MapSpec = MapSpec {
    what: "a board",
    hint: None,
    keys: &[
        Key::optional("tags", Shape::List(&NAME), "Words by which an experiment may ask for it."),
        Key::required("arch", Shape::Choice(ARCHS), "The architecture of its kernel."),
        Key::required("boot", Shape::Choice(BOOTS), "How a kernel gets onto it."),
        Key::optional(
            "dtb",
            Shape::Text(TextRule::GitWord),
            "The device tree among those that the kernel builds, such as qcom/sm8650-qrd.dtb.",
        ),
        Key::default(
            "boot_timeout",
            Shape::Duration(5, 3600),
            "2m",
            "How long a boot may take until the board answers.",
        ),
        Key::later("rootfs", "What the board boots into."),
        Key::later("modules", "Where modules go."),
        Key::later("console", "How to read the serial console."),
        Key::later("power", "How to switch it on and off."),
        Key::later("ssh", "How to log in."),
        Key::later("tuning", "What tuning profiles need to know."),
        Key::later("scratch", "The only things that a workload may write."),
        Key::later("read_only", "Things that a workload may only read."),
    ],
};

const ARCHS: &[Choice] = &[
    Choice::plain("x86_64", "64-bit x86."),
    Choice::plain("arm64", "64-bit Arm."),
    Choice::later("arm", "32-bit Arm."),
    Choice::later("riscv", "RISC-V."),
];

const BOOTS: &[Choice] = &[
    Choice::with("qemu", &Shape::Map(&QEMU), "A virtual machine on this host."),
    Choice::later("fastboot", "An Android boot loader."),
    Choice::later("ssh", "Installed over SSH."),
    Choice::later("local", "This host, never rebooted."),
];

const QEMU: MapSpec = MapSpec {
    what: "a QEMU machine",
    hint: None,
    keys: &[
        Key::default("machine", NAME, "q35", "QEMU's machine type."),
        Key::default("memory", Shape::Size(64 * MIB, TIB), "1GiB", "Memory of the guest."),
        Key::default("cpus", Shape::Count(1, 256), "2", "Virtual CPUs."),
        Key::required(
            "disks",
            Shape::List(&Shape::Choice(DISKS)),
            "Disks to test; workloads may write them.",
        ),
        Key::default("accel", Shape::Choice(ACCELS), "auto", "The accelerator."),
        Key::optional("cmdline", Shape::Text(TextRule::CommandLine), "Added to the kernel command line."),
    ],
};

const ACCELS: &[Choice] = &[
    Choice::plain("auto", "KVM where it works, else TCG."),
    Choice::plain("tcg", "Software emulation."),
    Choice::plain("kvm", "Hardware virtualisation; an error where it does not work."),
];

const DISKS: &[Choice] = &[
    Choice::with("ufs", &Shape::Map(&UFS), "A UFS controller with one logical unit."),
    Choice::with("nvme", &Shape::Map(&PLAIN_DISK), "An NVMe controller with one name space."),
    Choice::with("virtio", &Shape::Map(&PLAIN_DISK), "A virtio block device."),
];

const DISK_NAME: Key = Key::required(
    "name",
    Shape::Text(TextRule::ShortName),
    "The name that `target:` uses; also its serial number.",
);
const DISK_SIZE: Key =
    Key::required("size", Shape::Size(16 * MIB, 16 * TIB), "The capacity of the disk, such as 1GiB.");

const UFS: MapSpec = MapSpec {
    what: "a UFS disk",
    hint: None,
    keys: &[
        DISK_NAME,
        DISK_SIZE,
        Key::default("mcq", Shape::Flag, "true", "Multi-circular queues; false means one legacy interrupt."),
    ],
};

const PLAIN_DISK: MapSpec = MapSpec { what: "a disk", hint: None, keys: &[DISK_NAME, DISK_SIZE] };

/// Reads a lab.
///
/// # Errors
/// All problems of the file, in the order of their places.
pub fn parse_lab(source: &Source) -> Result<Located<Lab>, Diagnostics> {
    let mut problems = Vec::new();
    let tree = load(source, &mut problems).map_err(|problem| Diagnostics(vec![*problem]))?;
    let mut decoder = Decoder::new(source, problems);
    let value = lab(&mut decoder, &tree);
    conclude(source, tree, value, decoder)
}

fn lab(decoder: &mut Decoder<'_>, tree: &Node) -> Option<Lab> {
    let fields = decoder.fields(tree, &LAB)?;
    let node = fields.value("boards")?;
    let entries = decoder.table(node, "boards", &BOARDS);
    let boards: Vec<Option<BoardSpec>> = entries.iter().map(|entry| board(decoder, entry, entries)).collect();
    boards
        .into_iter()
        .collect::<Option<Vec<_>>>()
        .filter(|boards| !boards.is_empty())
        .map(|boards| Lab { boards })
}

fn board(decoder: &mut Decoder<'_>, entry: &Entry, all: &[Entry]) -> Option<BoardSpec> {
    if entry.value.is_nothing() {
        decoder.error(entry.span, format!("the board `{}` has no value", entry.key)).hint =
            Some("write at least `arch:` and `boot:`".into());
        return None;
    }
    let fields = decoder.fields(&entry.value, &BOARD)?;
    let tags = tags(decoder, &fields, all);
    let arch = decoder.choice(&fields, "arch").map(|(name, _)| match name {
        "arm64" => Arch::Arm64,
        _ => Arch::X86_64,
    });
    let dtb = dtb(decoder, &fields);
    let boot = match decoder.choice(&fields, "boot") {
        Some((_, Some(body))) => qemu(decoder, body).map(Boot::Qemu),
        _ => None,
    };
    let boot_timeout = decoder.duration(&fields, "boot_timeout");
    Some(BoardSpec {
        name: BoardName(entry.key.clone()),
        tags,
        arch: arch?,
        boot: boot?,
        dtb,
        boot_timeout: boot_timeout?,
    })
}

/// A path below the folder of device trees, as make names it.
fn dtb(decoder: &mut Decoder<'_>, fields: &Fields<'_>) -> Option<String> {
    let text = decoder.text(fields, "dtb")?;
    let plain = text.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
    let known = std::path::Path::new(&text).extension().is_some_and(|extension| extension == "dtb");
    if !(plain && known) {
        let span = fields.value("dtb")?.span;
        decoder.error(span, format!("`{text}` is no device tree that a kernel builds")).hint =
            Some("write its path below arch/*/boot/dts: `qcom/sm8650-qrd.dtb`".into());
        return None;
    }
    Some(text)
}

fn tags(decoder: &mut Decoder<'_>, fields: &Fields<'_>, boards: &[Entry]) -> Vec<String> {
    let mut tags: Vec<String> = Vec::new();
    for item in fields.value("tags").map(|node| decoder.list(node, "tags")).unwrap_or_default() {
        let Some(tag) = decoder.item(item, "a tag", |text| scalar::text(&NAME, text)) else { continue };
        if let Some(board) = boards.iter().find(|board| board.key == tag) {
            let message = format!("`{tag}` is a tag here and the name of a board");
            decoder.repeated(item.span, &message, board.span);
        } else if tags.contains(&tag) {
            decoder.error(item.span, format!("the tag `{tag}` is listed twice"));
        }
        tags.push(tag);
    }
    tags
}

fn qemu(decoder: &mut Decoder<'_>, node: &Node) -> Option<QemuSpec> {
    let fields = decoder.fields(node, &QEMU)?;
    let machine = decoder.text(&fields, "machine");
    let memory = decoder.size(&fields, "memory");
    let cpus = decoder.count32(&fields, "cpus");
    let disks = disks(decoder, &fields);
    let accel = decoder.choice(&fields, "accel").map(|(name, _)| match name {
        "tcg" => Accel::Tcg,
        "kvm" => Accel::Kvm,
        _ => Accel::Auto,
    });
    let cmdline = decoder.text(&fields, "cmdline");
    if let (Some(text), Some(node)) = (&cmdline, fields.value("cmdline")) {
        check_cmdline(decoder, node.span, text);
    }
    if let (Some(bytes), Some(node)) = (memory, fields.value("memory"))
        && bytes % MIB != 0
    {
        decoder.error(node.span, "memory is a whole number of MiB");
    }
    Some(QemuSpec { machine: machine?, memory: memory?, cpus: cpus?, disks: disks?, accel: accel?, cmdline })
}

fn disks(decoder: &mut Decoder<'_>, fields: &Fields<'_>) -> Option<Vec<Disk>> {
    let node = fields.value("disks")?;
    let mut names: HashMap<String, Span> = HashMap::new();
    let items = decoder.list(node, "disks");
    let disks: Vec<Option<Disk>> = items.iter().map(|item| disk(decoder, item, &mut names)).collect();
    disks.into_iter().collect()
}

fn disk(decoder: &mut Decoder<'_>, node: &Node, names: &mut HashMap<String, Span>) -> Option<Disk> {
    if node.is_nothing() {
        decoder.error(node.owner, "a disk is missing here");
        return None;
    }
    let (kind, body) = decoder.choose(node, "a disk", DISKS)?;
    let is_ufs = kind == "ufs";
    let fields = decoder.fields(body?, if is_ufs { &UFS } else { &PLAIN_DISK })?;
    let name = decoder.text(&fields, "name");
    if let (Some(name), Some(node)) = (&name, fields.value("name"))
        && let Some(first) = names.insert(name.clone(), node.span)
    {
        decoder.repeated(node.span, &format!("two disks of this board are named `{name}`"), first);
    }
    let size = decoder.size(&fields, "size");
    if let (Some(bytes), Some(node)) = (size, fields.value("size"))
        && bytes % BLOCK != 0
    {
        decoder.error(node.span, format!("a disk is a whole number of blocks of {}", bytes_text(BLOCK)));
    }
    let kind = match kind {
        "ufs" => DiskKind::Ufs { mcq: decoder.flag(&fields, "mcq")? },
        "nvme" => DiskKind::Nvme,
        _ => DiskKind::Virtio,
    };
    Some(Disk { name: TargetName(name?), size: size?, kind })
}
