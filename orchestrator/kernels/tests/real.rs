//! A real kernel: the distribution's source, cross-built for 64-bit Arm with device trees and signed modules. Takes minutes:
//! `make test-long`.
#![allow(clippy::unwrap_used, missing_docs)]

mod mini;

use kab_kernels::{Kernels, Settings};
use kab_lifeline::Lifeline;
use kab_model::{Arch, Artifact, Base, Change, ConfigItem, ConfigValue, KernelSpec, Toolchain};
use mini::{option, patches, planned};
use std::path::{Path, PathBuf};
use std::process::Command;
use tokio_util::sync::CancellationToken;

/// Sources that the series touches: each gets a function.
const TOUCHED: [&str; 2] = ["drivers/ufs/core/ufshcd.c", "drivers/scsi/scsi_lib.c"];

/// The source, made by `make source`.
fn source() -> PathBuf {
    let given = std::env::var_os("KAB_TEST_SOURCE").map(PathBuf::from);
    let path = given
        .unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache/kab/linux-source"));
    assert!(path.join("HEAD").exists(), "{} is missing: run `make source`", path.display());
    path
}

/// A small kernel with a disk, a few boards' device trees and one module.
fn spec() -> KernelSpec {
    let yes = [
        "MODULES",
        "MODULE_SIG",
        "MODULE_SIG_ALL",
        "MODULE_SIG_SHA256",
        "BLOCK",
        "SCSI",
        "BLK_DEV_SD",
        "SCSI_UFSHCD",
        "ARCH_VEXPRESS",
        "PRINTK",
        "TTY",
    ];
    let mut config = vec![ConfigItem::Base("tinyconfig".into())];
    config.extend(yes.map(|name| option(&format!("CONFIG_{name}"), ConfigValue::Yes, false)));
    config.push(option("CONFIG_SCSI_UFSHCD_PLATFORM", ConfigValue::Module, false));
    KernelSpec {
        repo: source().to_str().unwrap().to_owned(),
        base: Base::Ref("linux-source".into()),
        changes: Vec::new(),
        ladder: false,
        config,
        toolchain: Toolchain::Gcc,
        overlay: None,
        placebo: false,
    }
}

/// Without ccache, which would spare the second kernel what the first has paid.
fn kernels(cache: &Path) -> Kernels {
    let lifeline = Lifeline::from_program(env!("CARGO_BIN_EXE_kernels-probe"));
    let settings = Settings::new(cache, lifeline, std::env::var_os("PATH").unwrap());
    Kernels::new(Settings { ccache: false, ..settings })
}

async fn build(cache: &Path, spec: &KernelSpec) -> (Artifact, f64) {
    let (kernels, cancel) = (kernels(cache), CancellationToken::new());
    let before = cpu_seconds();
    let resolved = kernels.resolve(spec, &|_| {}, &cancel).await.unwrap().remove(0);
    let built = kernels.build(&planned(spec, resolved), Arch::Arm64, &|_| {}, &cancel).await.unwrap();
    assert!(!built.cached);
    (built, cpu_seconds() - before)
}

/// User and system time of everything that this process started and that has ended, seconds.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    // cutime and cstime, in hundredths on every architecture that Linux has left.
    fields[13..15].iter().map(|ticks| ticks.parse::<f64>().unwrap()).sum::<f64>() / 100.0
}

/// A series of two patches, one for each file.
fn series(folder: &Path) -> Vec<Change> {
    for (number, file) in (1..).zip(TOUCHED) {
        let (old, new) = (folder.join("a").join(file), folder.join("b").join(file));
        let show = ["show".to_owned(), format!("linux-source:{file}")];
        let text = git(&source(), &show);
        let head = format!("int kab_test_{number}(int given)");
        let more = format!("{text}\n{head};\n{head}\n{{\n\treturn given * 3;\n}}\n");
        for (path, text) in [(&old, text.clone()), (&new, more)] {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let prefixes = ["diff", "--no-index", "--src-prefix=", "--dst-prefix="].map(str::to_owned);
        let names = ["a", "b"].map(|side| format!("{side}/{file}"));
        let diff = git(folder, &[&prefixes[..], &names[..]].concat());
        let mail = format!(
            "From: Uma User <uma@example.com>\nDate: Tue, 14 Nov 2023 22:13:20 +0000\n\
             Subject: [PATCH {number}/2] {file}: a function\n\nFor the test.\n---\n{diff}"
        );
        std::fs::create_dir_all(folder.join("series")).unwrap();
        std::fs::write(folder.join(format!("series/{number}.patch")), mail).unwrap();
    }
    patches(folder.join("series"))
}

fn git(folder: &Path, args: &[String]) -> String {
    let output = Command::new("git").current_dir(folder).args(args).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn kernel_build_for_arm64_is_the_same_everywhere_and_a_second_variant_costs_a_tenth() {
    let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let cache = root.path().join("cache");
    let (base, first) = build(&cache, &spec()).await;
    assert!(base.compiler.starts_with("aarch64-linux-gnu-gcc"), "{}", base.compiler);
    let image = std::fs::read(&base.image).unwrap();
    assert_eq!(&image[56..60], b"ARM\x64");
    assert!(base.dtbs.as_ref().unwrap().join("arm/juno.dtb").exists());
    assert!(base.modules.is_some());

    let patched = KernelSpec { changes: series(root.path()), ..spec() };
    let (variant, second) = build(&cache, &patched).await;
    println!("CPU seconds: first kernel {first:.1}, the variant with two .c files changed {second:.1}");
    assert_ne!(variant.image_digest, base.image_digest);
    assert_eq!(variant.dtbs_digest, base.dtbs_digest);
    assert!(second < first / 10.0, "{second} against {first}");

    let other = root.path().join("a-folder-with-a-longer-name");
    std::fs::create_dir(&other).unwrap();
    std::fs::copy(cache.join("signing-key.pem"), other.join("signing-key.pem")).unwrap();
    let (again, _) = build(&other, &spec()).await;
    assert_eq!((&again.image_digest, &again.build_id), (&base.image_digest, &base.build_id));
    assert_eq!((again.dtbs_digest, again.modules_digest), (base.dtbs_digest, base.modules_digest));
}

/// Cross-built without a prefix: clang knows all architectures.
#[tokio::test]
async fn kernel_build_with_clang_for_arm64() {
    let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let config = vec![
        ConfigItem::Base("tinyconfig".into()),
        option("CONFIG_MODULES", ConfigValue::Yes, false),
        option("CONFIG_PRINTK", ConfigValue::Yes, false),
        option("CONFIG_CRYPTO", ConfigValue::Yes, false),
        option("CONFIG_CRYPTO_SHA512", ConfigValue::Module, false),
    ];
    let spec = KernelSpec { config, toolchain: Toolchain::Llvm, ..spec() };
    let (built, seconds) = build(root.path(), &spec).await;
    println!("CPU seconds: {seconds:.1} with {}", built.compiler);
    assert!(built.compiler.contains("clang version"), "{}", built.compiler);
    assert_eq!(&std::fs::read(&built.image).unwrap()[56..60], b"ARM\x64");
    let config = std::fs::read_to_string(&built.config).unwrap();
    assert!(config.contains("CONFIG_CC_IS_CLANG=y") && config.contains("CONFIG_LD_IS_LLD=y"));
    assert!(built.modules.is_some());
}
