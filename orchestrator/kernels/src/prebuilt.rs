//! Kernels that somebody else built: pinned by digest, looked at, put into the cache like any other.

use crate::build::BuildError;
use crate::cache::{Cache, CacheError, Entry, digest_of};
use crate::extras::{Extras, digest_of_folder, pack};
use crate::image::{ImageError, ImageFacts, look_at};
use crate::kernels::Kernels;
use crate::lock::Lock;
use crate::process::{ProcessError, capture};
use crate::progress::{Progress, Report};
use crate::tools::{Tools, clean};
use kab_lifeline::Command;
use kab_model::{Arch, Artifact, PinnedFile, PlannedKernel, Prebuilt};
use std::path::{Path, PathBuf};
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// Why a kernel that somebody else built cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PrebuiltError {
    /// The image is none, or one for another architecture.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// A file is no longer what the plan has pinned.
    #[error(
        "{} has changed since the plan was made: put the old file back, or begin a new run",
        path.display()
    )]
    Changed {
        /// The file or folder.
        path: PathBuf,
    },
    /// The device tree is none.
    #[error("{} is no device tree blob: it does not begin with d00dfeed", path.display())]
    DeviceTree {
        /// The file.
        path: PathBuf,
    },
    /// The modules cannot be unpacked, or are none.
    #[error("{}: {reason}", path.display())]
    Modules {
        /// The archive or folder.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// `tar` did not run to its end.
    #[error("tar")]
    Process(#[from] ProcessError),
}

impl PrebuiltError {
    /// Whether the caller's own cancellation was the reason.
    pub(crate) fn is_cancelled(&self) -> bool {
        matches!(self, Self::Process(ProcessError::Cancelled))
    }

    /// Whether the files themselves are at fault, rather than this host.
    pub fn is_the_kernels(&self) -> bool {
        matches!(
            self,
            Self::DeviceTree { .. }
                | Self::Modules { .. }
                | Self::Image(ImageError::Other { .. } | ImageError::Architecture { .. })
        )
    }
}

/// A file or folder as it is now.
pub fn pin(path: &Path) -> Result<PinnedFile, PrebuiltError> {
    let digest = if path.is_dir() { digest_of_folder(path) } else { digest_of(path) };
    let digest = digest.map_err(|source| PrebuiltError::File { path: path.to_owned(), source })?;
    Ok(PinnedFile { path: path.to_owned(), digest })
}

/// The files of a kernel as they are now, for a plan, and what its image tells. Fails where it cannot boot a board of `arch`.
pub fn pin_prebuilt(files: &Prebuilt, arch: Arch) -> Result<(PlannedKernel, ImageFacts), PrebuiltError> {
    let facts = look_at(&files.image, arch)?;
    let optional = |path: &Option<PathBuf>| path.as_deref().map(pin).transpose();
    let (image, dtb, modules) = (pin(&files.image)?, optional(&files.dtb)?, optional(&files.modules)?);
    if let Some(dtb) = &dtb {
        check_device_tree(&dtb.path)?;
    }
    Ok((PlannedKernel::Prebuilt { image, dtb, modules }, facts))
}

/// The pinned files of a kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Files<'a> {
    pub(crate) image: &'a PinnedFile,
    pub(crate) dtb: Option<&'a PinnedFile>,
    pub(crate) modules: Option<&'a PinnedFile>,
}

impl Files<'_> {
    /// Names the cache entry.
    pub(crate) fn key(&self, arch: Arch) -> String {
        let digest = |file: Option<&PinnedFile>| file.map_or("", |file| file.digest.as_str()).to_owned();
        let parts = [
            "prebuilt".to_owned(),
            arch.kernel_name().to_owned(),
            digest(Some(self.image)),
            digest(self.dtb),
            digest(self.modules),
        ];
        blake3::hash(parts.join("\0").as_bytes()).to_hex().to_string()
    }

    fn check(&self) -> Result<(), PrebuiltError> {
        for file in [Some(self.image), self.dtb, self.modules].into_iter().flatten() {
            if pin(&file.path)?.digest != file.digest {
                return Err(PrebuiltError::Changed { path: file.path.clone() });
            }
        }
        Ok(())
    }
}

impl Kernels {
    /// Puts a kernel into the cache; what is there already is left alone, and its files are not needed then.
    pub(crate) async fn import(
        &self,
        name: &str,
        files: Files<'_>,
        arch: Arch,
        report: Report<'_>,
        cancel: &CancellationToken,
    ) -> Result<Artifact, BuildError> {
        let (cache, key) = (Cache::new(self.cache()), files.key(arch));
        if let Some(artifact) = cache.find(&key)? {
            return Ok(artifact);
        }
        let started = Instant::now();
        std::fs::create_dir_all(self.cache()).map_err(CacheError::at(self.cache()))?;
        let wait = |holder| report(Progress::Waiting { holder });
        let purpose = format!("copying {name}");
        let _lock = Lock::take(&self.cache().join("tree.lock"), &purpose, cancel, &wait).await?;
        files.check()?;
        let facts = look_at(&files.image.path, arch).map_err(PrebuiltError::from)?;
        let scratch = self.fresh_folder("build").map_err(CacheError::at(self.cache()))?;
        let work = scratch.path().join("prebuilt");
        let extras = self.extras_of(files, &work, cancel).await?;
        let (config, log) = (work.join("config"), work.join("log"));
        let write = |path: &Path, text: &str| std::fs::write(path, text).map_err(CacheError::at(path));
        write(&config, facts.config.as_deref().unwrap_or_default())?;
        write(&log, &format!("copied from {}\n", files.image.path.display()))?;
        let artifact = Artifact {
            key,
            arch,
            image: PathBuf::new(),
            image_digest: String::new(),
            build_id: facts.build_id,
            dtbs: None,
            dtbs_digest: None,
            modules: None,
            modules_digest: None,
            tree: String::new(),
            config_digest: String::new(),
            config: PathBuf::new(),
            compiler: facts.compiler.unwrap_or_default(),
            release: facts.release,
            log: PathBuf::new(),
            cached: false,
            build_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        };
        let entry = Entry { image: &files.image.path, config: &config, log: &log, extras: &extras, artifact };
        Ok(cache.publish(entry, scratch.path())?)
    }

    async fn extras_of(
        &self,
        files: Files<'_>,
        work: &Path,
        cancel: &CancellationToken,
    ) -> Result<Extras, BuildError> {
        std::fs::create_dir_all(work).map_err(CacheError::at(work))?;
        let mut extras = Extras::default();
        if let Some(dtb) = files.dtb {
            check_device_tree(&dtb.path)?;
            let folder = work.join("dtbs");
            let place = folder.join(dtb.path.file_name().unwrap_or_default());
            std::fs::create_dir_all(&folder)
                .and_then(|()| std::fs::copy(&dtb.path, &place))
                .map_err(CacheError::at(&place))?;
            extras.dtbs = Some(folder);
        }
        if let Some(modules) = files.modules {
            let archive = work.join("modules.cpio");
            let root = self.unpacked(&modules.path, &work.join("modules"), cancel).await?;
            let packed = pack(&root).and_then(|bytes| std::fs::write(&archive, bytes));
            packed.map_err(CacheError::at(&archive))?;
            extras.modules = Some(archive);
        }
        Ok(extras)
    }

    /// The folder that holds `lib/modules/…`: the one that was given, or what an archive has in it.
    async fn unpacked(
        &self,
        given: &Path,
        folder: &Path,
        cancel: &CancellationToken,
    ) -> Result<PathBuf, BuildError> {
        let wrong = |reason: String| PrebuiltError::Modules { path: given.to_owned(), reason };
        let root = if given.is_dir() {
            given.to_owned()
        } else {
            std::fs::create_dir_all(folder).map_err(CacheError::at(folder))?;
            let tools = Tools {
                lifeline: self.settings().lifeline.clone(),
                search_path: self.settings().search_path.clone(),
            };
            tools.require(&[("tar", "tar")])?;
            // tar finds the compression out by itself, and lets nothing out of the folder.
            let command = clean(Command::new("tar"), &tools.search_path)
                .args(["--extract", "--no-same-owner", "--no-same-permissions", "--file"])
                .arg(given)
                .arg("--directory")
                .arg(folder);
            let finished = capture(&tools.lifeline, command, cancel).await.map_err(PrebuiltError::from)?;
            if !finished.ended.success() {
                let said = finished.stderr.lines().next().unwrap_or_default().to_owned();
                return Err(wrong(format!("cannot be unpacked: {said}")).into());
            }
            folder.to_owned()
        };
        let places = [root.clone(), root.join("usr")];
        let found = places.into_iter().find(|place| place.join("lib/modules").is_dir());
        Ok(found.ok_or_else(|| wrong("there is no lib/modules in it".to_owned()))?)
    }
}

fn check_device_tree(path: &Path) -> Result<(), PrebuiltError> {
    let mut magic = [0; 4];
    let read =
        std::fs::File::open(path).and_then(|mut file| std::io::Read::read_exact(&mut file, &mut magic));
    if read.is_ok() && magic == [0xd0, 0x0d, 0xfe, 0xed] {
        Ok(())
    } else {
        Err(PrebuiltError::DeviceTree { path: path.to_owned() })
    }
}
