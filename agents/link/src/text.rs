//! A board's words become text that a terminal does not obey, once, where frames become values.

use kab_wire::{Exit, Identity, KernelLog, Target, ToHost, TrialDone};

/// Longest text of each kind, characters. The kernel's command line ends at 4096 on every architecture.
const LONG: usize = 4096;
const SHORT: usize = 256;
const REASON: usize = 1024;
/// An argument of fio, which may list many paths, and how many there may be.
const ARGUMENT: usize = 16 << 10;
const ARGUMENTS: usize = 4096;

/// A message whose every text is one bounded line without control characters.
pub(crate) fn clean(message: ToHost) -> ToHost {
    match message {
        ToHost::Hello { protocol, digest, pid } => {
            ToHost::Hello { protocol, digest: line(&digest, SHORT), pid }
        }
        ToHost::Identity { identity } => ToHost::Identity { identity: clean_identity(identity) },
        ToHost::Target { target } => ToHost::Target {
            target: Target {
                path: line(&target.path, LONG),
                model: target.model.map(|model| line(&model, SHORT)),
                ..target
            },
        },
        ToHost::Progress { elapsed_ms } => ToHost::Progress { elapsed_ms },
        ToHost::TrialDone { done } => ToHost::TrialDone { done: clean_done(done) },
        ToHost::Error { code, message } => ToHost::Error { code, message: line(&message, REASON) },
    }
}

fn clean_identity(identity: Identity) -> Identity {
    let Identity { boot_id, build_id, cmdline, release, version, machine, cpus, memory, fio } = identity;
    Identity {
        boot_id: line(&boot_id, SHORT),
        build_id: build_id.map(|id| line(&id, SHORT)),
        cmdline: line(&cmdline, LONG),
        release: line(&release, SHORT),
        version: line(&version, SHORT),
        machine: line(&machine, SHORT),
        cpus,
        memory,
        fio: fio.map(|version| line(&version, SHORT)),
    }
}

fn clean_done(done: TrialDone) -> TrialDone {
    let TrialDone { argv, exit, wall_ms, proc_stat, kernel_log, streams } = done;
    TrialDone {
        argv: argv.iter().take(ARGUMENTS).map(|argument| line(argument, ARGUMENT)).collect(),
        exit: match exit {
            Exit::NotStarted(why) => Exit::NotStarted(line(&why, REASON)),
            Exit::Code(_) | Exit::Signal(_) | Exit::Deadline => exit,
        },
        wall_ms,
        proc_stat: proc_stat.map(|(before, after)| (line(&before, REASON), line(&after, REASON))),
        kernel_log: match kernel_log {
            KernelLog::Unreadable(why) => KernelLog::Unreadable(line(&why, REASON)),
            KernelLog::Complete | KernelLog::Lost { .. } => kernel_log,
        },
        streams,
    }
}

/// One line of at most `limit` characters and an ellipsis.
pub(crate) fn line(text: &str, limit: usize) -> String {
    let mut out = String::new();
    let mut length = 0;
    for character in text.chars() {
        let shown = is_obeyed(character).then(|| character.escape_default().to_string());
        length += shown.as_ref().map_or(1, String::len);
        if length > limit {
            out.push('…');
            break;
        }
        match shown {
            Some(escape) => out.push_str(&escape),
            None => out.push(character),
        }
    }
    out
}

/// Lines, as they are on standard error.
pub(crate) fn lines(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    for character in text.trim_end().chars() {
        match character {
            '\n' | '\t' => out.push(character),
            '\r' => {}
            other if is_obeyed(other) => out.extend(other.escape_default()),
            other => out.push(other),
        }
    }
    out
}

/// Control characters, and those that make text read in another direction than it is written.
fn is_obeyed(character: char) -> bool {
    character.is_control() || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use kab_wire::{ErrorCode, Frame};

    /// What a terminal would obey: a title, a cleared screen, the same in one byte, a line break, a change of direction.
    const BAD: &str = "a\u{1b}]0;x\u{7}\u{1b}[2J\u{9b}2J\r\n\u{202e}b";

    fn bad() -> String {
        BAD.to_owned()
    }

    #[test]
    fn lines_keep_their_breaks_and_nothing_else() {
        assert_eq!(lines(b"a\x1b[2Jb\r\nc\td\xff\n"), "a\\u{1b}[2Jb\nc\td\u{fffd}");
    }

    #[test]
    fn a_line_is_bounded_with_its_escapes_whole() {
        assert_eq!(line("aé\u{1b}\nb", 100), "aé\\u{1b}\\nb");
        assert_eq!(line("abc", 3), "abc");
        assert_eq!(line("abcd", 3), "abc…");
        assert_eq!(line("ab\u{1b}", 3), "ab…");
    }

    #[test]
    fn no_text_of_any_message_is_obeyed() {
        let identity = Identity {
            boot_id: bad(),
            build_id: Some(bad()),
            cmdline: bad(),
            release: bad(),
            version: bad(),
            machine: bad(),
            cpus: 1,
            memory: 2,
            fio: Some(bad()),
        };
        let target =
            Target { path: bad(), size: 1, model: Some(bad()), logical_block: Some(512), block: true };
        let done = |exit, kernel_log| ToHost::TrialDone {
            done: TrialDone {
                argv: vec![bad(), bad()],
                exit,
                wall_ms: 1,
                proc_stat: Some((bad(), bad())),
                kernel_log,
                streams: Vec::new(),
            },
        };
        for message in [
            ToHost::Hello { protocol: 1, digest: bad(), pid: 1 },
            ToHost::Identity { identity },
            ToHost::Target { target },
            ToHost::Error { code: ErrorCode::Board, message: bad() },
            done(Exit::NotStarted(bad()), KernelLog::Unreadable(bad())),
        ] {
            let Frame::Control(json) = Frame::control(&clean(message)).unwrap() else { unreachable!() };
            let json = String::from_utf8(json).unwrap();
            // JSON writes what it has to escape with one backslash; the shown escapes have two.
            let left = json.replace(r"\\", "");
            assert!(!left.contains(r"\u") && !left.contains(r"\n") && !left.contains(r"\r"), "{json}");
            assert!(!json.chars().any(is_obeyed) && json.contains(r"\\u{1b}[2J"), "{json}");
        }
    }

    #[test]
    fn usual_messages_stay_as_they_are() {
        let done = TrialDone {
            argv: vec!["fio".to_owned(), r"--filename=/a\:b".to_owned()],
            exit: Exit::Code(0),
            wall_ms: 1,
            proc_stat: Some(("cpu  1 2 3".to_owned(), "cpu  4 5 6".to_owned())),
            kernel_log: KernelLog::Lost { records: 1 },
            streams: Vec::new(),
        };
        assert_eq!(clean(ToHost::TrialDone { done: done.clone() }), ToHost::TrialDone { done });
    }
}
