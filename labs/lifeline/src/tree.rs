//! The descendants of a process, from /proc.

use rustix::process::{Pid, Signal, getpid, kill_process};
use std::collections::HashMap;

/// Sends a signal to every living descendant of this process. One pass: a fork that races with it is missed, so
/// SIGKILL is repeated until nobody is left to wait for.
pub(crate) fn signal_descendants(signal: Signal) {
    for pid in descendants(getpid().as_raw_nonzero().get(), &parents()) {
        if let Some(pid) = Pid::from_raw(pid) {
            // The process may have ended since; nothing else can go wrong with one's own descendants.
            let _ = kill_process(pid, signal);
        }
    }
}

/// Parent of every process that is visible in /proc.
fn parents() -> HashMap<i32, i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return HashMap::new() };
    entries
        .flatten()
        .filter_map(|entry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read(entry.path().join("stat")).ok()?;
            Some((pid, parent_of(&String::from_utf8_lossy(&stat))?))
        })
        .collect()
}

/// The fourth field of /proc/PID/stat. The second, the name, may hold spaces and parentheses.
fn parent_of(stat: &str) -> Option<i32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Everybody whose chain of parents leads to `root`, without `root`.
fn descendants(root: i32, parents: &HashMap<i32, i32>) -> Vec<i32> {
    let leads_to_root = |mut pid: i32| {
        // Parents were read at different instants: a reused id may close a circle, which the bound opens.
        for _ in 0..parents.len() {
            match parents.get(&pid) {
                Some(&parent) if parent == root => return true,
                Some(&parent) => pid = parent,
                None => return false,
            }
        }
        false
    };
    parents.keys().copied().filter(|&pid| pid != root && leads_to_root(pid)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parent_is_found_behind_a_hostile_name() {
        assert_eq!(parent_of("12 (a) R 99) S 7 12 12 0"), Some(7));
        assert_eq!(parent_of("12 (sh"), None);
    }

    #[test]
    fn descendants_are_whole_and_circles_end() {
        let parents = HashMap::from([(2, 1), (3, 2), (4, 3), (5, 1), (8, 9), (9, 8)]);
        let mut found = descendants(2, &parents);
        found.sort_unstable();
        assert_eq!(found, [3, 4]);
    }
}
