//! What tells a built kernel from the baseline's, beyond its source: the final configuration and the device trees.

use serde::{Deserialize, Serialize};

/// Symbols and nodes of one difference that are kept, of each kind.
pub const DIFFERENCES_KEPT: usize = 1000;

/// What two artifacts differ in and has a name, at most [`DIFFERENCES_KEPT`] of each kind; empty where nothing does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelDifference {
    /// Symbols of the final `.config`, sorted by name, compilers' own (`CONFIG_CC_VERSION_TEXT` and the like) left out.
    pub symbols: Vec<SymbolChange>,
    /// Nodes of the device trees, sorted by path.
    pub nodes: Vec<NodeChange>,
}

impl KernelDifference {
    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.symbols.is_empty() && self.nodes.is_empty()
    }
}

/// A symbol of `.config` with another value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SymbolChange {
    /// With the `CONFIG_` prefix.
    pub symbol: String,
    /// The baseline's value as written; absent where it is not set.
    pub from: Option<String>,
    /// The variant's.
    pub to: Option<String>,
}

/// A node that some device trees have otherwise than the baseline's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeChange {
    /// Path of the node, `/soc@0/ufs@1d84000`.
    pub node: String,
    /// What became of it.
    pub change: TreeChange,
    /// Device trees in which it is so, by their names below `boot/dts`; sorted.
    pub trees: Vec<String>,
}

/// What became of a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TreeChange {
    /// It is new, with all that is below it.
    Added,
    /// It is gone, with all that was below it.
    Removed,
    /// Properties differ.
    Changed(Vec<PropertyChange>),
    /// The whole tree is there for the variant only.
    TreeAdded,
    /// The whole tree is there for the baseline only.
    TreeRemoved,
}

/// A property with another value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PropertyChange {
    /// Name.
    pub name: String,
    /// The baseline's value as a source of device trees would have it, shortened; absent where there is none.
    pub from: Option<String>,
    /// The variant's.
    pub to: Option<String>,
}

impl std::fmt::Display for SymbolChange {
    /// `CONFIG_X n -> y`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "n".to_owned());
        write!(f, "{} {} -> {}", self.symbol, value(&self.from), value(&self.to))
    }
}

impl std::fmt::Display for NodeChange {
    /// `/ufs: queues <0x1> -> <0x8>`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.change {
            TreeChange::Added => write!(f, "{} added", self.node),
            TreeChange::Removed => write!(f, "{} removed", self.node),
            TreeChange::TreeAdded => write!(f, "{} added", self.trees.join(", ")),
            TreeChange::TreeRemoved => write!(f, "{} removed", self.trees.join(", ")),
            TreeChange::Changed(properties) => {
                let all: Vec<String> = properties.iter().map(ToString::to_string).collect();
                write!(f, "{}: {}", self.node, all.join(", "))
            }
        }
    }
}

impl std::fmt::Display for PropertyChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.from, &self.to) {
            (Some(from), Some(to)) => write!(f, "{} {from} -> {to}", self.name),
            (None, Some(to)) if to.is_empty() => write!(f, "+{}", self.name),
            (None, Some(to)) => write!(f, "+{} {to}", self.name),
            _ => write!(f, "-{}", self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_read_like_sources() {
        let change = SymbolChange { symbol: "CONFIG_A".into(), from: None, to: Some("y".into()) };
        assert_eq!(change.to_string(), "CONFIG_A n -> y");
        let property = |from: Option<&str>, to: Option<&str>| PropertyChange {
            name: "p".into(),
            from: from.map(str::to_owned),
            to: to.map(str::to_owned),
        };
        let properties = vec![
            property(Some("<0x1>"), Some("<0x8>")),
            property(None, Some("")),
            property(None, Some("\"a\"")),
            property(Some("<0x1>"), None),
        ];
        let node = NodeChange {
            node: "/ufs".into(),
            change: TreeChange::Changed(properties),
            trees: vec!["a.dtb".into()],
        };
        assert_eq!(node.to_string(), "/ufs: p <0x1> -> <0x8>, +p, +p \"a\", -p");
    }
}
