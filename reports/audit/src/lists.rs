//! Runs in a line with their average below: `Speed: 168 164 165`, `Average speed: 165.67MB/s`.

use crate::labels::Label;
use crate::number::{self, Number};
use crate::source::Source;

/// The runs of one arm and cell.
#[derive(Clone, Debug)]
pub(crate) struct Runs {
    /// Index of the line.
    pub(crate) line: usize,
    pub(crate) values: Vec<Number>,
    /// The average that is stated, and its line.
    pub(crate) average: Option<(usize, Number)>,
    /// Line above, without its number: the cell.
    pub(crate) title: String,
    /// Line above the first title of a group: the arm.
    pub(crate) section: String,
}

/// All lists; their lines are marked as taken.
pub(crate) fn lists(source: &mut Source) -> Vec<Runs> {
    let mut found: Vec<Runs> = Vec::new();
    let mut section = String::new();
    for index in 0..source.rows.len() {
        if source.rows[index].taken {
            continue;
        }
        let Some(values) = run_values(source.text(index)) else { continue };
        let average =
            (index + 1..index + 3).find_map(|line| average(source.text(line)).map(|value| (line, value)));
        if average.is_none() && found.last().is_none_or(|last| last.average.is_none()) {
            continue;
        }
        let titled = title_above(source, index);
        if let Some(line) = titled
            && let Some(above) = section_above(source, line)
        {
            section = unnumbered(source.text(above));
        }
        let title = titled.map(|line| unnumbered(source.text(line))).unwrap_or_default();
        source.take([index].into_iter().chain(titled).chain(average.as_ref().map(|(line, _)| *line)));
        found.push(Runs { line: index, values, average, title, section: section.clone() });
    }
    found
}

/// `label: 1 2 3`, nothing but numbers behind a colon.
fn run_values(text: &str) -> Option<Vec<Number>> {
    let (label, rest) = text.split_once([':', '='])?;
    let plain = label.len() < 60 && label.chars().any(char::is_alphabetic);
    let words: Vec<&str> = rest.split([' ', ',', ';']).filter(|word| !word.is_empty()).collect();
    if !plain || words.len() < 2 || Label::read(label).stat.is_some() {
        return None;
    }
    let mut values = Vec::new();
    for word in words {
        match number::whole(word) {
            Some(number) => values.push(number),
            None if number::unit(word).is_some() || word == "/" => {}
            None => return None,
        }
    }
    (values.len() >= 2).then_some(values)
}

/// `Average speed: 165.67MB/s`, `avg = 12`
fn average(text: &str) -> Option<Number> {
    let (label, rest) = text.split_once([':', '='])?;
    let label = Label::read(label);
    let only = &number::numbers(rest)[..];
    let [number] = only else { return None };
    (label.stat == Some(crate::labels::Stat::Mean)).then(|| number.clone())
}

/// The line above that names the cell.
fn title_above(source: &Source, line: usize) -> Option<usize> {
    let above = line.checked_sub(1)?;
    let row = &source.rows[above];
    let good = !row.taken && row.depth == source.rows[line].depth && !row.text.trim().is_empty();
    (good && row.text.len() < 100 && run_values(&row.text).is_none()).then_some(above)
}

/// The line above a title that names the arm.
fn section_above(source: &Source, title: usize) -> Option<usize> {
    let above = title.checked_sub(1)?;
    let row = &source.rows[above];
    let good = !row.taken && row.depth == source.rows[title].depth && !row.text.trim().is_empty();
    (good && row.text.len() < 120).then_some(above)
}

/// Without `1.`, `2)`, `-`.
fn unnumbered(text: &str) -> String {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &text[digits..];
    let rest = if digits > 0 { rest.strip_prefix(['.', ')']).unwrap_or(text) } else { text };
    rest.trim_start_matches(['-', '*', '#', ' ']).trim().trim_end_matches(':').to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn runs_have_title_section_and_average() {
        let text = "1.Fixed\n1) Seq write:\nSpeed: 168 164 165\nAverage speed: 165.67MB/S\n\n2) Seq read:\nSpeed: 1, 2, 3\nAverage: 2\n";
        let posted = kab_mail::read(text.as_bytes()).unwrap();
        let found = lists(&mut Source::of(&posted.mails[0]));
        let names: Vec<_> = found
            .iter()
            .map(|runs| (runs.section.as_str(), runs.title.as_str(), runs.values.len()))
            .collect();
        assert_eq!(names, [("Fixed", "Seq write", 3), ("Fixed", "Seq read", 3)]);
        assert!((found[0].average.as_ref().unwrap().1.value - 165.67e6).abs() < 1.0);
    }
}
