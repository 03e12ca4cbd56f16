//! This host: its programs, its folders, how busy it is.

use kab_board::BootError;
use kab_lifeline::{Command, Ended, Lifeline, Output};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Most that a busy host stretches a time-out by. Beyond it something else is wrong.
const MOST_STRETCH: f64 = 4.0;

/// What a program answered.
pub(crate) struct Said {
    pub(crate) ended: Ended,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// What a driver may use of the host.
#[derive(Clone, Debug)]
pub struct HostTools {
    /// How programs are started.
    pub lifeline: Lifeline,
    /// Folder of this user that is kept: keys and archives, each made once.
    pub cache_dir: PathBuf,
    /// Folder for what lives as long as a machine: disk images. On a file system with sparse files and room for what the
    /// workloads write.
    pub work_dir: PathBuf,
    /// Folders of programs, in order.
    pub search: Vec<PathBuf>,
}

impl HostTools {
    /// The folders that distributions put programs into. `sbin` is not on every user's `PATH`, and Dropbear is there.
    pub fn usual_search() -> Vec<PathBuf> {
        ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"]
            .map(PathBuf::from)
            .into()
    }

    /// Runs a program to its end and returns what it said. It is killed where it takes longer than `limit`, [stretched](stretched_now).
    /// The error is a sentence. Blocks.
    pub(crate) fn ask(&self, command: Command, limit: Duration) -> Result<Said, String> {
        let (mut stdout, mut stderr) = (unnamed_file()?, unnamed_file()?);
        let (to_stdout, to_stderr) = (second(&stdout)?, second(&stderr)?);
        let command = command.stdout(Output::File(to_stdout)).stderr(Output::File(to_stderr));
        let limit = stretched_now(limit);
        let mut child = self.lifeline.spawn(command).map_err(|error| with_source(&error))?;
        match child.wait_timeout(limit).map_err(|error| with_source(&error))? {
            Some(ended) => Ok(Said { ended, stdout: whole(&mut stdout)?, stderr: whole(&mut stderr)? }),
            None => Err(format!("it did not end within {} s", limit.as_secs())),
        }
    }

    /// Where a program is, or an error that names the Debian and Ubuntu package to install.
    pub(crate) fn find(&self, program: &str, package: &str) -> Result<PathBuf, BootError> {
        let found = self.search.iter().map(|folder| folder.join(program)).find(|path| is_executable(path));
        found.ok_or_else(|| BootError::Lab {
            cause: format!("{program} is not installed on this host: install the package {package}"),
        })
    }
}

fn unnamed_file() -> Result<File, String> {
    tempfile::tempfile().map_err(|error| format!("cannot make a temporary file: {error}"))
}

fn second(file: &File) -> Result<File, String> {
    file.try_clone().map_err(|error| format!("cannot use a temporary file: {error}"))
}

fn whole(file: &mut File) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_end(&mut bytes));
    read.map_err(|error| format!("cannot read a temporary file: {error}"))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// An error and why, in one line.
pub(crate) fn with_source(error: &dyn std::error::Error) -> String {
    let reason = error.source().map(|source| format!(": {source}")).unwrap_or_default();
    format!("{error}{reason}")
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// A time-out for this host as busy as it is now: sized for an idle one, it grows with the number of runnable tasks
/// for each CPU (the one-minute load average), at most fourfold.
pub(crate) fn stretched_now(timeout: Duration) -> Duration {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    stretched(timeout, &load, cpus)
}

fn stretched(timeout: Duration, loadavg: &str, cpus: usize) -> Duration {
    let load: f64 = loadavg.split_whitespace().next().and_then(|load| load.parse().ok()).unwrap_or(0.0);
    #[allow(clippy::cast_precision_loss)] // A number of CPUs.
    let tasks_per_cpu = load / cpus.max(1) as f64;
    // The machine itself is one more task.
    timeout.mul_f64((tasks_per_cpu + 1.0 / cpus.max(1) as f64).clamp(1.0, MOST_STRETCH))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn idle_hosts_do_not_stretch_and_busy_ones_do_within_bounds() {
        let second = Duration::from_secs(1);
        assert_eq!(stretched(second, "0.10 0.20 0.30 1/100 5", 2), second);
        assert_eq!(stretched(second, "3.00 0.20 0.30 1/100 5", 2), Duration::from_secs(2));
        assert_eq!(stretched(second, "64.0 0.20 0.30 1/100 5", 2), Duration::from_secs(4));
        assert_eq!(stretched(second, "3.00 0.20 0.30 1/100 5", 16), second);
        assert_eq!(stretched(second, "", 2), second);
    }

    #[test]
    fn a_missing_program_names_its_package() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("fio"), "not executable").unwrap();
        let tools = HostTools {
            lifeline: Lifeline::this_program(),
            cache_dir: folder.path().to_owned(),
            work_dir: folder.path().to_owned(),
            search: vec![folder.path().to_owned()],
        };
        let error = tools.find("fio", "fio").unwrap_err().to_string();
        assert_eq!(error, "fio is not installed on this host: install the package fio");
        let with_usual = HostTools { search: HostTools::usual_search(), ..tools };
        assert!(with_usual.find("sh", "dash").unwrap().ends_with("sh"));
    }
}
