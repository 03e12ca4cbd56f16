//! What a trial leaves running: found by the working folder, which fio's workers keep although they leave its session
//! and its process group.

use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Most processes that are described, and most bytes of each one's kernel stack.
const SHOWN: usize = 8;
const STACK: usize = 2000;

/// How often and how long orphans are killed: a process that runs dies at once.
const KILL_AGAIN: Duration = Duration::from_millis(20);
const KILL_LIMIT: Duration = Duration::from_secs(5);

/// Kills every process that works in `folder`, until none is left or for five seconds.
pub(crate) fn kill(folder: &Path) {
    let limit = Instant::now() + KILL_LIMIT;
    loop {
        let left = processes(folder);
        if left.is_empty() || Instant::now() >= limit {
            return;
        }
        for pid in left {
            // It may have ended since.
            let _ = kill_process(pid, Signal::KILL);
        }
        std::thread::sleep(KILL_AGAIN);
    }
}

/// The processes that work in `folder`: name, state, and where the kernel keeps them, as far as it tells. Reads
/// only what does not wait for the process's memory.
pub(crate) fn describe(folder: &Path) -> String {
    let left = processes(folder);
    let mut text = String::new();
    for pid in left.iter().take(SHOWN) {
        let place = Path::new("/proc").join(pid.as_raw_nonzero().to_string());
        let stat = fs::read_to_string(place.join("stat")).unwrap_or_default();
        let (name, state) = name_and_state(&stat).unwrap_or(("?", "?"));
        text.push_str(&format!("process {} ({name}) in state {state}\n", pid.as_raw_nonzero()));
        let stack: String =
            fs::read_to_string(place.join("stack")).unwrap_or_default().chars().take(STACK).collect();
        text.extend(stack.lines().map(|line| format!("  {line}\n")));
    }
    if left.len() > SHOWN {
        text.push_str(&format!("and {} more\n", left.len() - SHOWN));
    }
    text
}

fn processes(folder: &Path) -> Vec<Pid> {
    let Ok(folder) = folder.canonicalize() else { return Vec::new() };
    let works_here = |process: &PathBuf| fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == folder);
    let own = std::process::id().to_string();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| name != own))
        .map(|entry| entry.path())
        .filter(works_here)
        .filter(|process| !is_supervisor(process))
        .filter_map(|process| Pid::from_raw(process.file_name()?.to_str()?.parse().ok()?))
        .collect()
}

/// The lifeline's supervisor works there too, and ends by itself.
fn is_supervisor(process: &Path) -> bool {
    fs::read_to_string(process.join("comm")).is_ok_and(|name| name.trim_end() == "lifeline")
}

/// The second and third field of /proc/PID/stat. The name may hold spaces and parentheses.
fn name_and_state(stat: &str) -> Option<(&str, &str)> {
    let (head, rest) = stat.rsplit_once(')')?;
    Some((head.split_once('(')?.1, rest.split_whitespace().next()?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::Command;

    #[test]
    fn processes_of_a_folder_are_described_and_killed_whatever_their_group() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().canonicalize().unwrap();
        let mut child =
            Command::new("sleep").arg("600").current_dir(&place).process_group(0).spawn().unwrap();
        let told = describe(&place);
        assert!(told.starts_with(&format!("process {} (", child.id())), "{told}");
        kill(&place);
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        assert_eq!(describe(&place), "");
    }

    #[test]
    fn a_state_is_found_behind_a_hostile_name() {
        assert_eq!(name_and_state("12 (a) R 9) D 7 12 12 0"), Some(("a) R 9", "D")));
        assert_eq!(name_and_state(""), None);
    }
}
