//! Holds the import table of ARCHITECTURE.md: who may depend on whom, and what a leaf may use from outside.
#![allow(clippy::unwrap_used)]

use cargo_metadata::{DependencyKind, MetadataCommand};
use std::collections::{BTreeMap, BTreeSet};

/// Crate -> crates of the workspace that it may use. A new edge is a decision: write it here and in ARCHITECTURE.md.
const MAY_USE: &[(&str, &[&str])] = &[
    ("kab-lifeline", &[]),
    ("kab-fio", &[]),
    ("kab-stats", &[]),
    ("kab-images", &[]),
    ("kab-mail", &[]),
    ("kab-tune", &[]),
    ("kab-wire", &["kab-tune"]),
    ("kab-model", &["kab-tune"]),
    ("kab-evidence", &["kab-model", "kab-fio"]),
    ("kab-plan", &["kab-model", "kab-fio", "kab-stats"]),
    ("kab-kernels", &["kab-model", "kab-lifeline", "kab-images", "kab-mail"]),
    ("kab-store", &["kab-model"]),
    ("kab-board", &["kab-model"]),
    ("kab-link", &["kab-wire", "kab-board"]),
    ("kab-agent", &["kab-wire", "kab-tune", "kab-lifeline"]),
    ("kab-report", &["kab-model", "kab-stats"]),
    ("kab-audit", &["kab-fio", "kab-mail"]),
    ("kab-compare", &["kab-fio", "kab-mail", "kab-report", "kab-stats"]),
    (
        "kab-engine",
        &["kab-model", "kab-plan", "kab-evidence", "kab-fio", "kab-board", "kab-link", "kab-store"],
    ),
    ("kab-drivers", &["kab-model", "kab-board", "kab-images", "kab-lifeline"]),
    ("kab", &["*"]),
];

/// Pure crates -> everything from outside that they may use.
const OUTSIDE: &[(&str, &[&str])] = &[
    ("kab-fio", &["memchr", "serde", "serde_json", "strsim", "thiserror"]),
    ("kab-stats", &["statrs", "thiserror"]),
    ("kab-tune", &["serde", "serde_json", "thiserror"]),
    ("kab-wire", &["serde", "serde_json", "thiserror"]),
    ("kab-images", &["cpio", "sha1", "thiserror", "zstd"]),
    ("kab-mail", &["flate2", "mail-parser", "thiserror"]),
    ("kab-audit", &["serde"]),
    ("kab-evidence", &["serde", "thiserror"]),
    ("kab-plan", &["blake3", "rand", "rand_pcg", "serde", "serde_json", "thiserror"]),
    (
        "kab-model",
        &["annotate-snippets", "blake3", "granit-parser", "serde", "serde_json", "strsim", "thiserror"],
    ),
    ("kab-compare", &["serde", "serde_json"]),
    ("kab-report", &["csv", "minijinja", "schemars", "serde", "serde_json", "thiserror"]),
    ("kab-agent", &["blake3", "rustix", "serde", "serde_json", "thiserror"]),
];

fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let metadata = MetadataCommand::new().no_deps().exec().unwrap();
    let normal = |package: &cargo_metadata::Package| {
        let dependencies =
            package.dependencies.iter().filter(|dependency| dependency.kind == DependencyKind::Normal);
        (package.name.to_string(), dependencies.map(|dependency| dependency.name.clone()).collect())
    };
    metadata.packages.iter().map(normal).collect()
}

#[test]
fn the_import_table_holds() {
    let table: BTreeMap<&str, &[&str]> = MAY_USE.iter().copied().collect();
    let mut wrong = Vec::new();
    for (package, uses) in dependencies() {
        let Some(allowed) = table.get(package.as_str()) else {
            wrong.push(format!("{package} is not in the table"));
            continue;
        };
        for used in uses.iter().filter(|used| used.starts_with("kab-")) {
            if !allowed.contains(&"*") && !allowed.contains(&used.as_str()) {
                wrong.push(format!("{package} may not use {used}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn pure_crates_use_only_what_is_allowed() {
    let all = dependencies();
    for (package, allowed) in OUTSIDE {
        let outside = all[*package].iter().filter(|used| !used.starts_with("kab-"));
        let extra: Vec<&String> = outside.filter(|used| !allowed.contains(&used.as_str())).collect();
        assert!(extra.is_empty(), "{package} uses {extra:?}");
    }
}

#[test]
fn the_document_names_every_crate() {
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../ARCHITECTURE.md")).unwrap();
    for package in dependencies().keys() {
        assert!(text.contains(&format!("`{package}`")), "ARCHITECTURE.md does not name `{package}`");
    }
}
