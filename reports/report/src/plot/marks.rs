//! One colour and one shape a variant, so that they are told apart without colours, too.

use super::svg::n;

/// Colours that there are; further variants begin again, with other shapes.
pub(super) const COLOURS: usize = 8;

/// The shape of a variant around a point.
pub(super) fn shape(variant: usize, (x, y): (f64, f64), size: f64) -> String {
    let (l, r, t, b) = (n(x - size), n(x + size), n(y - size), n(y + size));
    let (x, y, s) = (n(x), n(y), n(size));
    match variant % 7 {
        0 => format!("M{l} {y}a{s} {s} 0 1 0 {d} 0a{s} {s} 0 1 0 -{d} 0z", d = n(2.0 * size)),
        1 => format!("M{l} {t}H{r}V{b}H{l}z"),
        2 => format!("M{x} {t}L{r} {b}H{l}z"),
        3 => format!("M{x} {t}L{r} {y}L{x} {b}L{l} {y}z"),
        4 => format!("M{x} {b}L{r} {t}H{l}z"),
        5 => format!("M{l} {t}L{r} {y}L{l} {b}z"),
        _ => format!("M{r} {t}L{l} {y}L{r} {b}z"),
    }
}

/// The class of a variant's colour.
pub(crate) fn colour(variant: usize) -> String {
    format!("v{}", variant % COLOURS)
}
