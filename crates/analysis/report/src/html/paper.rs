//! A figure of a paper on a page: the chart, ours beside the paper's, what it rests on.

use super::chart::colour;
use super::{parts, series};
use crate::grid::Block;
use crate::paper::PaperFigure;
use crate::{curves, human};

/// The figure's part of the page.
pub fn body(figure: &PaperFigure) -> String {
    let mut body = format!("<h1>{}</h1>\n", super::svg::escape(&figure.title));
    body += &parts::paragraph("shows", &figure.section);
    if let Some(chart) = &figure.chart {
        let names = chart.series.iter().enumerate();
        let key: Vec<_> =
            names.map(|(at, one)| (colour(at), one.name.clone(), String::new())).collect();
        body += &parts::key(&key);
        body += &parts::figure(&series::drawings(chart, &figure.title), &chart.y);
    }
    let queues = (!figure.curves.is_empty()).then(|| curves::grid(&figure.curves));
    for grid in queues.into_iter().chain(figure.grids()) {
        body += &parts::table(&Block { grid, ..Block::default() });
    }
    for remark in figure.remarks() {
        body += &parts::paragraph("note", &remark);
    }
    let facts = [
        ("rearguard", figure.version.clone()),
        ("seed", figure.seed.map_or(String::new(), |seed| seed.to_string())),
    ];
    body + &parts::heading("How this was made")
        + &parts::verbatim("command", &human::command(&figure.command))
        + &parts::facts(&facts)
}
