//! What a policy has done so far, at one moment; two of them make a report.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::due::due;
use super::lag::lags;
use super::rows::{Active, GroupRow, ProcessRow, Quota, Rows};

/// The state of everything at one moment.
#[derive(Clone, Debug)]
pub struct Sample {
    pub(super) scheduler: String,
    pub(super) at: Instant,
    pub(super) cpus: usize,
    pub(super) knows_due: bool,
    pub(super) active: Vec<Active>,
    pub(super) lags: Vec<f64>,
    pub(super) processes: BTreeMap<u32, ProcessRow>,
    pub(super) groups: BTreeMap<u32, GroupRow>,
    pub(super) queues: BTreeMap<u32, (u32, u64)>,
    pub(super) targets: Vec<(usize, usize, u64)>,
    pub(super) pulls: u64,
    pub(super) inversions_avoided: u64,
    pub(super) due: Due,
}

/// What was due so far, added up while a client watched.
#[derive(Clone, Debug, Default)]
pub(super) struct Due {
    /// CPU seconds, by row of the process.
    pub processes: BTreeMap<u32, f64>,
    /// The same by row of the group.
    pub groups: BTreeMap<u32, f64>,
    /// How long that was.
    pub seconds: f64,
}

impl Sample {
    /// The time since.
    pub fn age(&self) -> Duration {
        self.at.elapsed()
    }
}

/// Adds up what is due while a client watches. That changes with every wake-up, so it is sampled.
pub struct Meter {
    scheduler: String,
    cpus: usize,
    /// When it was looked last; `None` if no client has watched since.
    looked: Option<Instant>,
    due: Due,
}

impl Meter {
    /// For a scheduler of this name on so many CPUs.
    pub fn new(scheduler: &str, cpus: usize) -> Meter {
        Meter { scheduler: scheduler.to_string(), cpus, looked: None, due: Due::default() }
    }

    /// No client watches.
    pub fn rest(&mut self) {
        self.looked = None;
    }

    /// A quick look, several times a second while a client watches.
    pub fn snapshot(&mut self, rows: &Rows) -> Vec<Active> {
        let active = rows.active();
        if let Some(looked) = self.looked.replace(Instant::now()) {
            let (mut wanting, quotas) = (active.clone(), rows.quotas());
            if !quotas.is_empty() {
                wanting.extend(rows.held());
            }
            self.add(&wanting, &quotas, looked.elapsed().as_secs_f64());
        }
        active
    }

    /// A look at everything.
    pub fn look(&mut self, rows: &Rows) -> Sample {
        let active = self.snapshot(rows);
        Sample {
            scheduler: self.scheduler.clone(),
            at: Instant::now(),
            cpus: self.cpus,
            knows_due: rows.own(),
            lags: lags(&active),
            active,
            processes: rows.processes(),
            groups: rows.groups(),
            queues: rows.queues(),
            targets: rows.targets(),
            pulls: rows.pulls(),
            inversions_avoided: rows.inversions_avoided(),
            due: self.due.clone(),
        }
    }

    fn add(&mut self, wanting: &[Active], quotas: &BTreeMap<u32, Quota>, seconds: f64) {
        for (thread, share) in wanting.iter().zip(due(wanting, self.cpus as f64, quotas)) {
            *self.due.processes.entry(thread.process).or_default() += share * seconds;
            *self.due.groups.entry(thread.group).or_default() += share * seconds;
        }
        self.due.seconds += seconds;
    }
}
