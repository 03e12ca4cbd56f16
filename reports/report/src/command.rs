//! The fio commands of a run, summarised: one line for all cells whose options form a full product, with the values that
//! differ in braces as a shell expands them.

use crate::findings::Timing;
use kab_model::{Cell, FioOption};

/// The options of the commands, each workload on its own; the target is `<name>`.
pub(crate) fn summarise(cells: &[Cell]) -> Vec<Vec<String>> {
    let mut commands = Vec::new();
    let mut rest: Vec<&Cell> = cells.iter().collect();
    while let Some(first) = rest.first().copied() {
        let (same, other): (Vec<&Cell>, Vec<&Cell>) = rest.iter().partition(|cell| same_shape(cell, first));
        products(&same, &mut commands);
        rest = other;
    }
    commands
}

/// Run time and ramp time of a cell. What the options say is believed where it adds up to the time that was planned.
pub(crate) fn timing(cell: &Cell) -> Option<Timing> {
    let planned_ms = cell.planned_ms?;
    let of = |name: &str| cell.fio.iter().rev().find(|option| option.name == name);
    let ramp_ms = of("ramp_time").and_then(|option| milliseconds(&option.value)).unwrap_or(0);
    let runtime_ms = of("runtime").and_then(|option| milliseconds(&option.value));
    match runtime_ms {
        Some(runtime_ms) if runtime_ms + ramp_ms == planned_ms => Some(Timing { runtime_ms, ramp_ms }),
        _ => Some(Timing { runtime_ms: planned_ms, ramp_ms: 0 }),
    }
}

/// A time as fio reads it, without a unit in seconds; nothing for the rarer ways to write one.
fn milliseconds(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let factor = match text[digits..].trim() {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    number.checked_mul(factor).filter(|ms| *ms <= u64::from(u32::MAX))
}

/// Braces can only join cells with the same option names in the same order, on the same target.
fn same_shape(a: &Cell, b: &Cell) -> bool {
    let names = |cell: &Cell| cell.fio.iter().map(|option| option.name.clone()).collect::<Vec<_>>();
    a.workload == b.workload && a.target == b.target && names(a) == names(b)
}

/// Adds one command where the values form a full product, else splits at the option with the fewest values.
fn products(cells: &[&Cell], commands: &mut Vec<Vec<String>>) {
    let Some(first) = cells.first() else { return };
    let values: Vec<Vec<&str>> = (0..first.fio.len()).map(|at| distinct(cells, at)).collect();
    let full = values.iter().map(Vec::len).product::<usize>();
    let split = (0..values.len()).filter(|at| values[*at].len() > 1).min_by_key(|at| values[*at].len());
    match split {
        Some(at) if full != cells.len() => {
            for value in &values[at] {
                let part: Vec<&Cell> =
                    cells.iter().copied().filter(|cell| cell.fio[at].value == *value).collect();
                products(&part, commands);
            }
        }
        _ => commands.push(command(first, &values)),
    }
}

fn distinct<'a>(cells: &[&'a Cell], at: usize) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for cell in cells {
        let value = cell.fio[at].value.as_str();
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}

fn command(cell: &Cell, values: &[Vec<&str>]) -> Vec<String> {
    let mut words = vec![format!("--name={}", cell.workload)];
    let named = |option: &&FioOption| option.name == "name";
    if cell.fio.iter().any(|option| named(&option)) {
        words.clear();
    }
    for (option, values) in cell.fio.iter().zip(values) {
        if option.name != "filename" {
            words.push(word(&option.name, values));
        }
    }
    words.push(format!("--filename=<{}>", cell.target));
    words
}

fn word(name: &str, values: &[&str]) -> String {
    match values {
        [] | [""] => format!("--{name}"),
        [one] => format!("--{name}={}", quoted(one)),
        many => format!("--{name}={}", braces(many)),
    }
}

fn quoted(value: &str) -> String {
    let plain = value.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:,%=+@".contains(c));
    if plain { value.to_owned() } else { format!("'{}'", value.replace('\'', "'\\''")) }
}

/// `rand{read,write}`: what all values begin with stands before the brace, where it is more than a letter or two.
fn braces(values: &[&str]) -> String {
    let first = values[0];
    let common = first
        .char_indices()
        .map(|(at, c)| at + c.len_utf8())
        .take_while(|end| values.iter().all(|value| value.starts_with(&first[..*end])))
        .last()
        .unwrap_or(0);
    let numeric = values.iter().any(|value| value.starts_with(|c: char| c.is_ascii_digit()));
    let cut = if common >= 3 && !numeric { common } else { 0 };
    let parts: Vec<String> = values.iter().map(|value| quoted(&value[cut..])).collect();
    format!("{}{{{}}}", &first[..cut], parts.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(options: &[(&str, &str)]) -> Cell {
        Cell {
            id: "w/x".into(),
            workload: "w".to_owned(),
            label: "x".to_owned(),
            axes: Vec::new(),
            fio: options
                .iter()
                .map(|(name, value)| FioOption { name: (*name).to_owned(), value: (*value).to_owned() })
                .collect(),
            target: "disk".into(),
            writes: false,
            planned_ms: None,
        }
    }

    #[test]
    fn a_full_product_is_one_command() {
        let cells: Vec<Cell> = ["randread", "randwrite"]
            .iter()
            .flat_map(|rw| ["1", "8"].map(|jobs| cell(&[("rw", rw), ("numjobs", jobs), ("time_based", "")])))
            .collect();
        let commands = summarise(&cells);
        assert_eq!(commands.len(), 1);
        assert_eq!(
            commands[0].join(" "),
            "--name=w --rw=rand{read,write} --numjobs={1,8} --time_based --filename=<disk>"
        );
    }

    #[test]
    fn the_ramp_is_no_part_of_the_run_time() {
        let timed = |runtime: &str, ramp: &str, planned_ms| {
            let cell = Cell { planned_ms, ..cell(&[("ramp_time", ramp), ("runtime", runtime)]) };
            timing(&cell).map(|timing| (timing.runtime_ms, timing.ramp_ms))
        };
        assert_eq!(timed("2s", "500ms", Some(2500)), Some((2000, 500)));
        assert_eq!(timed("1m", "5", Some(65_000)), Some((60_000, 5000)));
        assert_eq!(timed("00:01:30", "5", Some(95_000)), Some((95_000, 0)), "not understood, not guessed");
        assert_eq!(timed("2s", "1s", None), None);
    }

    #[test]
    fn braces_never_claim_a_cell_that_was_not_run() {
        let cells = [
            cell(&[("rw", "read"), ("bs", "512k")]),
            cell(&[("rw", "write"), ("bs", "512k")]),
            cell(&[("rw", "randread"), ("bs", "4k")]),
        ];
        let commands: Vec<String> = summarise(&cells).iter().map(|words| words.join(" ")).collect();
        assert_eq!(
            commands,
            [
                "--name=w --rw={read,write} --bs=512k --filename=<disk>",
                "--name=w --rw=randread --bs=4k --filename=<disk>",
            ]
        );
    }

    #[test]
    fn numbers_keep_their_digits_together_and_odd_values_are_quoted() {
        assert_eq!(word("bs", &["1024", "1025"]), "--bs={1024,1025}");
        assert_eq!(word("filename_format", &["a $x"]), "--filename_format='a $x'");
    }
}
