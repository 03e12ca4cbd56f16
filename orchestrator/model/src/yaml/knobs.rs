//! experiment.yaml: settings at run time.

use super::decode::{Decoder, Fields};
use super::keys::Shape;
use super::scalar::{self, Problem, TextRule};
use crate::Knob;

const VALUE: Shape = Shape::Text(TextRule::CommandLine);
/// `knobs:`
pub(super) const KNOBS: Shape = Shape::Table(TextRule::Line, &VALUE);

/// Settings in the order written.
pub(super) fn knobs(decoder: &mut Decoder<'_>, fields: &Fields<'_>) -> Vec<Knob> {
    let Some(node) = fields.value("knobs") else { return Vec::new() };
    let mut knobs = Vec::new();
    for entry in decoder.table(node, "knobs", &KNOBS) {
        if let Err(problem) = check_name(&entry.key) {
            decoder.error(entry.span, format!("`knobs`: `{}` {}", entry.key, problem.message)).hint =
                problem.hint;
            continue;
        }
        let what = format!("the knob `{}`", entry.key);
        let value = decoder.item(&entry.value, &what, |text| scalar::text(&VALUE, text));
        knobs.extend(value.map(|value| Knob { name: entry.key.clone(), value }));
    }
    knobs
}

/// Whether a name is one of the forms of [`Knob::name`].
fn check_name(name: &str) -> Result<(), Problem> {
    let parts: Vec<&str> = match name.strip_prefix('/') {
        Some(path) => path.split('/').collect(),
        None => name.split('.').collect(),
    };
    let word = |part: &&str| {
        !part.is_empty()
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "._-:@,+=".contains(c))
            && *part != ".."
    };
    let words = parts.iter().all(word);
    let known = if name.starts_with('/') {
        matches!(parts.as_slice(), ["sys", _, ..] | ["proc", "sys", _, ..])
    } else {
        match parts.as_slice() {
            ["queue", rest @ ..] => rest.len() == 1,
            ["sysctl", rest @ ..] => rest.len() >= 2,
            ["module", rest @ ..] => rest.len() == 2,
            _ => false,
        }
    };
    if known && words {
        return Ok(());
    }
    Err(Problem::new(
        "is no setting that kab knows how to write",
        "write `queue.X` (of the target's disk), `sysctl.X.Y`, `module.M.P`, or a path below /sys or /proc/sys",
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_settings_of_the_kernel_can_be_named() {
        for good in [
            "queue.rq_affinity",
            "sysctl.vm.swappiness",
            "sysctl.net.ipv4.tcp_rmem",
            "module.nvme_core.io_timeout",
            "/sys/block/nvme0n1/queue/scheduler",
            "/proc/sys/vm/swappiness",
            "/sys/devices/platform/1d84000.ufshc/rpm_lvl",
        ] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in [
            "rq_affinity",
            "queue.",
            "queue.a.b",
            "queue.a/b",
            "sysctl.vm",
            "module.x",
            "/sys",
            "/sys/",
            "/sys/../etc/passwd",
            "/etc/passwd",
            "/proc/1/oom_adj",
            "/proc/sys",
            "/sys//x",
            "/sys/a b",
            "sysctl...",
        ] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }
}
