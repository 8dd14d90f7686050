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

/// The points that a reader can tell apart: each at least half a unit from the one before, and the last.
pub fn thinned(points: impl Iterator<Item = Point>) -> Vec<Point> {
    let mut kept: Vec<Point> = Vec::new();
    let mut last = None;
    for point in points.filter(|point| point.x.is_finite() && point.y.is_finite()) {
        if kept.last().is_none_or(|before| before.distance(&point) >= 0.5) {
            kept.push(point);
        }
        last = Some(point);
    }
    if kept.last() != last.as_ref() {
        kept.extend(last);
    }
    kept
}

/// A path's `d`: straight lines through the points.
pub fn line(points: &[Point]) -> String {
    let mut d = String::new();
    for point in points {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_points_become_a_line_that_still_ends_where_they_end() {
        let points = (0..1_000_000).map(|k| Point { x: f64::from(k) / 1e3, y: 0.0 });
        let thin = thinned(points);
        assert!((1_900..=2_001).contains(&thin.len()), "{}", thin.len());
        assert_eq!(thin.last(), Some(&Point { x: 999.999, y: 0.0 }));
    }

    #[test]
    fn what_is_no_number_is_not_drawn() {
        let points = [
            Point { x: f64::NAN, y: 1.0 },
            Point { x: 1.0, y: 2.0 },
            Point { x: 3.0, y: f64::INFINITY },
        ];
        assert_eq!(line(&thinned(points.into_iter())), "M1.0 2.0");
    }

    #[test]
    fn no_text_can_leave_its_place() {
        assert_eq!(
            escape("<a href=\"x\">'&'\u{0}"),
            "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;\u{fffd}"
        );
    }
}
