//! Every boot of a cell as a point, a row for each variant, with the mean and its interval.

use super::axis::{Scale, exact};
use super::marks::{colour, shape};
use super::svg::{Anchor, Svg};
use super::{Drawing, WIDTH};
use crate::findings::CellMetric;
use crate::quantity::{Unit, counted};
use crate::sections::Setting;

const LEFT: f64 = 34.0;
const RIGHT: f64 = WIDTH - 12.0;
const TOP: f64 = 24.0;
const ROW: f64 = 38.0;

/// The drawing; none where no variant has a boot.
pub(crate) fn boots(
    setting: &Setting,
    place: &str,
    metric: &CellMetric,
    unit: Unit,
    title: &str,
) -> Option<Drawing> {
    let all = metric
        .boots
        .iter()
        .flat_map(|boots| boots.values.iter().map(|boot| boot.value).chain(ends(boots.interval)));
    all.clone().next()?;
    let scale = Scale::over(all.map(|value| value * unit.factor), LEFT, RIGHT);
    let bottom = TOP + ROW * metric.boots.len() as f64;
    let mut svg = Svg::new(WIDTH, bottom + 34.0);
    svg.text((LEFT, 14.0), Anchor::Start, "soft", title);
    for (value, text) in scale.ticks(5) {
        let x = scale.at(value);
        svg.line((x, TOP), (x, bottom), "grid");
        svg.text((x, bottom + 14.0), Anchor::Middle, "soft", &text);
    }
    svg.text((RIGHT, bottom + 29.0), Anchor::End, "soft", unit.name);
    for (variant, boots) in metric.boots.iter().enumerate() {
        let y = TOP + ROW * (variant as f64 + 0.5);
        let letter = setting.letter(variant);
        svg.text((LEFT - 12.0, y + 4.0), Anchor::End, &format!("strong {}", colour(variant)), letter);
        if boots.values.is_empty() {
            svg.text((LEFT + 6.0, y + 4.0), Anchor::Start, "soft", "no number");
            continue;
        }
        for (at, boot) in boots.values.iter().enumerate() {
            // Equal boots stand beside each other, not on each other; the pattern is fixed so that the drawing is.
            let lift = [-2.0, 4.0, -7.0, 1.0, 7.0, -4.5, 10.0, -9.5][at % 8];
            let (x, noted) = (scale.at(boot.value * unit.factor), if boot.noted > 0 { " noted" } else { "" });
            let class = format!("pt {}{noted}", colour(variant));
            svg.path(&shape(variant, (x, y + lift), 3.5), &class, &told(setting, variant, boot, unit));
        }
        if let crate::findings::Mean::Value(mean) = metric.means[variant] {
            mean_mark(&mut svg, (variant, y), &scale, unit, mean, boots.interval, letter);
        }
    }
    let title = format!("{place}: every boot as a point, mean with 95 % interval, {}", unit.name);
    Some(Drawing { svg, title })
}

fn ends(interval: Option<(f64, f64)>) -> impl Iterator<Item = f64> + Clone {
    interval.into_iter().flat_map(|(low, high)| [low, high])
}

fn mean_mark(
    svg: &mut Svg,
    (variant, y): (usize, f64),
    scale: &Scale,
    unit: Unit,
    mean: f64,
    interval: Option<(f64, f64)>,
    letter: &str,
) {
    let value = |value: f64| exact(value * unit.factor);
    let range = interval.map(|(low, high)| format!(" [{}, {}]", value(low), value(high))).unwrap_or_default();
    let below = y + 15.0;
    svg.open("row", &format!("{letter}: mean {} {}{range}", value(mean), unit.name));
    if let Some((low, high)) = interval {
        svg.line(
            (scale.at(low * unit.factor), below),
            (scale.at(high * unit.factor), below),
            &format!("ci {}", colour(variant)),
        );
    }
    let x = scale.at(mean * unit.factor);
    svg.line((x, below - 4.5), (x, below + 4.5), &format!("mean {}", colour(variant)));
    svg.close();
}

/// `C, boot 12 in round 4: 4.31 kIOPS; trials 4.30 4.31 4.33; 1 noted`.
pub(super) fn told(setting: &Setting, variant: usize, boot: &crate::Boot, unit: Unit) -> String {
    let value = |value: f64| exact(value * unit.factor);
    let trials: Vec<String> = boot.trials.iter().take(12).map(|trial| value(*trial)).collect();
    let trials = if boot.trials.len() > 1 { format!("; trials {}", trials.join(" ")) } else { String::new() };
    let noted = if boot.noted > 0 {
        format!("; {} with something to note", counted(boot.noted, "trial"))
    } else {
        String::new()
    };
    format!(
        "{}, boot {} in round {}: {} {}{trials}{noted}",
        setting.letter(variant),
        boot.visit + 1,
        boot.round + 1,
        value(boot.value),
        unit.name
    )
}
