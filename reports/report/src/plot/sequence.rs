//! The boots of a cell in the order of time: drift and the order of variants are seen.

use super::axis::Scale;
use super::boots::told;
use super::marks::{colour, shape};
use super::svg::{Anchor, Svg, n};
use super::{Drawing, WIDTH};
use crate::boots::Lost;
use crate::findings::CellMetric;
use crate::quantity::Unit;
use crate::sections::Setting;

const LEFT: f64 = 44.0;
const RIGHT: f64 = WIDTH - 10.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 176.0;

/// The drawing; none where no variant has a boot. `lost` are the board's visits without numbers.
pub(crate) fn sequence(
    setting: &Setting,
    place: &str,
    metric: &CellMetric,
    unit: Unit,
    lost: &[Lost],
) -> Option<Drawing> {
    let boots = || metric.boots.iter().flat_map(|boots| &boots.values);
    boots().next()?;
    let y = Scale::over(boots().map(|boot| boot.value * unit.factor), BOTTOM - 8.0, TOP + 4.0);
    let visits = boots().map(|boot| boot.visit).chain(lost.iter().map(|lost| lost.visit));
    let x = Scale::over(visits.map(place_in_time), LEFT + 4.0, RIGHT);
    let mut svg = Svg::new(WIDTH, BOTTOM + 34.0);
    svg.text(
        (LEFT, 14.0),
        Anchor::Start,
        "soft",
        &format!("{} of each boot, in the order of time", unit.name),
    );
    bands(&mut svg, &x, metric, lost);
    for (value, text) in y.ticks(4) {
        let at = y.at(value);
        svg.line((LEFT, at), (RIGHT, at), "grid");
        svg.text((LEFT - 6.0, at + 4.0), Anchor::End, "soft", &text);
    }
    svg.line((LEFT, BOTTOM), (RIGHT, BOTTOM), "axis");
    for (value, text) in x.ticks(6).into_iter().filter(|(value, _)| value.fract() == 0.0 && *value >= 1.0) {
        svg.text((x.at(value), BOTTOM + 14.0), Anchor::Middle, "soft", &text);
    }
    svg.text((RIGHT, BOTTOM + 29.0), Anchor::End, "soft", "boot of the board (shaded: every other round)");
    for (variant, boots) in metric.boots.iter().enumerate() {
        let points: Vec<(f64, f64)> = boots
            .values
            .iter()
            .map(|boot| (x.at(place_in_time(boot.visit)), y.at(boot.value * unit.factor)))
            .collect();
        svg.polyline(&points, &format!("trace {}", colour(variant)));
    }
    for (variant, boots) in metric.boots.iter().enumerate() {
        for boot in &boots.values {
            let at = (x.at(place_in_time(boot.visit)), y.at(boot.value * unit.factor));
            let class = format!("pt {}{}", colour(variant), if boot.noted > 0 { " noted" } else { "" });
            svg.path(&shape(variant, at, 3.5), &class, &told(setting, variant, boot, unit));
        }
    }
    for lost in lost {
        cross(
            &mut svg,
            x.at(place_in_time(lost.visit)),
            &format!(
                "{}, boot {}: {}",
                setting.letter(lost.variant),
                lost.visit + 1,
                setting.plain(&lost.why)
            ),
        );
    }
    let title = format!("{place}: boots in the order of time, {}", unit.name);
    Some(Drawing { svg, title })
}

/// Every other round on shaded ground.
fn bands(svg: &mut Svg, x: &Scale, metric: &CellMetric, lost: &[Lost]) {
    let mut visits: Vec<(u32, u32)> =
        metric.boots.iter().flat_map(|boots| &boots.values).map(|boot| (boot.visit, boot.round)).collect();
    visits.extend(lost.iter().map(|lost| (lost.visit, lost.round)));
    visits.sort_unstable();
    for round in visits.chunk_by(|a, b| a.1 == b.1).filter(|round| round[0].1 % 2 == 1) {
        let from = x.at(place_in_time(round[0].0) - 0.5).max(LEFT);
        let to = x.at(place_in_time(round[round.len() - 1].0) + 0.5).min(RIGHT);
        svg.rect((from, TOP), (to - from, BOTTOM - TOP), "band");
    }
}

fn cross(svg: &mut Svg, x: f64, title: &str) {
    let (l, r, t, b) = (n(x - 4.0), n(x + 4.0), n(BOTTOM - 12.0), n(BOTTOM - 4.0));
    svg.path(&format!("M{l} {t}L{r} {b}M{r} {t}L{l} {b}"), "lost", title);
}

/// People count boots from 1.
fn place_in_time(visit: u32) -> f64 {
    f64::from(visit) + 1.0
}
