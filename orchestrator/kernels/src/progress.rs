//! What a long operation is doing, for whoever shows it.

use std::path::PathBuf;

/// Receives [`Progress`]; called often and must return quickly.
pub type Report<'a> = &'a (dyn Fn(Progress) + Send + Sync);

/// A step, or how far it has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Another process uses the cache.
    Waiting {
        /// Who, as it wrote into the lock.
        holder: String,
    },
    /// Objects come from a repository into the mirror.
    Fetching {
        /// Path or URL.
        repo: String,
        /// Of the transfer, 0 to 100, once git tells.
        percent: Option<u8>,
    },
    /// Patches are being applied.
    Applying {
        /// Patches applied before this one.
        done: usize,
        /// Mails in the series, cover letters included.
        total: usize,
        /// Subject of the patch that is being applied.
        subject: String,
    },
    /// The source tree is brought to the variant's state.
    CheckingOut,
    /// The configuration is being made.
    Configuring,
    /// make runs.
    Compiling {
        /// Steps (compile, archive, link …) so far.
        steps: usize,
        /// Steps of the last build of nearly everything in this output folder, where this build is expected to do as much.
        estimate: Option<usize>,
        /// The build's log, which grows meanwhile.
        log: PathBuf,
    },
}
