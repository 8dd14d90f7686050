//! Where threads may run, from cpusets and from CPUs that belong to interrupts.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::alteration::AlterationKind;
use super::course::Course;
use super::mechanism::{InterruptCpus, Mechanisms, MemoryUse};
use super::{Group, Kind, Program, Scenario};
use crate::change::{Change, ChangeKind};
use crate::{CpuId, Nanos};

/// The CPUs of a group (`cpuset.cpus`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpuset {
    /// Where its threads may run.
    pub cpus: Vec<CpuId>,
    /// The other threads that may run there.
    pub partition: Partition,
}

/// `cpuset.cpus.partition`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Partition {
    /// Any thread.
    Member,
    /// No other thread.
    Root,
    /// No other thread, and no balancing: threads are pinned in turn.
    Isolated,
}

impl Scenario {
    /// What happens in the course of a run, thread by thread and in the order of moments: affinities of the
    /// beginning first, then `[[change]]`.
    pub fn changes(&self) -> Vec<Change> {
        let mut course = Course::of(self);
        let first = course.first_affinities().into_iter();
        let mut changes: Vec<Change> = first.map(|kind| Change { at: Nanos::ZERO, kind }).collect();
        while let Some(at) = course.next_at() {
            changes.extend(course.advance().into_iter().map(|kind| Change { at, kind }));
        }
        changes
    }

    /// For each program how many CPUs any of its threads may run on at a moment, those of the machine at
    /// most.
    pub fn usable_cpus(&self, moment: Nanos) -> Vec<u32> {
        self.usable_sets(moment).iter().map(|set| set.len() as u32).collect()
    }

    /// For each program the CPUs that any of its threads may run on at a moment.
    pub fn usable_sets(&self, moment: Nanos) -> Vec<BTreeSet<CpuId>> {
        let count = |program: &Program| program.kind.threads() as usize;
        let everywhere: Arc<[CpuId]> = (0..self.machine.cpus).map(CpuId).collect();
        let mut sets = vec![everywhere; self.programs.iter().map(count).sum()];
        for change in self.changes().into_iter().take_while(|change| change.at <= moment) {
            if let ChangeKind::Affinity { thread, cpus } = change.kind {
                sets[thread.index()] = cpus;
            }
        }
        let mut rest = &sets[..];
        let of = |program: &Program| {
            let (own, others) = rest.split_at(count(program));
            rest = others;
            // Threads of one program mostly share a set.
            let different = own.chunk_by(Arc::ptr_eq).flat_map(|alike| &*alike[0]);
            different.copied().collect()
        };
        self.programs.iter().map(of).collect()
    }

    /// The first program that only a kernel runs.
    pub fn of_kernels_alone(&self) -> Option<&Program> {
        self.programs.iter().find(|program| matches!(program.kind, Kind::Command { .. }))
    }

    /// What in it only a simulated machine does, if anything.
    pub fn of_simulation_alone(&self) -> Option<&'static str> {
        // On a real machine programs begin together in any case.
        let together = Mechanisms { start_barrier: false, ..self.mechanisms.clone() };
        if together != Mechanisms::default() {
            return Some(
                "a real machine has its own interrupts, idle states, clocks, caches and locks, and the tables below [machine] change none of them",
            );
        }
        let little = |program: &Program| program.memory == MemoryUse::LITTLE;
        if !self.programs.iter().all(little) {
            return Some(
                "real programs do not lean on memory as memory_bound and working_set_bytes say",
            );
        }
        let renice = |program: &Program| {
            program.process.is_some_and(|host| self.programs[host].nice != program.nice)
        };
        if self.programs.iter().any(renice) {
            return Some("the threads of a real process have one nice value here");
        }
        if self.behind().is_some() {
            return Some(
                "servers of real requests have no service behind them: `behind` is simulated alone",
            );
        }
        self.alterations.iter().find_map(|alteration| match alteration.kind {
            AlterationKind::Offline(_) | AlterationKind::Online(_) => {
                Some("CPUs of a real machine stay: `offline` and `online` are simulated alone")
            }
            AlterationKind::Threads { .. } => {
                Some("threads of a real program are there from its start to its end")
            }
            _ => None,
        })
    }
}

/// Where threads of each group may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    root: Place,
    groups: Vec<Place>,
}

/// CPUs, in rising order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// At least one.
    pub cpus: Arc<[CpuId]>,
    /// Whether threads are pinned to them in turn.
    pub pinned: bool,
}

impl Placement {
    /// That of a scenario as it is.
    pub fn of(scenario: &Scenario) -> Placement {
        let everywhere = (0..scenario.machine.cpus).map(CpuId).collect();
        let root = Place { cpus: everywhere, pinned: false };
        let mut groups: Vec<Place> = Vec::with_capacity(scenario.groups.len());
        for group in &scenario.groups {
            let above = group.parent.map_or(&root, |parent| &groups[parent]);
            groups.push(effective(group, above));
        }
        let taken = Taken::of(scenario);
        let left = |place: &Place, group| Place {
            cpus: taken.leave(scenario, &place.cpus, group),
            pinned: place.pinned,
        };
        let groups = groups.iter().enumerate().map(|(at, place)| left(place, Some(at)));
        Placement { groups: groups.collect(), root: left(&root, None) }
    }

    /// That of a group; of the root with `None`.
    pub fn of_group(&self, group: Option<usize>) -> &Place {
        group.map_or(&self.root, |group| &self.groups[group])
    }
}

/// The CPUs of a group inside those of the group above it (`cpuset.cpus.effective`). Where nothing is left of
/// them, as in the kernel, those above count.
fn effective(group: &Group, above: &Place) -> Place {
    let Some(cpuset) = &group.cpuset else { return above.clone() };
    let own: BTreeSet<CpuId> = cpuset.cpus.iter().copied().collect();
    let inside: Arc<[CpuId]> = above.cpus.iter().copied().filter(|cpu| own.contains(cpu)).collect();
    let pinned = above.pinned || cpuset.partition == Partition::Isolated;
    Place { cpus: if inside.is_empty() { above.cpus.clone() } else { inside }, pinned }
}

/// CPUs that not every group may have.
struct Taken {
    /// For each CPU how many partitions it is in, and whether it belongs to interrupts alone.
    partitions: Vec<u32>,
    of_interrupts: Vec<bool>,
}

impl Taken {
    fn of(scenario: &Scenario) -> Taken {
        let cpus = scenario.machine.cpus as usize;
        let mut taken = Taken { partitions: vec![0; cpus], of_interrupts: vec![false; cpus] };
        for cpu in scenario.groups.iter().flat_map(partition) {
            taken.partitions[cpu.index()] += 1;
        }
        let dedicated = scenario.mechanisms.interrupts.as_ref().map(|interrupts| &interrupts.cpus);
        if let Some(place @ InterruptCpus::Dedicated) = dedicated {
            place
                .of(&scenario.machine)
                .iter()
                .for_each(|cpu| taken.of_interrupts[cpu.index()] = true);
        }
        taken
    }

    /// CPUs without those of partitions that a group is not in, and without those of interrupts alone.
    fn leave(
        &self,
        scenario: &Scenario,
        cpus: &Arc<[CpuId]>,
        group: Option<usize>,
    ) -> Arc<[CpuId]> {
        let mut others = self.partitions.clone();
        let up = std::iter::successors(group, |group| scenario.groups[*group].parent);
        for cpu in up.flat_map(|group| partition(&scenario.groups[group])) {
            others[cpu.index()] -= 1;
        }
        let is_left = |cpu: &CpuId| others[cpu.index()] == 0 && !self.of_interrupts[cpu.index()];
        let left: Arc<[CpuId]> = cpus.iter().copied().filter(is_left).collect();
        // Threads without their own set share one.
        if left.is_empty() || left.len() == cpus.len() { cpus.clone() } else { left }
    }
}

/// The CPUs that a group has for itself.
fn partition(group: &Group) -> impl Iterator<Item = &CpuId> {
    let own = group.cpuset.iter().filter(|cpuset| cpuset.partition != Partition::Member);
    own.flat_map(|cpuset| &cpuset.cpus)
}
