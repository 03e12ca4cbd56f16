//! What belongs to a kernel beside its image: device trees and modules.

use crate::build::BuildError;
use crate::cache::CacheError;
use crate::compile::{Make, MakeError};
use crate::config::Config;
use crate::overlay::WITH_SYMBOLS;
use kab_images::Archive;
use kab_model::Arch;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// The make target of device trees.
pub(crate) const DTBS: &str = "dtbs";

/// Files that were made for one artifact, in a folder that will be removed.
#[derive(Debug, Default)]
pub(crate) struct Extras {
    /// Folder of device trees.
    pub(crate) dtbs: Option<PathBuf>,
    /// Archive of modules.
    pub(crate) modules: Option<PathBuf>,
}

/// The make targets that a configuration asks for beside the image.
pub(crate) fn targets(config: &Config, arch: Arch, source: &Path) -> Vec<&'static str> {
    let mut targets = Vec::new();
    if has_device_trees(config, arch, source) {
        targets.push(DTBS);
    }
    if config.has_modules() {
        targets.push("modules");
    }
    targets
}

/// Installs what [`targets`] made into `folder`; device trees `with_symbols` if they were made so. What an earlier variant left
/// in the output folder is not among it.
pub(crate) async fn collect(
    make: &Make<'_>,
    config: &Config,
    arch: Arch,
    with_symbols: bool,
    folder: &Path,
    cancel: &CancellationToken,
) -> Result<Extras, BuildError> {
    let mut extras = Extras::default();
    if has_device_trees(config, arch, make.source()) {
        let dtbs = folder.join("dtbs");
        std::fs::create_dir_all(&dtbs).map_err(CacheError::at(&dtbs))?;
        let symbols = if with_symbols { Some(WITH_SYMBOLS) } else { None };
        install(make, "dtbs_install", symbols, ("INSTALL_DTBS_PATH", &dtbs), cancel).await?;
        extras.dtbs = Some(dtbs);
    }
    if config.has_modules() {
        let root = folder.join("modules");
        // The files that modprobe reads are made on the board's side of the border, or by depmod where it is installed here.
        let stripped = Some("INSTALL_MOD_STRIP=1");
        install(make, "modules_install", stripped, ("INSTALL_MOD_PATH", &root), cancel).await?;
        let archive = folder.join("modules.cpio");
        pack(&root).and_then(|bytes| std::fs::write(&archive, bytes)).map_err(CacheError::at(&archive))?;
        extras.modules = Some(archive);
    }
    Ok(extras)
}

/// BLAKE3 over names and contents of a folder's files, whatever their order on disk.
pub(crate) fn digest_of_folder(folder: &Path) -> std::io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    for (name, path) in files(folder)? {
        let content = crate::cache::digest_of(&path)?;
        hasher.update(name.as_bytes()).update(b"\0").update(content.as_bytes()).update(b"\0");
    }
    Ok(hasher.finalize().to_hex().to_string())
}

/// The files below a folder by their names relative to it; links are left out.
pub(crate) fn files(folder: &Path) -> std::io::Result<BTreeMap<String, PathBuf>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next)? {
            let (path, kind) = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)))?;
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                let name = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
                found.insert(name, path);
            }
        }
    }
    Ok(found)
}

/// The kernel's device tree sources are built with any 64-bit Arm configuration that reads device trees.
fn has_device_trees(config: &Config, arch: Arch, source: &Path) -> bool {
    arch == Arch::Arm64 && config.is_enabled("CONFIG_OF") && source.join("arch/arm64/boot/dts").is_dir()
}

async fn install(
    make: &Make<'_>,
    target: &str,
    option: Option<&str>,
    (variable, folder): (&str, &Path),
    cancel: &CancellationToken,
) -> Result<(), MakeError> {
    let place = format!("{variable}={}", folder.display());
    let words: Vec<&str> = [target, &place].into_iter().chain(option).collect();
    make.run(&words, cancel, &mut |_| {}).await
}

/// A folder as a cpio archive. `build`, a link to the output folder of this host, is left out.
pub(crate) fn pack(folder: &Path) -> std::io::Result<Vec<u8>> {
    let mut archive = Archive::new();
    for (name, path) in files(folder)? {
        let executable = path.metadata()?.permissions().mode() & 0o111 != 0;
        let permissions = if executable { 0o755 } else { 0o644 };
        archive.file(&name, permissions, std::fs::read(&path)?).map_err(std::io::Error::other)?;
    }
    Ok(archive.to_bytes())
}
