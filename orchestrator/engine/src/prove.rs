//! Proof of boot (invariant 12): what came up is what was meant.

use kab_model::BootIdentity;
use std::fmt;

/// Why the machine that answered is not the one that was meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProofError {
    /// The command line carries no stamp, another one, or several.
    Stamp {
        /// What was meant.
        expected: String,
        /// All stamps found.
        found: Vec<String>,
    },
    /// Another kernel runs.
    BuildId {
        /// The artifact's.
        expected: String,
        /// The board's, where it has one.
        found: Option<String>,
    },
    /// The machine did not boot again.
    SameBoot {
        /// The boot id seen before.
        boot_id: String,
    },
}

impl fmt::Display for ProofError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stamp { expected, found } if found.is_empty() => {
                write!(f, "the command line has no stamp; kab={expected} was meant")
            }
            Self::Stamp { expected, found } => {
                write!(f, "the command line has kab={}; kab={expected} was meant", found.join(" kab="))
            }
            Self::BuildId { expected, found: Some(found) } => {
                write!(f, "the running kernel has build-id {found}; {expected} was meant")
            }
            Self::BuildId { expected, found: None } => {
                write!(f, "the running kernel shows no build-id in /sys/kernel/notes; {expected} was meant")
            }
            Self::SameBoot { boot_id } => {
                write!(f, "the machine did not boot again: boot id {boot_id} was seen before")
            }
        }
    }
}

/// What is put on the command line so that a boot can be told from every other.
pub fn stamp_argument(stamp: &str) -> String {
    format!("kab={stamp}")
}

/// Checks stamp, boot id and, where the artifact has one, build-id.
pub(crate) fn prove<'a>(
    identity: &BootIdentity,
    stamp: &str,
    build_id: Option<&str>,
    mut earlier_boots: impl Iterator<Item = &'a str>,
) -> Result<(), ProofError> {
    let found: Vec<String> = identity
        .cmdline
        .split_whitespace()
        .filter_map(|word| word.strip_prefix("kab="))
        .map(str::to_owned)
        .collect();
    if found != [stamp] {
        return Err(ProofError::Stamp { expected: stamp.to_owned(), found });
    }
    if let Some(expected) = build_id.filter(|expected| identity.build_id.as_deref() != Some(expected)) {
        return Err(ProofError::BuildId { expected: expected.to_owned(), found: identity.build_id.clone() });
    }
    if earlier_boots.any(|boot| boot == identity.boot_id) {
        return Err(ProofError::SameBoot { boot_id: identity.boot_id.clone() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn identity(cmdline: &str, build_id: Option<&str>) -> BootIdentity {
        BootIdentity {
            boot_id: "b1".into(),
            build_id: build_id.map(str::to_owned),
            cmdline: cmdline.into(),
            release: String::new(),
            version: String::new(),
            machine: String::new(),
            cpus: 2,
            memory: 1 << 30,
            fio: None,
        }
    }

    #[test]
    fn the_right_boot_is_proved() {
        prove(&identity("console=ttyS0 kab=123 quiet", Some("ab")), "123", Some("ab"), ["b0"].into_iter())
            .unwrap();
    }

    #[test]
    fn a_missing_other_or_second_stamp_is_caught() {
        for (cmdline, found) in [
            ("quiet", vec![]),
            ("kab=12", vec!["12"]),
            ("kab=123 kab=9", vec!["123", "9"]),
            ("xkab=123", vec![]),
        ] {
            let error = prove(&identity(cmdline, Some("ab")), "123", Some("ab"), [].into_iter()).unwrap_err();
            let found = found.into_iter().map(str::to_owned).collect();
            assert_eq!(error, ProofError::Stamp { expected: "123".into(), found });
        }
    }

    #[test]
    fn another_kernel_or_an_old_boot_is_caught() {
        for found in [None, Some("abc")] {
            let error = prove(&identity("kab=1", found), "1", Some("ab"), [].into_iter()).unwrap_err();
            assert_eq!(error, ProofError::BuildId { expected: "ab".into(), found: found.map(str::to_owned) });
        }
        let error =
            prove(&identity("kab=1", Some("ab")), "1", Some("ab"), ["b0", "b1"].into_iter()).unwrap_err();
        assert_eq!(error, ProofError::SameBoot { boot_id: "b1".into() });
    }
}
