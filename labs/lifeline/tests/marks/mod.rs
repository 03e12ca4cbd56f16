//! Finds processes by a mark in their environment, which descendants inherit.
#![allow(dead_code)] // Each test program uses a part.

use std::time::{Duration, Instant};

/// Name of the environment variable.
pub(crate) const NAME: &str = "KAB_LIFELINE_TEST";

/// A tree with a grandchild that ignores SIGTERM, one that does not, and one that daemonised itself.
pub(crate) const TREE: &str = r#"
    sh -c 'trap "" TERM; while :; do sleep 1000; done' &
    sleep 1000 &
    (setsid sh -c 'sleep 1000 & wait' &) &
    wait"#;

/// Processes of [`TREE`] once it stands: three shells, three sleeps (the subshell that daemonises ends).
pub(crate) const TREE_SIZE: usize = 6;

/// A value nobody else uses.
pub(crate) fn fresh(test: &str) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    format!("{test}-{}-{}", std::process::id(), now.as_nanos())
}

/// Living processes that carry the mark. A zombie has no environment any more.
pub(crate) fn carriers(mark: &str) -> Vec<String> {
    let wanted = format!("{NAME}={mark}");
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(|entry| {
            let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            environment.split(|&byte| byte == 0).any(|variable| variable == wanted.as_bytes())
        })
        .map(|entry| {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            format!("{} {line}", entry.file_name().display())
        })
        .collect()
}

/// Waits until `condition` holds for the carriers, whose last list is printed when time runs out.
pub(crate) fn until(mark: &str, what: &str, condition: impl Fn(&[String]) -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let seen = carriers(mark);
        if condition(&seen) {
            return;
        }
        assert!(Instant::now() < end, "not {what} in time: {seen:#?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until nobody carries the mark.
pub(crate) fn gone(mark: &str) {
    until(mark, "gone", <[String]>::is_empty);
}

/// The whole [`TREE`] stands: leaves out supervisors and the probe, which carry the mark as well.
pub(crate) fn stands(mark: &str) {
    until(mark, "complete", |seen| {
        seen.iter().filter(|line| !line.contains("__lifeline") && !line.contains("lifeline-probe")).count()
            == TREE_SIZE
    });
}
