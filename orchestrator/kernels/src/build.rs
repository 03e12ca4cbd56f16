//! From a pinned variant to an artifact: out of the cache, or built with as little work as the last build left.

use crate::cache::{Cache, CacheError, Entry, check_path, check_space, digest_of};
use crate::compile::{Log, Make, MakeError, arguments, image};
use crate::config::{Config, ConfigError, Request, decides_configuration};
use crate::elf::{BuildIdError, build_id};
use crate::extras;
use crate::git::GitError;
use crate::kernels::Kernels;
use crate::lock::{Lock, LockError};
use crate::mirror::base_ref;
use crate::output::{LastBuild, Output};
use crate::overlay::{self, OverlayError};
use crate::prebuilt::{Files, PrebuiltError};
use crate::progress::{Progress, Report};
use crate::surroundings::{SigningKeyError, Surroundings, signing_key};
use crate::tools::{Compiler, ToolError, Tools, for_arch};
use crate::tree::SourceTree;
use kab_model::{Arch, Artifact, PinnedKernel, PlannedKernel, PlannedVariant, Toolchain};
use std::path::Path;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Changed files from which nearly everything is built again.
const NEARLY_ALL: usize = 500;

/// Why there is no artifact.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Something is not installed.
    #[error(transparent)]
    Tools(#[from] ToolError),
    /// The configuration cannot be made as asked for.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The build failed.
    #[error(transparent)]
    Make(#[from] MakeError),
    /// The result has no build-id, by which a booted kernel is recognised.
    #[error("the kernel cannot be identified")]
    BuildId(#[from] BuildIdError),
    /// The cache is full or cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// There is no key to sign modules with.
    #[error(transparent)]
    SigningKey(#[from] SigningKeyError),
    /// The source tree is locked.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// git failed in kab's own mirror.
    #[error("the mirror of kernel sources cannot be used")]
    Mirror(#[from] GitError),
    /// A kernel that somebody else built cannot be used.
    #[error(transparent)]
    Prebuilt(#[from] PrebuiltError),
    /// A device tree overlay cannot be applied.
    #[error(transparent)]
    Overlay(#[from] OverlayError),
    /// The variant is what a board runs already.
    #[error("what a board runs already is not built")]
    Running,
    /// The mirror was removed since the variant was resolved, and the series is needed to make its commit again.
    #[error("the cache no longer has commit {commit}: resolve the experiment again")]
    SourceGone {
        /// The commit.
        commit: String,
    },
}

impl BuildError {
    /// Whether the caller's own cancellation was the reason.
    pub fn is_cancelled(&self) -> bool {
        match self {
            Self::Tools(source) => source.is_cancelled(),
            Self::Config(ConfigError::Make(source)) | Self::Make(source) => source.is_cancelled(),
            Self::Mirror(source) => source.is_cancelled(),
            Self::SigningKey(source) => source.is_cancelled(),
            Self::Prebuilt(source) => source.is_cancelled(),
            Self::Overlay(source) => source.is_cancelled(),
            Self::Lock(LockError::Cancelled { .. }) => true,
            _ => false,
        }
    }

    /// Whether the output folder may hold files that are half written.
    fn is_torn(&self) -> bool {
        match self {
            Self::Config(ConfigError::Make(source)) | Self::Make(source) => source.is_torn(),
            _ => false,
        }
    }
}

/// Everything that decides what a build yields.
struct Inputs {
    request: Request,
    toolchain: Toolchain,
    compiler: Compiler,
    arguments: Vec<String>,
    /// Without the source: names the output folder.
    recipe: String,
    /// With it: names the artifact.
    key: String,
}

/// A build under way.
struct Work<'a> {
    source: &'a PinnedKernel,
    arch: Arch,
    inputs: &'a Inputs,
    output: &'a Output,
    make: Make<'a>,
}

impl Kernels {
    /// The artifact of a variant if the cache has it. Builds nothing.
    pub async fn cached(
        &self,
        variant: &PlannedVariant,
        arch: Arch,
        cancel: &CancellationToken,
    ) -> Result<Option<Artifact>, BuildError> {
        let key = match wanted(variant)? {
            Wanted::Built(source) => self.inputs(source, arch, cancel).await?.key,
            Wanted::Prebuilt(files) => files.key(arch),
        };
        Ok(Cache::new(self.cache()).find(&key)?)
    }

    /// How long a build would take, going by earlier builds of the same configuration; `None` where there was none of this
    /// kind, or nothing is to be built.
    pub async fn build_time(
        &self,
        variant: &PlannedVariant,
        arch: Arch,
        cancel: &CancellationToken,
    ) -> Result<Option<Duration>, BuildError> {
        let Wanted::Built(source) = wanted(variant)? else { return Ok(None) };
        let inputs = self.inputs(source, arch, cancel).await?;
        let output = Output::new(&self.cache().join("out"), &inputs.recipe);
        let Some(last) = output.last() else { return Ok(None) };
        let changed = self.changed_since_last((&output, source), cancel).await?;
        let ms = if changed.is_some() && last.partial_ms > 0 { last.partial_ms } else { last.full_ms };
        Ok((ms > 0).then(|| Duration::from_millis(ms)))
    }

    /// The artifact of a variant, built unless the cache has it. Builds of one cache run one after another.
    pub async fn build(
        &self,
        variant: &PlannedVariant,
        arch: Arch,
        report: Report<'_>,
        cancel: &CancellationToken,
    ) -> Result<Artifact, BuildError> {
        let source = match wanted(variant)? {
            Wanted::Built(source) => source,
            Wanted::Prebuilt(files) => {
                return self.import(&variant.name.0, files, arch, report, cancel).await;
            }
        };
        let inputs = self.inputs(source, arch, cancel).await?;
        let cache = Cache::new(self.cache());
        if let Some(artifact) = cache.find(&inputs.key)? {
            return Ok(artifact);
        }
        check_path(self.cache())?;
        if let Some(overlay) = &source.overlay {
            overlay::check(overlay, &self.tools())?;
        }
        self.ensure_source(source, report, cancel).await?;
        let wait = |holder| report(Progress::Waiting { holder });
        let purpose = format!("building {}", variant.name);
        let _lock = Lock::take(&self.cache().join("tree.lock"), &purpose, cancel, &wait).await?;
        // Whoever held the lock may have built the same.
        if let Some(artifact) = cache.find(&inputs.key)? {
            return Ok(artifact);
        }
        self.build_now((variant, source), arch, &inputs, report, cancel).await
    }

    /// Builds; the caller holds the lock of the source tree.
    async fn build_now(
        &self,
        (variant, pinned): (&PlannedVariant, &PinnedKernel),
        arch: Arch,
        inputs: &Inputs,
        report: Report<'_>,
        cancel: &CancellationToken,
    ) -> Result<Artifact, BuildError> {
        let started = Instant::now();
        let outputs = self.cache().join("out");
        std::fs::create_dir_all(&outputs).map_err(CacheError::at(&outputs))?;
        let output = Output::new(&outputs, &inputs.recipe);
        let fraction = if output.is_new() { 1 } else { 4 };
        check_space(self.cache(), self.settings().free_space / fraction)?;

        report(Progress::CheckingOut);
        let source = SourceTree::new(self.mirror(), self.cache());
        source.checkout(&pinned.tree, cancel).await?;

        let tools = self.tools();
        let surroundings =
            Surroundings::prepare(self.cache(), &tools, &inputs.toolchain, self.settings().ccache)
                .map_err(CacheError::at(self.cache()))?;
        let make = Make {
            tools: &tools,
            surroundings: &surroundings,
            source: source.folder(),
            output: output.folder(),
            arguments: &inputs.arguments,
            jobs: self.settings().jobs,
            log: self.new_log(variant, &inputs.key)?,
        };
        let work = Work { source: pinned, arch, inputs, output: &output, make };
        output.begin().map_err(CacheError::at(output.folder()))?;
        let made = self.make(&work, report, cancel).await;
        if !made.as_ref().is_err_and(BuildError::is_torn) {
            output.end().map_err(CacheError::at(output.folder()))?;
        }
        made?;
        self.publish(&work, started, cancel).await
    }

    /// Configures and compiles.
    async fn make(
        &self,
        work: &Work<'_>,
        report: Report<'_>,
        cancel: &CancellationToken,
    ) -> Result<(), BuildError> {
        let (make, output) = (&work.make, work.output);
        let started = Instant::now();
        let changed = self.changed_since_last((work.output, work.source), cancel).await?;
        let path = make.output().join(".config");
        let config = if keeps_config(output, &path, changed.as_deref()) {
            Config::read(&path)?
        } else {
            report(Progress::Configuring);
            work.inputs.request.apply(make, cancel).await?
        };
        make.tools.check_headers(&config, &work.inputs.toolchain, cancel).await?;
        if config.signs_with_our_key() {
            signing_key(self.cache(), make.output(), make.tools, cancel).await?;
        }

        let last = output.last();
        let last_full = last.as_ref().map(|last| last.full_steps);
        let estimate = if changed.is_none() { last_full } else { None };
        let log = make.log.path().to_owned();
        let mut done = 0;
        let mut on_step = |steps| {
            done = steps;
            report(Progress::Compiling { steps, estimate, log: log.clone() });
        };
        on_step(0);
        let mut wanted = vec![image(work.arch).0];
        wanted.extend(extras::targets(&config, work.arch, make.source()));
        // With symbols for an overlay, and only these: with another flag for all of it nothing would be found again.
        let with_symbols = work.source.overlay.is_some() && wanted.contains(&extras::DTBS);
        wanted.retain(|target| !(with_symbols && *target == extras::DTBS));
        make.run(&wanted, cancel, &mut on_step).await?;
        if with_symbols {
            make.run(&[extras::DTBS, overlay::WITH_SYMBOLS], cancel, &mut on_step).await?;
        }
        let full_steps = if changed.is_none() { done } else { last_full.unwrap_or(done) };
        let config_digest = digest_of(&path).map_err(CacheError::at(&path))?;
        let (full, partial) = last.map_or((0, 0), |last| (last.full_ms, last.partial_ms));
        let took = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (full_ms, partial_ms) = if changed.is_none() { (took, partial) } else { (full, took) };
        let tree = work.source.tree.clone();
        let last = LastBuild { tree, config_digest, full_steps, full_ms, partial_ms };
        output.remember(&last).map_err(CacheError::at(output.folder()))?;
        Ok(())
    }

    /// Files that differ from what was built last in this output folder; `None` if those are nearly all.
    async fn changed_since_last(
        &self,
        (output, source): (&Output, &PinnedKernel),
        cancel: &CancellationToken,
    ) -> Result<Option<Vec<String>>, BuildError> {
        let Some(last) = output.last() else { return Ok(None) };
        let changed = self.mirror().changed_files(&last.tree, &source.tree, NEARLY_ALL, cancel).await;
        match changed {
            Ok(files) => Ok((files.len() < NEARLY_ALL).then_some(files)),
            Err(error) if error.is_cancelled() => Err(error.into()),
            // The mirror no longer has that tree: it was another one.
            Err(_) => Ok(None),
        }
    }

    async fn publish(
        &self,
        work: &Work<'_>,
        started: Instant,
        cancel: &CancellationToken,
    ) -> Result<Artifact, BuildError> {
        let Work { source, arch, inputs, make, .. } = work;
        let output = make.output();
        let release_file = output.join("include/config/kernel.release");
        let release = std::fs::read_to_string(&release_file).map_err(CacheError::at(&release_file))?;
        let artifact = Artifact {
            key: inputs.key.clone(),
            arch: *arch,
            build_id: Some(build_id(&output.join("vmlinux"))?),
            dtbs: None,
            dtbs_digest: None,
            modules: None,
            modules_digest: None,
            tree: source.tree.clone(),
            compiler: inputs.compiler.version.clone(),
            release: release.trim().to_owned(),
            cached: false,
            build_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            // Filled in by the cache.
            image: Default::default(),
            image_digest: String::new(),
            config: Default::default(),
            config_digest: String::new(),
            log: Default::default(),
        };
        let (image, config) = (output.join(image(*arch).1), output.join(".config"));
        let scratch = self.fresh_folder("build").map_err(CacheError::at(self.cache()))?;
        let place = scratch.path().join("extras");
        let found = Config::read(&config)?;
        let extras = extras::collect(make, &found, *arch, source.overlay.is_some(), &place, cancel).await?;
        if let Some(file) = &source.overlay {
            let work = scratch.path().join("overlay");
            overlay::apply(&file.path, extras.dtbs.as_deref(), make, &work, cancel).await?;
        }
        let entry = Entry { image: &image, config: &config, log: make.log.path(), extras: &extras, artifact };
        let artifact = Cache::new(self.cache()).publish(entry, scratch.path())?;
        std::fs::remove_file(make.log.path()).map_err(CacheError::at(make.log.path()))?;
        Ok(artifact)
    }

    async fn inputs(
        &self,
        source: &PinnedKernel,
        arch: Arch,
        cancel: &CancellationToken,
    ) -> Result<Inputs, BuildError> {
        let request = Request::read(&source.config)?;
        let toolchain = for_arch(&source.toolchain, arch);
        let compiler = self.tools().compiler(&toolchain, cancel).await?;
        let arguments = arguments(arch, &toolchain, source.placebo);
        let config = request.canonical();
        let parts =
            [config.as_str(), &compiler.version, &compiler.linker, &arguments.join("\n"), image(arch).0];
        let recipe = format!("{}-{}", arch.kernel_name(), &digest(&parts)[..16]);
        let mut all = vec![source.tree.as_str()];
        all.extend(parts);
        all.extend(source.overlay.as_ref().map(|overlay| overlay.digest.as_str()));
        let key = digest(&all);
        Ok(Inputs { request, toolchain, compiler, arguments, recipe, key })
    }

    /// Makes sure that the mirror has the source's tree; a base without series can be fetched again.
    async fn ensure_source(
        &self,
        source: &PinnedKernel,
        report: Report<'_>,
        cancel: &CancellationToken,
    ) -> Result<(), BuildError> {
        let gone = || BuildError::SourceGone { commit: source.commit.clone() };
        let mirror = self.mirror();
        let cache = self.cache();
        std::fs::create_dir_all(cache).map_err(CacheError::at(cache))?;
        let wait = |holder| report(Progress::Waiting { holder });
        let purpose = format!("reading {}", source.reference);
        let _lock = Lock::take(&cache.join("mirror.lock"), &purpose, cancel, &wait).await?;
        mirror.ensure(cancel).await?;
        if mirror.commit_of(&base_ref(&source.base_commit), cancel).await?.is_none() {
            if source.commit != source.base_commit {
                return Err(gone());
            }
            mirror.fetch(&source.repo, &source.base_commit, report, cancel).await?;
        }
        match mirror.tree_of(&source.commit, cancel).await {
            Ok(tree) if tree == source.tree => Ok(()),
            Err(error) if error.is_cancelled() => Err(error.into()),
            _ => Err(gone()),
        }
    }

    fn new_log(&self, variant: &PlannedVariant, key: &str) -> Result<Log, CacheError> {
        let folder = self.cache().join("logs");
        std::fs::create_dir_all(&folder).map_err(CacheError::at(&folder))?;
        let path = folder.join(format!("{}-{}.log", file_name(&variant.name.to_string()), &key[..12]));
        Log::create(path.clone()).map_err(CacheError::at(&path))
    }

    fn tools(&self) -> Tools {
        let settings = self.settings();
        Tools { lifeline: settings.lifeline.clone(), search_path: settings.search_path.clone() }
    }
}

/// What becomes an artifact.
enum Wanted<'a> {
    Built(&'a PinnedKernel),
    Prebuilt(Files<'a>),
}

fn wanted(variant: &PlannedVariant) -> Result<Wanted<'_>, BuildError> {
    match &variant.kernel {
        PlannedKernel::Built(source) => Ok(Wanted::Built(source)),
        PlannedKernel::Prebuilt { image, dtb, modules } => {
            Ok(Wanted::Prebuilt(Files { image, dtb: dtb.as_ref(), modules: modules.as_ref() }))
        }
        PlannedKernel::Running => Err(BuildError::Running),
    }
}

/// Whether the `.config` of the last build is what making it anew would give: making it takes longer than compiling three
/// files.
fn keeps_config(output: &Output, config: &Path, changed: Option<&[String]>) -> bool {
    let same_rules = changed.is_some_and(|files| !files.iter().any(|file| decides_configuration(file)));
    let same_file = |last: LastBuild| digest_of(config).is_ok_and(|digest| digest == last.config_digest);
    same_rules && output.last().is_some_and(same_file)
}

/// A digest of texts whose borders count.
fn digest(parts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"kab kernel 1\0");
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

/// A variant's name with everything replaced that would be awkward in a file's.
fn file_name(name: &str) -> String {
    let plain = |char: char| if char.is_ascii_alphanumeric() || "._-".contains(char) { char } else { '_' };
    name.chars().take(60).map(plain).collect()
}
