//! The changes of one pair on one board, a row for each cell, with their intervals and the margin.

use super::axis::Scale;
use super::marks::shape;
use super::svg::{Anchor, Svg};
use super::{Drawing, WIDTH};
use crate::findings::{Board, Change, Family, Verdict};
use crate::quantity::{cut, interval, percent};
use crate::sections::Setting;

const LEFT: f64 = 118.0;
const RIGHT: f64 = WIDTH - 62.0;
const TOP: f64 = 26.0;
const ROW: f64 = 22.0;
/// Characters of a label that have room.
const LABEL: usize = 18;

/// The drawing; none where nothing was compared. `at` is the place of the metric in the cells.
pub(crate) fn changes(
    setting: &Setting,
    board: &Board,
    at: usize,
    family: Family,
    pair: usize,
) -> Option<Drawing> {
    let change = |cell: usize| &board.cells[cell].metrics[at].changes[pair];
    let all = (0..board.cells.len()).flat_map(|cell| {
        let change = change(cell);
        change.percent.into_iter().chain(change.interval.into_iter().flat_map(|(low, high)| [low, high]))
    });
    all.clone().next()?;
    let margin = 100.0 * family.margin;
    let bounds = [-margin, margin, 0.0];
    let scale = Scale::over(all.chain(bounds), LEFT, RIGHT);
    let bottom = TOP + ROW * board.cells.len() as f64;
    let mut svg = Svg::new(WIDTH, bottom + 34.0);
    svg.text((8.0, 14.0), Anchor::Start, "strong", &setting.versus(pair));
    let direction = if family.metric.higher_is_better() { "right is better" } else { "left is better" };
    svg.text((RIGHT, 14.0), Anchor::End, "soft", direction);
    svg.rect((scale.at(-margin), TOP), (scale.at(margin) - scale.at(-margin), bottom - TOP), "band");
    for (value, text) in scale.ticks(4) {
        svg.line((scale.at(value), TOP), (scale.at(value), bottom), "grid");
        svg.text((scale.at(value), bottom + 14.0), Anchor::Middle, "soft", &format!("{text}%"));
    }
    svg.line((scale.at(0.0), TOP), (scale.at(0.0), bottom), "axis");
    svg.text((RIGHT, bottom + 29.0), Anchor::End, "soft", "change with 95 % interval (shaded: the same)");
    for cell in 0..board.cells.len() {
        let y = TOP + ROW * (cell as f64 + 0.5);
        let label = setting.plain(&board.cells[cell].label);
        svg.text((LEFT - 8.0, y + 4.0), Anchor::End, "", &cut(&label, LABEL));
        row(&mut svg, &scale, y, change(cell), &label);
    }
    let title = format!("{}: {} in every test", setting.plain(&board.name), setting.versus(pair));
    Some(Drawing { svg, title })
}

fn row(svg: &mut Svg, scale: &Scale, y: f64, change: &Change, label: &str) {
    let class = class(change.verdict);
    let Some(value) = change.percent else {
        svg.text((RIGHT + 8.0, y + 4.0), Anchor::Start, "soft", "no number");
        return;
    };
    let range = change.interval.map(|range| format!(" {}", interval(range, 0))).unwrap_or_default();
    let why = change.why.as_deref().map(|why| format!(" ({why})")).unwrap_or_default();
    svg.open("row", &format!("{label}: {}{range} {}{why}", percent(value), change.verdict.word()));
    if let Some((low, high)) = change.interval {
        svg.line((scale.at(low), y), (scale.at(high), y), &format!("ci {class}"));
    }
    svg.path(&shape(3, (scale.at(value), y), 4.5), class, "");
    svg.text((RIGHT + 8.0, y + 4.0), Anchor::Start, class, &percent(value));
    svg.close();
}

/// The class of a verdict's colour.
pub(crate) fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Worse | Verdict::LikelyWorse => "worse",
        Verdict::Better | Verdict::LikelyBetter => "better",
        Verdict::Same | Verdict::Identical => "same",
        Verdict::Undecided | Verdict::NoVerdict => "unsure",
    }
}
