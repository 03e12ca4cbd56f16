//! Jobs as a file, to run the same by hand.

use crate::job::{JobError, TargetKind, check};
use std::fmt::Write as _;

/// One job of a file.
#[derive(Clone, Copy, Debug)]
pub struct Section<'a, S> {
    /// Its name, `[A-Za-z0-9._-]+`.
    pub name: &'a str,
    /// The user's options in the order written.
    pub options: &'a [(S, S)],
    /// Path of the target. fio puts environment variables in: `${UFS0}`.
    pub target: &'a str,
    /// What the target is.
    pub kind: TargetKind,
}

/// Renders jobs as a file that runs one after the other. Options are as the user wrote them; one without a value is written
/// as `=1`. What kab adds for the measurement alone (format and place of the output) is left out; what protects other data
/// is kept.
///
/// # Errors
/// As [`crate::arguments`], and [`JobError::Line`] where a value would break the line.
pub fn job_file<S: AsRef<str>>(sections: &[Section<'_, S>]) -> Result<String, JobError> {
    let mut out = String::from("[global]\nstonewall\n");
    for section in sections {
        check(section.name, section.options)?;
        refuse_line("target", section.target)?;
        let _ = write!(out, "\n[{}]\nfilename={}\n", section.name, section.target);
        if section.kind == TargetKind::Device {
            out.push_str("allow_file_create=0\n");
        }
        for (name, value) in section.options {
            let (name, value) = (name.as_ref(), value.as_ref());
            refuse_line(name, value)?;
            let _ = writeln!(out, "{name}={}", if value.is_empty() { "1" } else { value });
        }
    }
    Ok(out)
}

fn refuse_line(what: &str, text: &str) -> Result<(), JobError> {
    if text.contains(['\n', '\r']) { Err(JobError::Line { what: what.to_owned() }) } else { Ok(()) }
}
