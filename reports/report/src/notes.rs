//! What went wrong and what follows from it: failures for the answer, the rest for the notes.

use crate::build_error;
use crate::findings::{Board, CountDifference, Findings, Mean, Seen, Tally, Verdict};
use crate::quantity::{clip, counted, kept, p_value};
use crate::sections::Setting;

/// Characters of evidence that a sentence quotes.
const QUOTED: usize = 90;

/// What a variant did not deliver: the gravest part of an answer.
pub(crate) fn failures(setting: &Setting) -> Vec<String> {
    let mut sentences = Vec::new();
    for (at, variant) in setting.findings.variants.iter().enumerate() {
        if let Some(error) = &variant.build_error {
            let cause = clip(&setting.plain(&build_error::cause(error)), QUOTED);
            sentences.push(format!("{} could not be built: {cause}", variant.letter));
        }
        for board in &setting.findings.boards {
            let tally = &board.tallies[at];
            let mut say = |did: &str, seen: &[Seen], total: usize, what: &str| {
                if !seen.is_empty() {
                    let count: usize = seen.iter().map(|seen| seen.count).sum();
                    let on = on_board(setting, board);
                    let times = format!("{count} of {}", counted(total, what));
                    sentences.push(format!(
                        "{} {did}{on} in {times}: {}",
                        variant.letter,
                        causes(setting, seen)
                    ));
                }
            };
            say("did not boot", &tally.boot_failures, tally.visits, "boot");
            say("crashed under load", &tally.crashes, tally.visits, "boot");
            if tally.failed_trials > 0 {
                let times = format!("{} of {}", tally.failed_trials, counted(tally.trials, "trial"));
                let (on, causes) = (on_board(setting, board), causes(setting, &tally.failed));
                sentences.push(format!("{} failed{on} in {times}: {causes}", variant.letter));
            }
        }
    }
    sentences
}

/// Everything else about how trials ended, and how far verdicts rest on it.
pub(crate) fn notes(setting: &Setting) -> Vec<String> {
    let findings = setting.findings;
    if findings.boards.is_empty() {
        return Vec::new();
    }
    let mut notes = Vec::new();
    match &findings.posted {
        // Of stalls and errors nothing is known there: to say that there were none would be made up.
        Some(posted) => {
            let told = posted.notes.iter().map(|note| format!("Posted with it: {}", setting.plain(note)));
            notes.extend(told);
        }
        None => noted(setting, &mut notes),
    }
    notes.extend(findings.without_noted.iter().map(|changed| {
        format!(
            "Without the noted trials {} in {} would be {} instead of {}.",
            setting.versus(changed.pair),
            setting.place(changed.board, changed.cell),
            changed.without.word(),
            changed.with.word()
        )
    }));
    outlying(setting, &mut notes);
    void(setting, &mut notes);
    interrupted(setting, &mut notes);
    for board in &findings.boards {
        notes.extend(board.count_differences.iter().map(|found| count_difference(setting, board, found)));
    }
    not_measured(setting, &mut notes);
    partial_rounds(setting, &mut notes);
    robust(setting, &mut notes);
    notes.extend(more_rounds(findings));
    notes
}

fn noted(setting: &Setting, notes: &mut Vec<String>) {
    let quiet = |tally: &Tally| tally.noted_trials == 0 && tally.failed_trials == 0;
    if setting.findings.boards.iter().all(|board| board.tallies.iter().all(quiet)) {
        notes.push("Stalls, warnings, I/O errors in trials: none.".to_owned());
        return;
    }
    each(setting, notes, "Noted, numbers kept", |tally| (tally.noted_trials, tally.trials, &tally.noted));
}

fn outlying(setting: &Setting, notes: &mut Vec<String>) {
    for board in &setting.findings.boards {
        let of_variant = |(variant, found): (usize, &crate::findings::Outliers)| {
            let kinds = [(found.low, "low"), (found.high, "high")];
            let kinds: Vec<String> = kinds
                .iter()
                .filter(|(count, _)| *count > 0)
                .map(|(count, kind)| format!("{count} {kind}"))
                .collect();
            let text = format!("{} {} of {}", setting.letter(variant), kinds.join(" and "), found.of);
            (!kinds.is_empty()).then(|| kept(&text))
        };
        let variants: Vec<String> = board.outliers.iter().enumerate().filter_map(of_variant).collect();
        if !variants.is_empty() {
            notes.push(format!("Outlying trials, kept{}: {}", on_board(setting, board), variants.join(", ")));
        }
    }
}

fn void(setting: &Setting, notes: &mut Vec<String>) {
    each(setting, notes, "Void and repeated (the lab's fault)", |tally| {
        (tally.void_trials, tally.trials + tally.void_trials, &tally.void)
    });
    for board in &setting.findings.boards {
        for (variant, tally) in
            board.tallies.iter().enumerate().filter(|(_, tally)| !tally.void_visits.is_empty())
        {
            let count = tally.void_visits.iter().map(|seen| seen.count).sum();
            notes.push(format!(
                "Void and repeated (the lab's fault): {}{}, {}: {}",
                setting.letter(variant),
                on_board(setting, board),
                counted(count, "boot"),
                causes(setting, &tally.void_visits)
            ));
        }
    }
}

/// Visits that ended with kab: they say nothing of a variant, but a reader is told that the schedule was disturbed.
fn interrupted(setting: &Setting, notes: &mut Vec<String>) {
    type Count = fn(&Tally) -> usize;
    let kinds: [(&str, Count); 2] = [
        (" and repeated", |tally| tally.interrupted),
        (", not repeated", |tally| tally.interrupted_for_good),
    ];
    for (then, count) in kinds {
        let mut parts = Vec::new();
        for board in &setting.findings.boards {
            for (variant, tally) in board.tallies.iter().enumerate().filter(|(_, tally)| count(tally) > 0) {
                let boots = counted(count(tally), "boot");
                parts.push(kept(&format!("{}{} {boots}", setting.letter(variant), on_board(setting, board))));
            }
        }
        if !parts.is_empty() {
            notes.push(format!("Interrupted by the operator{then}: {}", parts.join(", ")));
        }
    }
}

/// One sentence for each variant that has any of what `pick` finds: hits, trials and reasons.
fn each<'a>(
    setting: &Setting<'a>,
    notes: &mut Vec<String>,
    what: &str,
    pick: impl Fn(&'a Tally) -> (usize, usize, &'a Vec<Seen>),
) {
    for board in &setting.findings.boards {
        for (variant, tally) in board.tallies.iter().enumerate() {
            let (hits, of, seen) = pick(tally);
            if hits > 0 {
                notes.push(format!(
                    "{what}: {}{}, {hits} of {}: {}",
                    setting.letter(variant),
                    on_board(setting, board),
                    counted(of, "trial"),
                    causes(setting, seen)
                ));
            }
        }
    }
}

fn count_difference(setting: &Setting, board: &Board, found: &CountDifference) -> String {
    let (candidate, reference) = setting.findings.pairs[found.pair];
    let ((hits, of), (base_hits, base_of)) = (found.candidate, found.reference);
    format!(
        "{}{}: {} {hits} of {of}, {} {base_hits} of {base_of}; more than chance (Fisher {}).",
        capital(&found.what),
        on_board(setting, board),
        setting.letter(candidate),
        setting.letter(reference),
        p_value(found.p)
    )
}

/// What was given up, and after the end of a run also what has no number for no other reason.
fn not_measured(setting: &Setting, notes: &mut Vec<String>) {
    for board in &setting.findings.boards {
        for (variant, reason) in &board.given_up {
            let who = variant.map_or("all variants", |variant| setting.letter(variant));
            let reason = clip(&setting.plain(reason), QUOTED);
            notes.push(format!("Given up: {who}{}: {reason}", on_board(setting, board)));
        }
        if !setting.findings.progress.finished {
            continue;
        }
        for (variant, found) in setting.findings.variants.iter().enumerate() {
            // The one that stands for it was measured.
            if found.same_as.is_some() {
                continue;
            }
            let missing = |cell: &&crate::findings::Cell| cell.metrics[0].means[variant] == Mean::Missing;
            let labels: Vec<String> =
                board.cells.iter().filter(missing).map(|cell| setting.plain(&cell.label)).collect();
            if !labels.is_empty() {
                let which = if labels.len() == board.cells.len() {
                    "all tests".to_owned()
                } else {
                    clip(&labels.join(", "), 60)
                };
                let (who, on) = (setting.letter(variant), on_board(setting, board));
                notes.push(format!("Not measured: {who}{on} ({which})"));
            }
        }
    }
}

/// A change from fewer rounds than the means beside it does not follow from them: the reader is told.
fn partial_rounds(setting: &Setting, notes: &mut Vec<String>) {
    for pair in 0..setting.findings.pairs.len() {
        for board in &setting.findings.boards {
            let rounds: Vec<usize> =
                board.cells.iter().filter_map(|c| c.metrics[0].changes[pair].rounds).collect();
            if let Some(least) = rounds.iter().min() {
                notes.push(format!(
                    "{}{}: changes are from the {} that both have, means from all boots.",
                    setting.versus(pair),
                    on_board(setting, board),
                    counted(*least, "round")
                ));
            }
        }
    }
}

fn robust(setting: &Setting, notes: &mut Vec<String>) {
    for (at, board) in setting.findings.boards.iter().enumerate() {
        for (cell, found) in board.cells.iter().enumerate() {
            for (pair, _) in found.metrics[0].changes.iter().enumerate().filter(|(_, change)| change.robust) {
                notes.push(format!(
                    "{} in {}: robust interval (of ranks); an outlier is in the means.",
                    setting.versus(pair),
                    setting.place(at, cell)
                ));
            }
        }
    }
}

fn more_rounds(findings: &Findings) -> Option<String> {
    let cells = findings.boards.iter().flat_map(|board| &board.cells);
    let undecided: Vec<Option<usize>> = cells
        .flat_map(|cell| &cell.metrics[0].changes)
        .filter(|change| change.verdict == Verdict::Undecided)
        .map(|change| change.more_rounds)
        .collect();
    let within: Vec<usize> = undecided.iter().copied().flatten().collect();
    let beyond = undecided.len() - within.len();
    let about = within.iter().min().zip(within.iter().max()).map(|(least, most)| {
        let from = if least < most { format!("{least} to ") } else { String::new() };
        format!("about {from}{}", counted(*most, "more round"))
    });
    Some(match (about, beyond) {
        (None, 0) => return None,
        (Some(about), 0) => format!("Undecided: {about} may decide."),
        (None, _) => "Undecided: needs more than 100 more rounds: reduce the noise between boots.".to_owned(),
        (Some(about), _) => format!(
            "Undecided: {about} may decide {} of {}; the rest needs more than 100: reduce the noise between boots.",
            within.len(),
            undecided.len()
        ),
    })
}

/// The rules that spoke, the most frequent first, each with its first evidence.
fn causes(setting: &Setting, seen: &[Seen]) -> String {
    let mut seen: Vec<&Seen> = seen.iter().collect();
    seen.sort_by_key(|seen| std::cmp::Reverse(seen.count));
    let several = seen.len() > 1;
    let one = |seen: &&Seen| {
        let times = if seen.count > 1 && several { format!("{} x ", seen.count) } else { String::new() };
        format!("{times}{}: {}", seen.rule, seen.detail)
    };
    seen.iter().map(one).map(|cause| clip(&setting.plain(&cause), QUOTED)).collect::<Vec<_>>().join("; ")
}

/// ` on vm-ufs` where there are several boards.
fn on_board(setting: &Setting, board: &Board) -> String {
    if setting.findings.boards.len() > 1 {
        format!(" on {}", setting.plain(&board.name))
    } else {
        String::new()
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_ascii_uppercase().to_string() + chars.as_str()).unwrap_or_default()
}
