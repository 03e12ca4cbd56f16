//! What supervisor and parent tell each other over their socket.
//!
//! The supervisor writes lines: `started PID` or `failed ERRNO`, later `exited CODE` or `signaled NUMBER`. The parent writes
//! nothing or [`KILL`]; closing its half means "end it gently".

/// Parent to supervisor: no grace, SIGKILL at once.
pub(crate) const KILL: u8 = b'K';

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this exit code.
    Exited(i32),
    /// By a signal.
    Signaled(i32),
}

impl Ended {
    /// Exit code 0.
    pub fn success(self) -> bool {
        self == Self::Exited(0)
    }

    /// As a shell shows it: the exit code, or 128 plus the signal's number.
    pub fn code(self) -> i32 {
        match self {
            Self::Exited(code) => code,
            Self::Signaled(signal) => 128 + signal,
        }
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exit code {code}"),
            Self::Signaled(signal) => write!(f, "signal {signal}"),
        }
    }
}

/// A line from the supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// The command runs under this process id.
    Started(i32),
    /// The command could not be executed: errno.
    Failed(i32),
    /// The command and all its descendants are gone.
    Ended(Ended),
}

impl Line {
    /// Parses a line, without its line feed.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let (word, number) = line.trim_end().split_once(' ')?;
        let number = number.parse().ok()?;
        match word {
            "started" => Some(Self::Started(number)),
            "failed" => Some(Self::Failed(number)),
            "exited" => Some(Self::Ended(Ended::Exited(number))),
            "signaled" => Some(Self::Ended(Ended::Signaled(number))),
            _ => None,
        }
    }

    /// The line with its line feed.
    pub(crate) fn render(self) -> String {
        match self {
            Self::Started(pid) => format!("started {pid}\n"),
            Self::Failed(errno) => format!("failed {errno}\n"),
            Self::Ended(Ended::Exited(code)) => format!("exited {code}\n"),
            Self::Ended(Ended::Signaled(signal)) => format!("signaled {signal}\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_survive_the_wire() {
        let lines = [
            Line::Started(7),
            Line::Failed(2),
            Line::Ended(Ended::Exited(0)),
            Line::Ended(Ended::Signaled(9)),
        ];
        for line in lines {
            assert_eq!(Line::parse(&line.render()), Some(line));
        }
        assert_eq!(Line::parse("started"), None);
        assert_eq!(Line::parse("hello 1"), None);
    }

    #[test]
    fn codes_are_a_shells() {
        assert_eq!(Ended::Exited(3).code(), 3);
        assert_eq!(Ended::Signaled(9).code(), 137);
    }
}
