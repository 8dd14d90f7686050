//! The page of ideal queues: one figure, its figures in a table.

use super::ccdf::{self, Tail};
use super::chart::{Size, colour};
use super::parts;
use crate::document::Estimate;
use crate::figure::{Curve, Figure};
use crate::grid::{Block, Cell, Grid, Tone};
use crate::human;

/// The body of the page.
pub fn body(figure: &Figure) -> String {
    let tails = tails(figure);
    let charts: String = Size::BOTH
        .into_iter()
        .filter_map(|size| ccdf::frame(&tails, size))
        .map(|frame| frame.drawing(&figure.title, &ccdf::body(&tails, &frame)))
        .collect();
    let key: Vec<_> = figure.curves.iter().enumerate().map(key_entry).collect();
    let facts = [
        ("rearguard", figure.version.clone()),
        ("seed", figure.seed.map_or(String::new(), |seed| seed.to_string())),
    ];
    format!("<h1>{}</h1>\n", super::svg::escape(&figure.title))
        + &parts::paragraph("shows", &figure.caption)
        + &parts::key(&key)
        + &parts::figure(&charts, CAPTION)
        + &parts::table(&Block { grid: grid(figure), ..Block::default() })
        + &parts::heading("How this was made")
        + &parts::verbatim("command", &human::command(&figure.command))
        + &parts::facts(&facts)
}

const CAPTION: &str = "A point (x, y) says how many requests took longer than x: one in a hundred at p99, one in a \
thousand at p99.9. Below each simulated figure stand its 95% interval and, where there is a closed form, the exact value.";

/// The curves of a figure in their colours.
pub fn tails(figure: &Figure) -> Vec<Tail<'_>> {
    let tail = |(at, curve): (usize, &'_ Curve)| (at, curve.name.clone());
    figure
        .curves
        .iter()
        .enumerate()
        .map(|entry| {
            let (at, name) = tail(entry);
            Tail { name, class: colour(at), points: &figure.curves[at].ccdf }
        })
        .filter(|tail| !tail.points.is_empty())
        .collect()
}

fn key_entry((at, curve): (usize, &Curve)) -> (String, String, String) {
    let p99_9 = human::latency(&curve.latency_ns.p99_9).0;
    (colour(at), curve.name.clone(), format!("p99.9 {p99_9}"))
}

fn grid(figure: &Figure) -> Grid {
    let titles = ["queue", "requests", "mean", "p50", "p90", "p99", "p99.9", "requests/s"];
    let mut grid = Grid::new(titles.map(String::from));
    for curve in &figure.curves {
        grid.rows.push(simulated(curve));
        grid.rows.extend(exact(curve));
    }
    grid.without_empty()
}

fn simulated(curve: &Curve) -> Vec<Cell> {
    let latency = &curve.latency_ns;
    let mut row = vec![Cell::plain(&curve.name), Cell::plain(human::count(Some(curve.requests)))];
    let figures = [latency.mean, latency.p50, latency.p90, latency.p99, latency.p99_9];
    row.extend(figures.iter().map(|q| Cell::estimate(human::latency(q))));
    row.push(Cell::plain(human::count(curve.requests_per_s.map(|rate| rate.round() as u64))));
    row
}

fn exact(curve: &Curve) -> Option<Vec<Cell>> {
    let exact = curve.exact_ns?;
    let figures = [exact.mean, exact.p50, exact.p90, exact.p99, exact.p99_9];
    let figures = figures.map(|ns| ns.map(Estimate::exact).unwrap_or_default());
    let mut row = vec![Cell::plain("exact"), Cell::plain(human::UNKNOWN)];
    row.extend(figures.iter().map(|q| Cell::plain(human::latency(q).0)));
    row.push(Cell::plain(human::UNKNOWN));
    Some(row.into_iter().map(|cell| cell.tone(Tone::Faint)).collect())
}
