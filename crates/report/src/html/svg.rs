//! The little that a chart needs of SVG: escaped text, numbers that are always finite, elements.

use std::fmt::Write;

/// Text that is safe between tags and in double quotes.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // XML allows no control characters but these three.
            '\t' | '\n' | '\r' => safe.push(c),
            c if c.is_control() => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// A point of the drawing, x to the right and y down, in user units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// To the right.
    pub x: f64,
    /// Down.
    pub y: f64,
}

impl Point {
    /// How far another point is.
    pub fn distance(&self, other: &Point) -> f64 {
        (self.x - other.x).hypot(self.y - other.y)
    }
}

/// A path's `d`: straight lines through the points. Points that are no numbers are left out.
pub fn line(points: &[Point]) -> String {
    let mut d = String::new();
    for point in points.iter().filter(|point| point.x.is_finite() && point.y.is_finite()) {
        let verb = if d.is_empty() { 'M' } else { 'L' };
        let _ = write!(d, "{verb}{:.1} {:.1}", point.x, point.y);
    }
    d
}

/// Text at a point. `class` is one or more names of the chart's style.
pub fn text(at: Point, class: &str, words: &str) -> String {
    format!("<text x=\"{:.1}\" y=\"{:.1}\" class=\"{class}\">{}</text>", at.x, at.y, escape(words))
}

/// A straight line.
pub fn stroke(from: Point, to: Point, class: &str) -> String {
    let Point { x, y } = from;
    format!(
        "<line x1=\"{x:.1}\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" class=\"{class}\"/>",
        to.x, to.y
    )
}
