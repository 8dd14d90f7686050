//! The document of `rearguard stages`: where the time of a watched service's requests went, stage by stage.

use serde::{Deserialize, Serialize};

use crate::document::Latency;
use crate::grid::{Block, Cell, Grid, Room};
use crate::human;

/// The `schema` of a [`StagesDocument`].
pub const STAGES_SCHEMA: &str = "rearguard.stages/1";

/// The stages in the server's kernel, T1 to T6 (Tales section 3.3.1): a key, and what happens.
pub const SERVER_STAGES: [(&str, &str); 5] = [
    ("t1_t2", "the kernel receives it"),
    ("t2_t3", "its thread waits for a CPU, or is busy"),
    ("t3_t4", "its thread reads it"),
    ("t4_t5", "its thread is at it"),
    ("t5_t6", "its thread answers"),
];
/// What T4 to T5 consists of.
pub const AT_IT: [(&str, &str); 2] =
    [("t4_t5_on", "of that, on a CPU"), ("t4_t5_off", "of that, asleep or waiting for a CPU")];
/// Before the request leaves the client.
pub const CLIENT: (&str, &str) =
    ("intended_sent", "it waits in the client for a free connection, or for the client");
/// What lies around the server's kernel, and all of it.
pub const AROUND: [(&str, &str); 3] = [
    ("sent_t1", "on its way to the server"),
    ("t6_received", "the answer on its way back"),
    ("intended_received", "all: the latency"),
];
/// All in the server's kernel together.
pub const WHOLE: (&str, &str) = ("t1_t6", "all of the server");

/// A watched service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StagesDocument {
    /// [`STAGES_SCHEMA`].
    pub schema: String,
    /// The command line, program name first.
    pub command: Vec<String>,
    /// The version of Rearguard.
    pub version: String,
    /// The process that serves.
    pub service: String,
    /// Its port.
    pub port: u16,
    /// The kernel.
    pub kernel: Option<String>,
    /// Requests that were answered in the measured part.
    pub requests: u64,
    /// Those of them whose moments were all seen, in order.
    pub complete: u64,
    /// The stages, and the whole.
    pub stages: Vec<Stage>,
}

/// The time between two moments of a request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// Which: `t1_t2`.
    pub stage: String,
    /// What happens in it.
    pub what: String,
    /// How long it takes; without values where that is unknown.
    pub span_ns: Latency,
}

impl StagesDocument {
    /// The stages as a table.
    pub(crate) fn block(&self) -> Block {
        let grid = grid(&self.stages);
        let count = |n: u64| human::count(Some(n));
        let heading = format!(
            "{} at port {}: {} requests, the stages of {} complete",
            self.service,
            self.port,
            count(self.requests),
            count(self.complete)
        );
        Block { heading, grid, notes: Vec::new() }
    }
}

/// Stages in rows.
pub(crate) fn grid(stages: &[Stage]) -> Grid {
    let titles = ["stage", "what", "mean", "p50", "p99", "p99.9", "max"];
    let mut grid = Grid::new(titles.map(String::from)).claiming(Room::First, &["p99.9"]);
    let row = |stage: &Stage| {
        let Latency { mean, p50, p99, p99_9, max, .. } = stage.span_ns;
        let name = stage.stage.to_uppercase().replace('_', "-");
        let mut row = vec![Cell::plain(name), Cell::plain(&stage.what)];
        row.extend([mean, p50, p99, p99_9].iter().map(|q| Cell::estimate(human::latency(q))));
        row.push(Cell::plain(
            max.map_or(human::UNKNOWN.to_string(), |max| human::span(max as f64)),
        ));
        row
    };
    grid.rows = stages.iter().map(row).collect();
    grid
}
