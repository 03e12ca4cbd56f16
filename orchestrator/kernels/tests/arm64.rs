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

/// A cover letter and three patches by two authors: one of a binding, two of device tree sources.
#[tokio::test]
async fn a_series_of_bindings_and_device_trees_leaves_the_image_as_it_is() {
    let mini = Mini::new();
    let (base, _) = build(&mini, &spec(&mini), Arch::Arm64).await;
    let binding = mini.repo().join("Documentation/devicetree/bindings/ufs");
    std::fs::create_dir_all(&binding).unwrap();
    std::fs::write(binding.join("acme,anvil-ufs.yaml"), "# queues: how many\n").unwrap();
    mini.git(&["add", "-A", "-f"]);
    let by = |author: &str, subject: &str| {
        mini.git(&["commit", "-q", "-a", "--author", author, "-m", subject]);
    };
    by("Žofia Müller <zofia@example.org>", "dt-bindings: ufs: anvil: document queues");
    mini.edit("arch/arm64/boot/dts/acme/anvil.dts", "<1>", "<8>");
    by("Ravi Prakāś <ravi@example.com>", "arm64: dts: anvil: eight queues");
    let dts = std::fs::read_to_string(mini.repo().join("arch/arm64/boot/dts/acme/anvil.dts")).unwrap();
    std::fs::write(mini.repo().join("arch/arm64/boot/dts/acme/anvil.dts"), dts + "\n/ { mcq; };\n").unwrap();
    by("Ravi Prakāś <ravi@example.com>", "arm64: dts: anvil: enable MCQ");
    let folder = mini.root().join("v3");
    mini.git(&["format-patch", "-q", "-v3", "--cover-letter", "-o", folder.to_str().unwrap(), "-3"]);
    mini.git(&["reset", "--quiet", "--hard", "HEAD~3"]);

    let mcq = KernelSpec { changes: patches(folder), ..spec(&mini) };
    let resolved = mini.resolve(&mcq).await.unwrap();
    let series = mini::applied(&resolved);
    assert_eq!((series.version, series.subjects.len()), (Some(3), 3));
    let authors = mini.mirror(&["log", "-3", "--format=%an", &resolved.commit]);
    assert_eq!(authors.lines().collect::<Vec<_>>(), ["Ravi Prakāś", "Ravi Prakāś", "Žofia Müller"]);
    let (variant, progress) = build(&mini, &mcq, Arch::Arm64).await;
    assert_eq!(steps(&progress), 1, "{progress:?}");
    assert_eq!((&variant.image_digest, &variant.modules_digest), (&base.image_digest, &base.modules_digest));
    let nodes = kab_kernels::difference(&base, &variant).nodes;
    let nodes: Vec<String> = nodes.iter().map(ToString::to_string).collect();
    assert_eq!(nodes, ["/: +mcq", "/ufs: queues <0x1> -> <0x8>"]);
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

/// Pins an overlay with this text.
fn overlay(mini: &Mini, name: &str, text: &str) -> KernelSpec {
    let path = mini.root().join(name);
    std::fs::write(&path, text).unwrap();
    KernelSpec { overlay: Some(path), ..spec(mini) }
}

const MORE_QUEUES: &str = "/dts-v1/;\n/plugin/;\n#include \"queues.h\"\n&ufs { queues = <QUEUES>; mcq; };\n";

#[tokio::test]
async fn an_overlay_builds_device_trees_only_and_says_what_it_changed() {
    let mini = Mini::new();
    std::fs::write(mini.root().join("queues.h"), "#define QUEUES 8\n").unwrap();
    let (base, _) = build(&mini, &spec(&mini), Arch::Arm64).await;
    let changed = overlay(&mini, "mcq.dtso", MORE_QUEUES);
    let (variant, progress) = build(&mini, &changed, Arch::Arm64).await;
    assert_eq!(steps(&progress), 1, "{progress:?}");
    assert_ne!(variant.key, base.key);
    assert_eq!((&variant.image_digest, &variant.modules_digest), (&base.image_digest, &base.modules_digest));
    let found = kab_kernels::difference(&base, &variant);
    let nodes: Vec<String> = found.nodes.iter().map(ToString::to_string).collect();
    assert_eq!(nodes, ["/ufs: queues <0x1> -> <0x8>, +mcq"]);
    assert_eq!(found.nodes[0].trees, ["acme/anvil.dtb"]);
    assert!(found.symbols.is_empty());
    let (found, _) = build(&mini, &changed, Arch::Arm64).await;
    assert!(found.cached);
    // The kernel without it is not what the overlay left in the output folder.
    std::fs::remove_dir_all(mini.cache().join("artifacts").join(&base.key)).unwrap();
    let (again, _) = build(&mini, &spec(&mini), Arch::Arm64).await;
    assert_eq!(again.dtbs_digest, base.dtbs_digest);
}

#[tokio::test]
async fn an_overlay_that_changes_nothing_says_why() {
    let mini = Mini::new();
    let error = async |spec: &KernelSpec, arch| {
        let variant = planned(spec, mini.resolve(spec).await.unwrap());
        let built = mini.kernels().build(&variant, arch, &|_| {}, &CancellationToken::new()).await;
        built.unwrap_err().to_string()
    };
    let other = overlay(&mini, "other.dtso", "/dts-v1/;\n/plugin/;\n&emmc { mcq; };\n");
    let said = error(&other, Arch::Arm64).await;
    assert!(said.contains("other.dtso fits none of the 1 device trees that were built: "), "{said}");
    let broken = overlay(&mini, "broken.dtso", "/dts-v1/;\n/plugin/;\n&ufs { mcq }\n");
    let said = error(&broken, Arch::Arm64).await;
    assert!(said.contains("broken.dtso does not compile: ") && said.contains("syntax error"), "{said}");
    let no_header = overlay(&mini, "header.dtso", MORE_QUEUES);
    let said = error(&no_header, Arch::Arm64).await;
    assert!(said.contains("header.dtso does not compile: ") && said.contains("queues.h"), "{said}");
    let said = error(&other, Arch::X86_64).await;
    assert!(
        said.ends_with("other.dtso cannot be applied: this configuration builds no device tree"),
        "{said}"
    );
    let variant = planned(&other, mini.resolve(&other).await.unwrap());
    std::fs::write(other.overlay.as_ref().unwrap(), "changed").unwrap();
    let built = mini.kernels().build(&variant, Arch::Arm64, &|_| {}, &CancellationToken::new()).await;
    let said = built.unwrap_err().to_string();
    assert!(said.contains("other.dtso has changed since the plan was made"), "{said}");
}

#[tokio::test]
async fn symbols_of_the_final_configuration_are_compared() {
    let mini = Mini::new();
    let (base, _) = build(&mini, &spec(&mini), Arch::Arm64).await;
    let mut other = spec(&mini);
    other.config.push(option("CONFIG_SCSI", ConfigValue::Yes, false));
    other.config.push(option("CONFIG_QUEUE_DEPTH", ConfigValue::Text("8".into()), false));
    let (variant, _) = build(&mini, &other, Arch::Arm64).await;
    let found = kab_kernels::difference(&base, &variant);
    let symbols: Vec<String> = found.symbols.iter().map(ToString::to_string).collect();
    assert_eq!(symbols, ["CONFIG_QUEUE_DEPTH 16 -> 8", "CONFIG_SCSI m -> y"]);
    assert!(found.nodes.is_empty());
}
