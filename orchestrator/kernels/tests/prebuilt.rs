//! Kernels that somebody else built: pinned, checked, and put into the cache with their device tree and modules.
#![allow(clippy::unwrap_used, missing_docs)]

mod mini;

use kab_kernels::{BuildError, PrebuiltError, pin_prebuilt};
use kab_model::{Arch, Artifact, PlannedKernel, PlannedVariant, Prebuilt, VariantName};
use mini::Mini;
use std::path::{Path, PathBuf};
use std::process::Command;
use tokio_util::sync::CancellationToken;

/// The least that is an Image of 64-bit Arm with a version.
fn image(mini: &Mini) -> PathBuf {
    let mut bytes = vec![0; 56];
    bytes.extend(b"ARM\x64\0\0\0\0Linux version 6.9.1-theirs (them@there) (clang version 19.1.7, LLD 19.1.7) #1 SMP\n\0");
    let path = mini.root().join("Image");
    std::fs::write(&path, bytes).unwrap();
    path
}

/// A folder of modules, as modules_install leaves it.
fn modules(mini: &Mini) -> PathBuf {
    let folder = mini.root().join("their-modules");
    let kernel = folder.join("lib/modules/6.9.1-theirs/kernel");
    std::fs::create_dir_all(&kernel).unwrap();
    std::fs::write(kernel.join("ufs.ko"), "a module").unwrap();
    folder
}

fn pinned(files: &Prebuilt) -> PlannedVariant {
    let (kernel, facts) = pin_prebuilt(files, Arch::Arm64).unwrap();
    assert_eq!(facts.release, "6.9.1-theirs");
    PlannedVariant {
        name: VariantName("theirs".into()),
        stamp: "0".into(),
        kernel,
        changed_files: Vec::new(),
        cmdline: None,
        knobs: Vec::new(),
        fio: Vec::new(),
    }
}

async fn build(mini: &Mini, variant: &PlannedVariant) -> Result<Artifact, BuildError> {
    mini.kernels().build(variant, Arch::Arm64, &|_| {}, &CancellationToken::new()).await
}

fn holds(path: &Path, text: &str) -> bool {
    std::fs::read(path).unwrap().windows(text.len()).any(|bytes| bytes == text.as_bytes())
}

#[tokio::test]
async fn an_image_with_all_that_goes_with_it_becomes_an_artifact() {
    let mini = Mini::new();
    let archive = mini.root().join("modules.tar.gz");
    let tar = Command::new("tar").arg("-czf").arg(&archive).arg("-C").arg(modules(&mini)).arg("lib").status();
    assert!(tar.unwrap().success());
    let dtb = mini.root().join("board.dtb");
    std::fs::write(&dtb, [0xd0, 0x0d, 0xfe, 0xed, 1]).unwrap();
    let files = Prebuilt { image: image(&mini), dtb: Some(dtb), modules: Some(archive) };
    let variant = pinned(&files);
    let built = build(&mini, &variant).await.unwrap();
    assert_eq!((built.release.as_str(), built.compiler.as_str()), ("6.9.1-theirs", "clang version 19.1.7"));
    assert_eq!(std::fs::read(&built.image).unwrap(), std::fs::read(&files.image).unwrap());
    assert!(built.dtbs.as_ref().unwrap().join("board.dtb").exists());
    assert!(holds(built.modules.as_ref().unwrap(), "lib/modules/6.9.1-theirs/kernel/ufs.ko\0"));
    // It is in the cache: the files may go.
    std::fs::remove_file(&files.image).unwrap();
    let found = build(&mini, &variant).await.unwrap();
    assert_eq!(found, Artifact { cached: true, build_ms: 0, ..built });
    // A folder holds the same modules as the archive made of it.
    let folder = Prebuilt { image: image(&mini), dtb: None, modules: Some(modules(&mini)) };
    let other = build(&mini, &pinned(&folder)).await.unwrap();
    assert_eq!((other.modules_digest, other.dtbs), (found.modules_digest, None));
}

#[tokio::test]
async fn a_file_that_changed_since_the_plan_is_not_used() {
    let mini = Mini::new();
    let variant = pinned(&Prebuilt { image: image(&mini), dtb: None, modules: None });
    let PlannedKernel::Prebuilt { image, .. } = &variant.kernel else { panic!() };
    std::fs::write(&image.path, [std::fs::read(&image.path).unwrap(), vec![0]].concat()).unwrap();
    let error = build(&mini, &variant).await.unwrap_err();
    assert!(
        matches!(&error, BuildError::Prebuilt(PrebuiltError::Changed { path }) if *path == image.path),
        "{error:?}"
    );
    assert!(error.to_string().contains("begin a new run"));
}

#[tokio::test]
async fn what_goes_with_an_image_is_looked_at() {
    let mini = Mini::new();
    let text = mini.root().join("notes.txt");
    std::fs::write(&text, "notes").unwrap();
    let with = |dtb, modules| Prebuilt { image: image(&mini), dtb, modules };
    let error = pin_prebuilt(&with(Some(text.clone()), None), Arch::Arm64).unwrap_err();
    assert!(error.to_string().ends_with("notes.txt is no device tree blob: it does not begin with d00dfeed"));
    let error = pin_prebuilt(&with(None, None), Arch::X86_64).unwrap_err();
    assert!(error.to_string().contains("is a kernel for arm64, and the board is x86_64"), "{error}");
    let error = build(&mini, &pinned(&with(None, Some(text)))).await.unwrap_err();
    assert!(error.to_string().contains("notes.txt: cannot be unpacked"), "{error}");
    let error = build(&mini, &pinned(&with(None, Some(mini.repo())))).await.unwrap_err();
    assert!(error.to_string().ends_with("there is no lib/modules in it"), "{error}");
}
