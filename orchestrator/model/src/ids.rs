//! Newtypes for every name and key, so that a variant cannot be passed where a board is meant.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }
    };
}

name!(
    /// The name of a variant as the experiment writes it; free text on one line.
    VariantName
);
name!(
    /// The name of a board as the lab file writes it.
    BoardName
);
name!(
    /// The name of a scratch target on a board: a disk, partition or file.
    TargetName
);
name!(
    /// One point of a workload's matrix, `<workload>/<value>/<value>`; unique within an experiment.
    CellId
);
name!(
    /// Lower-case hexadecimal BLAKE3 digest of a blob's uncompressed bytes.
    BlobId
);
name!(
    /// Twelve hexadecimal digits that name a run within a store.
    RunId
);

/// One stay of one variant on one board. `visit` numbers the visits of a board from 0 in the order in which
/// they were started, so a replacement of a void visit has a number of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct VisitKey {
    /// The board that is visited.
    pub board: BoardName,
    /// The round of the plan, from 0.
    pub round: u32,
    /// The variant that stays.
    pub variant: VariantName,
    /// Number of this visit on its board, from 0.
    pub visit: u32,
}

impl fmt::Display for VisitKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} round {} {:?}", self.board, self.round + 1, self.variant.0)
    }
}

/// One execution of one cell in one visit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TrialKey {
    /// The visit, which names board, round and variant.
    #[serde(flatten)]
    pub visit: VisitKey,
    /// The cell that is run.
    pub cell: CellId,
    /// Warm-up trials come first and are never counted.
    pub warmup: bool,
    /// Index among the warm-ups or among the counted trials of this cell, from 0.
    pub index: u32,
    /// 0 for the first attempt; each void attempt is followed by the next number.
    pub attempt: u32,
}

impl fmt::Display for TrialKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.warmup { "warm-up" } else { "trial" };
        write!(f, "{} {} {kind} {}", self.visit, self.cell, self.index + 1)?;
        if self.attempt > 0 {
            write!(f, " attempt {}", self.attempt + 1)?;
        }
        Ok(())
    }
}
