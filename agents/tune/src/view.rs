//! What a planner sees of a board.

/// Files, folders and links of a board, by absolute path. Besides real files there are two kinds of made-up ones, which
/// a board shows where it can: `property:NAME` (an Android property) and `mount:/sys/kernel/debug` (`0` or `1`).
pub trait View {
    /// The content; `None` where there is no such file or it cannot be read.
    fn read(&self, path: &str) -> Option<String>;

    /// Names in a folder, sorted as [`natural`] does; empty where there is none.
    fn list(&self, folder: &str) -> Vec<String>;

    /// Where a path really lies, with all links followed.
    fn real(&self, path: &str) -> Option<String>;
}

/// A key that sorts `cpu10` after `cpu9`.
pub(crate) fn natural(name: &str) -> (String, u64, String) {
    let start = name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len());
    let end = name[start..].find(|c: char| !c.is_ascii_digit()).map_or(name.len(), |length| start + length);
    (name[..start].to_owned(), name[start..end].parse().unwrap_or(0), name[end..].to_owned())
}

/// A number in a file.
pub(crate) fn number(view: &dyn View, path: &str) -> Option<u64> {
    view.read(path)?.trim().parse().ok()
}

/// Entries that consist of a prefix and a number.
pub(crate) fn numbered(view: &dyn View, folder: &str, prefix: &str) -> Vec<String> {
    let is = |name: &String| {
        name.strip_prefix(prefix)
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
    };
    view.list(folder).into_iter().filter(is).collect()
}
