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

/// Everybody whose chain of parents leads to `root`, without `root`; parents before their children, so that nobody gets to see
/// a child's end and acts on it before its own.
fn descendants(root: i32, parents: &HashMap<i32, i32>) -> Vec<i32> {
    let distance = |mut pid: i32| {
        // Parents were read at different instants: a reused id may close a circle, which the bound opens.
        for steps in 0..parents.len() {
            match parents.get(&pid) {
                Some(&parent) if parent == root => return Some(steps),
                Some(&parent) => pid = parent,
                None => return None,
            }
        }
        None
    };
    let others = parents.keys().copied().filter(|&pid| pid != root);
    let mut found: Vec<(usize, i32)> = others.filter_map(|pid| Some((distance(pid)?, pid))).collect();
    found.sort_unstable();
    found.into_iter().map(|(_, pid)| pid).collect()
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
    fn descendants_are_whole_parents_first_and_circles_end() {
        let parents = HashMap::from([(2, 1), (30, 2), (4, 30), (5, 1), (8, 9), (9, 8)]);
        assert_eq!(descendants(2, &parents), [30, 4]);
    }
}
