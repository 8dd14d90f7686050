//! What cells use.

use std::io;
use std::time::Duration;

use model::Failure;
use serde::Serialize;

use super::{Cell, cells};
use crate::journal::Journal;

/// What [`Cells::schema`] says.
const SCHEMA: &str = "rearguard.cells/1";

/// All cells.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cells {
    /// The format.
    pub schema: &'static str,
    /// In the order in which they were made.
    pub cells: Vec<Use>,
}

/// A cell at one moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Use {
    /// Its name.
    pub name: String,
    /// Its CPUs.
    pub cpus: String,
    /// The nodes of its memory.
    pub memory_nodes: String,
    /// What the kernel says of its partition: `root`, `isolated`, or why it is none.
    pub partition: String,
    /// Processes in it.
    pub processes: usize,
    /// CPU time that its threads have had.
    pub cpu_time_ns: u64,
    /// CPUs that they keep busy; `None`: not known from one look.
    pub cpus_used: Option<f64>,
}

/// Looks at all cells.
pub fn uses(journal: &Journal) -> Result<Vec<Use>, Failure> {
    let used = |cell: &Cell| {
        one(journal, cell).map_err(|error| Failure::Run(format!("{}: {error}", cell.group)))
    };
    cells(journal)?.iter().map(used).collect()
}

/// What cells use, of two looks and the time between them.
pub fn rates(before: &[Use], mut now: Vec<Use>, between: Duration) -> Cells {
    for cell in &mut now {
        let earlier = before.iter().find(|earlier| earlier.name == cell.name);
        let spent_ns = earlier.map(|e| cell.cpu_time_ns.saturating_sub(e.cpu_time_ns));
        cell.cpus_used = spent_ns.map(|ns| ns as f64 / between.as_nanos().max(1) as f64);
    }
    Cells { schema: SCHEMA, cells: now }
}

fn one(journal: &Journal, cell: &Cell) -> io::Result<Use> {
    let read = |file: &str| journal.on.read(&format!("{}/{file}", cell.group));
    let stat = read("cpu.stat")?;
    let used_us = stat.lines().find_map(|line| line.strip_prefix("usage_usec "));
    Ok(Use {
        name: cell.name.clone(),
        cpus: read("cpuset.cpus.effective")?.trim().to_string(),
        memory_nodes: read("cpuset.mems.effective")?.trim().to_string(),
        partition: read("cpuset.cpus.partition")?.trim().to_string(),
        processes: read("cgroup.procs")?.lines().count(),
        cpu_time_ns: used_us.and_then(|text| text.parse::<u64>().ok()).unwrap_or(0) * 1_000,
        cpus_used: None,
    })
}
