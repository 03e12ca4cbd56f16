//! Claims in prose: `~26% reduction`, `improved by 4.6%`, `1055K -> 1206K`, `from 10 to 12 (+20%)`.

use crate::finding::{Draft, Grade, Rule};
use crate::number::{self, Number, Unit};
use crate::pairs::{Pair, Value, change};
use crate::source::{Sentence, Source};

const DOWN: [&str; 16] = [
    "reduc", "drop", "decreas", "degrad", "regress", "slow", "worse", "lower", "loss", "lose", "fall",
    "fell", "less", "declin", "shrink", "hit",
];
const UP: [&str; 13] = [
    "improv", "increas", "gain", "boost", "faster", "better", "higher", "rais", "rise", "rose", "speedup",
    "speed-up", "more",
];

/// Words of something that the numbers of fio do not measure.
const FOREIGN: [&str; 19] = [
    "bench",
    "antutu",
    "hackbench",
    "iozone",
    "bonnie",
    "cpu",
    "power",
    "energy",
    "confidence",
    "usage",
    "utili",
    "margin",
    "noise",
    "temperature",
    "memory",
    "code",
    "reports",
    "percentile",
    "within",
];

/// Two numbers that a sentence sets against each other.
struct Move {
    from: Number,
    to: Number,
}

/// Everything that claims are checked against.
pub(crate) struct Evidence<'a> {
    pub(crate) pairs: &'a [Pair],
    /// Every value of the results, in base units or as printed.
    pub(crate) known: &'a [f64],
}

/// What sentences claim and the numbers do not carry.
pub(crate) fn check(source: &Source, sentences: &[Sentence], evidence: &Evidence<'_>) -> Vec<Draft> {
    let mut found = Vec::new();
    for sentence in sentences {
        let moves = moves(&sentence.text);
        let percents = percents(&sentence.text);
        if let ([one], [percent]) = (&moves[..], &percents[..]) {
            found.extend(explicit(sentence, one, percent));
        } else if moves.is_empty() {
            found.extend(percents.iter().filter_map(|percent| implicit(source, sentence, percent, evidence)));
        }
        if percents.len() != 1 {
            found.extend(moves.iter().filter_map(|one| direction(sentence, one)));
        }
        found.extend(moves.iter().filter_map(|one| unsupported(sentence, one, evidence)));
    }
    found
}

/// `A -> B`, `from A to B`, `A to B`, `A vs B`.
fn moves(text: &str) -> Vec<Move> {
    let numbers = number::numbers(text);
    let plain = |number: &Number| !matches!(number.unit, Unit::Percent);
    let mut moves = Vec::new();
    for (first, second) in numbers.iter().zip(numbers.iter().skip(1)) {
        if !plain(first) || !plain(second) || second.span.start < first.span.end {
            continue;
        }
        let between = text[first.span.end..second.span.start].trim();
        let arrow = matches!(between, "->" | "-->" | "=>" | "→" | "==>");
        let from = text[..first.span.start].trim_end().to_lowercase().ends_with("from");
        if !(arrow || between == "to" && from) {
            continue;
        }
        let mut from = first.clone();
        // `10 -> 12 MB/s`: the unit is said once.
        if from.unit == Unit::None && !from.scaled && second.unit != Unit::None {
            let word = second.text.trim_start_matches(|c: char| !c.is_alphabetic());
            let factor =
                number::unit(word.split(' ').next().unwrap_or(word)).map_or(1.0, |(factor, _)| factor);
            from = Number { unit: second.unit, ..from.times(factor) };
        }
        if from.value > 0.0 && second.value > 0.0 {
            moves.push(Move { from, to: second.clone() });
        }
    }
    moves
}

/// Percentages that stand beside a word of change.
fn percents(text: &str) -> Vec<Number> {
    let lower = text.to_lowercase();
    let near = |number: &Number| {
        const BEFORE: usize = 60;
        const AFTER: usize = 40;
        let start = floor(&lower, number.span.start.min(lower.len()).saturating_sub(BEFORE));
        let end = floor(&lower, (number.span.end + AFTER).min(lower.len()));
        let around = &lower[start..end];
        DOWN.iter().chain(&UP).any(|word| around.contains(word))
    };
    let numbers = number::numbers(text).into_iter().filter(|number| number.unit == Unit::Percent);
    numbers.filter(|number| near(number) && number.value != 0.0 && number.value.abs() < 10_000.0).collect()
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// How far a stated percentage may be off.
fn slack(percent: &Number) -> f64 {
    let about = if percent.about { (percent.value.abs() * 0.05).max(percent.half * 2.0) } else { 0.0 };
    percent.half.max(about) * 1.01
}

fn fits(percent: &Number, (low, high): (f64, f64)) -> bool {
    let stated = percent.value.abs();
    let slack = slack(percent);
    let (a, b) = (low.abs().min(high.abs()), low.abs().max(high.abs()));
    let a = if low.signum() == high.signum() { a } else { 0.0 };
    low.is_finite() && high.is_finite() && stated + slack >= a && stated - slack <= b
}

fn middle((low, high): (f64, f64)) -> f64 {
    f64::midpoint(low, high)
}

/// Both numbers and the percentage stand in one sentence.
fn explicit(sentence: &Sentence, one: &Move, percent: &Number) -> Option<Draft> {
    let value = |number: &Number| Value { value: number.value, half: number.half };
    let forward = change(value(&one.from), value(&one.to));
    if fits(percent, forward) {
        return None;
    }
    let line = sentence.line(percent.span.start);
    let right = middle(forward);
    let backward = change(value(&one.to), value(&one.from));
    let off = (percent.value.abs() - right.abs()).abs();
    let (grade, why) = if fits(percent, backward) {
        (Grade::Warning, "; it was divided by the new value in place of the old one")
    } else if off < 1.0 && off < right.abs() * 0.1 {
        (Grade::Warning, "; it is close, and not what these digits give")
    } else {
        (Grade::Error, "")
    };
    let message = format!("{} does not follow from {} -> {}{why}", percent.text, one.from.text, one.to.text);
    let check = format!("({} / {} - 1) x 100", one.to.text, one.from.text);
    Some(Draft::new(grade, Rule::Percentage, [line], message).expected(format!("{right:+.1}%")).check(check))
}

/// A percentage whose numbers stand elsewhere.
fn implicit(
    source: &Source,
    sentence: &Sentence,
    percent: &Number,
    evidence: &Evidence<'_>,
) -> Option<Draft> {
    let line = sentence.line(percent.span.start);
    let fitting: Vec<&Pair> = evidence
        .pairs
        .iter()
        .filter(|pair| fits(percent, pair.change()) || fits(percent, pair.backwards()) && is_falling(pair))
        .collect();
    if !fitting.is_empty() {
        return overlapping(line, percent, &fitting);
    }
    let lower = sentence.text.to_lowercase();
    if FOREIGN.iter().any(|word| lower.contains(word))
        || is_summary(&lower)
        || source.rows.get(line).is_none()
    {
        return None;
    }
    let named: Vec<&Pair> = evidence.pairs.iter().filter(|pair| names(&lower, &pair.words)).collect();
    let (candidates, grade) = if named.is_empty() {
        (evidence.pairs.iter().collect(), Grade::Warning)
    } else {
        (named, Grade::Error)
    };
    // With many cells it is a guess which one is meant.
    const FEW: usize = 40;
    if candidates.is_empty() || candidates.len() > FEW {
        return None;
    }
    let wrong_base =
        candidates.iter().find(|pair| fits(percent, pair.backwards()) || fits(percent, pair.change()));
    let distance = |pair: &&Pair| (middle(pair.change()).abs() - percent.value.abs()).abs();
    let nearest =
        wrong_base.or_else(|| candidates.iter().min_by(|a, b| distance(a).total_cmp(&distance(b))))?;
    let (grade, why) = match wrong_base {
        Some(_) => (Grade::Warning, "divides by the wrong one of two numbers"),
        None => (grade, "follows from no two numbers of these results"),
    };
    let message = format!("{} {why}", percent.text);
    let lines = [line, nearest.lines[0], nearest.lines[1]];
    Some(
        Draft::new(grade, Rule::Percentage, lines, message)
            .expected(format!("{:+.1}% ({})", middle(nearest.change()), nearest.name))
            .check("(new / old - 1) x 100, of the numbers that are compared"),
    )
}

/// The answer of one of kab's reports, whose table may be elsewhere: `B vs A: IOPS worse in 1 of 4 tests (... -9.7%)`.
fn is_summary(lower: &str) -> bool {
    const VERDICTS: [&str; 7] = [
        "worse in ",
        "better in ",
        "same in ",
        "identical in ",
        "undecided in ",
        "no verdict in ",
        "lower in ",
    ];
    lower.contains(" vs ") && VERDICTS.iter().any(|words| lower.contains(words))
}

/// Whichever of two came first in the text, a fall from the larger is what `reduction` may mean.
fn is_falling(pair: &Pair) -> bool {
    pair.second.value >= pair.first.value
}

fn overlapping(line: usize, percent: &Number, fitting: &[&Pair]) -> Option<Draft> {
    let pair = fitting.iter().all(|pair| pair.overlap == Some(true)).then(|| fitting.first()).flatten()?;
    let message =
        format!("the runs behind {} overlap ({}): they do not show a change", percent.text, pair.name);
    Some(
        Draft::new(Grade::Warning, Rule::FewRuns, [line, pair.lines[0], pair.lines[1]], message)
            .check("the slowest run of the faster arm is slower than the fastest run of the slower arm"),
    )
}

/// Whether a sentence names what a pair is of: reading or writing, and in which order.
fn names(sentence: &str, words: &str) -> bool {
    let directions: Vec<&str> =
        ["read", "write"].into_iter().filter(|word| sentence.contains(word)).collect();
    let random = !sentence.contains("rand") || words.contains("rand");
    let sequential = !sentence.contains("sequen") || words.contains("seq") || !words.contains("rand");
    !directions.is_empty() && directions.iter().any(|word| words.contains(word)) && random && sequential
}

/// The words say up and the numbers go down, or the other way round.
fn direction(sentence: &Sentence, one: &Move) -> Option<Draft> {
    let lower = sentence.text.to_lowercase();
    let (up, down) =
        (UP.iter().any(|word| lower.contains(word)), DOWN.iter().any(|word| lower.contains(word)));
    // Less latency is an improvement; one word of each kind says nothing.
    if up == down || lower.contains("lat") || lower.contains("time") || one.from.unit == Unit::Time {
        return None;
    }
    let rises = one.to.low() > one.from.high();
    let falls = one.to.high() < one.from.low();
    let wrong = up && falls || down && rises;
    let message = format!(
        "{} -> {} {}, and the sentence says the opposite",
        one.from.text,
        one.to.text,
        if rises { "rises" } else { "falls" }
    );
    let line = sentence.line(one.from.span.start);
    wrong.then(|| {
        Draft::new(Grade::Warning, Rule::Direction, [line], message)
            .check("compare the two numbers, or swap the names of the arms")
    })
}

/// A number of a move that no result has.
fn unsupported(sentence: &Sentence, one: &Move, evidence: &Evidence<'_>) -> Option<Draft> {
    let performance = |number: &Number| matches!(number.unit, Unit::Iops | Unit::Bytes) || number.scaled;
    if evidence.known.is_empty() || !performance(&one.from) && !performance(&one.to) {
        return None;
    }
    let unknown = |number: &&Number| {
        // Units of 1000 and 1024 are often mixed up in words.
        let near = |value: &f64| (value - number.value).abs() <= number.half * 1.01 + value.abs() * 0.001;
        !evidence.known.iter().any(|value| near(value) || near(&(value * 1e3)) || near(&(value * 1e6)))
    };
    let missing: Vec<&str> =
        [&one.from, &one.to].into_iter().filter(unknown).map(|number| number.text.as_str()).collect();
    if missing.is_empty() {
        return None;
    }
    let message = format!("no result in this text is {}", missing.join(" or "));
    let line = sentence.line(one.from.span.start);
    Some(
        Draft::new(Grade::Remark, Rule::Unsupported, [line], message)
            .check("post the output that the number was taken from"),
    )
}
