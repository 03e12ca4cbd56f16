//! fio commands in text: options that do nothing, block sizes, settings that differ between arms.

use crate::finding::{Draft, Grade, Rule};
use crate::labels;
use crate::source::Source;

/// Rules of kab's linter that hold for a command in a mail, where values may be variables of a script.
const RULES: [&str; 4] = ["sync-iodepth", "no-runtime", "long-ramp", "small-region"];

/// Longest command, lines.
const LONGEST: usize = 40;

/// A command line.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    /// Index of its first line.
    pub(crate) line: usize,
    pub(crate) options: Vec<(String, String)>,
}

impl Command {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.options.iter().rev().find(|(option, _)| option == name).map(|(_, value)| value.as_str())
    }
}

/// All commands; their lines are marked as taken.
pub(crate) fn commands(source: &mut Source) -> Vec<Command> {
    let mut found = Vec::new();
    let mut index = 0;
    while index < source.rows.len() {
        let Some(start) = (!source.rows[index].taken).then(|| start(source.text(index))).flatten() else {
            index += 1;
            continue;
        };
        let mut words = source.text(index)[start..].to_owned();
        let first = index;
        while words.trim_end().ends_with('\\') && index + 1 < source.rows.len() && index - first < LONGEST {
            index += 1;
            words = format!("{} {}", words.trim_end().trim_end_matches('\\'), source.text(index).trim());
        }
        // A command that a mail program wrapped goes on with options.
        while source.text(index + 1).trim_start().starts_with("--") && index - first < LONGEST {
            index += 1;
            words = format!("{words} {}", source.text(index).trim());
        }
        let options = options(&words);
        if options.len() >= 2 {
            source.take(first..=index);
            found.push(Command { line: first, options });
        }
        index += 1;
    }
    found
}

/// Block sizes that commands name, in bytes; nothing if one of them is a variable or several sizes.
pub(crate) fn block_sizes(commands: &[Command]) -> Vec<f64> {
    let mut sizes: Vec<f64> = Vec::new();
    const OTHERS: [&str; 5] = ["bsrange", "bssplit", "blocksize_range", "bs_unaligned", "bs_is_seq_rand"];
    for command in commands {
        if OTHERS.iter().any(|name| command.get(name).is_some()) {
            return Vec::new();
        }
        let text = command.get("bs").or_else(|| command.get("blocksize")).unwrap_or("4k");
        match labels::block_size(&format!("bs={text}")).filter(|_| !text.contains(',')) {
            Some(size) if !sizes.contains(&size) => sizes.push(size),
            Some(_) => {}
            None => return Vec::new(),
        }
    }
    sizes
}

/// Remarks on options, each once.
pub(crate) fn check(commands: &[Command]) -> Vec<Draft> {
    let mut found: Vec<(String, Draft)> = Vec::new();
    for command in commands {
        for warning in kab_fio::lint(&command.options, None) {
            if !RULES.contains(&warning.rule) {
                continue;
            }
            match found.iter_mut().find(|(message, _)| *message == warning.message) {
                Some((_, draft)) => draft.at.push(command.line),
                None => {
                    let draft =
                        Draft::new(Grade::Remark, Rule::Option, [command.line], warning.message.clone());
                    let option = warning.option.as_deref().unwrap_or("the option");
                    found.push((
                        warning.message,
                        draft.check(format!("see {option} in fio's manual, or run without it")),
                    ));
                }
            }
        }
    }
    found.into_iter().map(|(_, draft)| draft).collect()
}

/// Where `fio ` followed by an option starts.
fn start(text: &str) -> Option<usize> {
    text.match_indices("fio ").map(|(at, _)| at).find(|at| {
        let alone = text[..*at].chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '-');
        alone && text[at + 4..].split_whitespace().take(3).any(|word| word.starts_with('-') && word.len() > 2)
    })
}

fn options(words: &str) -> Vec<(String, String)> {
    let mut options = Vec::new();
    for word in words.split_whitespace().skip(1) {
        if word == "|" || word == ">" || word == ";" || word == "&&" {
            break;
        }
        let Some(option) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')) else { continue };
        let (name, value) = option.split_once('=').unwrap_or((option, "1"));
        options.push((name.to_owned(), value.trim_matches(['"', '\'', ',']).to_owned()));
    }
    options
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn commands_over_several_lines() {
        let text = "I ran:\n[1]: fio --name=a --rw=randread \\\n  --bs=8k --iodepth=64\n  --direct=1\n\nfio was fast\n$ sudo fio -filename=/dev/x -bs=512K -rw=write | tail\n";
        let posted = kab_mail::read(text.as_bytes()).unwrap();
        let mut source = Source::of(&posted.mails[0]);
        let found = commands(&mut source);
        assert_eq!(
            found.iter().map(|command| (command.line, command.options.len())).collect::<Vec<_>>(),
            [(1, 5), (6, 3)]
        );
        assert_eq!(block_sizes(&found), [8192.0, 524_288.0]);
        let remarks = check(&found);
        assert!(remarks[0].message.contains("iodepth=64 does nothing"), "{remarks:?}");
    }
}
