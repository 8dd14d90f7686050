//! What is said of a process and of a group alike: what it received, what was due, and how its threads stand.

use std::collections::BTreeMap;

use loader::Figures;

use super::rows::{Active, Tally};
use super::sample::Sample;

/// From one sample to another.
pub(super) struct Span<'a> {
    pub before: &'a Sample,
    pub after: &'a Sample,
    pub seconds: f64,
}

impl Span<'_> {
    /// Of a count, a second.
    pub fn rate(&self, before: u64, after: u64) -> f64 {
        after.saturating_sub(before) as f64 / self.seconds
    }

    /// How the active threads of each row stand.
    pub fn standings(&self, row: fn(&Active) -> u32) -> BTreeMap<u32, Figures> {
        let mut standings: BTreeMap<u32, Figures> = BTreeMap::new();
        for (thread, lag) in self.after.active.iter().zip(&self.after.lags) {
            let standing = standings.entry(row(thread)).or_default();
            standing.active += 1;
            standing.batch += u32::from(thread.batch);
            standing.lag_ns += lag;
        }
        standings
    }

    /// A standing (none: no thread is active) with what was received between two tallies (none: the row is
    /// new), and what was due.
    pub fn figures(
        &self,
        standing: Option<&Figures>,
        (before, after): (Option<Tally>, Tally),
        due: [Option<&f64>; 2],
    ) -> Figures {
        let before = before.unwrap_or_default();
        Figures {
            share: self.received(before, after),
            due_share: self.due(due.map(|due| due.copied().unwrap_or(0.0))),
            slices_per_s: self.rate(before.slices, after.slices),
            migrations_per_s: self.rate(before.migrations, after.migrations),
            ..standing.copied().unwrap_or_default()
        }
    }

    /// As the share of all CPUs.
    fn received(&self, before: Tally, after: Tally) -> f64 {
        let ran_s = after.ran_ns.saturating_sub(before.ran_ns) as f64 / 1e9;
        ran_s / self.seconds / self.after.cpus.max(1) as f64
    }

    fn due(&self, [before, after]: [f64; 2]) -> f64 {
        let seconds = self.after.due.seconds - self.before.due.seconds;
        let due = after - before;
        if seconds > 0.0 { due / seconds / self.after.cpus.max(1) as f64 } else { 0.0 }
    }
}
