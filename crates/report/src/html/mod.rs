//! One self-contained page: it opens without a network, needs no script, and prints.

mod axis;
mod ccdf;
mod chart;
mod comparison;
mod figure;
mod labels;
mod over_time;
mod parts;
mod picture;
mod svg;

use crate::document::Document;
use crate::figure::Figure;

/// A comparison as an HTML page.
pub fn html(document: &Document) -> String {
    let title = format!("{} on {} - rearguard", document.scenario, document.arm);
    parts::page(&title, &comparison::body(document))
}

/// Ideal queues as an HTML page.
pub fn figure_html(figure: &Figure) -> String {
    parts::page(&format!("{} - rearguard", figure.title), &self::figure::body(figure))
}

/// The tail chart of a comparison's first service as an SVG file with a ground of its own; `None` without a curve.
pub fn picture(document: &Document) -> Option<String> {
    picture::of_comparison(document)
}

/// The chart of ideal queues as an SVG file with a ground of its own; `None` without a curve.
pub fn figure_picture(figure: &Figure) -> Option<String> {
    picture::of_figure(figure)
}
