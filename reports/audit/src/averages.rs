//! Averages: of runs in a line, of rows and columns, and those that prose states of a whole table.

use crate::finding::{Draft, Grade, Rule};
use crate::labels::{Label, Metric, Stat};
use crate::lists::Runs;
use crate::number::{self, Number, Unit, show};
use crate::ranges::is_central;
use crate::source::{Sentence, Source};
use crate::table::Table;

/// Cells this far apart are unlike: an arithmetic mean shows the larger.
const UNLIKE: f64 = 3.0;

/// Everything that one column says of one metric, over all tables that have the column.
#[derive(Clone, Debug)]
pub(crate) struct Arm {
    pub(crate) name: String,
    pub(crate) metric: Metric,
    /// Value in the printed unit and what it is of: place and row.
    pub(crate) cells: Vec<(String, f64)>,
}

impl Arm {
    fn mean(&self) -> f64 {
        self.cells.iter().map(|(_, value)| value).sum::<f64>() / self.cells.len() as f64
    }

    fn geometric(&self) -> f64 {
        let sum: f64 = self.cells.iter().map(|(_, value)| value.ln()).sum();
        (sum / self.cells.len() as f64).exp()
    }

    fn spread(&self) -> f64 {
        let values = || self.cells.iter().map(|(_, value)| *value);
        values().fold(f64::MIN, f64::max) / values().fold(f64::MAX, f64::min)
    }

    /// Change from another arm, in percent: of the arithmetic means and of the geometric ones.
    pub(crate) fn changes(&self, base: &Self) -> (f64, f64) {
        ((self.mean() / base.mean() - 1.0) * 100.0, (self.geometric() / base.geometric() - 1.0) * 100.0)
    }
}

/// Arms of all tables, in the order in which they come.
pub(crate) fn arms(tables: &[Table]) -> Vec<Arm> {
    let mut arms: Vec<Arm> = Vec::new();
    for table in tables {
        for (row, cells) in table.rows.iter().enumerate() {
            for (column, value) in cells.values.iter().enumerate() {
                let (Some(number), Some(name)) = (value, table.columns.get(column)) else { continue };
                let label = table.label(row, column);
                let Some(metric) = label.metric.filter(|_| is_central(&label) && number.value > 0.0) else {
                    continue;
                };
                let scale = if number.scaled { 1.0 } else { label.scale.unwrap_or(1.0) };
                let cell = (format!("{} {}", table.place(), cells.label), number.value * scale);
                match arms.iter_mut().find(|arm| arm.name == *name && arm.metric == metric) {
                    Some(arm) => arm.cells.push(cell),
                    None => arms.push(Arm { name: name.clone(), metric, cells: vec![cell] }),
                }
            }
        }
    }
    arms.retain(|arm| arm.cells.len() >= 2);
    arms
}

/// Averages of runs that are stated below them.
pub(crate) fn check_lists(lists: &[Runs]) -> Vec<Draft> {
    let finding = |runs: &Runs| {
        let (line, average) = runs.average.as_ref()?;
        let scale = if average.scaled && !runs.values[0].scaled { factor(average) } else { 1.0 };
        let stated = average.times(1.0 / scale);
        mean_finding(&runs.values, &stated, [*line, runs.line].to_vec(), &runs.title)
    };
    lists.iter().filter_map(finding).collect()
}

fn factor(number: &Number) -> f64 {
    let word = number.text.trim_start_matches(|c: char| !c.is_alphabetic());
    number::unit(word).map_or(1.0, |(factor, _)| factor)
}

/// The finding on a stated mean of values, if there is one.
fn mean_finding(values: &[Number], stated: &Number, lines: Vec<usize>, name: &str) -> Option<Draft> {
    let count = values.len() as f64;
    let mean = values.iter().map(|value| value.value).sum::<f64>() / count;
    let input = values.iter().map(|value| value.half).sum::<f64>() / count;
    let difference = (stated.value - mean).abs();
    if difference <= stated.half * 1.001 {
        return None;
    }
    let list = values.iter().map(|value| value.text.as_str()).collect::<Vec<_>>().join(", ");
    let decimals = stated
        .text
        .split_once('.')
        .map_or(0, |(_, rest)| rest.bytes().take_while(u8::is_ascii_digit).count());
    let name = if name.is_empty() { String::new() } else { format!("{name}: ") };
    // Cut in place of rounded, or made from numbers with more digits than these.
    let minor = difference <= stated.half * 2.0 + input;
    let (grade, what) =
        if minor { (Grade::Remark, "is not rounded from") } else { (Grade::Error, "is not the average of") };
    let message = format!("{name}{} {what} {list}", stated.text);
    Some(
        Draft::new(grade, Rule::Average, lines, message)
            .expected(number::show_to(mean, decimals.max(1)))
            .check(format!("add the {} numbers and divide by {}", values.len(), values.len())),
    )
}

/// Columns and rows of runs (`run 1`, `#2`) with an average beside them, in tables.
pub(crate) fn check_tables(tables: &[Table]) -> Vec<Draft> {
    let mut found = Vec::new();
    for table in tables {
        let runs: Vec<usize> =
            (0..table.columns.len()).filter(|column| is_run(&table.columns[*column])).collect();
        let stated = (0..table.columns.len()).find(|column| is_mean(&table.columns[*column]));
        if let (true, Some(stated)) = (runs.len() >= 2, stated) {
            for row in &table.rows {
                let values: Option<Vec<Number>> =
                    runs.iter().map(|column| row.values[*column].clone()).collect();
                if let (Some(values), Some(average)) = (values, &row.values[stated]) {
                    found.extend(mean_finding(&values, average, vec![row.line], &row.label));
                }
            }
        }
        found.extend(below(table));
    }
    found
}

/// A last row `average` below runs, or below cells.
fn below(table: &Table) -> Vec<Draft> {
    let Some(last) = table.rows.last().filter(|row| is_mean(&row.label) && table.rows.len() >= 3) else {
        return Vec::new();
    };
    let rows = &table.rows[..table.rows.len() - 1];
    let runs = rows.iter().all(|row| is_run(&row.label));
    // Rows of several metrics have no common average.
    if !runs
        && rows
            .iter()
            .any(|row| Label::read(&row.label).metric.is_some() || Label::read(&row.label).stat.is_some())
    {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (column, average) in last.values.iter().enumerate() {
        let values: Option<Vec<Number>> = rows.iter().map(|row| row.values[column].clone()).collect();
        let (Some(values), Some(average)) = (values, average) else { continue };
        if table.is_change(column) || average.unit == Unit::Percent {
            continue;
        }
        let lines = std::iter::once(last.line).chain(rows.iter().map(|row| row.line)).collect();
        // What a mean over cells is of is often not said: a geometric one is as good.
        let geometric = (values.iter().map(|v| v.value.max(f64::MIN_POSITIVE).ln()).sum::<f64>()
            / values.len() as f64)
            .exp();
        if !runs && (average.value - geometric).abs() <= average.half * 2.0 {
            continue;
        }
        found.extend(mean_finding(&values, average, lines, &table.column(column)));
    }
    found
}

fn is_run(name: &str) -> bool {
    let lower = name.to_lowercase();
    let rest = lower.trim_start_matches(['#', ' ']);
    let rest = ["run", "iteration", "iter", "trial", "test", "round", "loop"]
        .iter()
        .find_map(|word| rest.strip_prefix(word))
        .unwrap_or(rest);
    let rest = rest.trim_start_matches([' ', '#', '-', '_', '=']).trim_end_matches(['.', ':', ')']);
    let rest = ["st", "nd", "rd", "th"].iter().find_map(|end| rest.strip_suffix(end)).unwrap_or(rest);
    !rest.is_empty() && rest.len() <= 3 && rest.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_mean(name: &str) -> bool {
    let label = Label::read(name);
    label.stat == Some(Stat::Mean) && label.rest.is_empty()
}

/// Averages that a sentence states of the tables.
pub(crate) fn check_prose(
    source: &Source,
    sentences: &[Sentence],
    arms: &[Arm],
    known: &[f64],
) -> Vec<Draft> {
    let mut found = Vec::new();
    for sentence in sentences {
        let label = Label::read(&sentence.text);
        let says_mean = ["average", "mean", "avg"].iter().any(|word| has_word(&sentence.text, word));
        let Some(metric) = label.metric.filter(|_| says_mean) else { continue };
        let arms: Vec<&Arm> = arms.iter().filter(|arm| arm.metric == metric).collect();
        if arms.len() < 2 {
            continue;
        }
        let mut told = std::collections::BTreeSet::new();
        for number in number::numbers(&sentence.text).into_iter().map(|number| in_base(number, &arms)) {
            // Few digits are a round word, not a computed mean.
            if number.digits < 4
                || matches!(number.unit, Unit::Percent | Unit::Time)
                || is_near(&number, known)
            {
                continue;
            }
            let line = sentence.line(number.span.start);
            match stated_arm(&number, &arms) {
                Some(arm) if told.insert(line) => found.extend(unlike(line, &number, arm, &arms)),
                Some(_) => {}
                None => found.extend(wrong(source, line, &number, &sentence.text, &arms)),
            }
        }
    }
    found
}

/// A bandwidth without a unit is in that of the table.
fn in_base(number: Number, arms: &[&Arm]) -> Number {
    let near =
        |factor: &f64| arms.iter().any(|arm| (0.2..5.0).contains(&(number.value * factor / arm.mean())));
    match [1.0, 1e3, 1e6].into_iter().find(near) {
        Some(factor) if number.unit == Unit::None && !number.scaled => number.times(factor),
        _ => number,
    }
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric()).any(|found| found.eq_ignore_ascii_case(word))
}

fn is_near(number: &Number, known: &[f64]) -> bool {
    known.iter().any(|value| (value - number.value).abs() <= number.half * 1.01)
}

/// The arm whose arithmetic mean a number is.
fn stated_arm<'a>(number: &Number, arms: &[&'a Arm]) -> Option<&'a Arm> {
    let half = number.half * 2.01;
    arms.iter().copied().find(|arm| (arm.mean() - number.value).abs() <= half)
}

fn unlike(line: usize, number: &Number, arm: &Arm, arms: &[&Arm]) -> Option<Draft> {
    if arm.spread() < UNLIKE {
        return None;
    }
    let base = arms.iter().copied().find(|other| other.cells.len() == arm.cells.len())?;
    let changes: Vec<String> = arms
        .iter()
        .filter(|other| other.name != base.name && other.cells.len() == base.cells.len())
        .map(|other| {
            let (arithmetic, geometric) = other.changes(base);
            format!(
                "{} against {}: {arithmetic:+.1}% by arithmetic means, {geometric:+.1}% by geometric means",
                other.name, base.name
            )
        })
        .collect();
    let message = format!(
        "{} is the arithmetic mean of {} cells of {} that lie {:.0} times apart: the largest decide it",
        number.text,
        arm.cells.len(),
        arm.name,
        arm.spread()
    );
    Some(
        Draft::new(Grade::Warning, Rule::UnlikeCells, [line], message)
            .expected(changes.join("; "))
            .check("compare each cell with itself, or average the logarithms of the ratios"),
    )
}

fn wrong(source: &Source, line: usize, number: &Number, sentence: &str, arms: &[&Arm]) -> Option<Draft> {
    let scale = |arm: &Arm| arm.mean() / number.value;
    // A number of another size is about something else.
    if !arms.iter().any(|arm| (0.5..2.0).contains(&scale(arm))) || source.rows.get(line).is_none() {
        return None;
    }
    // Means over some of the cells only: one board, one direction.
    if arms
        .iter()
        .any(|arm| partial(arm).iter().any(|mean| (mean - number.value).abs() <= number.half * 2.01))
    {
        return None;
    }
    let unit = if number.scaled { factor(number) } else { 1.0 };
    let means: Vec<String> =
        arms.iter().map(|arm| format!("{} {}", arm.name, number::show_to(arm.mean() / unit, 2))).collect();
    let mentioned = arms.iter().any(|arm| mentions(sentence, &arm.name));
    let grade = if mentioned { Grade::Error } else { Grade::Warning };
    let count = arms[0].cells.len();
    Some(
        Draft::new(
            grade,
            Rule::Average,
            [line],
            format!("no column of the table has the mean {}", number.text),
        )
        .expected(format!("arithmetic means of {count} cells: {}", means.join(", ")))
        .check(format!("add the {count} cells of the column and divide by {count}")),
    )
}

/// Whether a sentence has a word of a name.
fn mentions(sentence: &str, name: &str) -> bool {
    name.split([' ', '+']).filter(|word| word.len() >= 4).any(|word| sentence.contains(word))
}

/// Means over the cells that share a word, and geometric ones.
fn partial(arm: &Arm) -> Vec<f64> {
    let mut means = vec![arm.geometric()];
    let words: std::collections::BTreeSet<&str> =
        arm.cells.iter().flat_map(|(name, _)| name.split_whitespace()).collect();
    for word in words {
        let values: Vec<f64> = arm
            .cells
            .iter()
            .filter(|(name, _)| name.split_whitespace().any(|w| w == word))
            .map(|(_, v)| *v)
            .collect();
        means.push(values.iter().sum::<f64>() / values.len() as f64);
    }
    means.push(show(arm.mean()).replace(',', "").parse().unwrap_or(arm.mean()));
    means
}
