//! The document of `rearguard stages --overhead`: what watching adds to a request.

use serde::{Deserialize, Serialize};

use crate::document::Estimate;
use crate::grid::{Block, Cell, Grid};
use crate::human;

/// The `schema` of an [`Overhead`].
pub const OVERHEAD_SCHEMA: &str = "rearguard.stages-overhead/1";

/// What watching costs a null RPC on this machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overhead {
    /// [`OVERHEAD_SCHEMA`].
    pub schema: String,
    /// The command line, program name first.
    pub command: Vec<String>,
    /// The version of Rearguard.
    pub version: String,
    /// The kernel.
    pub kernel: Option<String>,
    /// Rounds, in each of which every row ran once.
    pub rounds: u32,
    /// Nothing watched first, then what can be.
    pub rows: Vec<OverheadRow>,
}

/// A way to watch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OverheadRow {
    /// What is watched.
    pub watched: String,
    /// CPU time of a request, client and server: the median of the rounds, and the interval that holds it
    /// with 95%.
    pub cpu_ns: Estimate,
    /// Instructions of a request; null where they cannot be counted.
    pub instructions: Estimate,
    /// What it adds to an untraced request of the same round, as a share of that, in CPU time.
    pub cpu_overhead: Estimate,
    /// The same in instructions.
    pub instruction_overhead: Estimate,
}

impl Overhead {
    /// The rows as a table.
    pub(crate) fn block(&self) -> Block {
        let titles = ["watched", "a request", "more", "instructions", "more"];
        let mut grid = Grid::new(titles.map(String::from));
        let share = |of: &Estimate| match (of.value, of.low, of.high) {
            (Some(value), Some(low), Some(high)) => {
                format!("{:.1}% [{:.1}, {:.1}]", 100.0 * value, 100.0 * low, 100.0 * high)
            }
            _ => "-".to_string(),
        };
        let count =
            |of: &Estimate| of.value.map_or("-".to_string(), |n| human::count(Some(n as u64)));
        let row = |row: &OverheadRow| {
            vec![
                Cell::plain(&row.watched),
                Cell::plain(row.cpu_ns.value.map_or("-".to_string(), human::span)),
                Cell::plain(share(&row.cpu_overhead)),
                Cell::plain(count(&row.instructions)),
                Cell::plain(share(&row.instruction_overhead)),
            ]
        };
        grid.rows = self.rows.iter().map(row).collect();
        let heading = format!(
            "what watching adds to a null RPC, CPU time and instructions of client and server, medians of {} rounds",
            self.rounds
        );
        Block { heading, grid, notes: Vec::new() }
    }
}
