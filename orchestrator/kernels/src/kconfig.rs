//! Why an option was not taken, as far as the Kconfig files tell.
//!
//! This reads declarations, `depends on` lines and the `if` and `menu` blocks of one file around them. It does not
//! follow `source` lines or evaluate expressions: it names symbols that are off, the user decides.

use crate::resolve::{nearest, similar_names};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Unmet dependencies that are named.
const NAMED: usize = 6;
/// Depth of folders that are searched; the kernel's deepest Kconfig file lies at 8.
const DEPTH: usize = 12;

/// What stands in the way of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// This kernel does not declare it.
    Unknown {
        /// Declared symbols with a similar name.
        similar: Vec<String>,
    },
    /// It cannot be set: other options select it.
    NoPrompt,
    /// It depends on symbols that are off.
    Unmet {
        /// Those symbols, with the `CONFIG_` prefix.
        symbols: Vec<String>,
    },
}

impl std::fmt::Display for Obstacle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown { similar } => {
                write!(f, "this kernel has no such option{}", similar_names(similar))
            }
            Self::NoPrompt => write!(f, "it cannot be set, only be selected by other options"),
            Self::Unmet { symbols } => write!(f, "it depends on {}, which is off", symbols.join(", ")),
        }
    }
}

/// All declarations of a source tree.
#[derive(Debug, Default)]
pub(crate) struct Symbols {
    declared: BTreeMap<String, Declaration>,
}

#[derive(Debug, Default)]
struct Declaration {
    prompt: bool,
    depends: BTreeSet<String>,
}

impl Symbols {
    /// Reads every Kconfig file below a folder; files that cannot be read are left out.
    pub(crate) fn read(source: &Path) -> Self {
        let mut symbols = Self::default();
        symbols.read_folder(source, 0);
        symbols
    }

    /// What stands in the way of `symbol` (with prefix) given which symbols are on.
    pub(crate) fn obstacle(&self, symbol: &str, is_on: impl Fn(&str) -> bool) -> Option<Obstacle> {
        let name = symbol.strip_prefix("CONFIG_").unwrap_or(symbol);
        if self.declared.is_empty() {
            return None;
        }
        let Some(declaration) = self.declared.get(name) else {
            let similar = nearest(name, self.declared.keys().map(String::as_str));
            return Some(Obstacle::Unknown {
                similar: similar.iter().map(|name| format!("CONFIG_{name}")).collect(),
            });
        };
        let full = declaration.depends.iter().map(|name| format!("CONFIG_{name}"));
        let unmet: Vec<String> = full.filter(|name| !is_on(name)).take(NAMED).collect();
        match (unmet.is_empty(), declaration.prompt) {
            (false, _) => Some(Obstacle::Unmet { symbols: unmet }),
            (true, false) => Some(Obstacle::NoPrompt),
            (true, true) => None,
        }
    }

    fn read_folder(&mut self, folder: &Path, depth: usize) {
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if kind.is_dir() && depth < DEPTH {
                self.read_folder(&entry.path(), depth + 1);
            } else if kind.is_file()
                && name.starts_with("Kconfig")
                && let Ok(text) = std::fs::read_to_string(entry.path())
            {
                self.read_text(&text);
            }
        }
    }

    fn read_text(&mut self, text: &str) {
        let mut reader = Reader::default();
        for line in without_help(&text.replace("\\\n", " ")) {
            reader.line(line, &mut self.declared);
        }
    }
}

/// What the lines of one file are about.
#[derive(Default)]
struct Reader {
    /// Conditions of the blocks around the current line.
    blocks: Vec<BTreeSet<String>>,
    subject: Subject,
}

/// What attributes belong to.
#[derive(Default)]
enum Subject {
    #[default]
    Nothing,
    /// The innermost block.
    Block,
    Symbol(String),
}

impl Reader {
    fn line(&mut self, line: &str, declared: &mut BTreeMap<String, Declaration>) {
        let (word, rest) =
            line.split_once([' ', '\t']).map_or((line, ""), |(word, rest)| (word, rest.trim()));
        match word {
            "config" | "menuconfig" => {
                let declaration = declared.entry(rest.to_owned()).or_default();
                declaration.depends.extend(self.blocks.iter().flatten().cloned());
                self.subject = Subject::Symbol(rest.to_owned());
            }
            "if" | "menu" | "choice" => {
                self.blocks.push(if word == "if" { required(rest) } else { BTreeSet::new() });
                self.subject = Subject::Block;
            }
            "endif" | "endmenu" | "endchoice" => {
                self.blocks.pop();
                self.subject = Subject::Nothing;
            }
            "comment" => self.subject = Subject::Nothing,
            "depends" => {
                let symbols = required(rest.strip_prefix("on").unwrap_or(rest));
                let target = match &self.subject {
                    Subject::Nothing => None,
                    Subject::Block => self.blocks.last_mut(),
                    Subject::Symbol(name) => {
                        declared.get_mut(name).map(|declaration| &mut declaration.depends)
                    }
                };
                if let Some(target) = target {
                    target.extend(symbols);
                }
            }
            "bool" | "tristate" | "string" | "int" | "hex" | "prompt" if rest.starts_with(['"', '\'']) => {
                if let Subject::Symbol(name) = &self.subject
                    && let Some(declaration) = declared.get_mut(name)
                {
                    declaration.prompt = true;
                }
            }
            _ => {}
        }
    }
}

/// Trimmed lines without help texts, whose sentences may begin with "if" or "depends". A help text ends before the first line
/// that is indented no deeper than its keyword.
fn without_help(text: &str) -> Vec<&str> {
    let depth = |line: &str| -> usize {
        line.chars()
            .take_while(|char| char.is_whitespace())
            .map(|char| if char == '\t' { 8 } else { 1 })
            .sum()
    };
    let mut help = None;
    let mut lines = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if help.is_some_and(|keyword| depth(line) > keyword) {
            continue;
        }
        help = matches!(line.trim(), "help" | "---help---").then(|| depth(line));
        if help.is_none() {
            lines.push(line.trim());
        }
    }
    lines
}

/// Symbols of an expression that it wants on, leaving out those under `!` or in a comparison.
fn required(expression: &str) -> BTreeSet<String> {
    let expression = expression.split(" #").next().unwrap_or_default();
    let mut symbols = BTreeSet::new();
    for part in expression.split(['&', '|', '(', ')']).map(str::trim) {
        let symbol = !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
        if symbol {
            symbols.insert(part.to_owned());
        }
    }
    symbols
}

#[cfg(test)]
mod tests {
    use super::*;

    const KCONFIG: &str = "\
menu \"Storage\"\n\tdepends on BLOCK\nconfig UFS\n\ttristate \"UFS\"\n\tdepends on SCSI && !ODD && (PCI || \\\n\t\tOF)\n\
if UFS\nconfig UFS_BSG\n\tbool \"bsg\"\n\thelp\n\t  if you like\n\n\t  depends on TASTE\nconfig UFS_CORE\n\tbool\nendif\ncomment \"none\"\n\tdepends on NEVER\nendmenu\nconfig FREE\n\tbool \"free\"\n";

    fn symbols() -> Symbols {
        let mut symbols = Symbols::default();
        symbols.read_text(KCONFIG);
        symbols
    }

    fn unmet(names: &[&str]) -> Option<Obstacle> {
        Some(Obstacle::Unmet { symbols: names.iter().map(|name| (*name).to_owned()).collect() })
    }

    #[test]
    fn unmet_dependencies_come_from_the_entry_and_its_blocks() {
        let symbols = symbols();
        let off = |_: &str| false;
        assert_eq!(
            symbols.obstacle("CONFIG_UFS", off),
            unmet(&["CONFIG_BLOCK", "CONFIG_OF", "CONFIG_PCI", "CONFIG_SCSI"])
        );
        assert_eq!(symbols.obstacle("CONFIG_UFS_BSG", |name| name == "CONFIG_BLOCK"), unmet(&["CONFIG_UFS"]));
        assert_eq!(symbols.obstacle("CONFIG_FREE", off), None);
    }

    #[test]
    fn unknown_and_promptless_symbols_are_told_apart() {
        let symbols = symbols();
        assert_eq!(symbols.obstacle("CONFIG_UFS_CORE", |_| true), Some(Obstacle::NoPrompt));
        let similar = vec!["CONFIG_UFS_BSG".to_owned()];
        assert_eq!(symbols.obstacle("CONFIG_UFS_BGS", |_| true), Some(Obstacle::Unknown { similar }));
    }
}
