//! Where threads may run, from cpusets and from CPUs that belong to interrupts, and all changes of a run
//! thread by thread.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::alteration::AlterationKind;
use super::mechanism::{InterruptCpus, Mechanisms, MemoryUse};
use super::{Program, Scenario};
use crate::change::{Change, ChangeKind};
use crate::{CpuId, Nanos, ThreadId};

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
        let mut changes = self.first_affinities();
        for alteration in &self.alterations {
            let change = |kind| Change { at: alteration.at, kind };
            match &alteration.kind {
                AlterationKind::Affinity { program, cpus } => changes.extend(
                    self.threads_of(*program)
                        .map(|thread| change(ChangeKind::Affinity { thread, cpus: cpus.clone() })),
                ),
                AlterationKind::Nice { program, nice } => changes.extend(
                    self.threads_of(*program)
                        .map(|thread| change(ChangeKind::Nice { thread, nice: *nice })),
                ),
                AlterationKind::Weight { group, weight } => {
                    changes.push(change(ChangeKind::Weight { group: *group, weight: *weight }));
                }
                AlterationKind::Offline(cpu) => changes.push(change(ChangeKind::Offline(*cpu))),
                AlterationKind::Online(cpu) => changes.push(change(ChangeKind::Online(*cpu))),
            }
        }
        changes
    }

    /// The CPUs that any thread of a program may run on at a moment, those of the machine at most.
    pub fn usable_cpus(&self, program: usize, moment: Nanos) -> u32 {
        let everywhere: Vec<CpuId> = (0..self.machine.cpus).map(CpuId).collect();
        let changes = self.changes();
        let affinity = |thread: ThreadId| {
            let of_thread = changes.iter().rev().filter(|change| change.at <= moment);
            let mut sets = of_thread.filter_map(|change| match &change.kind {
                ChangeKind::Affinity { thread: whose, cpus } if *whose == thread => Some(cpus),
                _ => None,
            });
            sets.next().unwrap_or(&everywhere)
        };
        let usable: BTreeSet<CpuId> =
            self.threads_of(program).flat_map(affinity).copied().collect();
        usable.len() as u32
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
        let altered =
            !self.alterations.is_empty() || self.groups.iter().any(|g| g.cpuset.is_some());
        altered
            .then_some("cpusets of groups and [[change]] are not brought about on a real machine")
    }

    /// Ids are given in the order of programs.
    fn threads_of(&self, program: usize) -> impl Iterator<Item = ThreadId> + use<> {
        let count = |program: &Program| program.kind.threads();
        let first: u32 = self.programs[..program].iter().map(count).sum();
        (first..first + count(&self.programs[program])).map(ThreadId)
    }

    fn first_affinities(&self) -> Vec<Change> {
        let everywhere = self.machine.cpus as usize;
        let mut changes = Vec::new();
        for (index, program) in self.programs.iter().enumerate() {
            let (cpus, pinned) = self.cpus_of(program.group);
            if cpus.len() == everywhere && !pinned {
                continue;
            }
            for (turn, thread) in self.threads_of(index).enumerate() {
                let cpus = if pinned { vec![cpus[turn % cpus.len()]] } else { cpus.clone() };
                let kind = ChangeKind::Affinity { thread, cpus };
                changes.push(Change { at: Nanos::ZERO, kind });
            }
        }
        changes
    }

    /// Where threads of a group may run, and whether they are pinned.
    fn cpus_of(&self, group: Option<usize>) -> (Vec<CpuId>, bool) {
        let (cpus, pinned) = self.effective(group);
        (self.without_taken(&cpus, group), pinned)
    }

    /// The CPUs of a group inside those of the groups above it (`cpuset.cpus.effective`). Where nothing is
    /// left of them, as in the kernel, those above count.
    fn effective(&self, group: Option<usize>) -> (Vec<CpuId>, bool) {
        let Some(group) = group.map(|index| &self.groups[index]) else {
            return ((0..self.machine.cpus).map(CpuId).collect(), false);
        };
        let (above, pinned) = self.effective(group.parent);
        let Some(cpuset) = &group.cpuset else { return (above, pinned) };
        let own = above.iter().copied().filter(|cpu| cpuset.cpus.contains(cpu));
        let own: Vec<CpuId> = own.collect();
        let pinned = pinned || cpuset.partition == Partition::Isolated;
        (if own.is_empty() { above } else { own }, pinned)
    }

    /// Without CPUs of partitions that a group is not in, and without those of interrupts alone.
    fn without_taken(&self, cpus: &[CpuId], group: Option<usize>) -> Vec<CpuId> {
        let is_inside = |partition: usize| {
            let up = std::iter::successors(group, |group| self.groups[*group].parent);
            up.into_iter().any(|group| group == partition)
        };
        let partitions = self.groups.iter().enumerate().filter_map(|(index, group)| {
            let cpuset = group.cpuset.as_ref()?;
            (cpuset.partition != Partition::Member && !is_inside(index)).then_some(&cpuset.cpus)
        });
        let dedicated = self.mechanisms.interrupts.as_ref().map(|interrupts| &interrupts.cpus);
        let of_interrupts = match dedicated {
            Some(place @ InterruptCpus::Dedicated) => place.of(&self.machine),
            _ => Vec::new(),
        };
        let taken: Vec<CpuId> = partitions.flatten().copied().chain(of_interrupts).collect();
        let left: Vec<CpuId> = cpus.iter().copied().filter(|cpu| !taken.contains(cpu)).collect();
        if left.is_empty() { cpus.to_vec() } else { left }
    }
}
