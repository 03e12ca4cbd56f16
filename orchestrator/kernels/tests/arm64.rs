//! Device trees, modules and foreign architectures, with a real cross compiler, dtc and git.
#![allow(clippy::unwrap_used, missing_docs)]

mod mini;

use kab_kernels::Progress;
use kab_model::{Arch, Artifact, Change, ConfigItem, ConfigValue, KernelSpec};
use mini::{Mini, option, patches, planned, steps};
use std::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// With device trees and one module.
fn spec(mini: &Mini) -> KernelSpec {
    let config = vec![
        ConfigItem::Base("tinyconfig".into()),
        option("CONFIG_BLOCK", ConfigValue::Yes, false),
        option("CONFIG_SCSI", ConfigValue::Module, false),
        option("CONFIG_OF", ConfigValue::Yes, false),
    ];
    KernelSpec { config, ..mini.spec() }
}

async fn build(mini: &Mini, spec: &KernelSpec, arch: Arch) -> (Artifact, Vec<Progress>) {
    let variant = planned(spec, mini.resolve(spec).await.unwrap());
    let seen = Mutex::new(Vec::new());
    let report = |progress| seen.lock().unwrap().push(progress);
    let artifact = mini.kernels().build(&variant, arch, &report, &CancellationToken::new()).await.unwrap();
    (artifact, seen.into_inner().unwrap())
}

#[tokio::test]
async fn a_foreign_architecture_is_cross_built_with_device_trees_and_modules() {
    let mini = Mini::new();
    let (built, progress) = build(&mini, &spec(&mini), Arch::Arm64).await;
    assert!(built.compiler.starts_with("aarch64-linux-gnu-gcc"), "{}", built.compiler);
    // Five for the image, one for the device tree, one for the module.
    assert_eq!(steps(&progress), 7, "{progress:?}");
    // e_machine of an object for 64-bit Arm.
    let modules = std::fs::read(built.modules.as_ref().unwrap()).unwrap();
    let elf = modules.windows(4).position(|bytes| bytes == b"\x7fELF").unwrap();
    assert_eq!(modules[elf + 18..elf + 20], 183u16.to_le_bytes());
    let has = |text: &[u8]| modules.windows(text.len()).any(|bytes| bytes == text);
    assert!(has(b"lib/modules/6.0.0-mini/kernel/scsi.ko\0"));
    // Stripped, and nothing of this host's folders.
    assert!(!has(b".debug_info") && !has(b"6.0.0-mini/build"));
    let dtb = std::fs::read(built.dtbs.as_ref().unwrap().join("acme/anvil.dtb")).unwrap();
    assert!(dtb.starts_with(&0xd00d_feed_u32.to_be_bytes()));

    let (found, progress) = build(&mini, &spec(&mini), Arch::Arm64).await;
    assert!(found.cached && progress.is_empty());
    assert_eq!(found, Artifact { cached: true, build_ms: 0, ..built });
}

#[tokio::test]
async fn a_device_tree_patch_builds_device_trees_only_and_the_image_is_the_same() {
    let mini = Mini::new();
    mini.edit("arch/arm64/boot/dts/acme/anvil.dts", "<1>", "<8>");
    mini.commit("dts: acme: anvil: more queues");
    let patch = mini.series("queues", 1);
    let (base, _) = build(&mini, &spec(&mini), Arch::Arm64).await;
    let file = std::fs::read_dir(patch).unwrap().next().unwrap().unwrap().path();
    let changed = KernelSpec { changes: vec![Change::DeviceTree(file)], ..spec(&mini) };
    let (variant, progress) = build(&mini, &changed, Arch::Arm64).await;
    assert_eq!(steps(&progress), 1, "{progress:?}");
    assert_ne!(variant.key, base.key);
    assert_eq!((&variant.image_digest, &variant.modules_digest), (&base.image_digest, &base.modules_digest));
    assert_ne!(variant.dtbs_digest, base.dtbs_digest);
}

#[tokio::test]
async fn device_trees_that_a_variant_removed_are_not_among_its_own() {
    let mini = Mini::new();
    build(&mini, &spec(&mini), Arch::Arm64).await;
    mini.git(&["mv", "-f", "arch/arm64/boot/dts/acme/anvil.dts", "arch/arm64/boot/dts/acme/forge.dts"]);
    mini.commit("dts: acme: rename");
    let folder = mini.series("rename", 1);
    let renamed = KernelSpec { changes: patches(folder), ..spec(&mini) };
    let (built, _) = build(&mini, &renamed, Arch::Arm64).await;
    let dtbs = built.dtbs.unwrap().join("acme");
    assert!(dtbs.join("forge.dtb").exists() && !dtbs.join("anvil.dtb").exists());
}

#[tokio::test]
async fn damaged_or_missing_parts_are_built_again() {
    let mini = Mini::new();
    let (first, _) = build(&mini, &spec(&mini), Arch::Arm64).await;
    std::fs::write(first.modules.as_ref().unwrap(), "cut").unwrap();
    let (second, _) = build(&mini, &spec(&mini), Arch::Arm64).await;
    assert!(!second.cached);
    assert_eq!(first.modules_digest, second.modules_digest);
    std::fs::remove_dir_all(second.dtbs.unwrap()).unwrap();
    let (third, _) = build(&mini, &spec(&mini), Arch::Arm64).await;
    assert!(!third.cached);
    assert_eq!(third.dtbs_digest, second.dtbs_digest);
}

#[tokio::test]
async fn everything_is_the_same_in_another_folder() {
    let mini = Mini::new();
    let (first, _) = build(&mini, &spec(&mini), Arch::Arm64).await;
    let variant = planned(&spec(&mini), mini.resolve(&spec(&mini)).await.unwrap());
    let other = mini.kernels_with(|settings| {
        settings.cache = mini.root().join("a-longer-name-for-a-cache");
    });
    let cancel = CancellationToken::new();
    other.resolve(&spec(&mini), &|_| {}, &cancel).await.unwrap();
    let second = other.build(&variant, Arch::Arm64, &|_| {}, &cancel).await.unwrap();
    assert!(!second.cached);
    let digests = |artifact: &Artifact| {
        let optional = (artifact.dtbs_digest.clone(), artifact.modules_digest.clone());
        (artifact.image_digest.clone(), artifact.build_id.clone(), optional)
    };
    assert_eq!(digests(&first), digests(&second));
}
