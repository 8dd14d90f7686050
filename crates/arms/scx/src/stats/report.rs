//! What happened between two samples, in the words of scx_stats.

use std::collections::BTreeMap;

use scx_stats_derive::Stats;
use serde::{Deserialize, Serialize};

use super::figures::{Figures, Span};
use super::names::Names;
use super::rows::ProcessRow;
use super::sample::Sample;

/// A group: a cgroup with all below it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Stats)]
#[stat(desc = "group", _om_prefix = "group_", _om_label = "group")]
pub struct Group {
    /// cpu.weight; 0 for the root, which has none.
    #[stat(desc = "cpu.weight, 0 for the root")]
    pub weight: u32,
    /// Of all CPUs' time, 0 to 1.
    #[stat(desc = "received share of all CPUs, 0 to 1")]
    pub share: f64,
    /// By the weights of the threads that wanted a CPU, 0 to 1.
    #[stat(desc = "due share of all CPUs by the weights of the threads that want one, 0 to 1")]
    pub due_share: f64,
    /// Above 0 it is owed.
    #[stat(desc = "CPU time that its active threads are owed at present, ns")]
    pub lag_ns: f64,
    /// Threads that run or wait.
    #[stat(desc = "threads that run or wait at present")]
    pub active: u32,
    /// Begun to run, of its threads.
    #[stat(desc = "slices begun per second")]
    pub slices_per_s: f64,
    /// Slices begun on another CPU than the one before.
    #[stat(desc = "slices begun on another CPU than the one before, per second")]
    pub migrations_per_s: f64,
}

/// A process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Stats)]
#[stat(desc = "process", _om_prefix = "process_", _om_label = "pid")]
pub struct Process {
    /// As ps shows it.
    #[stat(desc = "command", _om_skip)]
    pub name: String,
    /// The cgroup's path.
    #[stat(desc = "its group", _om_skip)]
    pub group: String,
    /// All of them.
    #[stat(desc = "threads")]
    pub threads: u32,
    /// Threads that run or wait.
    #[stat(desc = "threads that run or wait at present")]
    pub active: u32,
    /// Of these, with a pool of their own.
    #[stat(desc = "of these, batch: they burned so much CPU time that they lost their place")]
    pub batch: u32,
    /// Of all CPUs' time, 0 to 1.
    #[stat(desc = "received share of all CPUs, 0 to 1")]
    pub share: f64,
    /// By the weights of the threads that wanted a CPU, 0 to 1.
    #[stat(desc = "due share of all CPUs by the weights of the threads that want one, 0 to 1")]
    pub due_share: f64,
    /// Above 0 it is owed.
    #[stat(desc = "CPU time that its active threads are owed at present, ns")]
    pub lag_ns: f64,
    /// Begun to run, of its threads.
    #[stat(desc = "slices begun per second")]
    pub slices_per_s: f64,
    /// Slices begun on another CPU than the one before.
    #[stat(desc = "slices begun on another CPU than the one before, per second")]
    pub migrations_per_s: f64,
}

/// A queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Stats)]
#[stat(desc = "queue", _om_prefix = "queue_", _om_label = "queue")]
pub struct Queue {
    /// That run from it or wait in it.
    #[stat(desc = "threads that run from it or wait in it at present")]
    pub threads: u32,
    /// Its least virtual time.
    #[stat(desc = "its min_vruntime: the least virtual time of its threads, ns")]
    pub min_vruntime_ns: u64,
}

/// All of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Stats)]
#[stat(desc = "a policy at work", top, _om_prefix = "rearguard_")]
pub struct Report {
    /// In /sys/kernel/sched_ext/root/ops.
    #[stat(desc = "the scheduler's name", _om_skip)]
    pub scheduler: String,
    /// Between the two looks that the rates are of.
    #[stat(desc = "seconds that rates and shares are of")]
    pub interval_s: f64,
    /// Online.
    #[stat(desc = "CPUs")]
    pub cpus: u32,
    /// Of a policy in a file only what was received is known, of a group without those below it.
    #[stat(
        desc = "1: what is due is known; 0: a policy in a file, of which only received time is, and dues, lags and active threads stay 0"
    )]
    pub knows_due: u32,
    /// Begun to run, all threads.
    #[stat(desc = "slices begun per second")]
    pub slices_per_s: f64,
    /// Slices begun on another CPU than the one before.
    #[stat(desc = "slices begun on another CPU than the one before, per second")]
    pub migrations_per_s: f64,
    /// Threads that balance moved from one queue to another.
    #[stat(desc = "threads that balance moved from one queue to another, per second")]
    pub pulls_per_s: f64,
    /// The first-come thread ran before the one that held its pool's least vruntime.
    #[stat(desc = "threads that ran before a later one of lesser virtual time, per second")]
    pub inversions_avoided_per_s: f64,
    /// By the cgroup's path.
    #[stat(desc = "groups")]
    pub groups: BTreeMap<String, Group>,
    /// By id.
    #[stat(desc = "processes")]
    pub processes: BTreeMap<u32, Process>,
    /// By number.
    #[stat(desc = "queues")]
    pub queues: BTreeMap<u32, Queue>,
    /// By level and domain: `llc 0`.
    #[stat(desc = "targets of global virtual time by domain, ns")]
    pub targets: BTreeMap<String, u64>,
}

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
            (of.id, Process::new(names.process(of.id), group, of.threads, figures))
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
            let (id, weight) = self.after.groups.get(&row).map_or((0, 0), |of| (of.id, of.weight));
            (names.group(id), Group::new(weight, figures))
        };
        sums.into_iter().map(group).collect()
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

impl Group {
    fn new(weight: u32, figures: Figures) -> Group {
        let Figures { share, due_share, lag_ns, active, slices_per_s, migrations_per_s, .. } =
            figures;
        Group { weight, share, due_share, lag_ns, active, slices_per_s, migrations_per_s }
    }
}

impl Process {
    fn new(name: String, group: String, threads: u32, figures: Figures) -> Process {
        let Figures { share, due_share, lag_ns, active, batch, .. } = figures;
        let Figures { slices_per_s, migrations_per_s, .. } = figures;
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
}
