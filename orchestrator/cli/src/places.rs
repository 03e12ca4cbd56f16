//! Where kab keeps what it keeps. Only the command line reads home and environment.

use crate::exit::{Exit, Failure};
use std::env;
use std::path::{Path, PathBuf};

/// Folders of this user.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// The user's home, for `~/` in files.
    pub(crate) home: PathBuf,
    /// Mirrors, build folders, artifacts, initramfs: can be deleted at any time.
    pub(crate) cache: PathBuf,
    /// Runs: never deleted by kab.
    pub(crate) runs: PathBuf,
}

impl Places {
    /// From `--store`, then `KAB_STORE`, then the XDG variables, then home.
    pub(crate) fn find(store: Option<&Path>) -> Result<Self, Failure> {
        let home = env::var_os("HOME")
            .map(PathBuf::from)
            .filter(|home| home.is_absolute())
            .ok_or_else(|| Failure::new(Exit::Usage, "HOME is not set to an absolute path"))?;
        let folder = |variable: &str, default: &str| {
            env::var_os(variable)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
                .unwrap_or_else(|| home.join(default))
                .join("kab")
        };
        let variable = env::var_os("KAB_STORE").filter(|store| !store.is_empty()).map(PathBuf::from);
        let runs = match store.or(variable.as_deref()) {
            Some(store) => std::path::absolute(store).map_err(|error| {
                Failure::new(Exit::Usage, format!("cannot use --store {}: {error}", store.display()))
            })?,
            None => folder("XDG_DATA_HOME", ".local/share").join("runs"),
        };
        Ok(Self { cache: folder("XDG_CACHE_HOME", ".cache"), runs, home })
    }

    /// The lease on this host's capacity, one for all users of the machine: measuring is exclusive.
    pub(crate) fn host_lease() -> PathBuf {
        let shared = Path::new("/run/lock");
        let folder = if shared.is_dir() { shared.to_owned() } else { env::temp_dir() };
        folder.join("kab-host.lock")
    }

    /// Where the agent of this architecture may be, in order: the folder that `KAB_AGENTS` names, or else beside the
    /// program and in the folder into which `make agent` puts it.
    pub(crate) fn agents(file: &str) -> Vec<PathBuf> {
        if let Some(folder) = env::var_os("KAB_AGENTS").filter(|folder| !folder.is_empty()) {
            return vec![PathBuf::from(folder).join(file)];
        }
        let program = env::current_exe().unwrap_or_default();
        let beside = program.parent().unwrap_or(Path::new("/"));
        vec![beside.join(file), beside.with_file_name("agents").join(file)]
    }
}
