//! A built kernel, described by everything that went into it.

use crate::Arch;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Which compiler builds a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Toolchain {
    /// The host's gcc.
    #[default]
    Gcc,
    /// clang and the LLVM tools (`LLVM=1`).
    Llvm,
    /// gcc and binutils with this prefix, such as `aarch64-linux-gnu-`.
    Cross(String),
}

impl std::fmt::Display for Toolchain {
    /// The compiler, without its version.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Gcc => write!(f, "gcc"),
            Self::Llvm => write!(f, "LLVM"),
            Self::Cross(prefix) => write!(f, "{prefix}gcc"),
        }
    }
}

/// A built kernel in the cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// BLAKE3 over tree id, configuration, toolchain version and make arguments; names the cache entry.
    pub key: String,
    /// Architecture.
    pub arch: Arch,
    /// Boot image (absolute path in the cache).
    pub image: PathBuf,
    /// BLAKE3 of the image's bytes.
    pub image_digest: String,
    /// GNU build-id of vmlinux, lower-case hexadecimal; absent where a prebuilt image does not show it.
    pub build_id: Option<String>,
    /// Folder of the device trees that were built, by their names below `boot/dts` (absolute path in the cache).
    #[serde(default)]
    pub dtbs: Option<PathBuf>,
    /// BLAKE3 over names and contents of `dtbs`.
    #[serde(default)]
    pub dtbs_digest: Option<String>,
    /// Modules, stripped, as a cpio archive of `lib/modules/…` (absolute path in the cache); absent where the
    /// configuration builds none.
    #[serde(default)]
    pub modules: Option<PathBuf>,
    /// BLAKE3 over the names and contents of the modules.
    #[serde(default)]
    pub modules_digest: Option<String>,
    /// Git tree that was built, 40 hexadecimal digits; empty for a prebuilt image.
    pub tree: String,
    /// BLAKE3 of the final `.config`.
    pub config_digest: String,
    /// The final `.config` (absolute path in the cache).
    pub config: PathBuf,
    /// First line of the compiler's `--version`.
    pub compiler: String,
    /// What `make kernelrelease` printed.
    pub release: String,
    /// Build log (absolute path in the cache).
    pub log: PathBuf,
    /// Whether it came from the cache.
    pub cached: bool,
    /// Wall time of the build, milliseconds; 0 when cached.
    pub build_ms: u64,
}
