//! What all charts share: sizes, the frame with its grid and ticks, the look.

use super::axis::{Domain, Tick};
use super::svg::{Point, escape, stroke, text};

/// The style of charts: colours as custom properties, so that a page or a lone picture can set them.
pub const STYLE: &str = include_str!("chart.css");

/// How many colours there are; later curves begin anew.
pub const COLOURS: usize = 8;

/// A drawing's size and the room around its plot, in user units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Its word in the style: `wide` or `narrow`.
    pub class: &'static str,
    /// Width of the whole.
    pub width: f64,
    /// Height of the whole.
    pub height: f64,
    /// Left of the plot.
    pub left: f64,
    /// Above the plot.
    pub top: f64,
}

/// Right of the plot.
const RIGHT: f64 = 16.0;
/// A tick nearer to the right end has its label to its left.
const EDGE: f64 = 10.0;
/// Below the plot.
const BOTTOM: f64 = 44.0;

impl Size {
    /// For screens and paper.
    pub const WIDE: Size =
        Size { class: "wide", width: 900.0, height: 440.0, left: 62.0, top: 30.0 };
    /// For telephones: the same letters on less room.
    pub const NARROW: Size =
        Size { class: "narrow", width: 360.0, height: 320.0, left: 56.0, top: 30.0 };

    /// Both, of which the page shows one.
    pub const BOTH: [Size; 2] = [Size::WIDE, Size::NARROW];

    /// About how many ticks the horizontal axis has room for.
    pub fn ticks(&self) -> usize {
        (self.width / 85.0) as usize
    }
}

/// A plot with its two axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// The drawing.
    pub size: Size,
    /// To the right.
    pub x: Domain,
    /// Upwards.
    pub y: Domain,
}

impl Frame {
    /// The plot's left, top, right and bottom.
    pub fn edges(&self) -> (f64, f64, f64, f64) {
        let Size { width, height, left, top, .. } = self.size;
        (left, top, width - RIGHT, height - BOTTOM)
    }

    /// Where a pair of values lies.
    pub fn point(&self, x: f64, y: f64) -> Point {
        let (left, top, right, bottom) = self.edges();
        Point {
            x: left + (right - left) * self.x.position(x),
            y: bottom - (bottom - top) * self.y.position(y),
        }
    }

    /// Grid lines, tick labels and titles of both axes.
    pub fn grid(&self, x: (&str, &[Tick]), y: (&str, &[Tick])) -> String {
        let (left, top, right, bottom) = self.edges();
        let mut drawn = String::new();
        for tick in x.1 {
            let at = self.point(tick.value, self.y.min).x;
            drawn += &stroke(Point { x: at, y: top }, Point { x: at, y: bottom }, "grid");
            // The label of a tick at the edge would reach beyond the drawing.
            let (x, align) = if at > right - EDGE {
                (right + RIGHT - 2.0, "tick end")
            } else {
                (at, "tick middle")
            };
            drawn += &text(Point { x, y: bottom + 17.0 }, align, &tick.label);
        }
        for tick in y.1 {
            let at = self.point(self.x.min, tick.value).y;
            drawn += &stroke(Point { x: left, y: at }, Point { x: right, y: at }, "grid");
            drawn += &text(Point { x: left - 8.0, y: at + 4.0 }, "tick end", &tick.label);
        }
        drawn += &stroke(Point { x: left, y: bottom }, Point { x: right, y: bottom }, "axis");
        drawn += &text(Point { x: right, y: bottom + 36.0 }, "title end", x.0);
        drawn += &text(Point { x: left - 56.0, y: top - 16.0 }, "title", y.0);
        drawn
    }

    /// The finished drawing for a page; `words` say what it shows, for screen readers.
    pub fn drawing(&self, words: &str, body: &str) -> String {
        let Size { class, width, height, .. } = self.size;
        format!(
            "<svg class=\"chart {class}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">{body}</svg>\n",
            escape(words)
        )
    }

    /// The finished drawing as a file of its own, with a style of its own.
    pub fn alone(&self, title: &str, body: &str) -> String {
        let Size { width, height, .. } = self.size;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart alone\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\">\n\
             <title>{}</title>\n<style>\n{STYLE}</style>\n\
             <rect width=\"{width}\" height=\"{height}\" rx=\"8\" style=\"fill: var(--paper)\"/>\n{body}\n</svg>\n",
            escape(title)
        )
    }
}

/// The class of the curve with this index.
pub fn colour(index: usize) -> String {
    format!("c{}", index % COLOURS)
}
