//! Two device tree blobs, told apart node by node.
//!
//! dtc numbers the nodes that others point to (`phandle`), so that one new node may change numbers everywhere. Two cells count as
//! equal where both are such numbers and name nodes of the same path. What only serves overlays (`__symbols__` and the like) is
//! left out.

use dtoolkit::fdt::{Fdt, FdtNode};
use dtoolkit::{Node, Property};
use kab_model::{PropertyChange, TreeChange};
use std::collections::BTreeMap;

/// Characters of a value that are shown.
const SHOWN: usize = 60;

/// Nodes that differ, by path. `None` where one of the two is no device tree.
pub(crate) fn difference(from: &[u8], to: &[u8]) -> Option<BTreeMap<String, TreeChange>> {
    let (from, to) = (Tree::read(from)?, Tree::read(to)?);
    let mut found = BTreeMap::new();
    for (path, node) in &from.nodes {
        match to.nodes.get(path) {
            None if parent(path).is_some_and(|parent| !to.nodes.contains_key(parent)) => {}
            None => {
                found.insert((*path).clone(), TreeChange::Removed);
            }
            Some(other) => {
                let changes = properties((&from, node), (&to, other));
                if !changes.is_empty() {
                    found.insert((*path).clone(), TreeChange::Changed(changes));
                }
            }
        }
    }
    for path in to.nodes.keys().filter(|path| !from.nodes.contains_key(*path)) {
        if parent(path).is_none_or(|parent| from.nodes.contains_key(parent)) {
            found.insert(path.clone(), TreeChange::Added);
        }
    }
    Some(found)
}

type Properties = BTreeMap<String, Vec<u8>>;

struct Tree {
    nodes: BTreeMap<String, Properties>,
    /// Path of a node by its phandle.
    phandles: BTreeMap<u32, String>,
}

impl Tree {
    fn read(bytes: &[u8]) -> Option<Self> {
        let fdt = Fdt::new(bytes).ok()?;
        let mut tree = Self { nodes: BTreeMap::new(), phandles: BTreeMap::new() };
        tree.add("/".to_owned(), fdt.root());
        Some(tree)
    }

    fn add(&mut self, path: String, node: FdtNode<'_>) {
        let mut properties = Properties::new();
        for property in node.properties() {
            let value = property.value();
            if property.name() == "phandle" || property.name() == "linux,phandle" {
                if let [cell] = cells(value).as_slice() {
                    self.phandles.insert(*cell, path.clone());
                }
            } else {
                properties.insert(property.name().to_owned(), value.to_owned());
            }
        }
        for child in node.children().filter(|child| !is_for_overlays(child.name())) {
            let below =
                if path == "/" { format!("/{}", child.name()) } else { format!("{path}/{}", child.name()) };
            self.add(below, child);
        }
        self.nodes.insert(path, properties);
    }
}

fn is_for_overlays(name: &str) -> bool {
    matches!(name, "__symbols__" | "__fixups__" | "__local_fixups__")
}

fn parent(path: &str) -> Option<&str> {
    match path.rsplit_once('/')? {
        (_, "") => None,
        ("", _) => Some("/"),
        (parent, _) => Some(parent),
    }
}

fn properties((from, own): (&Tree, &Properties), (to, other): (&Tree, &Properties)) -> Vec<PropertyChange> {
    let mut found = Vec::new();
    for (name, value) in own {
        match other.get(name) {
            Some(new) if same((from, value), (to, new)) => {}
            new => found.push(PropertyChange {
                name: name.clone(),
                from: Some(readable(value)),
                to: new.map(|new| readable(new)),
            }),
        }
    }
    for (name, value) in other.iter().filter(|(name, _)| !own.contains_key(*name)) {
        found.push(PropertyChange { name: name.clone(), from: None, to: Some(readable(value)) });
    }
    found
}

fn same((from, own): (&Tree, &[u8]), (to, other): (&Tree, &[u8])) -> bool {
    if own == other {
        return true;
    }
    if own.len() != other.len() || !own.len().is_multiple_of(4) {
        return false;
    }
    cells(own).into_iter().zip(cells(other)).all(|(old, new)| {
        let named = |tree: &Tree, cell| tree.phandles.get(&cell).cloned();
        old == new || named(from, old).is_some_and(|path| named(to, new) == Some(path))
    })
}

/// A value as a source would have it: strings where it reads like some, cells where it can be divided into such, else bytes.
fn readable(value: &[u8]) -> String {
    let text = if value.is_empty() {
        String::new()
    } else if let Some(strings) = strings(value) {
        strings.iter().map(|string| format!("\"{string}\"")).collect::<Vec<_>>().join(", ")
    } else if value.len().is_multiple_of(4) {
        let cells: Vec<String> = cells(value).iter().map(|cell| format!("{cell:#x}")).collect();
        format!("<{}>", cells.join(" "))
    } else {
        let bytes: Vec<String> = value.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("[{}]", bytes.join(" "))
    };
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

fn strings(value: &[u8]) -> Option<Vec<&str>> {
    let body = value.strip_suffix(b"\0")?;
    let plain = |part: &&[u8]| !part.is_empty() && part.iter().all(|byte| (b' '..=b'~').contains(byte));
    let parts: Vec<&[u8]> = body.split(|byte| *byte == 0).collect();
    parts.iter().all(plain).then(|| parts.iter().filter_map(|part| std::str::from_utf8(part).ok()).collect())
}

fn cells(value: &[u8]) -> Vec<u32> {
    value.chunks_exact(4).map(|cell| u32::from_be_bytes([cell[0], cell[1], cell[2], cell[3]])).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    /// A blob by dtc, with symbols as for overlays.
    fn dtb(source: &str) -> Vec<u8> {
        let mut dtc = Command::new("dtc")
            .args(["-@", "-q", "-O", "dtb"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        dtc.stdin.take().unwrap().write_all(format!("/dts-v1/;\n{source}").as_bytes()).unwrap();
        let output = dtc.wait_with_output().unwrap();
        assert!(output.status.success());
        output.stdout
    }

    const BASE: &str = "/ {
        compatible = \"acme,anvil\", \"acme,all\";
        clk: clock { rate = <100>; };
        ufs: ufs@1000 { clocks = <&clk 1>; queues = <1>; old; mac = [01 02 03]; };
        uart: uart@2000 { clocks = <&clk 2>; port = <&ufs>; };
    };";

    #[test]
    fn changed_nodes_are_named_with_old_and_new_values() {
        let other = BASE.replace("queues = <1>", "queues = <8 9>").replace(" old;", "").replace("03]", "04]");
        let other = other.replace("\"acme,all\"", "\"acme,most\"").replace("rate", "slow; rate");
        let found = difference(&dtb(BASE), &dtb(&other)).unwrap();
        let changed = |path: &str| match &found[path] {
            TreeChange::Changed(changes) => {
                changes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(found.keys().collect::<Vec<_>>(), ["/", "/clock", "/ufs@1000"]);
        assert_eq!(changed("/ufs@1000"), "mac [01 02 03] -> [01 02 04]; -old; queues <0x1> -> <0x8 0x9>");
        assert_eq!(changed("/clock"), "+slow");
        assert_eq!(changed("/"), "compatible \"acme,anvil\", \"acme,all\" -> \"acme,anvil\", \"acme,most\"");
    }

    /// A new node before the others gets the first number, so that all later ones move.
    #[test]
    fn numbers_of_nodes_that_moved_are_no_change() {
        let more = BASE.replace("clk: clock", "first: aaa { bbb { x; }; };\n clk: clock");
        let more = more.replace("port = <&ufs>", "port = <&ufs>; also = <&first>");
        let (from, to) = (dtb(BASE), dtb(&more));
        let found = difference(&from, &to).unwrap();
        assert_eq!(found["/aaa"], TreeChange::Added);
        assert_eq!(found.keys().collect::<Vec<_>>(), ["/aaa", "/uart@2000"], "{found:?}");
        let back = difference(&to, &from).unwrap();
        assert_eq!(back["/aaa"], TreeChange::Removed);
        // Another node that is pointed to is one, though.
        let moved = difference(&from, &dtb(&BASE.replace("port = <&ufs>", "port = <&clk>"))).unwrap();
        assert_eq!(moved.keys().collect::<Vec<_>>(), ["/uart@2000"]);
    }

    #[test]
    fn other_bytes_are_no_trees() {
        let whole = dtb(BASE);
        assert_eq!(difference(&whole, &whole), Some(BTreeMap::new()));
        assert_eq!(difference(b"not a tree", &whole), None);
        for length in (0..whole.len()).step_by(5) {
            let _ = difference(&whole[..length], &whole);
        }
    }
}
