//! What the scheduler's own programs cost, by the kernel's statistics.

use std::collections::BTreeMap;
use std::fs;

use libbpf_rs::query::ProgInfoIter;
use serde::{Deserialize, Serialize};

/// Runs and time of every program so far.
pub struct Profile(BTreeMap<String, (u64, u64)>);

/// A callback's share of a round trip.
#[derive(Debug, Serialize, Deserialize)]
pub struct Callback {
    /// Its name.
    pub name: String,
    /// Runs a round trip.
    pub runs: f64,
    /// Instructions a run.
    pub instructions: f64,
}

impl Profile {
    /// Makes the kernel count, at a cost of its own.
    pub fn enable() -> std::io::Result<()> {
        fs::write("/proc/sys/kernel/bpf_stats_enabled", "1")
    }

    /// The counts now.
    pub fn read() -> Profile {
        let programs = ProgInfoIter::default();
        let counts = programs.map(|program| {
            let name = program.name.to_string_lossy().into_owned();
            (name, (program.run_cnt, program.run_time_ns))
        });
        Profile(counts.collect())
    }

    /// What was added since, a round trip; the costliest first.
    pub fn since(&self, before: &Profile, trips: f64) -> Vec<Callback> {
        let added = self.0.iter().filter_map(|(name, (runs, ns))| {
            let (runs_before, ns_before) = before.0.get(name).copied().unwrap_or_default();
            let (runs, ns) = ((runs - runs_before) as f64, (ns - ns_before) as f64);
            let name = name.clone();
            (runs > 0.0).then(|| Callback { name, runs: runs / trips, instructions: ns / runs })
        });
        let mut callbacks: Vec<Callback> = added.collect();
        let cost = |callback: &Callback| callback.runs * callback.instructions;
        callbacks.sort_by(|a, b| cost(b).total_cmp(&cost(a)));
        callbacks
    }
}
