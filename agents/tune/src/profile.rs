//! Profiles: what is wanted of a board.

use crate::catalogue;
use serde::{Deserialize, Serialize};

/// Built-in profiles, name and YAML text. The host reads them as it reads the user's own.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("performance", include_str!("../profiles/performance.yaml")),
    ("powersave", include_str!("../profiles/powersave.yaml")),
    ("server", include_str!("../profiles/server.yaml")),
    ("none", include_str!("../profiles/none.yaml")),
];

/// Settings under a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// `performance`, or the name of the user's file.
    pub name: String,
    /// Names unique; which comes first does not matter.
    pub settings: Vec<Setting>,
}

/// One knob and what it is set to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// A name of [`catalogue()`], `sysctl.NAME`, `module.MODULE.PARAMETER`, `property.NAME`, or a path below /sys or
    /// /proc/sys.
    pub knob: String,
    /// `keep` for: as it is.
    pub value: String,
    /// What happens where the board does not have it.
    pub need: Need,
}

/// How much a setting matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// What the board lacks or refuses is told.
    #[default]
    BestEffort,
    /// Nothing is measured without it.
    Required,
}

/// A setting that no board can have.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// Not in the catalogue.
    #[error("there is no knob `{0}`")]
    Unknown(String),
    /// Empty, or more than one line.
    #[error("knob `{0}` needs a value of one line")]
    Value(String),
    /// A path that leads elsewhere.
    #[error("`{0}` is no path below /sys or /proc/sys")]
    Path(String),
}

impl Profile {
    /// Nothing is changed.
    pub fn none() -> Self {
        Self { name: "none".to_owned(), settings: Vec::new() }
    }

    /// Adds settings, each in place of an earlier one of the same knob.
    pub fn extend(&mut self, settings: impl IntoIterator<Item = Setting>) {
        for setting in settings {
            self.settings.retain(|known| known.knob != setting.knob);
            self.settings.push(setting);
        }
    }

    /// Settings that ask for something.
    pub fn wanted(&self) -> impl Iterator<Item = &Setting> {
        self.settings.iter().filter(|setting| setting.value != "keep")
    }
}

impl Setting {
    /// A setting that is best effort.
    pub fn new(knob: &str, value: &str) -> Self {
        Self { knob: knob.to_owned(), value: value.to_owned(), need: Need::BestEffort }
    }

    /// Whether the knob exists on any board and the value can be written.
    pub fn check(&self) -> Result<(), SettingError> {
        if self.knob.starts_with('/') && !is_tunable_path(&self.knob) {
            return Err(SettingError::Path(self.knob.clone()));
        }
        if catalogue::find(&self.knob).is_none() {
            return Err(SettingError::Unknown(self.knob.clone()));
        }
        if self.value.trim().is_empty() || self.value.chars().any(char::is_control) {
            return Err(SettingError::Value(self.knob.clone()));
        }
        Ok(())
    }
}

/// Only there: a profile must not be a way to write to anything else.
pub(crate) fn is_tunable_path(path: &str) -> bool {
    (path.starts_with("/sys/") || path.starts_with("/proc/sys/"))
        && path.split('/').skip(1).all(|part| !part.is_empty() && part != "." && part != "..")
}
