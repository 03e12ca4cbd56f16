//! What is legal to fio and still spoils a measurement, found before it costs board time.

use crate::options::{known_option, nearest_option};
use crate::units::{is_time_based, last, parse_size, parse_time, truth};
use std::fmt;

/// Below this, a time-based job goes round in what a device's own cache may hold.
const SMALL_REGION: u64 = 64 << 20;

/// Engines that finish each I/O before the next is submitted, whatever `iodepth` says.
const SYNCHRONOUS: &[&str] = &["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "sg", "splice"];

/// One remark on a job's options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Stable name of the rule, such as `sync-iodepth`.
    pub rule: &'static str,
    /// The option that is to blame, where it is one that was written.
    pub option: Option<String>,
    /// What is the matter and what to do, a fragment.
    pub message: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Remarks on the options of one job, in a fixed order. `target_size` is in bytes, where known.
///
/// ```
/// let options = [("ioengine", "psync"), ("iodepth", "32"), ("direct", "1")];
/// assert_eq!(kab_fio::lint(&options, None)[0].rule, "sync-iodepth");
/// ```
pub fn lint<S: AsRef<str>>(options: &[(S, S)], target_size: Option<u64>) -> Vec<Warning> {
    let options: Vec<(&str, &str)> = options.iter().map(|(n, v)| (n.as_ref(), v.as_ref())).collect();
    let job = JobView { options: &options, target_size };
    let mut warnings = names(&options);
    warnings.extend(RULES.iter().filter_map(|rule| rule(&job)));
    warnings
}

struct JobView<'a> {
    options: &'a [(&'a str, &'a str)],
    target_size: Option<u64>,
}

impl JobView<'_> {
    fn get(&self, names: &[&str]) -> Option<&str> {
        last(self.options, names)
    }

    fn on(&self, name: &str) -> bool {
        self.get(&[name]).is_some_and(truth)
    }

    fn number(&self, name: &str) -> u64 {
        self.get(&[name]).and_then(|value| value.trim().parse().ok()).unwrap_or(1)
    }

    fn engine(&self) -> &str {
        self.get(&["ioengine"]).unwrap_or("psync")
    }

    fn direct(&self) -> bool {
        self.on("direct") || self.get(&["buffered"]).is_some_and(|value| !truth(value))
    }

    /// The direction, without the `:N` that sequences it.
    fn rw(&self) -> &str {
        self.get(&["rw", "readwrite"]).map_or("read", |rw| rw.split(':').next().unwrap_or(rw))
    }

    fn size(&self) -> Option<u64> {
        self.get(&["size"]).and_then(|size| parse_size(size, self.target_size))
    }
}

type Rule = fn(&JobView<'_>) -> Option<Warning>;

const RULES: &[Rule] = &[
    sync_iodepth,
    not_direct,
    time_based_without_runtime,
    runtime_without_time_based,
    long_ramp,
    beyond_target,
    small_region,
    clones_overlap,
    no_latencies,
    errors_ignored,
    scheduler_changed,
    compressible,
];

fn names(options: &[(&str, &str)]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (index, (name, _)) in options.iter().enumerate() {
        if !known_option(name) {
            let hint = nearest_option(name).map_or(String::new(), |near| format!("; did you mean {near}?"));
            warnings.push(warn(
                "unknown-option",
                name,
                format!("fio has no option {name:?} that kab knows of{hint}"),
            ));
        }
        if options[..index].iter().any(|(earlier, _)| earlier == name) {
            warnings.push(warn("repeated-option", name, format!("{name} is given twice; fio uses the last")));
        }
    }
    warnings
}

fn sync_iodepth(job: &JobView<'_>) -> Option<Warning> {
    let (engine, depth) = (job.engine(), job.number("iodepth"));
    (depth > 1 && SYNCHRONOUS.contains(&engine)).then(|| {
        let message = format!(
            "iodepth={depth} does nothing: ioengine={engine} keeps one I/O in flight; use libaio or io_uring"
        );
        warn("sync-iodepth", "iodepth", message)
    })
}

fn not_direct(job: &JobView<'_>) -> Option<Warning> {
    if job.direct() {
        return None;
    }
    let also = if job.engine() == "libaio" { ", and libaio is synchronous then" } else { "" };
    let message = format!("without direct=1 the page cache is measured, not the device{also}");
    Some(Warning { rule: "buffered", option: None, message })
}

fn time_based_without_runtime(job: &JobView<'_>) -> Option<Warning> {
    (is_time_based(job.options) && job.get(&["runtime", "timeout"]).is_none())
        .then(|| warn("no-runtime", "time_based", "time_based does nothing without runtime".to_owned()))
}

fn runtime_without_time_based(job: &JobView<'_>) -> Option<Warning> {
    (job.get(&["runtime", "timeout"]).is_some() && !is_time_based(job.options)).then(|| {
        let message =
            "without time_based=1 runtime is only a limit: the job ends when size is done".to_owned();
        warn("runtime-is-limit", "runtime", message)
    })
}

fn long_ramp(job: &JobView<'_>) -> Option<Warning> {
    let ramp = job.get(&["ramp_time"]).and_then(parse_time)?;
    let runtime = job.get(&["runtime", "timeout"]).and_then(parse_time)?;
    (ramp > runtime).then(|| {
        warn(
            "long-ramp",
            "ramp_time",
            "ramp_time is longer than runtime; some fio versions measure wrong then".into(),
        )
    })
}

fn beyond_target(job: &JobView<'_>) -> Option<Warning> {
    let (size, target) = (job.size()?, job.target_size?);
    (size > target).then(|| {
        warn("beyond-target", "size", format!("size is {size} bytes and the target has only {target}"))
    })
}

fn small_region(job: &JobView<'_>) -> Option<Warning> {
    let size = job.size()?;
    (is_time_based(job.options) && size < SMALL_REGION).then(|| {
        let message =
            format!("the job goes round in {} MiB, which the device's own cache may hold", size >> 20);
        warn("small-region", "size", message)
    })
}

fn clones_overlap(job: &JobView<'_>) -> Option<Warning> {
    let clones = job.number("numjobs");
    let sequential = !job.rw().starts_with("rand");
    (clones > 1 && sequential && job.get(&["offset_increment"]).is_none()).then(|| {
        let message =
            format!("all {clones} clones of a sequential job do the same blocks; see offset_increment");
        warn("clones-overlap", "numjobs", message)
    })
}

fn no_latencies(job: &JobView<'_>) -> Option<Warning> {
    let option = ["gtod_reduce", "disable_clat"].into_iter().find(|name| job.on(name))?;
    Some(warn("no-latencies", option, format!("{option} leaves no completion latencies to compare")))
}

fn errors_ignored(job: &JobView<'_>) -> Option<Warning> {
    let option = ["continue_on_error", "ignore_error"].into_iter().find(|name| job.get(&[name]).is_some())?;
    (job.get(&[option]) != Some("none"))
        .then(|| warn("errors-ignored", option, format!("{option} lets I/O errors pass as completed work")))
}

fn scheduler_changed(job: &JobView<'_>) -> Option<Warning> {
    job.get(&["ioscheduler"])?;
    Some(warn("ioscheduler", "ioscheduler", "fio changes the scheduler and does not put it back".to_owned()))
}

fn compressible(job: &JobView<'_>) -> Option<Warning> {
    (job.on("zero_buffers") && job.rw() != "read" && job.rw() != "randread").then(|| {
        warn(
            "zero-buffers",
            "zero_buffers",
            "zeros may never reach the medium of a device that compresses".to_owned(),
        )
    })
}

fn warn(rule: &'static str, option: &str, message: String) -> Warning {
    Warning { rule, option: Some(option.to_owned()), message }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str, target_size: Option<u64>) -> Vec<&'static str> {
        let options: Vec<(&str, &str)> =
            text.split_whitespace().map(|o| o.split_once('=').unwrap_or((o, ""))).collect();
        lint(&options, target_size).iter().map(|w| w.rule).collect()
    }

    #[test]
    fn a_sound_job_has_no_remarks() {
        let sound =
            "ioengine=libaio direct=1 rw=randread bs=4k iodepth=32 numjobs=8 size=1g runtime=30 time_based=1";
        assert_eq!(rules(sound, Some(2 << 30)), [""; 0]);
    }

    #[test]
    fn each_rule_speaks_and_only_then() {
        let base = "direct=1 rw=randread";
        let cases = [
            ("ioengine=psync iodepth=64", "sync-iodepth"),
            ("iodepth=64", "sync-iodepth"),
            ("direct=0 ioengine=libaio", "buffered"),
            ("time_based", "no-runtime"),
            ("runtime=5", "runtime-is-limit"),
            ("runtime=5 time_based ramp_time=6", "long-ramp"),
            ("size=4g", "beyond-target"),
            ("size=32m runtime=5 time_based", "small-region"),
            ("rw=write numjobs=2", "clones-overlap"),
            ("gtod_reduce=1", "no-latencies"),
            ("continue_on_error=all", "errors-ignored"),
            ("ioscheduler=none", "ioscheduler"),
            ("rw=randwrite zero_buffers", "zero-buffers"),
            ("iodeph=1", "unknown-option"),
            ("bs=4k bs=8k", "repeated-option"),
        ];
        assert_eq!(rules(base, Some(2 << 30)), [""; 0]);
        for (added, rule) in cases {
            let found = rules(&format!("{base} {added}"), Some(2 << 30));
            assert!(found.contains(&rule), "{added}: {found:?}");
        }
    }

    #[test]
    fn an_option_with_one_value_is_left_alone() {
        for quiet in
            ["ioengine=psync iodepth=1", "continue_on_error=none", "size=100% numjobs=4", "buffered=0"]
        {
            let found = rules(&format!("{quiet} rw=randread direct=1"), Some(2 << 30));
            assert_eq!(found, [""; 0], "{quiet}");
        }
    }

    #[test]
    fn a_typo_is_told_what_was_meant() {
        let warning = &lint(&[("runtme", "5"), ("direct", "1")], None)[0];
        assert_eq!(
            warning.to_string(),
            "fio has no option \"runtme\" that kab knows of; did you mean runtime?"
        );
    }
}
