//! The form for a commit message: what was found, the numbers of the primary metric, and how they were made, in few lines.

use crate::boards;
use crate::findings::{Board, Findings, Group};
use crate::made;
use crate::quantity::{KEEP, counted, interval, kept, percent, seconds};
use crate::render::{Options, WIDTH, wrap};
use crate::sections::{self, Setting};
use crate::view::View;
use kab_model::Order;

/// Lines that a commit message has room for.
pub(crate) const LINES: usize = 12;

/// At most [`LINES`] lines of at most 72 columns. Pieces are in the order of their weight; what has no room is left out whole, and
/// the last line always names the run, where the rest is.
pub fn changelog(findings: &Findings, options: Options) -> String {
    let setting = sections::setting(findings, options, Some(WIDTH));
    let view = sections::view(findings, options, Some(WIDTH));
    let names: Vec<String> =
        view.variants.iter().map(|variant| format!("{} = {}", variant.name, variant.text)).collect();
    let mut last = lines(&names.join("; "), 2);
    last.truncate(LINES / 3);
    last.extend(lines(&made::run_line(&setting, false), 2));
    let mut chosen: Vec<String> = Vec::new();
    let take = |piece: Vec<String>, chosen: &mut Vec<String>| {
        if chosen.len() + piece.len() + last.len() <= LINES {
            chosen.extend(piece);
        }
    };
    for sentence in view.incomplete.iter().chain(&view.answer).chain(&view.caveats) {
        let mut piece = lines(sentence, 2);
        piece.truncate(LINES / 4);
        take(piece, &mut chosen);
    }
    for table in tables(&setting, &view, LINES.saturating_sub(chosen.len() + last.len())) {
        take(table, &mut chosen);
    }
    take(lines(&how(&setting), 2), &mut chosen);
    chosen.extend(last);
    chosen.join("\n").replace(KEEP, " ") + "\n"
}

/// Whole tables where they have room, else a sentence a board with the means over all cells.
fn tables(setting: &Setting, view: &View, room: usize) -> Vec<Vec<String>> {
    let of_board = |at: usize| -> Vec<String> {
        let board = &view.boards[at];
        let name = setting.plain(&setting.findings.boards[at].name);
        let mut piece = lines(&format!("{name}: {}", board.caption), 2);
        piece.extend(board.tables.iter().flat_map(boards::lines));
        piece
    };
    let mut whole: Vec<Vec<String>> = (0..view.boards.len()).map(of_board).collect();
    if whole.iter().map(Vec::len).sum::<usize>() <= room {
        whole.extend(view.legend.first().map(|marks| vec![marks.clone()]));
        return whole;
    }
    setting.findings.boards.iter().flat_map(|board| means(setting, board)).collect()
}

/// `sm8650-qrd, geomean of 4 tests: C vs B -21.6% [-22,-21]; C vs A -8.6% [-9.3,-7.9]`, a sentence for each workload.
fn means(setting: &Setting, board: &Board) -> Vec<Vec<String>> {
    let of_group = |group: &Group| {
        let pairs: Vec<String> = group
            .geomean
            .iter()
            .enumerate()
            .filter_map(|(pair, geomean)| {
                let geomean = (*geomean)?;
                let range =
                    geomean.interval.map(|range| format!(" {}", interval(range, 0))).unwrap_or_default();
                Some(kept(&format!("{} {}{range}", setting.versus(pair), percent(geomean.percent))))
            })
            .collect();
        let cells = group.geomean.iter().flatten().map(|geomean| geomean.cells).next()?;
        let workload =
            if board.groups.len() > 1 { format!(" {}", setting.plain(&group.name)) } else { String::new() };
        let place = format!("{}{workload}", setting.plain(&board.name));
        Some(lines(&format!("{place}, geomean of {cells} tests: {}", pairs.join("; ")), 2))
    };
    board.groups.iter().filter_map(of_group).collect()
}

/// `8 boots each in random order, 3 x 30 s; fio …`.
fn how(setting: &Setting) -> String {
    let method = &setting.findings.method;
    if setting.findings.posted.is_some() {
        return "Figures as somebody else posted them.".to_owned();
    }
    let times: Vec<String> = method.times.iter().map(|time| seconds(time.runtime_ms)).collect();
    let trials = match times.is_empty() {
        true => counted(method.trials as usize, "trial"),
        false => format!("{} x {}", method.trials, times.join(" or ")),
    };
    let order = match method.order {
        Order::Random => "in random order",
        Order::Abba => "in ABBA order",
        Order::Sequential => "one variant after the other",
    };
    format!("{} {order}, {trials} of each test in each boot.", counted(method.rounds, "boot"))
}

fn lines(text: &str, hang: usize) -> Vec<String> {
    wrap(text, WIDTH, hang).lines().map(|line| line.trim_end().to_owned()).collect()
}
