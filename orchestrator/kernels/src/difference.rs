//! What two artifacts differ in, by name: symbols of `.config`, nodes of device trees.

use crate::config::Config;
use crate::device_tree;
use crate::extras::files;
use kab_model::{Artifact, DIFFERENCES_KEPT, KernelDifference, NodeChange, SymbolChange, TreeChange};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What `variant` has otherwise than `baseline`. What cannot be read, or is not known of a kernel that somebody else built, is
/// left out.
pub fn difference(baseline: &Artifact, variant: &Artifact) -> KernelDifference {
    let (mut symbols, mut nodes) = (symbols(baseline, variant), nodes(baseline, variant));
    symbols.truncate(DIFFERENCES_KEPT);
    nodes.truncate(DIFFERENCES_KEPT);
    KernelDifference { symbols, nodes }
}

fn symbols(baseline: &Artifact, variant: &Artifact) -> Vec<SymbolChange> {
    if baseline.config_digest == variant.config_digest {
        return Vec::new();
    }
    let read = |artifact: &Artifact| Config::read(&artifact.config).ok().filter(|config| !config.is_empty());
    match (read(baseline), read(variant)) {
        (Some(from), Some(to)) => from.changes(&to).into_iter().filter(|change| !is_tools(change)).collect(),
        _ => Vec::new(),
    }
}

/// Versions of tools, which kconfig writes into `.config`: another compiler is told as such.
fn is_tools(change: &SymbolChange) -> bool {
    let symbol = change.symbol.as_str();
    symbol.ends_with("_VERSION") || symbol.ends_with("_VERSION_TEXT")
}

fn nodes(baseline: &Artifact, variant: &Artifact) -> Vec<NodeChange> {
    let (Some(from), Some(to)) = (&baseline.dtbs, &variant.dtbs) else { return Vec::new() };
    if baseline.dtbs_digest == variant.dtbs_digest {
        return Vec::new();
    }
    let list = |folder: &PathBuf| files(folder).unwrap_or_default();
    let (from, to) = (list(from), list(to));
    let mut found: BTreeMap<(String, TreeChange), Vec<String>> = BTreeMap::new();
    let mut note =
        |node: String, change, tree: &String| found.entry((node, change)).or_default().push(tree.clone());
    for (name, path) in &from {
        let Some(other) = to.get(name) else {
            note("/".to_owned(), TreeChange::TreeRemoved, name);
            continue;
        };
        let (Ok(old), Ok(new)) = (std::fs::read(path), std::fs::read(other)) else { continue };
        if old == new {
            continue;
        }
        for (node, change) in device_tree::difference(&old, &new).unwrap_or_default() {
            note(node, change, name);
        }
    }
    for name in to.keys().filter(|name| !from.contains_key(*name)) {
        note("/".to_owned(), TreeChange::TreeAdded, name);
    }
    found.into_iter().map(|((node, change), trees)| NodeChange { node, change, trees }).collect()
}
