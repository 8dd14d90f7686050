//! The document of `rearguard fanout`: one server's outliers, and those of a service of many.

use serde::{Deserialize, Serialize};

use crate::document::Estimate;
use crate::grid::{Block, Cell, Grid, Room, Tone};
use crate::human;
use crate::paper::{SeriesChart, figure};

/// The `schema` of a [`FanOut`].
pub const FAN_OUT_SCHEMA: &str = "rearguard.fanout/1";

/// What the outliers of single servers become for a service whose requests wait for all of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FanOut {
    /// [`FAN_OUT_SCHEMA`].
    pub schema: String,
    /// The command line, program name first.
    pub command: Vec<String>,
    /// The version of Rearguard.
    pub version: String,
    /// Servers that a request waits for.
    pub servers: u64,
    /// Containers or virtual machines on each, all of which must answer.
    pub per_server: u64,
    /// The proportion of the service's requests that may be outliers, if one was asked for.
    pub target_proportion: Option<f64>,
    /// The service's outlier proportion in the first row.
    pub service_proportion: Option<f64>,
    /// The proportion that each server (or container) must reach for the target.
    pub required_proportion: Option<f64>,
    /// How many times fewer outliers that is than in the first row.
    pub reduction: Option<f64>,
    /// Every distribution at every threshold.
    pub rows: Vec<FanOutRow>,
    /// What is drawn.
    pub charts: Vec<SeriesChart>,
}

/// One server's outliers at one threshold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FanOutRow {
    /// Whose: a policy and program, a queue; empty for a plain proportion.
    pub source: String,
    /// A request slower than this is an outlier; `None` for a plain proportion.
    pub threshold_ns: Option<u64>,
    /// One server's outliers over its requests.
    pub proportion: Estimate,
    /// One server's requests a second that were no outliers.
    pub valid_throughput_per_s: Option<f64>,
    /// The service's outliers over its requests.
    pub service_proportion: Estimate,
    /// How many times fewer outliers a server needs for the target; `None` without one.
    pub reduction: Option<Estimate>,
}

impl FanOutRow {
    /// Source and threshold in a few words.
    pub fn name(&self) -> String {
        let threshold = self.threshold_ns.map(|ns| format!("over {}", human::round_span(ns)));
        let parts = [self.source.clone(), threshold.unwrap_or_default()];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        if parts.is_empty() { "given proportion".to_string() } else { parts.join(", ") }
    }
}

/// The service in a few words.
pub(crate) fn title(document: &FanOut) -> String {
    let servers = match document.servers {
        1 => "1 server".to_string(),
        more => format!("{} servers", human::count(Some(more))),
    };
    let each = match document.per_server {
        1 => String::new(),
        more => format!(", {} containers or virtual machines on each", human::count(Some(more))),
    };
    format!("Requests that wait for {servers}{each}")
}

/// The table. What all rows are of stands above them, which leaves room for intervals.
pub(crate) fn block(document: &FanOut) -> Block {
    let titles = ["outliers of", "one server", "valid/s", "service", "fewer needed"];
    let mut grid = Grid::new(titles.map(String::from));
    let source = document.rows.first().map_or("", |first| &first.source);
    let common = !source.is_empty() && document.rows.iter().all(|row| row.source == source);
    let mut rows = document.rows.clone();
    let mut heading = title(document);
    if common {
        heading += &format!(". One server: {source}");
        rows.iter_mut().for_each(|row| row.source.clear());
    }
    grid.rows = rows.iter().map(row).collect();
    let grid = grid.without_empty().claiming(Room::First, &["service"]);
    Block { heading, grid, notes: notes(document) }
}

fn row(row: &FanOutRow) -> Vec<Cell> {
    let fewer = row.reduction.unwrap_or_default();
    vec![
        Cell::plain(row.name()),
        Cell::estimate(human::percent(&row.proportion)),
        Cell::plain(human::number(row.valid_throughput_per_s)),
        Cell::estimate(human::percent(&row.service_proportion)),
        Cell::estimate(human::ratio(&fewer)),
    ]
}

fn notes(document: &FanOut) -> Vec<Cell> {
    let needed = document.target_proportion.zip(document.required_proportion);
    let needed = needed.map(|(target, required)| {
        let percent = |p: f64| human::percent(&Estimate::exact(p)).0;
        let each = if document.per_server == 1 { "server" } else { "container or virtual machine" };
        Cell::plain(format!(
            "For at most {} of the service's requests each {each} may have {} ({}) of outliers.",
            percent(target),
            figure(required),
            percent(required)
        ))
    });
    let unknown =
        document.rows.iter().any(|row| row.proportion.low.is_none() && row.threshold_ns.is_some());
    let why = "No interval: one histogram does not tell in which order its requests came, so not how much they depend on each other.";
    let unknown = unknown.then_some(why);
    let assumed = "Servers are taken to be independent of each other; `rearguard cluster` simulates those that are not.";
    let remarks = unknown.into_iter().chain([assumed]);
    needed.into_iter().chain(remarks.map(|words| Cell::plain(words).tone(Tone::Faint))).collect()
}
