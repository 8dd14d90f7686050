//! One tail chart as a picture of its own, for a README or a paper.

use super::ccdf::{self, Tail};
use super::chart::{self, Size};
use super::labels::LETTER;
use super::svg::{Point, escape, line, text};
use super::{comparison, figure};
use crate::blocks;
use crate::document::Document;
use crate::figure::Figure;

/// Room above the plot for the title, the subtitle and the axis title.
const SIZE: Size = Size { class: "alone", width: 900.0, height: 510.0, left: 80.0, top: 122.0 };

/// The first service's tail chart; `None` if the document has no curve.
pub fn of_comparison(document: &Document) -> Option<String> {
    let shown = document.shown();
    let service = blocks::services(&shown).into_iter().next()?;
    let tails = comparison::tails(&blocks::runs_of(&shown, service));
    draw(&tails, &document.scenario, &document.shows)
}

/// The figure's chart; `None` if it has no curve.
pub fn of_figure(figure: &Figure) -> Option<String> {
    draw(&figure::tails(figure), &figure.title, &figure.caption)
}

fn draw(tails: &[Tail], title: &str, subtitle: &str) -> Option<String> {
    let frame = ccdf::frame(tails, SIZE)?;
    let Size { width, height, .. } = SIZE;
    let key = key(tails);
    let heads = text(Point { x: 24.0, y: 34.0 }, "headline", title)
        + &text(Point { x: 24.0, y: 54.0 }, "", subtitle);
    Some(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\">\n\
         <title>{}</title>\n<style>\n{}</style>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" style=\"fill: var(--paper)\"/>\n{heads}{key}{}\n</svg>\n",
        escape(title),
        chart::STYLE,
        ccdf::body(tails, &frame)
    ))
}

/// The curves' names in a row, each behind a piece of its line.
fn key(tails: &[Tail]) -> String {
    let (mut x, y) = (24.0, 80.0);
    let mut drawn = String::new();
    for tail in tails {
        let piece = line(&[Point { x, y }, Point { x: x + 24.0, y }]);
        drawn += &format!("<path class=\"curve {}\" d=\"{piece}\"/>", tail.class);
        drawn += &text(Point { x: x + 31.0, y: y + 4.0 }, "title", &tail.name);
        x += 31.0 + LETTER * tail.name.chars().count() as f64 + 16.0;
    }
    drawn
}
