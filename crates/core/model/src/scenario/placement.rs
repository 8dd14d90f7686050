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
        // As earlier alterations leave it.
        let mut scenario = self.clone();
        for alteration in &self.alterations {
            let kinds = scenario.altered(&alteration.kind).into_iter();
            changes.extend(kinds.map(|kind| Change { at: alteration.at, kind }));
        }
        changes
    }

    /// The scenario as `[[change]]` has made it by a moment: weights, nice values, limits, groups of programs
    /// and CPUs of groups. How many threads there are, and affinities of programs, are not in it.
    pub fn as_of(&self, moment: Nanos) -> Scenario {
        let mut scenario = self.clone();
        for alteration in self.alterations.iter().take_while(|own| own.at <= moment) {
            scenario.altered(&alteration.kind);
        }
        scenario
    }

    /// What an alteration does to threads and CPUs, and to the scenario.
    fn altered(&mut self, kind: &AlterationKind) -> Vec<ChangeKind> {
        match kind {
            AlterationKind::Affinity { program, cpus } => self
                .threads_of(*program)
                .map(|thread| ChangeKind::Affinity { thread, cpus: cpus.clone() })
                .collect(),
            AlterationKind::Nice { program, nice } => {
                self.programs[*program].nice = *nice;
                let threads = self.threads_of(*program);
                threads.map(|thread| ChangeKind::Nice { thread, nice: *nice }).collect()
            }
            AlterationKind::Threads { program, count } => {
                let (stay, go) = (*count as usize, ChangeKind::Exit);
                let ids = self.threads_of(*program).enumerate();
                ids.map(|(at, id)| if at < stay { ChangeKind::Fork(id) } else { go(id) }).collect()
            }
            AlterationKind::Move { program, group } => self.moved(*program, *group),
            AlterationKind::Weight { group, weight } => {
                self.groups[*group].weight = *weight;
                vec![ChangeKind::Weight { group: *group, weight: *weight }]
            }
            AlterationKind::Max { group, max } => {
                self.groups[*group].max = *max;
                vec![ChangeKind::Max { group: *group, max: *max }]
            }
            AlterationKind::Idle { group, idle } => {
                self.groups[*group].idle = *idle;
                vec![ChangeKind::Idle { group: *group, idle: *idle }]
            }
            AlterationKind::Cpus { group, cpus } => self.recpused(*group, cpus),
            AlterationKind::Offline(cpu) => vec![ChangeKind::Offline(*cpu)],
            AlterationKind::Online(cpu) => vec![ChangeKind::Online(*cpu)],
        }
    }

    /// A program moves with all that lives in its process, and has the CPUs of the group then.
    fn moved(&mut self, program: usize, group: usize) -> Vec<ChangeKind> {
        let mut kinds = Vec::new();
        for member in self.members(program) {
            self.programs[member].group = Some(group);
            let threads = self.threads_of(member);
            kinds.extend(threads.map(|thread| ChangeKind::Move { thread, group }));
            kinds.extend(self.affinities(member));
        }
        kinds
    }

    /// A group's cpuset is another one. Programs have the CPUs of their groups then.
    fn recpused(&mut self, group: usize, cpus: &[CpuId]) -> Vec<ChangeKind> {
        let before: Vec<_> =
            self.programs.iter().map(|program| self.cpus_of(program.group)).collect();
        let partition = self.groups[group].cpuset.as_ref().map(|cpuset| cpuset.partition);
        let partition = partition.unwrap_or(Partition::Member);
        self.groups[group].cpuset = Some(Cpuset { cpus: cpus.to_vec(), partition });
        let programs = (0..).zip(&self.programs).zip(before);
        let others = programs.filter(|((_, p), before)| self.cpus_of(p.group) != *before);
        others.flat_map(|((index, _), _)| self.affinities(index)).collect()
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
        let renice = |program: &Program| {
            program.process.is_some_and(|host| self.programs[host].nice != program.nice)
        };
        if self.programs.iter().any(renice) {
            return Some("the threads of a real process have one nice value here");
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

    /// Ids are given in the order of programs.
    fn threads_of(&self, program: usize) -> impl Iterator<Item = ThreadId> + use<> {
        let count = |program: &Program| program.kind.threads();
        let first: u32 = self.programs[..program].iter().map(count).sum();
        (first..first + count(&self.programs[program])).map(ThreadId)
    }

    fn first_affinities(&self) -> Vec<Change> {
        let everywhere = ((0..self.machine.cpus).map(CpuId).collect(), false);
        let programs = (0..).zip(&self.programs);
        let bound = programs.filter(|(_, program)| self.cpus_of(program.group) != everywhere);
        let kinds = bound.flat_map(|(index, _)| self.affinities(index));
        kinds.map(|kind| Change { at: Nanos::ZERO, kind }).collect()
    }

    /// The affinities that a program's threads have by their group.
    fn affinities(&self, program: usize) -> Vec<ChangeKind> {
        let (cpus, pinned) = self.cpus_of(self.programs[program].group);
        let set = |turn| if pinned { vec![cpus[turn % cpus.len()]] } else { cpus.clone() };
        let threads = self.threads_of(program).enumerate();
        threads.map(|(turn, thread)| ChangeKind::Affinity { thread, cpus: set(turn) }).collect()
    }

    /// Where threads of a group, of none with `None`, may run, and whether they are pinned.
    pub fn cpus_of(&self, group: Option<usize>) -> (Vec<CpuId>, bool) {
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
