//! Commands to a boot loader, and the names in them.

use std::fmt;

/// Longest command that every boot loader takes, bytes: Qualcomm's, Tegra's and older ones have 64, today's specification 4096.
const LONGEST: usize = 64;

/// One command, checked: printable ASCII of at most 64 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command(String);

/// Why something cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// Boot loaders would cut it or reject it.
    #[error("{command:?} has {} bytes, and boot loaders take {LONGEST}", command.len())]
    TooLong {
        /// The whole of it.
        command: String,
    },
    /// The protocol is ASCII.
    #[error("{command:?} has characters that a boot loader does not take")]
    Characters {
        /// The whole of it.
        command: String,
    },
    /// No name of a partition: `boot_a`, `super`, `vendor_boot_b`.
    #[error("{name:?} is no name of a partition: letters, digits, `_`, `-` and `.`")]
    Partition {
        /// As given.
        name: String,
    },
    /// No slot: a lower-case letter.
    #[error("{slot:?} is no slot: a letter, `a` or `b` on most boards")]
    Slot {
        /// As given.
        slot: String,
    },
}

impl Command {
    /// A command as it goes over the wire.
    pub fn new(command: impl Into<String>) -> Result<Self, CommandError> {
        let command = command.into();
        if command.is_empty() || !command.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            Err(CommandError::Characters { command })
        } else if command.len() > LONGEST {
            Err(CommandError::TooLong { command })
        } else {
            Ok(Self(command))
        }
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Name of a partition, with its slot where it has one: `boot_b`. There is no "the current slot's": a write names what it writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition(String);

impl Partition {
    /// A name, checked.
    pub fn new(name: impl Into<String>) -> Result<Self, CommandError> {
        let name = name.into();
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        if name.is_empty() || name.len() > 36 || !name.bytes().all(fits) {
            return Err(CommandError::Partition { name });
        }
        Ok(Self(name))
    }

    /// Whether a board may be dead for good after a write to it: boot loaders, their early stages and partition tables.
    pub fn holds_boot_loader(&self) -> bool {
        const PREFIXES: [&str; 21] = [
            "abl",
            "aop",
            "bl2",
            "bl31",
            "bootloader",
            "cmnlib",
            "devcfg",
            "fbpk",
            "gpt",
            "hyp",
            "imagefv",
            "keymaster",
            "lk",
            "partition",
            "pbl",
            "preloader",
            "qupfw",
            "sbl",
            "tz",
            "uefi",
            "xbl",
        ];
        let name = self.0.to_ascii_lowercase();
        PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One of the sets of partitions that a board boots from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(char);

impl Slot {
    /// A slot by its letter; boot loaders also write `_a`.
    pub fn new(slot: &str) -> Result<Self, CommandError> {
        let letter = slot.trim().trim_start_matches('_');
        match letter.chars().next() {
            Some(first) if letter.len() == 1 && first.is_ascii_lowercase() => Ok(Self(first)),
            _ => Err(CommandError::Slot { slot: slot.to_owned() }),
        }
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_short_ascii() {
        assert_eq!(Command::new("getvar:version").unwrap().as_str(), "getvar:version");
        let long = format!("oem {}", "x".repeat(61));
        assert_eq!(Command::new(&long), Err(CommandError::TooLong { command: long }));
        for bad in ["", "oem run\n", "oem \u{e4}", "oem \0"] {
            assert_eq!(Command::new(bad), Err(CommandError::Characters { command: bad.to_owned() }));
        }
    }

    #[test]
    fn partitions_and_slots_are_names() {
        for good in ["boot", "boot_a", "vendor_boot_b", "0:BOOT-1".replace(':', "").as_str(), "dtbo.bak"] {
            Partition::new(good).unwrap();
        }
        for bad in ["", "boot a", "boot:a", "../sda", &"x".repeat(37)] {
            assert!(matches!(Partition::new(bad), Err(CommandError::Partition { .. })), "{bad:?}");
        }
        assert_eq!(Slot::new("_b\n"), Slot::new("b"));
        assert_eq!(Slot::new("a").unwrap().to_string(), "a");
        for bad in ["", "ab", "A", "0", "_"] {
            assert!(matches!(Slot::new(bad), Err(CommandError::Slot { .. })), "{bad:?}");
        }
    }

    #[test]
    fn what_a_board_cannot_live_without_is_known() {
        let holds = |name: &str| Partition::new(name).unwrap().holds_boot_loader();
        assert!(
            ["xbl_a", "gpt", "bootloader", "abl_b", "preloader", "tz", "partition", "XBL_config"]
                .map(holds)
                .iter()
                .all(|is| *is)
        );
        assert!(
            !["boot_a", "boot", "vendor_boot_b", "dtbo_a", "super", "userdata"]
                .map(holds)
                .iter()
                .any(|is| *is)
        );
    }
}
