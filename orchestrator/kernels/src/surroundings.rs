//! What a build takes from around it although it should not matter: ccache, random seeds, the key that signs modules. All of
//! it is pinned, so that the same source gives the same kernel again.

use crate::config::KEY_FILE;
use crate::process::{ProcessError, capture};
use crate::tools::{ToolError, Tools, clean, compilers};
use kab_lifeline::Command;
use kab_model::Toolchain;
use std::ffi::OsString;
use std::io::ErrorKind::{AlreadyExists, NotFound};
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// Stands for the kernel's own script, which asks the host for random numbers to shuffle structures by. Same arguments: the
/// file of the seed, the header with its digest.
const SEED_SCRIPT: &str = "#!/bin/sh
seed=305f09542ba3dc9af137544ec1181ebfd7845be888638c5e0b437cabf6710e2b
echo $seed > \"$1\"
hash=$(printf %s $seed | sha256sum | cut -d ' ' -f 1)
echo \"#define RANDSTRUCT_HASHED_SEED \\\"$hash\\\"\" > \"$2\"
";

/// Most that ccache keeps: some dozen kernels.
const CCACHE_SIZE: &str = "5G";

/// Days that the certificate holds: the kernel compares no dates.
const CERTIFICATE_DAYS: &str = "36500";

/// Why there is no key to sign modules with.
#[derive(Debug, thiserror::Error)]
pub enum SigningKeyError {
    /// `openssl` is not installed.
    #[error(transparent)]
    Tools(#[from] ToolError),
    /// It did not make one.
    #[error("openssl made no key to sign modules with: {0}")]
    OpenSsl(String),
    /// It did not run to its end.
    #[error("openssl")]
    Process(#[from] ProcessError),
    /// The key cannot be written.
    #[error("cannot write {}", path.display())]
    File {
        /// The key.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
}

impl SigningKeyError {
    /// Whether the caller's own cancellation was the reason.
    pub(crate) fn is_cancelled(&self) -> bool {
        matches!(self, Self::Process(ProcessError::Cancelled))
    }
}

/// Files in the cache that make is pointed at.
#[derive(Debug)]
pub(crate) struct Surroundings {
    seed_script: PathBuf,
    /// Folder in which the compilers' names are links to ccache, and the folder of what it keeps.
    ccache: Option<(PathBuf, PathBuf)>,
}

impl Surroundings {
    /// Writes what is not there yet. The caller holds the lock of the source tree.
    pub(crate) fn prepare(
        cache: &Path,
        tools: &Tools,
        toolchain: &Toolchain,
        with_ccache: bool,
    ) -> std::io::Result<Self> {
        let seed_script = cache.join("randstruct-seed.sh");
        // make looks at the time of the file: it is written once.
        if std::fs::read(&seed_script).ok().as_deref() != Some(SEED_SCRIPT.as_bytes()) {
            std::fs::write(&seed_script, SEED_SCRIPT)?;
        }
        let program = if with_ccache { tools.find("ccache") } else { None };
        let Some(program) = program else { return Ok(Self { seed_script, ccache: None }) };
        let (links, kept) = (cache.join("ccache/bin"), cache.join("ccache/kept"));
        std::fs::create_dir_all(&links)?;
        for compiler in compilers(toolchain) {
            let link = links.join(compiler.rsplit('/').next().unwrap_or(&compiler));
            if std::fs::read_link(&link).ok().as_ref() == Some(&program) {
                continue;
            }
            match std::fs::remove_file(&link) {
                Err(error) if error.kind() != NotFound => return Err(error),
                _ => std::os::unix::fs::symlink(&program, &link)?,
            }
        }
        Ok(Self { seed_script, ccache: Some((links, kept)) })
    }

    /// The search path for make. Compilers keep their names, as make builds everything again when a command changes.
    pub(crate) fn path(&self, search_path: &OsString) -> OsString {
        let Some((links, _)) = &self.ccache else { return search_path.clone() };
        let mut path = links.clone().into_os_string();
        path.push(":");
        path.push(search_path);
        path
    }

    /// Tells ccache where to keep its files: there is no home for it to find.
    pub(crate) fn with_ccache(&self, command: Command) -> Command {
        match &self.ccache {
            Some((_, kept)) => command.env("CCACHE_DIR", kept).env("CCACHE_MAXSIZE", CCACHE_SIZE),
            None => command,
        }
    }

    /// Overrides the variable that names the kernel's script (Linux 5.19 and later).
    pub(crate) fn seed_argument(&self) -> OsString {
        let mut argument = OsString::from("gen-randstruct-seed=");
        argument.push(&self.seed_script);
        argument
    }
}

/// Puts the cache's key where the kernel finds it. The first kernel that signs modules makes the key; it lies in the user's
/// own cache, for its private half is in no secret place otherwise.
pub(crate) async fn signing_key(
    cache: &Path,
    output: &Path,
    tools: &Tools,
    cancel: &CancellationToken,
) -> Result<(), SigningKeyError> {
    let key = cache.join("signing-key.pem");
    let file = |path: &Path| {
        let path = path.to_owned();
        move |source| SigningKeyError::File { path, source }
    };
    if !key.exists() {
        make_key(&key, tools, cancel).await?;
    }
    let bytes = std::fs::read(&key).map_err(file(&key))?;
    let place = output.join(KEY_FILE);
    // make looks at the time of the file, too.
    if std::fs::read(&place).ok().as_ref() == Some(&bytes) {
        return Ok(());
    }
    match std::fs::create_dir_all(place.parent().unwrap_or(output)) {
        Err(error) if error.kind() != AlreadyExists => Err(error),
        _ => std::fs::write(&place, bytes),
    }
    .map_err(file(&place))
}

async fn make_key(key: &Path, tools: &Tools, cancel: &CancellationToken) -> Result<(), SigningKeyError> {
    tools.require(&[("openssl", "openssl")])?;
    let half = key.with_extension("new");
    let command = clean(Command::new("openssl"), &tools.search_path)
        .args(["req", "-new", "-x509", "-nodes", "-utf8", "-sha256", "-newkey", "rsa:4096", "-batch"])
        .args(["-days", CERTIFICATE_DAYS, "-subj", "/CN=kab modules", "-outform", "PEM"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE", "-addext", "keyUsage=digitalSignature"])
        .arg("-keyout")
        .arg(&half)
        .arg("-out")
        .arg(&half);
    let finished = capture(&tools.lifeline, command, cancel).await?;
    if !finished.ended.success() {
        return Err(SigningKeyError::OpenSsl(finished.stderr.trim().to_owned()));
    }
    std::fs::rename(&half, key).map_err(|source| SigningKeyError::File { path: key.to_owned(), source })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use kab_lifeline::Lifeline;

    #[test]
    fn the_seed_is_always_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let tools = Tools { lifeline: Lifeline::this_program(), search_path: "/nowhere".into() };
        let made = Surroundings::prepare(folder.path(), &tools, &Toolchain::Gcc, true).unwrap();
        assert!(made.ccache.is_none(), "there is none in /nowhere");
        let (seed, header) = (folder.path().join("seed"), folder.path().join("header"));
        let run = || {
            let status =
                std::process::Command::new("sh").arg(&made.seed_script).args([&seed, &header]).status();
            assert!(status.unwrap().success());
            (std::fs::read_to_string(&seed).unwrap(), std::fs::read_to_string(&header).unwrap())
        };
        let (first, head) = run();
        assert_eq!(first.trim().len(), 64);
        assert!(head.starts_with("#define RANDSTRUCT_HASHED_SEED \"") && head.len() > 90, "{head}");
        assert_eq!(run(), (first, head));
    }
}
