//! The rows as they stand: a copy of what this module asks of them.

use std::collections::BTreeMap;

use crate::skeleton::{BpfMaps, types};

/// A thread that runs or waits at the moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Active {
    /// The row of its process.
    pub process: u32,
    /// The row of its group.
    pub group: u32,
    /// The number of the virtual time in which its vruntime counts, plus 1; 0: none yet.
    pub clock: u32,
    /// Its virtual time in ns.
    pub vruntime: u64,
    /// Its effective weight; 100 at nice 0 outside of groups.
    pub weight: f64,
    /// Whether it has a pool of its own.
    pub batch: bool,
}

/// What a group may have at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quota {
    /// The row of its parent.
    pub parent: u32,
    /// As a number of CPUs; `None`: it has no quota of its own.
    pub cpus: Option<f64>,
}

/// What a process or group has received since the policy was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// CPU time in ns.
    pub ran_ns: u64,
    /// How often a thread began to run.
    pub slices: u64,
    /// Of these, on another CPU than before.
    pub migrations: u64,
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.ran_ns += other.ran_ns;
        self.slices += other.slices;
        self.migrations += other.migrations;
    }
}

/// What a group's quota (`cpu.max`) has done to its threads since the policy was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throttling {
    /// Threads that wait for it now.
    pub held: u32,
    /// Periods that have ended.
    pub periods: u64,
    /// Of these, with threads held at the end.
    pub throttled: u64,
}

/// How a promise to a group was kept since the policy was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keeping {
    /// Within how long of a wake-up in ns; 0: there is no promise.
    pub within_ns: u64,
    /// What it may have, in millionths of a CPU.
    pub share: u64,
    /// What it had of that in ns, while others waited.
    pub used_ns: u64,
    /// Wake-ups that were served.
    pub wakes: u64,
    /// Of these, later.
    pub late: u64,
}

/// A process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessRow {
    /// The process's id.
    pub id: u32,
    /// The row of its group.
    pub group: u32,
    /// Its threads, asleep ones too.
    pub threads: u32,
    /// What it received; of the row's former owners, too, so only differences mean something.
    pub tally: Tally,
}

/// A group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupRow {
    /// The cgroup's id, 0: the root's.
    pub id: u64,
    /// The row of its parent.
    pub parent: u32,
    /// Its weight among its siblings.
    pub weight: u32,
    /// By its own quota, not by those of groups above.
    pub throttling: Throttling,
    /// By its own promise.
    pub keeping: Keeping,
    /// What its own threads received, as for a process.
    pub tally: Tally,
}

/// The fixed point that effective weights are counted in (`RG_WEIGHT_ONE`).
const WEIGHT_ONE: f64 = 65_536.0;
/// `RG_FAIR_PROCESS`.
const FAIR_PROCESS: u32 = 1;

/// The tables, mapped.
pub struct Rows<'a> {
    maps: &'a BpfMaps<'a>,
    cpus: usize,
    own: bool,
}

/// Reads one word that the kernel may be changing.
fn now<T: Copy>(word: &T) -> T {
    // SAFETY: a reference is readable; that the kernel writes meanwhile is why the read is volatile.
    unsafe { std::ptr::read_volatile(word) }
}

/// Virtual time since it began, at `RG_VTIME_BEGIN` (policy/state.h).
fn since_begin(vruntime: &u64) -> u64 {
    now(vruntime).wrapping_add(1_000_000)
}

impl<'a> Rows<'a> {
    /// The tables of loaded programs; of those by CPU or queue so many rows are in use. Those of a policy
    /// that is not the project's `own` hold what only its author knows: then nothing is read but what the
    /// adapter keeps.
    pub fn of(maps: &'a BpfMaps<'a>, cpus: usize, own: bool) -> Rows<'a> {
        Rows { maps, cpus, own }
    }

    /// Whether the due shares are known.
    pub fn own(&self) -> bool {
        self.own
    }

    /// Rows of threads in use.
    fn tasks(&self) -> impl Iterator<Item = (usize, &types::rg_task_ctx)> {
        let allocated =
            self.maps.bss_data.as_ref().map_or(0, |bss| now(&bss.rg_thread_allocator.allocated));
        let tasks =
            self.maps.bss_tasks_data.iter().flat_map(|table| &table.rg_task_ctxs).enumerate();
        tasks.take(allocated as usize + 1).filter(|(_, ctx)| now(&ctx.thread) != 0)
    }

    /// Threads that run or wait; not our own, of which one runs at each look.
    pub fn active(&self) -> Vec<Active> {
        let me = std::process::id();
        self.threads(|thread, id| now(&thread.counted) != 0 && id != me)
    }

    /// Threads that want a CPU and that the quota of a group holds.
    pub fn held(&self) -> Vec<Active> {
        self.threads(|thread, _| now(&thread.counted) == 0 && now(&thread.held) != 0)
    }

    /// The threads of which this is true, given the process's id.
    fn threads(&self, is_meant: impl Fn(&types::rg_thread, u32) -> bool) -> Vec<Active> {
        let Some(threads) = self.maps.bss_threads_data.as_ref().filter(|_| self.own) else {
            return Vec::new();
        };
        let meant = self.tasks().map(|(row, ctx)| (ctx, &threads.rg_threads[row]));
        let meant = meant.filter(|(ctx, thread)| is_meant(thread, now(&ctx.id)));
        meant.map(|(ctx, thread)| self.of_thread(ctx, thread)).collect()
    }

    fn of_thread(&self, ctx: &types::rg_task_ctx, thread: &types::rg_thread) -> Active {
        let options = self.maps.rodata_options_data.as_ref();
        let fair = options.map_or(0, |data| data.rg_loaded_options.fair);
        let process = now(&ctx.process);
        let account = match self.maps.bss_processes_data.as_ref() {
            Some(table) if fair == FAIR_PROCESS => &table.rg_processes[process as usize].account,
            _ => &thread.account,
        };
        Active {
            process,
            group: now(&ctx.group),
            clock: now(&account.vtime),
            vruntime: now(&account.vruntime),
            weight: now(&thread.weight) as f64 / WEIGHT_ONE,
            batch: now(&thread.batch) != 0,
        }
    }

    /// Rows of groups that were ever in use, the root's too.
    fn group_rows(&self) -> usize {
        let bss = self.maps.bss_data.as_ref();
        bss.map_or(0, |bss| now(&bss.rg_group_allocator.allocated)) as usize + 1
    }

    /// Groups by row; none, if no group has a quota.
    pub fn quotas(&self) -> BTreeMap<u32, Quota> {
        let maps = self.maps;
        let limited =
            maps.bss_shared_data.as_ref().is_some_and(|data| now(&data.rg_all.limited) != 0);
        let rows = maps.bss_groups_data.as_ref().filter(|_| self.own && limited);
        let groups = rows.iter().flat_map(|rows| &rows.rg_groups).take(self.group_rows());
        let quota = |(row, of): (usize, &types::rg_group)| {
            (row as u32, Quota { parent: now(&of.parent), cpus: cpus(&of.budget) })
        };
        groups.enumerate().skip(1).map(quota).collect()
    }

    /// Processes by row.
    pub fn processes(&self) -> BTreeMap<u32, ProcessRow> {
        let mut processes = BTreeMap::new();
        let Some(tallies) = self.maps.bss_tallies_data.as_ref() else { return processes };
        for (_, ctx) in self.tasks() {
            let row = now(&ctx.process);
            let process = processes.entry(row).or_insert_with(|| ProcessRow {
                id: now(&ctx.id),
                group: now(&ctx.group),
                threads: 0,
                tally: tally(&tallies.rg_process_tallies[row as usize]),
            });
            process.threads += 1;
            process.tally.add(tally(&ctx.tally));
        }
        processes
    }

    /// Groups by row; 0 is the root.
    pub fn groups(&self) -> BTreeMap<u32, GroupRow> {
        let maps = self.maps;
        let mut groups = BTreeMap::new();
        let (Some(ids), Some(rows), Some(tallies)) =
            (&maps.bss_group_ids_data, &maps.bss_groups_data, &maps.bss_shares_data)
        else {
            return groups;
        };
        let ids = ids.rg_group_ids.iter().take(self.group_rows());
        for (row, id) in ids.map(now).enumerate() {
            if row == 0 || id != 0 {
                let group = self.own.then(|| &rows.rg_groups[row]);
                let (parent, weight) =
                    group.map_or((0, 0), |group| (now(&group.parent), now(&group.weight)));
                let throttling =
                    group.map_or(Throttling::default(), |group| throttling(&group.budget));
                let keeping = group.map_or(Keeping::default(), |group| keeping(&group.promise));
                let tally = tally(&tallies.rg_group_tallies[row]);
                let group = GroupRow { id, parent, weight, throttling, keeping, tally };
                groups.insert(row as u32, group);
            }
        }
        for (_, ctx) in self.tasks() {
            if let Some(group) = groups.get_mut(&now(&ctx.group)) {
                group.tally.add(tally(&ctx.tally));
            }
        }
        groups
    }

    /// The queues in use: how many run from each or wait in it, and its min_vruntime in ns of virtual time
    /// since that began. A policy keeps either those of queues or one of the machine; the other ones stay 0.
    pub fn queues(&self) -> BTreeMap<u32, (u32, u64)> {
        if !self.own {
            return BTreeMap::new();
        }
        let machine = self
            .maps
            .bss_shared_data
            .as_ref()
            .map_or(0, |data| since_begin(&data.rg_all.cpusets[0].vtime.min_vruntime));
        let min_vruntime = |of: u64| of.max(machine);
        let queues =
            self.maps.bss_queues_data.iter().flat_map(|table| &table.rg_queues).take(self.cpus);
        let used = queues.enumerate().filter(|(_, queue)| now(&queue.capacity) != 0);
        used.map(|(at, queue)| {
            (at as u32, (now(&queue.threads), min_vruntime(since_begin(&queue.vtime.min_vruntime))))
        })
        .collect()
    }

    /// Threads that balance moved from one queue to another.
    pub fn pulls(&self) -> u64 {
        let shared = self.maps.bss_shared_data.as_ref().filter(|_| self.own);
        shared.map_or(0, |data| now(&data.rg_all.pulls))
    }

    /// Choices of a first-come thread instead of the one that held the least vruntime.
    pub fn inversions_avoided(&self) -> u64 {
        let table = self.maps.bss_cpus_data.iter().filter(|_| self.own);
        let cpus = table.flat_map(|table| &table.rg_cpus).take(self.cpus);
        cpus.map(|cpu| now(&cpu.inversions)).sum()
    }

    /// The targets of each level in use, by domain, in ns of virtual time.
    pub fn targets(&self) -> Vec<(usize, usize, u64)> {
        let own = self.maps.rodata_options_data.as_ref().filter(|_| self.own);
        let (Some(chosen), Some(cpus)) = (own, &self.maps.bss_cpus_data) else {
            return Vec::new();
        };
        let used = chosen
            .rg_loaded_options
            .interval_ns
            .iter()
            .enumerate()
            .filter(|(_, interval)| **interval != 0);
        let of_level = |(level, _): (usize, &u64)| {
            let targets = cpus
                .rg_cpus
                .iter()
                .take(self.cpus)
                .map(move |cpu| now(&cpu.targets[level].at))
                .enumerate();
            targets.filter(|(_, at)| *at != 0).map(move |(domain, at)| (level, domain, at))
        };
        used.flat_map(of_level).collect()
    }
}

/// The CPUs of a quota, if it is one.
fn cpus(of: &types::rg_budget) -> Option<f64> {
    let (quota_ns, period_ns) = (now(&of.quota_ns), now(&of.period_ns));
    (now(&of.limited) != 0 && period_ns > 0).then(|| quota_ns as f64 / period_ns as f64)
}

fn throttling(of: &types::rg_budget) -> Throttling {
    Throttling { held: now(&of.held), periods: now(&of.periods), throttled: now(&of.throttled) }
}

fn keeping(of: &types::rg_promise) -> Keeping {
    Keeping {
        within_ns: now(&of.within_ns),
        share: now(&of.share),
        used_ns: now(&of.used_ns),
        wakes: now(&of.wakes),
        late: now(&of.late),
    }
}

fn tally(of: &types::rg_tally) -> Tally {
    Tally { ran_ns: now(&of.ran_ns), slices: now(&of.slices), migrations: now(&of.migrations) }
}
