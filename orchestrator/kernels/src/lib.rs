//! Resolves variants from git, builds kernels, caches artifacts by content.
//!
//! [`Kernels`] owns one cache folder:
//!
//! | entry | what |
//! |---|---|
//! | `mirror.git` | one bare repository with every base commit that was ever asked for (`refs/kab/base/…`, fetched without history) and every series on top of one (`refs/kab/series/…`). The user's own repositories are only read |
//! | `tree`, `tree.index` | the one source tree that kernels are built in. A change of variant rewrites only the files that differ, so that make rebuilds only what depends on them. It holds no `.git`: the kernel's version scripts find nothing to add |
//! | `out/…` | output folders, one for each architecture, compiler and requested configuration, reused by later builds |
//! | `artifacts/<key>` | finished kernels with their device trees and modules; a folder appears there whole or not at all |
//! | `ccache` | objects by content, where ccache is installed |
//! | `signing-key.pem` | signs modules where a configuration asks for that: one key for all kernels of a cache, as a new one for each would make no two images equal |
//! | `logs` | build logs of what is being built or has failed |
//!
//! Git is the `git` program throughout, for reads too: only it applies mail as `git am` does, it reads every
//! kind of repository that it writes (partial clones, reftable), and a library beside it would be a
//! second opinion on the same files.
//!
//! Two processes may share a cache: the mirror and the source tree have a lock each, artifacts need none.

mod archive;
mod build;
mod cache;
mod changes;
mod compile;
mod config;
mod conflict;
mod device_tree;
mod difference;
mod elf;
mod extras;
mod git;
mod image;
mod kconfig;
mod kernels;
mod lock;
mod mentions;
mod mirror;
mod output;
mod overlay;
mod patches;
mod prebuilt;
mod process;
mod progress;
mod resolve;
mod series;
mod snapshot;
mod surroundings;
mod tools;
mod tree;

pub use build::BuildError;
pub use cache::CacheError;
pub use compile::{FailedBuild, MakeError};
pub use config::{ConfigError, LostOption};
pub use conflict::{Conflict, Reject};
pub use difference::difference;
pub use elf::BuildIdError;
pub use git::GitError;
pub use image::{ImageError, ImageFacts, look_at};
pub use kconfig::Obstacle;
pub use kernels::{Kernels, Settings};
pub use lock::LockError;
pub use overlay::OverlayError;
pub use prebuilt::{PrebuiltError, pin, pin_prebuilt};
pub use process::ProcessError;
pub use progress::{Progress, Report};
pub use resolve::{ResolveError, Resolved, Step};
pub use series::SeriesError;
pub use surroundings::SigningKeyError;
pub use tools::{MissingTool, ToolError};
