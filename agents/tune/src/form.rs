//! How a knob reads back: what was written is rarely what is read, letter by letter.

use serde::{Deserialize, Serialize};

/// The form of a file's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Words, numbers or a choice with brackets around what is chosen.
    Words,
    /// A set of CPUs, such as `0-3,8`.
    Cpus,
}

impl Form {
    /// The text in one form that can be compared, and also written.
    pub fn normal(self, text: &str) -> String {
        match self {
            Self::Words => words(text),
            Self::Cpus => {
                let text = words(text);
                cpus(&text).map_or(text, |list| ranges(&list))
            }
        }
    }

    /// Whether both mean the same.
    pub fn same(self, one: &str, other: &str) -> bool {
        self.normal(one) == self.normal(other)
    }
}

/// The word in brackets, or all words; the kernel's `Y` and `N` are 1 and 0.
fn words(text: &str) -> String {
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    let chosen = text.split_once('[').and_then(|(_, rest)| Some(rest.split_once(']')?.0));
    let words = chosen.unwrap_or(text).split_whitespace().collect::<Vec<_>>().join(" ");
    match words.as_str() {
        "Y" => "1".to_owned(),
        "N" => "0".to_owned(),
        _ => words,
    }
}

/// The CPUs of a list; `None` where it is none. Also takes blanks after commas, as block queues print them.
pub(crate) fn cpus(text: &str) -> Option<Vec<u32>> {
    let mut list = Vec::new();
    for part in text.trim().split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        // Beyond what any kernel can be built for.
        if first > last || last > 1 << 16 {
            return None;
        }
        list.extend(first..=last);
    }
    list.sort_unstable();
    list.dedup();
    (!list.is_empty()).then_some(list)
}

fn ranges(cpus: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for &cpu in cpus {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => parts.push((cpu, cpu)),
        }
    }
    let part = |(first, last): &(u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    parts.iter().map(part).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reads_back_is_told_from_what_was_written() {
        for (form, one, other, same) in [
            (Form::Words, "none", "[none] mq-deadline kyber \n", true),
            (Form::Words, "none", "none [mq-deadline] kyber \n", false),
            (Form::Words, "none", "none\n", true),
            (Form::Words, "4 4 1 7", "4\t4\t1\t7\n", true),
            (Form::Words, "write through", "write through\n", true),
            (Form::Words, "0", "N\n", true),
            (Form::Words, "1", "Y\n", true),
            (Form::Words, "2400000", "2400000\n", true),
            (Form::Words, "2400000", "2304000\n", false),
            (Form::Words, "performance", "default [performance] powersave powersupersave\n", true),
            (Form::Cpus, "0,1,2,3,8", "0-3,8\n", true),
            (Form::Cpus, "7", "7\n", true),
            (Form::Cpus, "0, 1", "0-1", true),
            (Form::Cpus, "7", "0-7\n", false),
        ] {
            assert_eq!(form.same(one, other), same, "{one:?} {other:?}");
        }
    }

    #[test]
    fn what_is_no_list_of_cpus_stays_text() {
        assert_eq!(Form::Cpus.normal("3-1\n"), "3-1");
        assert_eq!(cpus("0-99999999"), None);
        assert_eq!(cpus(""), None);
    }
}
