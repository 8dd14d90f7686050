//! A chart of lines: sweeps, lag over time, tails beside each other.

use super::axis::{Domain, STEPS, Spacing, Tick, short};
use super::chart::{Frame, Size, colour};
use super::labels::LETTER;
use super::svg::{Point, escape, line, text, thinned};
use crate::paper::{Series, SeriesChart};

/// The chart of a page, in both sizes.
pub fn drawings(chart: &SeriesChart, words: &str) -> String {
    let drawn = Size::BOTH.into_iter().filter_map(|size| {
        let frame = frame(chart, size)?;
        Some(frame.drawing(words, &body(chart, &frame)))
    });
    drawn.collect()
}

/// The chart as a file of its own.
pub fn alone(chart: &SeriesChart, title: &str) -> Option<String> {
    let (key, below) = key(&chart.series);
    let size =
        Size { class: "alone", width: 900.0, height: below + 420.0, left: 80.0, top: below + 40.0 };
    let frame = frame(chart, size)?;
    let head = text(Point { x: LEFT, y: 34.0 }, "headline", title);
    Some(frame.alone(title, &format!("{head}{key}{}", body(chart, &frame))))
}

/// The left edge of all words.
const LEFT: f64 = 24.0;

/// The names in rows, each behind a piece of its line; and the height of the last row.
fn key(series: &[Series]) -> (String, f64) {
    let (mut x, mut y) = (LEFT, 60.0);
    let mut drawn = String::new();
    for (at, one) in series.iter().enumerate() {
        let width = 47.0 + LETTER * one.name.chars().count() as f64;
        if x > LEFT && x + width > 876.0 {
            (x, y) = (LEFT, y + 20.0);
        }
        let piece = line(&[Point { x, y }, Point { x: x + 24.0, y }]);
        drawn += &format!("<path class=\"curve {}\" d=\"{piece}\"/>", colour(at));
        drawn += &text(Point { x: x + 31.0, y: y + 4.0 }, "title", &one.name);
        x += width;
    }
    (drawn, y)
}

fn frame(chart: &SeriesChart, size: Size) -> Option<Frame> {
    let points = || chart.series.iter().flat_map(|one| &one.points);
    points().next()?;
    Some(Frame {
        size,
        x: domain(points().map(|point| point.0), chart.log_x, true),
        y: domain(points().map(|point| point.1), chart.log_y, false),
    })
}

fn domain(values: impl Iterator<Item = f64> + Clone, log: bool, tight: bool) -> Domain {
    if log {
        let Domain { min, max, .. } = Domain::tight(values.filter(|value| *value > 0.0));
        return Domain { spacing: Spacing::Log, min: 0.8 * min.max(1e-9), max: 1.2 * max };
    }
    if tight { Domain::tight(values) } else { Domain::linear(values.chain([0.0])) }
}

fn body(chart: &SeriesChart, frame: &Frame) -> String {
    let tick = |value: f64| Tick { value, label: short(value) };
    let ticks = |domain: &Domain, count: usize| -> Vec<Tick> {
        domain.ticks(count).into_iter().map(tick).collect()
    };
    let x = ticks(&frame.x, frame.size.ticks());
    let mut drawn = frame.grid((&chart.x, &x), (&chart.y, &ticks(&frame.y, 2 * STEPS)));
    for (at, one) in chart.series.iter().enumerate() {
        let visible = one
            .points
            .iter()
            .filter(|(x, y)| (!chart.log_x || *x > 0.0) && (!chart.log_y || *y > 0.0));
        let points = thinned(visible.map(|(x, y)| frame.point(*x, *y)));
        drawn += &format!(
            "<path class=\"curve {}\" d=\"{}\"><title>{}</title></path>",
            colour(at),
            line(&points),
            escape(&one.name)
        );
    }
    drawn
}
