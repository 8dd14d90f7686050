//! What happened between two samples, in the words of scx_stats.

use std::collections::BTreeMap;

use loader::{Figures, Group, Process, Queue, Report};

use super::figures::Span;
use super::names::Names;
use super::rows::ProcessRow;
use super::sample::Sample;

const LEVELS: [&str; 5] = ["cpu", "core", "llc", "node", "machine"];

/// Puts two samples into words.
pub fn report(before: &Sample, after: &Sample, names: &mut Names) -> Report {
    let span = Span { before, after, seconds: (after.at - before.at).as_secs_f64().max(1e-9) };
    let groups = span.groups(names);
    let target =
        |(level, domain, at): &(usize, usize, u64)| (format!("{} {domain}", LEVELS[*level]), *at);
    let all = |of: fn(&Group) -> f64| groups.get("/").map_or(0.0, of);
    Report {
        scheduler: after.scheduler.clone(),
        interval_s: span.seconds,
        cpus: after.cpus as u32,
        knows_due: u32::from(after.knows_due),
        slices_per_s: all(|group| group.slices_per_s),
        migrations_per_s: all(|group| group.migrations_per_s),
        pulls_per_s: span.rate(before.pulls, after.pulls),
        inversions_avoided_per_s: span.rate(before.inversions_avoided, after.inversions_avoided),
        processes: span.processes(names),
        queues: after
            .queues
            .iter()
            .map(|(at, (threads, min_vruntime_ns))| {
                (*at, Queue { threads: *threads, min_vruntime_ns: *min_vruntime_ns })
            })
            .collect(),
        targets: after.targets.iter().map(target).collect(),
        groups,
    }
}

impl Span<'_> {
    fn processes(&self, names: &mut Names) -> BTreeMap<u32, Process> {
        let standings = self.standings(|thread| thread.process);
        let due = [&self.before.due.processes, &self.after.due.processes];
        let process = |(row, of): (&u32, &ProcessRow)| {
            let tallies = (self.before.processes.get(row).map(|of| of.tally), of.tally);
            let figures = self.figures(standings.get(row), tallies, due.map(|due| due.get(row)));
            let group = names.group(self.after.groups.get(&of.group).map_or(0, |group| group.id));
            (of.id, of_process(names.process(of.id), group, of.threads, figures))
        };
        self.after.processes.iter().map(process).collect()
    }

    /// Groups by path, each with all below it.
    fn groups(&self, names: &mut Names) -> BTreeMap<String, Group> {
        let standings = self.standings(|thread| thread.group);
        let due = [&self.before.due.groups, &self.after.due.groups];
        let mut sums: BTreeMap<u32, Figures> = BTreeMap::new();
        for (row, of) in &self.after.groups {
            let tallies = (self.before.groups.get(row).map(|of| of.tally), of.tally);
            let own = self.figures(standings.get(row), tallies, due.map(|due| due.get(row)));
            self.lineage(*row).into_iter().for_each(|above| *sums.entry(above).or_default() += own);
        }
        let group = |(row, figures)| {
            let id = self.after.groups.get(&row).map_or(0, |of| of.id);
            (names.group(id), self.of_group(row, figures))
        };
        sums.into_iter().map(group).collect()
    }

    fn of_group(&self, row: u32, of: Figures) -> Group {
        let Figures { share, due_share, lag_ns, active, slices_per_s, migrations_per_s, .. } = of;
        let rows = [self.before, self.after].map(|sample| sample.groups.get(&row));
        let [before, after] = rows.map(|of| of.map(|of| of.throttling).unwrap_or_default());
        let [kept, keeps] = rows.map(|of| of.map(|of| of.keeping).unwrap_or_default());
        let cpus = (self.after.cpus as f64).max(1.0);
        Group {
            weight: rows[1].map_or(0, |of| of.weight),
            share,
            due_share,
            lag_ns,
            active,
            held: after.held,
            periods_per_s: self.rate(before.periods, after.periods),
            throttled_per_s: self.rate(before.throttled, after.throttled),
            promised_ns: keeps.within_ns,
            served_per_s: self.rate(kept.wakes, keeps.wakes),
            late_per_s: self.rate(kept.late, keeps.late),
            at_most: keeps.share as f64 / 1e6 / cpus,
            budget_used: self.rate(kept.used_ns, keeps.used_ns) / 1e9 / cpus,
            slices_per_s,
            migrations_per_s,
        }
    }

    /// The group and all above it, the root last.
    fn lineage(&self, row: u32) -> Vec<u32> {
        let mut line = vec![row];
        while let Some(&last) = line.last()
            && last != 0
            && line.len() <= self.after.groups.len()
        {
            line.push(self.after.groups.get(&last).map_or(0, |of| of.parent));
        }
        line
    }
}

fn of_process(name: String, group: String, threads: u32, of: Figures) -> Process {
    let Figures { share, due_share, lag_ns, active, batch, .. } = of;
    let Figures { slices_per_s, migrations_per_s, .. } = of;
    Process {
        name,
        group,
        threads,
        active,
        batch,
        share,
        due_share,
        lag_ns,
        slices_per_s,
        migrations_per_s,
    }
}
