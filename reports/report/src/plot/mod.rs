//! Plots as SVG, drawn here so that a report needs no other program and no network.
//!
//! All plots share one width that fits a phone; a page lays them out side by side where there is room. Colours and shapes come from
//! classes, so that one drawing serves light and dark pages; [`style`] has the rules, which a single file carries itself. The same
//! findings give the same bytes.

mod axis;
mod boots;
mod changes;
mod latency;
mod marks;
mod sequence;
mod style;
mod svg;

pub(crate) use boots::boots;
pub(crate) use changes::{changes, class};
pub(crate) use latency::latency;
pub(crate) use marks::colour;
pub(crate) use sequence::sequence;
pub(crate) use style::style;

use svg::{Anchor, Svg};

/// Width of every plot, pixels.
pub(crate) const WIDTH: f64 = 380.0;

/// Height of a line in the list of variants.
const KEY_ROW: f64 = 16.0;

/// A finished drawing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Drawing {
    svg: Svg,
    /// What it shows, in words.
    title: String,
}

impl Drawing {
    /// For a page that has the [`style`].
    pub(crate) fn inline(&self) -> String {
        self.svg.element(&self.title, "")
    }

    /// A whole file with its own style, and with `place` and the names of the variants below, which a page has elsewhere.
    pub(crate) fn document(mut self, place: &str, variants: &[(&str, String)]) -> String {
        let top = self.svg.extend(KEY_ROW * (variants.len() as f64 + 1.0) + 12.0) + 10.0;
        self.svg.text((10.0, top), Anchor::Start, "strong", place);
        for (at, (letter, name)) in variants.iter().enumerate() {
            let y = top + KEY_ROW * (at as f64 + 1.0);
            self.svg.path(&marks::shape(at, (14.0, y - 4.0), 4.0), &format!("pt {}", colour(at)), "");
            self.svg.text((26.0, y), Anchor::Start, "", &format!("{letter} = {name}"));
        }
        let element = self.svg.element(&self.title, &style::document_style());
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{element}\n")
    }
}
