//! Why a request is not carried out.

use kab_wire::ErrorCode;
use std::io;
use std::path::{Path, PathBuf};

/// A request that was refused; nothing was written to a target.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("{0}")]
    Protocol(String),
    #[error("no {0} on this board")]
    Missing(String),
    #[error("{what} is ambiguous: {candidates}")]
    Ambiguous { what: String, candidates: String },
    #[error("{0}")]
    Mismatch(String),
    #[error("{path} is in use{users}")]
    Busy { path: String, users: String },
    #[error("{0} is read-only, and the trial writes")]
    ReadOnly(String),
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{0}")]
    Board(String),
}

impl Refusal {
    /// For `map_err`: what went wrong with a file.
    pub(crate) fn file(path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { path: path.as_ref().to_owned(), source }
    }

    /// The kind that travels.
    pub(crate) fn code(&self) -> ErrorCode {
        match self {
            Self::Protocol(_) => ErrorCode::Protocol,
            Self::Missing(_) => ErrorCode::TargetMissing,
            Self::Ambiguous { .. } => ErrorCode::TargetAmbiguous,
            Self::Mismatch(_) => ErrorCode::TargetMismatch,
            Self::Busy { .. } => ErrorCode::TargetBusy,
            Self::ReadOnly(_) => ErrorCode::TargetReadOnly,
            Self::File { .. } | Self::Board(_) => ErrorCode::Board,
        }
    }
}
