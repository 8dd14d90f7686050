//! One tail chart as a picture of its own, for a README or a paper.

use super::ccdf::{self, Tail};
use super::chart::Size;
use super::labels::LETTER;
use super::svg::{Point, line, text};
use super::{comparison, figure};
use crate::blocks;
use crate::document::Document;
use crate::figure::Figure;
use crate::human;

/// The left edge of all words.
const LEFT: f64 = 24.0;
/// Height of the plot.
const PLOT: f64 = 350.0;
const SIZE: Size = Size { class: "alone", width: 900.0, height: 0.0, left: 80.0, top: 0.0 };

/// The first service's tail chart; `None` if the document has no curve.
pub fn of_comparison(document: &Document) -> Option<String> {
    let shown = document.shown();
    let service = blocks::services(&shown).into_iter().next()?;
    let tails = comparison::tails(&blocks::runs_of(&shown, service));
    of_tails(&tails, &document.scenario, &document.shows)
}

/// The figure's chart; `None` if it has no curve.
pub fn of_figure(figure: &Figure) -> Option<String> {
    of_tails(&figure::tails(figure), &figure.title, &figure.caption)
}

/// Letters that fit beside each other, in the widest of the usual fonts.
const LINE: usize = 116;

/// Tails with a title and what they show; `None` without a curve.
pub fn of_tails(tails: &[Tail], title: &str, subtitle: &str) -> Option<String> {
    let lines = human::folded(subtitle, LINE);
    let (key, below) = key(tails, 64.0 + 17.0 * lines.len() as f64);
    let top = below + 42.0;
    let size = Size { top, height: PLOT + top + 44.0, ..SIZE };
    let frame = ccdf::frame(tails, size)?;
    let mut heads = text(Point { x: LEFT, y: 34.0 }, "headline", title);
    for (at, words) in lines.iter().enumerate() {
        heads += &text(Point { x: LEFT, y: 54.0 + 17.0 * at as f64 }, "", words);
    }
    Some(frame.alone(title, &format!("{heads}{key}{}", ccdf::body(tails, &frame))))
}

/// The curves' names in rows from `y` down, each behind a piece of its line; and the height of the last row.
fn key(tails: &[Tail], mut y: f64) -> (String, f64) {
    let mut x = LEFT;
    let mut drawn = String::new();
    for tail in tails {
        let width = 31.0 + LETTER * tail.name.chars().count() as f64;
        if x > LEFT && x + width > SIZE.width - LEFT {
            (x, y) = (LEFT, y + 20.0);
        }
        let piece = line(&[Point { x, y }, Point { x: x + 24.0, y }]);
        drawn += &format!("<path class=\"curve {}\" d=\"{piece}\"/>", tail.class);
        drawn += &text(Point { x: x + 31.0, y: y + 4.0 }, "title", &tail.name);
        x += width + 16.0;
    }
    (drawn, y)
}
