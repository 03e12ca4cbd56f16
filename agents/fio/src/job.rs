//! The command line of one fio job.

use crate::options::{is_engine_option, known_option};
use crate::units::{last, truth};
use thiserror::Error;

/// What a job does its I/O to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// A block device: fio must never make a regular file in its place.
    Device,
    /// A regular file, which fio may create.
    File,
}

/// Everything that makes a command line.
#[derive(Clone, Debug)]
pub struct JobSpec<'a, S> {
    /// Name of the job, `[A-Za-z0-9._-]+`: fio writes names into JSON without escaping all that needs it.
    pub name: &'a str,
    /// The user's options in the order written.
    pub options: &'a [(S, S)],
    /// Absolute path of the target on the board.
    pub target: &'a str,
    /// What the target is.
    pub kind: TargetKind,
    /// Absolute path on the board that receives fio's output.
    pub output: &'a str,
}

/// Why a job cannot be rendered.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum JobError {
    /// The job's name has other characters.
    #[error("job name {name:?} has characters other than A-Z a-z 0-9 . _ -")]
    Name {
        /// As given.
        name: String,
    },
    /// The option's name cannot be one.
    #[error("{name:?} is not the name of a fio option")]
    OptionName {
        /// As given.
        name: String,
    },
    /// kab owns the option.
    #[error("fio option {name:?} may not be set here: {why}")]
    Reserved {
        /// As given.
        name: String,
        /// The reason, a fragment.
        why: &'static str,
    },
    /// A line break would end the option in a job file.
    #[error("the value of {what:?} has a line break, which a job file cannot carry")]
    Line {
        /// Name of the option, or `target`.
        what: String,
    },
    /// A NUL cannot be passed in an argument.
    #[error("the value of {what:?} contains a NUL character")]
    Nul {
        /// Name of the option, or `target`, `output`.
        what: String,
    },
}

/// One argument, with a place for what only the board knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// The argument as it is.
    Text(String),
    /// This prefix, then the target's path with its colons escaped.
    Target(&'static str),
    /// This prefix, then the path of the output file.
    Output(&'static str),
}

/// Renders the arguments that follow `fio` itself, for a board that knows the paths.
///
/// The user's options come last and exactly as written, with one exception: where an engine's own option
/// precedes `ioengine`, all `ioengine` options move before the others, because fio's command line (not its job
/// files, which fio sorts) refuses the option otherwise.
///
/// # Errors
/// [`JobError`] for names that kab owns or that could smuggle another option in, and for NUL characters.
pub fn arguments<S: AsRef<str>>(
    name: &str,
    options: &[(S, S)],
    kind: TargetKind,
) -> Result<Vec<Argument>, JobError> {
    check(name, options)?;
    let mut arguments = vec![
        Argument::Text("--output-format=json+".to_owned()),
        Argument::Output("--output="),
        Argument::Text("--eta=never".to_owned()),
        Argument::Text(format!("--name={name}")),
        Argument::Target("--filename="),
    ];
    if kind == TargetKind::Device {
        arguments.push(Argument::Text("--allow_file_create=0".to_owned()));
    }
    arguments.extend(engine_first(options).map(|(name, value)| match value.as_ref() {
        "" => Argument::Text(format!("--{}", name.as_ref())),
        value => Argument::Text(format!("--{}={value}", name.as_ref())),
    }));
    Ok(arguments)
}

/// Renders a whole command line after `fio` itself; see [`arguments`].
///
/// # Errors
/// As [`arguments`], and [`JobError::Nul`] for the paths too.
pub fn argv<S: AsRef<str>>(spec: &JobSpec<'_, S>) -> Result<Vec<String>, JobError> {
    for (what, text) in [("target", spec.target), ("output", spec.output)] {
        refuse_nul(what, text)?;
    }
    let rendered =
        arguments(spec.name, spec.options, spec.kind)?.into_iter().map(|argument| match argument {
            Argument::Text(text) => text,
            Argument::Target(prefix) => format!("{prefix}{}", escape_colons(spec.target)),
            Argument::Output(prefix) => format!("{prefix}{}", spec.output),
        });
    Ok(rendered.collect())
}

/// Whether fio and its JSON carry this job name unharmed.
pub fn is_job_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
}

/// Why a user may not give this option, where kab owns it. fio's parser takes unambiguous abbreviations, so
/// every unknown name that begins one of kab's own is refused too.
pub fn reserved(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase().replace('-', "_");
    let exact = RESERVED.iter().find(|(reserved, _)| *reserved == name);
    let abbreviated = || RESERVED.iter().find(|(reserved, _)| reserved.starts_with(&name));
    let entry = if known_option(&name) || name.is_empty() { exact } else { exact.or_else(abbreviated) };
    entry.map(|(_, why)| *why)
}

/// The options in a command line, `--name=value` each, those that kab added included. What is no option is left out.
pub fn options_of(argv: &[String]) -> Vec<(&str, &str)> {
    let options = argv.iter().filter_map(|arg| arg.strip_prefix("--"));
    options.map(|option| option.split_once('=').unwrap_or((option, ""))).collect()
}

/// How many jobs fio's report should have for one job of these options: its clones, or one for all of them.
pub fn reported_jobs<S: AsRef<str>>(options: &[(S, S)]) -> usize {
    if last(options, &["group_reporting"]).is_some_and(truth) {
        return 1;
    }
    last(options, &["numjobs"]).and_then(|clones| clones.trim().parse().ok()).unwrap_or(1)
}

pub(crate) fn check<S: AsRef<str>>(job: &str, options: &[(S, S)]) -> Result<(), JobError> {
    if !is_job_name(job) {
        return Err(JobError::Name { name: job.to_owned() });
    }
    for (name, value) in options {
        let name = name.as_ref();
        if !is_option_name(name) {
            return Err(JobError::OptionName { name: name.to_owned() });
        }
        if let Some(why) = reserved(name) {
            return Err(JobError::Reserved { name: name.to_owned(), why });
        }
        refuse_nul(name, value.as_ref())?;
    }
    Ok(())
}

/// An `=` or a leading dash in a name would turn it into another option.
fn is_option_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

fn refuse_nul(what: &str, text: &str) -> Result<(), JobError> {
    if text.contains('\0') { Err(JobError::Nul { what: what.to_owned() }) } else { Ok(()) }
}

/// fio splits file names at colons that no backslash protects.
fn escape_colons(path: &str) -> String {
    path.replace(':', "\\:")
}

fn engine_first<S: AsRef<str>>(options: &[(S, S)]) -> impl Iterator<Item = &(S, S)> {
    let is_engine = |option: &&(S, S)| option.0.as_ref() == "ioengine";
    let chosen = options.iter().position(|option| is_engine(&option)).unwrap_or(0);
    let late = options[..chosen].iter().any(|(name, _)| is_engine_option(name.as_ref()));
    let first = options.iter().filter(move |option| late && is_engine(option));
    first.chain(options.iter().filter(move |option| !(late && is_engine(option))))
}

const OUTPUT: &str = "kab chooses the output's format and place";
const TARGET: &str = "the target comes from the board's scratch list";
const MODE: &str = "it makes fio do something other than run this job";
const COMMAND: &str = "it runs commands on the board outside the measurement";
const FILES: &str = "it makes fio write files that are not on the scratch list";
const REPLAY: &str = "a replayed log names its own devices";
const SAFETY: &str = "kab sets it to protect the board's other data";

/// Options that kab owns, spelled with underscores, with the reason.
const RESERVED: &[(&str, &str)] = &[
    ("output", OUTPUT),
    ("output_format", OUTPUT),
    ("append_terse", OUTPUT),
    ("minimal", OUTPUT),
    ("terse_version", OUTPUT),
    ("bandwidth_log", FILES),
    ("eta", OUTPUT),
    ("eta_interval", OUTPUT),
    ("eta_newline", OUTPUT),
    ("status_interval", OUTPUT),
    ("idle_prof", "its calibration loads all CPUs"),
    ("debug", OUTPUT),
    ("name", "kab names the job after its cell"),
    ("section", MODE),
    ("include", MODE),
    ("client", MODE),
    ("server", MODE),
    ("daemonize", MODE),
    ("remote_config", MODE),
    ("profile", MODE),
    ("parse_only", MODE),
    ("merge_blktrace_only", MODE),
    ("showcmd", MODE),
    ("version", MODE),
    ("help", MODE),
    ("cmdhelp", MODE),
    ("enghelp", MODE),
    ("cpuclock_test", MODE),
    ("crctest", MODE),
    ("memcpytest", MODE),
    ("inflate_log", MODE),
    ("create_only", MODE),
    ("trigger", COMMAND),
    ("trigger_file", COMMAND),
    ("trigger_remote", COMMAND),
    ("trigger_timeout", COMMAND),
    ("exec_prerun", COMMAND),
    ("exec_postrun", COMMAND),
    ("filename", TARGET),
    ("filename_format", TARGET),
    ("unique_filename", TARGET),
    ("directory", TARGET),
    ("opendir", TARGET),
    ("nrfiles", TARGET),
    ("nr_files", TARGET),
    ("unlink", TARGET),
    ("unlink_each_loop", TARGET),
    ("allow_file_create", SAFETY),
    ("allow_mounted_write", SAFETY),
    ("read_iolog", REPLAY),
    ("replay_redirect", REPLAY),
    ("merge_blktrace_file", REPLAY),
    ("write_iolog", FILES),
    ("write_bw_log", FILES),
    ("write_hist_log", FILES),
    ("write_iops_log", FILES),
    ("write_lat_log", FILES),
    ("aux_path", FILES),
    ("verify_state_save", FILES),
    ("verify_dump", FILES),
    ("error_dump", FILES),
];

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn spec<'a>(options: &'a [(&'a str, &'a str)]) -> JobSpec<'a, &'a str> {
        JobSpec {
            name: "rand4k-randread-1",
            options,
            target: "/dev/sda",
            kind: TargetKind::Device,
            output: "/run/o.json",
        }
    }

    #[test]
    fn options_follow_as_written() {
        let options =
            [("ioengine", "libaio"), ("direct", "1"), ("bs", "4k"), ("time_based", ""), ("runtime", "30s")];
        assert_eq!(
            argv(&spec(&options)).unwrap(),
            [
                "--output-format=json+",
                "--output=/run/o.json",
                "--eta=never",
                "--name=rand4k-randread-1",
                "--filename=/dev/sda",
                "--allow_file_create=0",
                "--ioengine=libaio",
                "--direct=1",
                "--bs=4k",
                "--time_based",
                "--runtime=30s",
            ]
        );
    }

    #[test]
    fn a_command_line_gives_its_options_back() {
        let options = [("bs", "4k"), ("time_based", ""), ("description", "a=b")];
        let rendered = argv(&spec(&options)).unwrap();
        assert_eq!(options_of(&rendered)[6..], options);
    }

    #[test]
    fn clones_are_reported_one_by_one_unless_grouped() {
        assert_eq!(reported_jobs(&[("numjobs", "8")]), 8);
        assert_eq!(reported_jobs(&[("numjobs", "8"), ("group_reporting", "")]), 1);
        assert_eq!(reported_jobs(&[("numjobs", "8"), ("group_reporting", "0")]), 8);
        assert_eq!(reported_jobs(&[("rw", "read")]), 1);
    }

    #[test]
    fn a_file_may_be_created_and_its_colons_do_not_split() {
        let options = [("rw", "read")];
        let file = JobSpec { kind: TargetKind::File, target: "/mnt/a:b", ..spec(&options) };
        let rendered = argv(&file).unwrap();
        assert!(rendered.contains(&"--filename=/mnt/a\\:b".to_owned()));
        assert!(!rendered.iter().any(|arg| arg.starts_with("--allow_file_create")));
    }

    #[test]
    fn the_engine_moves_only_before_its_own_options() {
        let late = [("rw", "read"), ("hipri", "1"), ("ioengine", "io_uring")];
        assert_eq!(argv(&spec(&late)).unwrap()[6..], ["--ioengine=io_uring", "--rw=read", "--hipri=1"]);
        let early = [("rw", "read"), ("ioengine", "io_uring"), ("hipri", "1")];
        assert_eq!(argv(&spec(&early)).unwrap()[6..], ["--rw=read", "--ioengine=io_uring", "--hipri=1"]);
    }

    #[test]
    fn what_kab_owns_is_refused_abbreviations_included() {
        for name in
            ["filename", "output", "output-format", "OUTPUT_FORMAT", "eta", "status-interval", "exec_prerun"]
        {
            assert!(reserved(name).is_some(), "{name}");
        }
        for name in ["filenam", "outp", "exec_pre", "allow_file"] {
            assert!(reserved(name).is_some(), "{name} is an abbreviation");
        }
        for name in
            ["rw", "runtime", "size", "filesize", "bs", "s", "direct", "verify", "name_of_nothing", ""]
        {
            let owned = reserved(name).is_some();
            assert_eq!(owned, name == "s", "{name}");
        }
    }

    #[test]
    fn no_name_smuggles_another_option() {
        for name in ["filename=/dev/sdb", "-output", "--output", "a b", "", "x\n"] {
            let error = argv(&spec(&[(name, "")])).unwrap_err();
            assert_eq!(error, JobError::OptionName { name: name.to_owned() });
        }
        assert!(matches!(argv(&spec(&[("bs", "4\0k")])), Err(JobError::Nul { .. })));
        assert!(matches!(
            argv(&spec(&[("direct", "1"), ("filename", "/x")])),
            Err(JobError::Reserved { .. })
        ));
    }

    #[test]
    fn job_names_are_plain() {
        assert!(is_job_name("rand4k.randread_1-8"));
        for name in ["", "a b", "a/b", "ä", "a=b"] {
            assert!(!is_job_name(name), "{name:?}");
            let bad = JobSpec { name, ..spec(&[]) };
            assert!(matches!(argv(&bad), Err(JobError::Name { .. })));
        }
    }
}
