//! The requests of a mix, kind by kind.

use serde::{Deserialize, Serialize};

use crate::document::{Estimate, Latency};
use crate::grid::{Block, Cell, Grid, Room, Tone};
use crate::human;

/// The name of those that have no row of their own.
pub const OTHERS: &str = "others";
/// Fewer requests than this do not tell p50, p99 or p99.9: none lies beyond.
const LEAST: [u64; 3] = [2, 100, 1_000];

/// The requests of one kind of a mix, or of several kinds that were seldom asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KindResult {
    /// What people know it by: its line, shortened; [`OTHERS`].
    pub name: String,
    /// Kinds in this row: 1, or how many the others are.
    pub kinds: u64,
    /// Requests in the measured time, lost ones included.
    pub requests: u64,
    /// Their share of all requests.
    pub share: f64,
    /// Requests that were never answered.
    pub lost: u64,
    /// Answers other than wanted.
    pub complaints: u64,
    /// From the intended moment to the response; a quantile of too few requests is unknown, and without
    /// requests all is.
    pub latency_ns: Option<Latency>,
}

/// A row a kind.
pub(crate) fn block(kinds: &[KindResult]) -> Block {
    let titles = ["kind", "requests", "share", "lost", "complaints", "p50", "p99", "p99.9"];
    let mut grid = Grid::new(titles.map(String::from))
        .claiming(Room::Ample, &["p50", "p99"])
        .claiming(Room::First, &["p99.9"]);
    grid.spare = ["share", "p50", "complaints"].map(String::from).to_vec();
    grid.rows = kinds.iter().map(row).collect();
    Block {
        heading: "kinds of requests, the most frequent first".to_string(),
        grid: grid.without_empty(),
        notes: Vec::new(),
    }
}

fn row(kind: &KindResult) -> Vec<Cell> {
    let name =
        if kind.kinds > 1 { format!("{} {}", kind.kinds, kind.name) } else { kind.name.clone() };
    let bad = |count: u64| match count {
        0 => Cell::plain(human::UNKNOWN),
        _ => Cell::plain(human::count(Some(count))).tone(Tone::Bad),
    };
    let mut row = vec![
        Cell::plain(name),
        Cell::plain(human::count(Some(kind.requests))),
        Cell::plain(human::share(Some(kind.share))),
        bad(kind.lost),
        bad(kind.complaints),
    ];
    let Latency { p50, p99, p99_9, .. } = kind.latency_ns.unwrap_or_default();
    let quantiles = [p50, p99, p99_9].into_iter().zip(LEAST);
    row.extend(quantiles.map(|(quantile, least)| cell(&quantile, kind.requests >= least)));
    row
}

fn cell(quantile: &Estimate, is_told: bool) -> Cell {
    match quantile.value.or(quantile.low) {
        _ if !is_told => Cell::plain("cannot tell").tone(Tone::Faint),
        None => Cell::plain("lost").tone(Tone::Bad),
        Some(_) => Cell::estimate(human::latency(quantile)),
    }
}
