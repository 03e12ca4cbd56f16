//! Kernels in miniature, built by real make and gcc: cache, configuration, failures.
#![allow(clippy::unwrap_used, missing_docs)]

mod mini;

use kab_kernels::{BuildError, ConfigError, MakeError, Obstacle, Progress, ToolError};
use kab_model::{Arch, Base, ConfigItem, ConfigValue, KernelSpec};
use mini::{Mini, option, planned, steps};
use std::path::Path;
use std::process::Command;
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn an_artifact_is_whole_and_a_second_build_builds_nothing() {
    let mini = Mini::new();
    let before = mini.everything();
    let (built, progress) = mini.build(&mini.spec()).await.unwrap();
    assert!(!built.cached && steps(&progress) == 5, "{progress:?}");
    assert_eq!(built.release, "6.0.0-mini");
    assert_eq!(built.tree, mini.git(&["rev-parse", "main^{tree}"]));
    let config = std::fs::read_to_string(&built.config).unwrap();
    assert!(config.contains("# CONFIG_LOCALVERSION_AUTO is not set"), "{config}");
    assert!(std::fs::read_to_string(&built.log).unwrap().contains("  CC      ufs.o"));
    assert_eq!(built.build_id, Some(build_id_by_readelf(&built.image)));
    let (cached, progress) = mini.build(&mini.spec()).await.unwrap();
    assert!(cached.cached && progress.is_empty(), "{progress:?}");
    assert_eq!((cached.image_digest, cached.build_id), (built.image_digest, built.build_id));
    assert!(mini.everything() == before);
}

/// The image in miniature begins with vmlinux.
fn build_id_by_readelf(image: &Path) -> String {
    let output = Command::new("readelf").arg("-n").arg(image).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().find_map(|line| line.trim().strip_prefix("Build ID: ")).unwrap().to_owned()
}

#[tokio::test]
async fn a_small_patch_costs_little_and_the_way_back_nothing() {
    let mini = Mini::new();
    let (base, _) = mini.build(&mini.spec()).await.unwrap();
    let patched = KernelSpec { changes: mini::patches(mini::fixture("v2-ufs-depth.mbox")), ..mini.spec() };
    let (built, progress) = mini.build(&patched).await.unwrap();
    // ufs.o, vmlinux, bzImage; and no reason to configure.
    assert_eq!(steps(&progress), 3, "{progress:?}");
    assert!(!progress.contains(&Progress::Configuring));
    assert_ne!(built.build_id, base.build_id);
    assert!(mini.build(&mini.spec()).await.unwrap().0.cached);
}

#[tokio::test]
async fn a_comment_changes_the_key_but_not_the_image() {
    let mini = Mini::new();
    let (base, _) = mini.build(&mini.spec()).await.unwrap();
    mini.edit("ufs.c", "for every interrupt", "by every interrupt");
    mini.commit("ufs: better English");
    let (same, _) = mini.build(&mini.spec()).await.unwrap();
    assert_ne!(same.key, base.key);
    assert_eq!(same.image_digest, base.image_digest);
}

#[tokio::test]
async fn kernels_are_the_same_in_every_cache() {
    let mini = Mini::new();
    let (first, _) = mini.build(&mini.spec()).await.unwrap();
    std::fs::remove_dir_all(mini.cache()).unwrap();
    let (second, _) = mini.build(&mini.spec()).await.unwrap();
    assert!(!second.cached);
    assert_eq!((first.key, first.image_digest), (second.key, second.image_digest));
}

#[tokio::test]
async fn a_changed_kconfig_is_configured_again() {
    let mini = Mini::new();
    mini.build(&mini.spec()).await.unwrap();
    mini.edit("configs/tinyconfig", "=16", "=17");
    mini.commit("mini: depth");
    let (built, progress) = mini.build(&mini.spec()).await.unwrap();
    assert!(progress.contains(&Progress::Configuring));
    assert!(std::fs::read_to_string(built.config).unwrap().contains("CONFIG_QUEUE_DEPTH=17"));
}

#[tokio::test]
async fn fragments_and_options_are_applied_in_order() {
    let mini = Mini::new();
    let fragment = mini.root().join("ufs.config");
    std::fs::write(&fragment, "CONFIG_BLOCK=y\nCONFIG_SCSI=m\n# CONFIG_UFS is not set\n").unwrap();
    let config = vec![
        ConfigItem::Base("tinyconfig".into()),
        ConfigItem::Fragment(fragment),
        option("CONFIG_UFS", ConfigValue::Yes, false),
        option("CONFIG_QUEUE_DEPTH", ConfigValue::Text("8".into()), false),
        option("CONFIG_HYPERDRIVE", ConfigValue::Yes, true),
    ];
    let (built, _) = mini.build(&KernelSpec { config, ..mini.spec() }).await.unwrap();
    let config = std::fs::read_to_string(built.config).unwrap();
    let wanted = "CONFIG_BLOCK=y\nCONFIG_SCSI=m\nCONFIG_UFS=y\nCONFIG_QUEUE_DEPTH=8\n# CONFIG_LOCALVERSION_AUTO is not set\n";
    assert!(config.starts_with(wanted), "{config}");
}

#[tokio::test]
async fn an_option_that_did_not_survive_is_named_with_the_reason() {
    let mini = Mini::new();
    let config = vec![
        ConfigItem::Base("tinyconfig".into()),
        option("CONFIG_UFS", ConfigValue::Yes, false),
        option("CONFIG_SCIS", ConfigValue::Yes, false),
        option("CONFIG_BLOCK", ConfigValue::No, false),
    ];
    let error = mini.build(&KernelSpec { config, ..mini.spec() }).await.unwrap_err();
    let BuildError::Config(ConfigError::Lost(lost)) = &error else { panic!("{error:?}") };
    let symbols: Vec<&str> = lost.iter().map(|option| option.symbol.as_str()).collect();
    assert_eq!(symbols, ["CONFIG_SCIS", "CONFIG_UFS"]);
    assert_eq!(lost[0].obstacle, Some(Obstacle::Unknown { similar: vec!["CONFIG_SCSI".into()] }));
    assert_eq!(lost[1].obstacle, Some(Obstacle::Unmet { symbols: vec!["CONFIG_SCSI".into()] }));
    let wanted = "the kernel does not take CONFIG_SCIS=y (not set): this kernel has no such option; did you mean CONFIG_SCSI?; \
                  CONFIG_UFS=y (not set): it depends on CONFIG_SCSI, which is off";
    assert_eq!(error.to_string(), wanted);
}

#[tokio::test]
async fn a_failed_build_shows_its_first_error_and_its_log() {
    let mini = Mini::new();
    mini.edit("nvme.c", "status ? 4", "statsu ? 4");
    mini.commit("nvme: break it");
    let error = mini.build(&mini.spec()).await.unwrap_err();
    let BuildError::Make(MakeError::Failed(failed)) = &error else { panic!("{error:?}") };
    assert!(failed.lines[0].contains("In function"), "{:?}", failed.lines);
    assert!(failed.lines[1].contains("error: ") && failed.lines[1].contains("statsu"), "{:?}", failed.lines);
    assert!(std::fs::read_to_string(&failed.log).unwrap().contains("statsu"));
    assert!(error.to_string().contains(failed.log.to_str().unwrap()));
    let config = vec![ConfigItem::Base("nosuch_defconfig".into())];
    let error = mini.build(&KernelSpec { config, ..mini.spec() }).await.unwrap_err();
    assert!(error.to_string().contains("No rule to make target"), "{error}");
    // The repaired source builds, with what the failure has left.
    mini.edit("nvme.c", "statsu", "status");
    mini.commit("nvme: repair it");
    mini.build(&mini.spec()).await.unwrap();
}

#[tokio::test]
async fn missing_tools_are_named_with_their_packages() {
    let mini = Mini::new();
    let spec = mini.spec();
    let variant = planned(&spec, mini.resolve(&spec).await.unwrap());
    std::fs::remove_file(mini.root().join("stubs/bison")).unwrap();
    let only_stubs = kab_kernels::Settings::new(
        mini.cache(),
        kab_lifeline::Lifeline::from_program(env!("CARGO_BIN_EXE_kernels-probe")),
        mini.root().join("stubs"),
    );
    let kernels = kab_kernels::Kernels::new(only_stubs);
    let cancel = CancellationToken::new();
    let error = kernels.build(&variant, Arch::X86_64, &|_| {}, &cancel).await.unwrap_err();
    let BuildError::Tools(ToolError::Missing(missing)) = &error else { panic!("{error:?}") };
    let names: Vec<&str> = missing.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["make", "bison", "gcc", "ld", "objcopy"]);
    let error = kernels.resolve(&spec, &|_| {}, &cancel).await.unwrap_err();
    assert_eq!(error.to_string(), "not installed: git; Debian has them in: git");
}

#[tokio::test]
async fn nothing_of_the_callers_environment_reaches_make() {
    let mini = Mini::new();
    mini.edit("Makefile", "bzImage: $(image)", "bzImage: environment $(image)");
    let text = std::fs::read_to_string(mini.repo().join("Makefile")).unwrap();
    std::fs::write(mini.repo().join("Makefile"), text + "\nenvironment:\n\t@env\n").unwrap();
    mini.commit("mini: show the environment");
    let (built, _) = mini.build(&mini.spec()).await.unwrap();
    let log = std::fs::read_to_string(built.log).unwrap();
    // Cargo sets this one for every test.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    assert!(log.contains("\nPATH=") && !log.contains("CARGO_"), "{log}");
}

#[tokio::test]
async fn a_lost_mirror_is_made_again_or_said_to_be_lost() {
    let mini = Mini::new();
    let patched = KernelSpec { changes: mini::patches(mini::fixture("v2-ufs-depth.mbox")), ..mini.spec() };
    let plain = planned(&mini.spec(), mini.resolve(&mini.spec()).await.unwrap());
    let patched = planned(&patched, mini.resolve(&patched).await.unwrap());
    std::fs::remove_dir_all(mini.cache()).unwrap();
    let (kernels, cancel) = (mini.kernels(), CancellationToken::new());
    let error = kernels.build(&patched, Arch::X86_64, &|_| {}, &cancel).await.unwrap_err();
    assert!(matches!(error, BuildError::SourceGone { .. }), "{error:?}");
    assert!(kernels.cached(&plain, Arch::X86_64, &cancel).await.unwrap().is_none());
    kernels.build(&plain, Arch::X86_64, &|_| {}, &cancel).await.unwrap();
    assert!(kernels.cached(&plain, Arch::X86_64, &cancel).await.unwrap().is_some());
}

/// Two folders, one key: what would be random is not, and what must be one user's own is taken along.
#[tokio::test]
async fn random_seeds_and_keys_are_pinned() {
    let mini = Mini::new();
    let config = vec![
        ConfigItem::Base("tinyconfig".into()),
        option("CONFIG_RANDSTRUCT", ConfigValue::Yes, false),
        option("CONFIG_MODULE_SIG", ConfigValue::Yes, false),
    ];
    let spec = KernelSpec { config, ..mini.spec() };
    let (first, _) = mini.build(&spec).await.unwrap();
    let image = std::fs::read(&first.image).unwrap();
    let has = |text: &[u8]| image.windows(text.len()).any(|bytes| bytes == text);
    assert!(has(b"RANDSTRUCT_HASHED_SEED") && has(b"BEGIN PRIVATE KEY") && has(b"BEGIN CERTIFICATE"));
    let variant = planned(&spec, mini.resolve(&spec).await.unwrap());
    let cache = mini.root().join("another-folder");
    std::fs::create_dir(&cache).unwrap();
    std::fs::copy(mini.cache().join("signing-key.pem"), cache.join("signing-key.pem")).unwrap();
    let other = mini.kernels_with(|settings| settings.cache = cache.clone());
    let cancel = CancellationToken::new();
    other.resolve(&spec, &|_| {}, &cancel).await.unwrap();
    let second = other.build(&variant, Arch::X86_64, &|_| {}, &cancel).await.unwrap();
    assert!(!second.cached);
    assert_eq!(first.image_digest, second.image_digest);
    assert_eq!(first.config_digest, second.config_digest);
}

#[tokio::test]
async fn compilers_are_called_through_ccache_where_it_is_installed() {
    let mini = Mini::new();
    let tools = mini.root().join("tools");
    std::fs::create_dir(&tools).unwrap();
    let calls = mini.root().join("calls");
    let body = format!("echo \"$CCACHE_DIR\" >> {}\nexec /usr/bin/${{0##*/}} \"$@\"", calls.display());
    mini.script(&tools.join("ccache"), &body);
    let path = |settings: &mut kab_kernels::Settings| {
        let mut path = tools.clone().into_os_string();
        path.push(":");
        path.push(mini.search_path());
        settings.search_path = path;
    };
    let variant = planned(&mini.spec(), mini.resolve(&mini.spec()).await.unwrap());
    let cancel = CancellationToken::new();
    let with = mini.kernels_with(path).build(&variant, Arch::X86_64, &|_| {}, &cancel).await.unwrap();
    // Three objects and the link.
    let seen = std::fs::read_to_string(&calls).unwrap();
    let folder = mini.cache().join("ccache/kept");
    assert_eq!(seen.lines().filter(|line| Path::new(line) == folder).count(), 4, "{seen}");
    std::fs::remove_dir_all(mini.cache().join("artifacts")).unwrap();
    std::fs::remove_dir_all(mini.cache().join("out")).unwrap();
    let plain = mini.kernels_with(|settings| {
        path(settings);
        settings.ccache = false;
    });
    let without = plain.build(&variant, Arch::X86_64, &|_| {}, &cancel).await.unwrap();
    assert_eq!(std::fs::read_to_string(&calls).unwrap(), seen);
    assert_eq!((with.key, with.image_digest), (without.key, without.image_digest));
}

#[tokio::test]
async fn another_compiler_makes_another_artifact() {
    let mini = Mini::new();
    let variant = planned(&mini.spec(), mini.resolve(&mini.spec()).await.unwrap());
    let with = |folder: &str, version: &str| {
        let folder = mini.root().join(folder);
        std::fs::create_dir(&folder).unwrap();
        let body = format!(
            "[ \"$1\" = --version ] && echo 'gcc (Other) {version}' && exit\nexec /usr/bin/gcc \"$@\""
        );
        mini.script(&folder.join("gcc"), &body);
        let mut path = folder.into_os_string();
        path.push(":");
        path.push(mini.search_path());
        mini.kernels_with(|settings| settings.search_path = path)
    };
    let (old, new) = (with("old", "1.0"), with("new", "2.0"));
    let cancel = CancellationToken::new();
    let first = old.build(&variant, Arch::X86_64, &|_| {}, &cancel).await.unwrap();
    assert_eq!(first.compiler, "gcc (Other) 1.0");
    assert!(new.cached(&variant, Arch::X86_64, &cancel).await.unwrap().is_none());
    let second = new.build(&variant, Arch::X86_64, &|_| {}, &cancel).await.unwrap();
    assert!(!second.cached && second.key != first.key, "{second:?}");
    assert!(old.cached(&variant, Arch::X86_64, &cancel).await.unwrap().is_some(), "both stay");
}

#[tokio::test]
async fn how_long_a_build_takes_is_known_from_the_last_one() {
    let mini = Mini::new();
    let cancel = CancellationToken::new();
    let base = planned(&mini.spec(), mini.resolve(&mini.spec()).await.unwrap());
    let kernels = mini.kernels();
    assert_eq!(kernels.build_time(&base, Arch::X86_64, &cancel).await.unwrap(), None);
    let started = std::time::Instant::now();
    kernels.build(&base, Arch::X86_64, &|_| {}, &cancel).await.unwrap();
    let took = started.elapsed();
    mini.edit("ufs.c", "return 1;", "return 2;");
    mini.commit("ufs: two");
    let next = KernelSpec { base: Base::Ref("main".into()), ..mini.spec() };
    let next = planned(&next, mini.resolve(&next).await.unwrap());
    let told = kernels.build_time(&next, Arch::X86_64, &cancel).await.unwrap().unwrap();
    assert!(!told.is_zero() && told <= took, "{told:?} of {took:?}");
}
