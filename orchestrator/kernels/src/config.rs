//! The configuration: what is asked for, how `.config` is made from it, and what became of it.

use crate::compile::{Make, MakeError};
use crate::kconfig::{Obstacle, Symbols};
use kab_model::{ConfigItem, ConfigValue, SymbolChange};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// The base where the experiment names none.
const DEFAULT_BASE: &str = "defconfig";
/// Would put a commit's hash into the kernel's release; kab names kernels itself.
const LOCALVERSION_AUTO: &str = "CONFIG_LOCALVERSION_AUTO";
/// Names the key that modules are signed with. Under its default name make would generate one, another each time, and put
/// it into the image.
const SIGNING_KEY: &str = "CONFIG_MODULE_SIG_KEY";
/// Where a kernel that is to sign its modules finds kab's key, in the output folder.
pub(crate) const KEY_FILE: &str = "certs/kab-key.pem";

/// Why there is no `.config`, or not the one asked for.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A fragment or `.config` cannot be read or written.
    #[error("cannot use {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// A line of a fragment is neither a comment nor a setting.
    #[error("{}:{line}: expected CONFIG_NAME=value, found {text:?}", path.display())]
    FragmentLine {
        /// The fragment.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// The line.
        text: String,
    },
    /// A base that is no make target for configurations.
    #[error("{name:?} is no configuration target: they end in \"config\"")]
    Target {
        /// As the experiment has it.
        name: String,
    },
    /// A make target for configurations failed.
    #[error(transparent)]
    Make(#[from] MakeError),
    /// `olddefconfig` did not keep options that were asked for.
    #[error("the kernel does not take {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Lost(Vec<LostOption>),
}

/// An option that was asked for and did not survive `olddefconfig`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostOption {
    /// With the `CONFIG_` prefix.
    pub symbol: String,
    /// The value asked for, as `.config` writes it; `n` for "not set".
    pub wanted: String,
    /// What it became; `None` where `.config` does not mention it.
    pub became: Option<String>,
    /// Why, as far as the Kconfig files tell.
    pub obstacle: Option<Obstacle>,
}

impl std::fmt::Display for LostOption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.symbol, self.wanted)?;
        match &self.became {
            Some(value) => write!(f, " (became {value})")?,
            None => write!(f, " (not set)")?,
        }
        self.obstacle.iter().try_for_each(|obstacle| write!(f, ": {obstacle}"))
    }
}

/// A finished `.config`: symbols that are set, with their values as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Config {
    values: BTreeMap<String, String>,
}

impl Config {
    pub(crate) fn parse(text: &str) -> Self {
        let settings = text.lines().filter(|line| line.starts_with("CONFIG_"));
        let pairs = settings.filter_map(|line| line.trim_end().split_once('='));
        Self { values: pairs.map(|(symbol, value)| (symbol.to_owned(), value.to_owned())).collect() }
    }

    /// Reads a `.config`.
    pub(crate) fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path);
        text.map(|text| Self::parse(&text))
            .map_err(|source| ConfigError::File { path: path.to_owned(), source })
    }

    /// Whether nothing is known of it.
    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Symbols that `other` has with another value, sorted.
    pub(crate) fn changes(&self, other: &Self) -> Vec<SymbolChange> {
        let symbols: BTreeSet<&String> = self.values.keys().chain(other.values.keys()).collect();
        let change = |symbol: &String| {
            let (from, to) = (self.values.get(symbol), other.values.get(symbol));
            let change = SymbolChange { symbol: symbol.clone(), from: from.cloned(), to: to.cloned() };
            (from != to).then_some(change)
        };
        symbols.into_iter().filter_map(change).collect()
    }

    /// Whether anything is built as a module.
    pub(crate) fn has_modules(&self) -> bool {
        self.values.values().any(|value| value == "m")
    }

    /// Whether modules are signed with kab's key.
    pub(crate) fn signs_with_our_key(&self) -> bool {
        self.is_enabled("CONFIG_MODULE_SIG")
            && self.values.get(SIGNING_KEY).is_some_and(|value| value.trim_matches('"') == KEY_FILE)
    }

    /// Whether a symbol is `y` or `m`.
    pub(crate) fn is_enabled(&self, symbol: &str) -> bool {
        self.values.get(symbol).is_some_and(|value| value == "y" || value == "m")
    }
}

/// What an experiment asks for, fragments read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// A make target.
    Target(String),
    Setting(Setting),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Setting {
    symbol: String,
    value: ConfigValue,
    optional: bool,
}

impl Request {
    pub(crate) fn read(items: &[ConfigItem]) -> Result<Self, ConfigError> {
        let mut steps = Vec::new();
        for item in items {
            match item {
                ConfigItem::Base(name) => steps.push(Step::Target(target(name)?)),
                ConfigItem::Fragment(path) => {
                    steps.extend(read_fragment(path)?.into_iter().map(Step::Setting));
                }
                ConfigItem::Option { symbol, value, optional } => steps.push(Step::Setting(Setting {
                    symbol: symbol.clone(),
                    value: value.clone(),
                    optional: *optional,
                })),
            }
        }
        if !matches!(steps.first(), Some(Step::Target(_))) {
            steps.insert(0, Step::Target(DEFAULT_BASE.to_owned()));
        }
        Ok(Self { steps })
    }

    /// Everything that was asked for, one line each: goes into the build key.
    pub(crate) fn canonical(&self) -> String {
        let line = |step: &Step| match step {
            Step::Target(name) => format!("make {name}\n"),
            Step::Setting(setting) => {
                format!(
                    "{}={}{}\n",
                    setting.symbol,
                    value_text(&setting.value),
                    if setting.optional { "?" } else { "" }
                )
            }
        };
        self.steps.iter().map(line).collect()
    }

    /// Makes `.config` in the output folder and checks it.
    pub(crate) async fn apply(
        &self,
        make: &Make<'_>,
        cancel: &CancellationToken,
    ) -> Result<Config, ConfigError> {
        let path = make.output().join(".config");
        let file = |source| ConfigError::File { path: path.clone(), source };
        // A target such as `kvm_guest.config` merges into what it finds: nothing of an earlier build may be there.
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(file(error)),
            _ => {}
        }
        let mut pending: Vec<&Setting> = Vec::new();
        let mut done = false;
        for step in &self.steps {
            match step {
                Step::Setting(setting) => pending.push(setting),
                Step::Target(name) => {
                    if done {
                        merge_into(&path, &std::mem::take(&mut pending)).map_err(file)?;
                    }
                    make.configure(name, cancel).await?;
                    done = true;
                }
            }
        }
        let own = own_settings();
        let wanted = self.wanted();
        pending.splice(0..0, own.iter().filter(|setting| !wanted.contains_key(setting.symbol.as_str())));
        merge_into(&path, &pending).map_err(file)?;
        make.configure("olddefconfig", cancel).await?;
        let config = Config::read(&path)?;
        self.check(&config, make.source())?;
        Ok(config)
    }

    /// The last setting of each symbol.
    fn wanted(&self) -> BTreeMap<&str, &Setting> {
        let settings = self.steps.iter().filter_map(|step| match step {
            Step::Setting(setting) => Some((setting.symbol.as_str(), setting)),
            Step::Target(_) => None,
        });
        settings.collect()
    }

    /// Compares what was asked for with what `olddefconfig` left of it.
    fn check(&self, config: &Config, source: &Path) -> Result<(), ConfigError> {
        let mut lost: Vec<LostOption> = Vec::new();
        for (symbol, setting) in self.wanted() {
            let became = config.values.get(symbol);
            if !setting.optional && !survived(&setting.value, became.map(String::as_str)) {
                lost.push(LostOption {
                    symbol: symbol.to_owned(),
                    wanted: value_text(&setting.value),
                    became: became.cloned(),
                    obstacle: None,
                });
            }
        }
        if lost.is_empty() {
            return Ok(());
        }
        let symbols = Symbols::read(source);
        for option in &mut lost {
            option.obstacle = symbols.obstacle(&option.symbol, |symbol| config.is_enabled(symbol));
        }
        Err(ConfigError::Lost(lost))
    }
}

/// Whether a file of the source tree may have a say in what a configuration becomes. kconfig runs scripts and asks
/// the compiler, so this errs on the side of yes.
pub(crate) fn decides_configuration(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    let by_name = ["Kconfig", "Makefile", "Kbuild"].iter().any(|start| name.starts_with(start));
    by_name || name.ends_with("config") || file.starts_with("scripts/") || file.contains("/configs/")
}

/// What kab sets where nobody else does and the kernel has it.
fn own_settings() -> [Setting; 2] {
    let own = |symbol: &str, value| Setting { symbol: symbol.to_owned(), value, optional: true };
    [own(LOCALVERSION_AUTO, ConfigValue::No), own(SIGNING_KEY, ConfigValue::Text(format!("\"{KEY_FILE}\"")))]
}

/// A base is handed to make as a target: it must not be an option or an assignment.
fn target(name: &str) -> Result<String, ConfigError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte);
    if name.ends_with("config") && !name.starts_with(['-', '/']) && name.bytes().all(plain) {
        return Ok(name.to_owned());
    }
    Err(ConfigError::Target { name: name.to_owned() })
}

fn read_fragment(path: &Path) -> Result<Vec<Setting>, ConfigError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| ConfigError::File { path: path.to_owned(), source })?;
    let mut settings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let unset = line.strip_prefix("# CONFIG_").and_then(|rest| rest.strip_suffix(" is not set"));
        let (symbol, value) = match (unset, line.split_once('=')) {
            (Some(name), _) => (format!("CONFIG_{name}"), ConfigValue::No),
            (None, _) if line.is_empty() || line.starts_with('#') => continue,
            (None, Some((symbol, value))) if is_symbol(symbol) => (symbol.to_owned(), parse_value(value)),
            _ => {
                return Err(ConfigError::FragmentLine {
                    path: path.to_owned(),
                    line: index + 1,
                    text: line.to_owned(),
                });
            }
        };
        settings.push(Setting { symbol, value, optional: false });
    }
    Ok(settings)
}

fn is_symbol(text: &str) -> bool {
    text.strip_prefix("CONFIG_").is_some_and(|name| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

fn parse_value(text: &str) -> ConfigValue {
    match text.trim() {
        "y" => ConfigValue::Yes,
        "m" => ConfigValue::Module,
        "n" => ConfigValue::No,
        other => ConfigValue::Text(other.to_owned()),
    }
}

fn value_text(value: &ConfigValue) -> String {
    match value {
        ConfigValue::Yes => "y".to_owned(),
        ConfigValue::Module => "m".to_owned(),
        ConfigValue::No => "n".to_owned(),
        ConfigValue::Text(text) => text.clone(),
    }
}

/// Rewrites `.config` so that each of the symbols has exactly the value given (the last one counts).
fn merge_into(path: &Path, settings: &[&Setting]) -> std::io::Result<()> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        text => text.unwrap_or_default(),
    };
    std::fs::write(path, merge(&text, settings))
}

fn merge(text: &str, settings: &[&Setting]) -> String {
    let last: BTreeMap<&str, &Setting> =
        settings.iter().map(|setting| (setting.symbol.as_str(), *setting)).collect();
    let symbol_of = |line: &str| -> Option<String> {
        let unset = line.strip_prefix("# ").and_then(|rest| rest.strip_suffix(" is not set"));
        unset.or(line.split_once('=').map(|(symbol, _)| symbol)).map(str::to_owned)
    };
    let mut merged = String::new();
    for line in
        text.lines().filter(|line| symbol_of(line).is_none_or(|symbol| !last.contains_key(symbol.as_str())))
    {
        merged.push_str(line);
        merged.push('\n');
    }
    for (symbol, setting) in last {
        match &setting.value {
            ConfigValue::No => merged.push_str(&format!("# {symbol} is not set\n")),
            value => merged.push_str(&format!("{symbol}={}\n", value_text(value))),
        }
    }
    merged
}

fn survived(wanted: &ConfigValue, became: Option<&str>) -> bool {
    match (wanted, became) {
        (ConfigValue::No, became) => became.is_none_or(|value| value == "n"),
        (wanted, Some(became)) => same_value(&value_text(wanted), became),
        (_, None) => false,
    }
}

/// Equal as text or as numbers: kconfig may write `0x10` where `16` was asked for.
fn same_value(left: &str, right: &str) -> bool {
    let number = |text: &str| match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    left == right || matches!((number(left), number(right)), (Some(a), Some(b)) if a == b)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn setting(symbol: &str, value: ConfigValue) -> Setting {
        Setting { symbol: symbol.to_owned(), value, optional: false }
    }

    #[test]
    fn fragments_are_read_and_nonsense_is_placed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ufs.config");
        std::fs::write(&path, "# note\n\nCONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=\"x=y\"\n").unwrap();
        let settings = read_fragment(&path).unwrap();
        let text = ConfigValue::Text("\"x=y\"".into());
        let wanted = [
            setting("CONFIG_A", ConfigValue::Yes),
            setting("CONFIG_B", ConfigValue::No),
            setting("CONFIG_C", text),
        ];
        assert_eq!(settings, wanted);
        std::fs::write(&path, "CONFIG_A=y\nA=y\n").unwrap();
        let error = read_fragment(&path).unwrap_err();
        assert!(matches!(error, ConfigError::FragmentLine { line: 2, .. }), "{error}");
    }

    #[test]
    fn sources_do_not_decide_configurations() {
        for file in [
            "init/Kconfig",
            "net/Kconfig.debug",
            "scripts/gcc-version.sh",
            "kernel/configs/tiny.config",
            "Makefile",
        ] {
            assert!(decides_configuration(file), "{file}");
        }
        assert!(!decides_configuration("drivers/ufs/core/ufshcd.c"));
    }

    #[test]
    fn targets_cannot_be_options_of_make() {
        assert!(target("x86_64_defconfig").is_ok());
        for bad in ["-fevil.config", "CC=x config", "clean", "/x/config"] {
            assert!(target(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_base_is_assumed_and_order_is_kept() {
        let item = ConfigItem::Option { symbol: "CONFIG_A".into(), value: ConfigValue::Yes, optional: true };
        assert_eq!(Request::read(&[item]).unwrap().canonical(), "make defconfig\nCONFIG_A=y?\n");
    }

    #[test]
    fn merging_replaces_every_earlier_mention() {
        let old = "CONFIG_A=m\n# CONFIG_B is not set\nCONFIG_AB=y\n";
        let (a, b) = (setting("CONFIG_A", ConfigValue::No), setting("CONFIG_B", ConfigValue::Yes));
        assert_eq!(merge(old, &[&a, &b]), "CONFIG_AB=y\n# CONFIG_A is not set\nCONFIG_B=y\n");
    }

    #[test]
    fn symbols_with_another_value_are_listed() {
        let from = Config::parse("CONFIG_A=y\nCONFIG_B=m\n# CONFIG_C is not set\nCONFIG_D=4\n");
        let to = Config::parse("CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=y\nCONFIG_D=8\n");
        let changes: Vec<String> = from.changes(&to).iter().map(ToString::to_string).collect();
        assert_eq!(changes, ["CONFIG_B m -> n", "CONFIG_C n -> y", "CONFIG_D 4 -> 8"]);
    }

    #[test]
    fn values_are_compared_by_meaning() {
        assert!(survived(&ConfigValue::No, None));
        assert!(!survived(&ConfigValue::Module, Some("y")));
        assert!(survived(&ConfigValue::Text("16".into()), Some("0x10")));
        assert!(!survived(&ConfigValue::Text("\"a\"".into()), Some("\"b\"")));
    }
}
