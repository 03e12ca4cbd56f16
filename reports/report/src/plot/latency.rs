//! Completion latency by percentile, from all I/Os of a variant's counted trials together.

use super::axis::exact;
use super::marks::{colour, shape};
use super::svg::{Anchor, Svg};
use super::{Drawing, WIDTH};
use crate::quantity::Unit;
use crate::sections::Setting;
use kab_model::Metric;
use kab_stats::Histogram;

const LEFT: f64 = 52.0;
const RIGHT: f64 = WIDTH - 12.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 176.0;
/// Marked percentiles, each a tenth further from 100 % than the one two before it.
const MARKED: [(f64, &str); 6] =
    [(0.5, "50"), (0.9, "90"), (0.99, "99"), (0.999, "99.9"), (0.9999, "99.99"), (0.99999, "99.999")];
/// Where curves begin: below lie the fastest I/Os, which no one asks about.
const FIRST: f64 = 0.25;
/// I/Os that must lie beyond a percentile for it to be more than luck.
const BEYOND: f64 = 10.0;

/// The drawing; none where no variant has a histogram.
pub(crate) fn latency(setting: &Setting, place: &str, histograms: &[Option<&Histogram>]) -> Option<Drawing> {
    let most =
        histograms.iter().flatten().map(|histogram| histogram.total()).max().filter(|total| *total > 0)?;
    let last = (1.0 - BEYOND / most as f64).max(0.9);
    let end = nines(last);
    let curves: Vec<Vec<(f64, f64)>> = histograms.iter().map(|histogram| curve(*histogram, last)).collect();
    let values = || curves.iter().flatten().map(|(_, value)| *value).filter(|value| *value > 0.0);
    let (low, high) = (values().reduce(f64::min)?, values().reduce(f64::max)?);
    let unit = Unit::fitting(Metric::ClatMean, &[low]);
    let (low, high) = (low.log10() - 0.05, high.log10() + 0.05);
    let y = |value: f64| BOTTOM - (value.max(1e-9).log10() - low) / (high - low) * (BOTTOM - TOP);
    let x = |q: f64| LEFT + (nines(q) - nines(FIRST)) / (end - nines(FIRST)) * (RIGHT - LEFT);
    let mut svg = Svg::new(WIDTH, BOTTOM + 34.0);
    svg.text((LEFT, 14.0), Anchor::Start, "soft", &format!("completion latency, {} (log)", unit.name));
    for value in steps(low, high) {
        svg.line((LEFT, y(value)), (RIGHT, y(value)), "grid");
        svg.text((LEFT - 6.0, y(value) + 4.0), Anchor::End, "soft", &short(value * unit.factor));
    }
    let marked = || MARKED.iter().filter(|(q, _)| nines(*q) <= end);
    for (q, text) in marked() {
        svg.line((x(*q), TOP), (x(*q), BOTTOM), "grid");
        svg.text((x(*q), BOTTOM + 14.0), Anchor::Middle, "soft", text);
    }
    svg.line((LEFT, BOTTOM), (RIGHT, BOTTOM), "axis");
    svg.text((RIGHT, BOTTOM + 29.0), Anchor::End, "soft", "percentile of all I/Os");
    for (variant, curve) in curves.iter().enumerate() {
        let points: Vec<(f64, f64)> = curve.iter().map(|(q, value)| (x(*q), y(*value))).collect();
        svg.polyline(&points, &format!("trace {}", colour(variant)));
    }
    for (variant, histogram) in histograms.iter().enumerate() {
        for (q, text) in marked() {
            let Some(found) = histogram.and_then(|histogram| histogram.quantile(*q)) else { continue };
            let told = format!(
                "{}: p{text} {} {}",
                setting.letter(variant),
                exact(found.value_ns * unit.factor),
                unit.name
            );
            svg.path(
                &shape(variant, (x(*q), y(found.value_ns)), 3.5),
                &format!("pt {}", colour(variant)),
                &told,
            );
        }
    }
    Some(Drawing { svg, title: format!("{place}: completion latency by percentile, {}", unit.name) })
}

/// Distance from 0 in factors of ten by which the rest shrinks: 0.9 is 1, 0.99 is 2.
fn nines(q: f64) -> f64 {
    -(1.0 - q).max(1e-12).log10()
}

fn curve(histogram: Option<&Histogram>, last: f64) -> Vec<(f64, f64)> {
    let Some(histogram) = histogram.filter(|histogram| histogram.total() > 0) else { return Vec::new() };
    let end = nines(last.min((1.0 - BEYOND / histogram.total() as f64).max(0.5)));
    let steps = 96;
    (0..=steps)
        .map(|step| nines(FIRST) + (end - nines(FIRST)) * f64::from(step) / f64::from(steps))
        .map(|nines| 1.0 - 10f64.powf(-nines))
        .filter_map(|q| Some((q, histogram.quantile(q)?.value_ns)))
        .filter(|(_, value)| *value > 0.0)
        .collect()
}

/// 1, 2 and 5 times the powers of ten within two powers; only the powers where there are many.
fn steps(low: f64, high: f64) -> Vec<f64> {
    let factors: &[f64] = if high - low < 1.6 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let powers = low.floor() as i32..=high.ceil() as i32;
    let all = powers.flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)));
    all.filter(|value| (low..=high).contains(&value.log10())).collect()
}

fn short(value: f64) -> String {
    if value >= 1.0 { format!("{value:.0}") } else { format!("{value}") }
}
