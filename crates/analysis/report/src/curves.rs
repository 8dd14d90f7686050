//! Ideal queues beside each other, in figures: the same rows for a terminal and a page.

use crate::document::Estimate;
use crate::figure::{Curve, Figure};
use crate::grid::{Block, Cell, Grid, Room, Tone};
use crate::human;

/// The table of a figure.
pub fn block(figure: &Figure) -> Block {
    Block { grid: grid(&figure.curves), ..Block::default() }
}

/// A row a queue, and one with its exact values where there is a closed form.
pub fn grid(curves: &[Curve]) -> Grid {
    let titles = ["queue", "requests", "mean", "p50", "p90", "p99", "p99.9", "arrivals/s"];
    let mut grid = Grid::new(titles.map(String::from));
    for curve in curves {
        grid.rows.push(simulated(curve));
        grid.rows.extend(exact(curve));
    }
    grid.without_empty()
        .claiming(Room::Ample, &["mean", "p50", "p90"])
        .claiming(Room::First, &["p99.9"])
}

fn simulated(curve: &Curve) -> Vec<Cell> {
    let latency = &curve.latency_ns;
    let mut row = vec![Cell::plain(&curve.name), Cell::plain(human::count(Some(curve.requests)))];
    let figures = [latency.mean, latency.p50, latency.p90, latency.p99, latency.p99_9];
    row.extend(figures.iter().map(|q| Cell::estimate(human::latency(q))));
    row.push(Cell::plain(human::number(curve.rate_per_s)));
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
