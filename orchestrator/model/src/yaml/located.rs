//! A validated file together with the places it came from.

use super::diagnostic::{Diagnostic, Diagnostics, Severity};
use super::source::{Source, Span};
use super::tree::Node;
use std::path::{Path, PathBuf};

/// What the meaning of a file depends on besides its text. The caller reads the world; the parser does not.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Absolute folder of the file; relative paths in it start here.
    pub folder: &'a Path,
    /// Home directory, for paths that start with `~/`; `None` makes those an error.
    pub home: Option<&'a Path>,
    /// Whether a file or folder exists.
    pub exists: &'a dyn Fn(&Path) -> bool,
    /// Why a fio option may not be given, for options that kab itself sets.
    pub reserved: &'a dyn Fn(&str) -> Option<&'static str>,
}

impl Context<'_> {
    /// An absolute path, without `.` and `..` resolved through links; `None` for `~/` without a home.
    pub(super) fn resolve(&self, written: &str) -> Option<PathBuf> {
        let path = match written.strip_prefix("~/") {
            Some(rest) => self.home?.join(rest),
            None => self.folder.join(written),
        };
        Some(path.components().collect())
    }
}

/// A value of type `T` that remembers its file, so that later checks can point into it.
#[derive(Clone, Debug)]
pub struct Located<T> {
    /// What the file means.
    pub value: T,
    /// Problems that do not keep the file from being used.
    pub warnings: Diagnostics,
    pub(super) source: Source,
    pub(super) tree: Node,
}

impl<T> Located<T> {
    /// The file.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// An error at a path of keys and list indices, such as `["boards", "0"]` or `["variants", "v6.16", "ref"]`;
    /// where the path leads nowhere, at the last step that exists.
    pub fn error_at(&self, path: &[&str], message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(&self.source, Severity::Error, self.place(path), message)
    }

    /// A warning at such a path.
    pub fn warning_at(&self, path: &[&str], message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(&self.source, Severity::Warning, self.place(path), message)
    }

    fn place(&self, path: &[&str]) -> Span {
        let mut node = &self.tree;
        let mut complete = true;
        for step in path {
            match node.child(step) {
                Some(child) => node = child,
                None => {
                    complete = false;
                    break;
                }
            }
        }
        if complete { node.span } else { node.owner }
    }
}
