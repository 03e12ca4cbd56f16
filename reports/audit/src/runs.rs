//! How many runs stand behind a comparison.

use crate::finding::{Draft, Grade, Rule};
use crate::lists::Runs;
use crate::pairs;
use kab_fio::Document;

/// Runs of each arm from which a rank test can reach p < 0.05 (two-sided; 4 + 4: 2/70).
const ENOUGH: usize = 4;

/// Too few runs in lists of two arms.
pub(crate) fn check_lists(lists: &[Runs]) -> Vec<Draft> {
    let pairs = pairs::of_lists(lists);
    let few: Vec<&Runs> = lists.iter().filter(|runs| runs.values.len() < ENOUGH).collect();
    let Some(first) = few.first().filter(|_| !pairs.is_empty()) else { return Vec::new() };
    let count = first.values.len();
    let p = 2.0 / choose(2 * count, count);
    let message = format!("{count} runs of each arm: the smallest p that a rank test can give is {p:.2}");
    vec![
        Draft::new(Grade::Remark, Rule::FewRuns, [first.line], message)
            .expected(format!("{ENOUGH} or more runs of each, better boots"))
            .check("with n runs of each arm, two-sided: 2 / (2n over n)"),
    ]
}

/// One run of each arm in fio's outputs.
pub(crate) fn check_documents(documents: &[&Document]) -> Vec<Draft> {
    let pairs = pairs::of_documents(documents);
    let once = documents.len() == 2 && !pairs.is_empty();
    let Some(pair) = pairs.first().filter(|_| once) else { return Vec::new() };
    let message = "one run of each arm is shown: that they differ by chance cannot be ruled out".to_owned();
    vec![
        Draft::new(Grade::Remark, Rule::FewRuns, pair.lines, message)
            .expected(format!("{ENOUGH} or more runs of each, better boots"))
            .check(
                "run each arm several times, in turns, and compare the spread of an arm with the difference",
            ),
    ]
}

fn choose(n: usize, k: usize) -> f64 {
    (1..=k).fold(1.0, |product, index| product * (n - k + index) as f64 / index as f64)
}
