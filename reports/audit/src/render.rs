//! Findings as text for a terminal.

use crate::finding::{Finding, Grade};
use crate::{Audit, Seen};
use std::fmt::Write;

/// Lines quoted for one finding.
const QUOTED: usize = 4;

/// Findings as text: each with its lines, the right number and how to check it; then how many there are of each grade.
///
/// `name` stands before the line numbers, as compilers print them.
pub fn render(audit: &Audit, name: &str) -> String {
    let mut out = String::new();
    for finding in &audit.findings {
        one(&mut out, finding, name);
    }
    out.push_str(&summary(audit));
    out
}

fn one(out: &mut String, finding: &Finding, name: &str) {
    let line = finding.lines.first().map_or(0, |quote| quote.line);
    let grade = match finding.grade {
        Grade::Error => "error",
        Grade::Warning => "warning",
        Grade::Remark => "remark",
    };
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{name}:{line}: {grade}: {}", finding.message);
    for quote in finding.lines.iter().take(QUOTED) {
        let _ = writeln!(out, "  {:>5} | {}", quote.line, quote.text.trim_end());
    }
    if finding.lines.len() > QUOTED {
        let rest: Vec<String> = finding.lines[QUOTED..].iter().map(|quote| quote.line.to_string()).collect();
        let _ = writeln!(out, "        | also line {}", rest.join(", "));
    }
    if let Some(expected) = &finding.expected {
        let _ = writeln!(out, "  right: {expected}");
    }
    let _ = writeln!(out, "  check: {}\n", finding.check);
}

fn summary(audit: &Audit) -> String {
    let counted = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let grades = [(Grade::Error, "error"), (Grade::Warning, "warning"), (Grade::Remark, "remark")];
    let grades: Vec<String> = grades.iter().map(|(grade, word)| counted(audit.count(*grade), word)).collect();
    let Seen { tables, lists, outputs, commands, .. } = audit.seen;
    let seen =
        [(tables, "table"), (lists, "list of runs"), (outputs, "output of fio"), (commands, "fio command")];
    let plural = |(count, word): &(usize, &str)| match *word {
        "list of runs" if *count != 1 => format!("{count} lists of runs"),
        "output of fio" if *count != 1 => format!("{count} outputs of fio"),
        word => counted(*count, word),
    };
    let seen: Vec<String> = seen.iter().filter(|(count, _)| *count > 0).map(plural).collect();
    if seen.is_empty() {
        return "no fio output, table or list of results found: nothing to check\n".to_owned();
    }
    format!("{} in {}\n", grades.join(", "), seen.join(", "))
}
