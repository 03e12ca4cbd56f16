//! A few elements of SVG, written with one digit after the point.

use std::fmt::Write;

/// A drawing in the making.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Svg {
    width: f64,
    height: f64,
    body: String,
}

/// Where a text stands relative to its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    /// It begins there.
    Start,
    /// It is centred there.
    Middle,
    /// It ends there.
    End,
}

impl Svg {
    /// An empty drawing.
    pub(super) fn new(width: f64, height: f64) -> Self {
        Self { width, height, body: String::new() }
    }

    /// A line between two points.
    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let _ = write!(
            self.body,
            "<line class=\"{class}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>",
            n(from.0),
            n(from.1),
            n(to.0),
            n(to.1)
        );
    }

    /// A rectangle from its upper left corner.
    pub(super) fn rect(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), class: &str) {
        let _ = write!(
            self.body,
            "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
            n(x),
            n(y),
            n(width.max(0.0)),
            n(height.max(0.0))
        );
    }

    /// Points joined by lines.
    pub(super) fn polyline(&mut self, points: &[(f64, f64)], class: &str) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{},{}", n(*x), n(*y))).collect();
        let _ = write!(self.body, "<polyline class=\"{class}\" points=\"{}\"/>", points.join(" "));
    }

    /// A shape that tells what it is when pointed at.
    pub(super) fn path(&mut self, path: &str, class: &str, title: &str) {
        let _ = write!(self.body, "<path class=\"{class}\" d=\"{path}\">");
        if !title.is_empty() {
            let _ = write!(self.body, "<title>{}</title>", escape(title));
        }
        self.body.push_str("</path>");
    }

    /// A text.
    pub(super) fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, class: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let _ = write!(
            self.body,
            "<text class=\"{class}\" x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\">{}</text>",
            n(x),
            n(y),
            escape(text)
        );
    }

    /// Begins a group that tells what it is when pointed at.
    pub(super) fn open(&mut self, class: &str, title: &str) {
        let _ = write!(self.body, "<g class=\"{class}\"><title>{}</title>", escape(title));
    }

    /// Ends the group.
    pub(super) fn close(&mut self) {
        self.body.push_str("</g>");
    }

    /// Room below for more, which begins at the height that is returned.
    pub(super) fn extend(&mut self, height: f64) -> f64 {
        let from = self.height;
        self.height += height;
        from
    }

    /// The whole element with its title for those who cannot see it.
    pub(super) fn element(&self, title: &str, style: &str) -> String {
        let (width, height, title) = (n(self.width), n(self.height), escape(title));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\" aria-label=\"{title}\">{style}{}</svg>",
            self.body
        )
    }
}

/// A coordinate; never `-0.0`.
pub(super) fn n(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Text inside of elements and attributes; control characters, which XML has no place for, become blanks.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push('\n'),
            c if c.is_control() || ('\u{fffe}'..='\u{ffff}').contains(&c) => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short_and_text_is_escaped() {
        assert_eq!((n(1.0), n(-0.04), n(12.345)), ("1".to_owned(), "0".to_owned(), "12.3".to_owned()));
        assert_eq!(escape("a<b>&\"c\"\u{1b}"), "a&lt;b&gt;&amp;&quot;c&quot; ");
    }
}
