//! A board as text: fixtures of tests, and snapshots that are compared.

use crate::View;
use crate::view::natural;
use std::collections::{BTreeMap, BTreeSet};

/// Files and links by absolute path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// Path to content, without the newline at its end.
    pub files: BTreeMap<String, String>,
    /// Path to the path that it stands for.
    pub links: BTreeMap<String, String>,
}

/// A line that is none of a tree.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: neither `path = content` nor `path -> path`: {text}")]
pub struct TreeError {
    /// From 1.
    pub line: usize,
    /// As it is.
    pub text: String,
}

impl Tree {
    /// Reads lines `path = content` (with `\n` and `\t` for what they stand for) and `path -> target`; `#` begins a
    /// comment. `cpu{0-3}` in a path stands for each of them.
    pub fn parse(text: &str) -> Result<Self, TreeError> {
        let mut tree = Self::default();
        for (index, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some((path, target)) = line.split_once(" -> ") {
                tree.links.insert(path.to_owned(), target.to_owned());
            } else if let Some((path, content)) = line.split_once(" =") {
                let content = content.strip_prefix(' ').unwrap_or(content);
                let content = content.replace("\\n", "\n").replace("\\t", "\t");
                for path in expand(path) {
                    tree.files.insert(path, content.clone());
                }
            } else {
                return Err(TreeError { line: index + 1, text: line.to_owned() });
            }
        }
        Ok(tree)
    }

    /// Where a path lies; also for one that does not exist.
    pub fn resolve(&self, path: &str) -> String {
        let mut path = path.to_owned();
        // More links than this are a circle.
        for _ in 0..16 {
            let link = self.links.iter().rev().find_map(|(from, to)| {
                let rest = path.strip_prefix(from.as_str())?;
                (rest.is_empty() || rest.starts_with('/')).then(|| format!("{to}{rest}"))
            });
            match link {
                Some(next) => path = next,
                None => break,
            }
        }
        path
    }
}

impl View for Tree {
    fn read(&self, path: &str) -> Option<String> {
        self.files.get(&self.resolve(path)).cloned()
    }

    fn list(&self, folder: &str) -> Vec<String> {
        let folder = format!("{}/", self.resolve(folder));
        let paths = self.files.keys().chain(self.links.keys());
        let names: BTreeSet<&str> =
            paths.filter_map(|path| path.strip_prefix(&folder)?.split('/').next()).collect();
        let mut names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        names.sort_by_key(|name| natural(name));
        names
    }

    fn real(&self, path: &str) -> Option<String> {
        let real = self.resolve(path);
        let below = format!("{real}/");
        (self.files.contains_key(&real) || self.files.keys().any(|file| file.starts_with(&below)))
            .then_some(real)
    }
}

/// `a{0-2}b` as three paths.
fn expand(path: &str) -> Vec<String> {
    let parts = path.split_once('{').and_then(|(before, rest)| {
        let (range, after) = rest.split_once('}')?;
        let (first, last) = range.split_once('-')?;
        Some((before, first.parse::<u32>().ok()?, last.parse::<u32>().ok()?, after))
    });
    match parts {
        Some((before, first, last, after)) => {
            (first..=last).flat_map(|number| expand(&format!("{before}{number}{after}"))).collect()
        }
        None => vec![path.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn links_and_ranges_are_followed() {
        let tree =
            Tree::parse("# a board\n/d/x/cpu{9-10}/a = 1\\n2\n/c -> /d/x\n/b -> /c/cpu9\n/e =\n").unwrap();
        assert_eq!(tree.list("/c"), ["cpu9", "cpu10"]);
        assert_eq!(tree.read("/b/a").as_deref(), Some("1\n2"));
        assert_eq!(tree.real("/b").as_deref(), Some("/d/x/cpu9"));
        assert_eq!(tree.read("/e").as_deref(), Some(""));
        assert_eq!((tree.real("/no"), tree.read("/no")), (None, None));
        assert!(Tree::parse("/a 1").is_err());
    }
}
