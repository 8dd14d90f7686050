//! A scenario as `[[change]]` makes it, moment by moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::alteration::{Alteration, AlterationKind};
use super::placement::{Cpuset, Partition, Placement};
use super::{Kind, Program, Scenario};
use crate::change::ChangeKind;
use crate::{CpuId, Nanos, ThreadId};

/// Stands at a moment of a run.
pub struct Course<'a> {
    /// What has not happened yet.
    rest: &'a [Alteration],
    now: Scenario,
    placement: Arc<Placement>,
    /// The first thread of each program.
    firsts: Vec<u32>,
    /// Programs by the one in whose process they live.
    members: BTreeMap<usize, Vec<usize>>,
}

impl Course<'_> {
    /// Before anything happens.
    pub fn of(scenario: &Scenario) -> Course<'_> {
        let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (own, process) in scenario.processes().into_iter().enumerate() {
            members.entry(process).or_default().push(own);
        }
        let mut next = 0;
        let first = |program: &Program| {
            next += program.kind.threads();
            next - program.kind.threads()
        };
        Course {
            rest: &scenario.alterations,
            placement: Arc::new(Placement::of(scenario)),
            firsts: scenario.programs.iter().map(first).collect(),
            members,
            // Changes are many, and no one asks them for more.
            now: Scenario { alterations: Vec::new(), ..scenario.clone() },
        }
    }

    /// The scenario now: weights, nice values, limits, groups of programs and CPUs of groups. How many
    /// threads there are, affinities of programs, and changes are not in it.
    pub fn now(&self) -> &Scenario {
        &self.now
    }

    /// Where threads of groups may run now; the same as long as that stays.
    pub fn placement(&self) -> &Arc<Placement> {
        &self.placement
    }

    /// When something happens next.
    pub fn next_at(&self) -> Option<Nanos> {
        self.rest.first().map(|next| next.at)
    }

    /// Lets all happen that happens next, at one moment: what it does to threads and CPUs.
    pub fn advance(&mut self) -> Vec<ChangeKind> {
        let at = self.next_at();
        let due = self.rest.iter().take_while(|next| Some(next.at) == at).count();
        let (due, rest) = self.rest.split_at(due);
        self.rest = rest;
        due.iter().flat_map(|alteration| self.altered(&alteration.kind)).collect()
    }

    /// The affinities that groups give at the beginning.
    pub(super) fn first_affinities(&self) -> Vec<ChangeKind> {
        let everywhere = self.now.machine.cpus as usize;
        let is_bound = |program: &Program| {
            let place = self.placement.of_group(program.group);
            place.pinned || place.cpus.len() < everywhere
        };
        let programs = self.now.programs.iter().enumerate();
        let bound = programs.filter(|(_, program)| is_bound(program));
        bound.flat_map(|(index, _)| self.affinities(index)).collect()
    }

    fn altered(&mut self, kind: &AlterationKind) -> Vec<ChangeKind> {
        let now = &mut self.now;
        match kind {
            AlterationKind::Affinity { program, cpus } => {
                let cpus: Arc<[CpuId]> = cpus.as_slice().into();
                let threads = self.threads_of(*program);
                threads.map(|thread| ChangeKind::Affinity { thread, cpus: cpus.clone() }).collect()
            }
            AlterationKind::Nice { program, nice } => {
                now.programs[*program].nice = *nice;
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
                now.groups[*group].weight = *weight;
                vec![ChangeKind::Weight { group: *group, weight: *weight }]
            }
            AlterationKind::Max { group, max } => {
                now.groups[*group].max = *max;
                vec![ChangeKind::Max { group: *group, max: *max }]
            }
            AlterationKind::Idle { group, idle } => {
                now.groups[*group].idle = *idle;
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
        for &member in self.members.get(&program).into_iter().flatten() {
            self.now.programs[member].group = Some(group);
            let threads = self.threads_of(member);
            kinds.extend(threads.map(|thread| ChangeKind::Move { thread, group }));
            kinds.extend(self.affinities(member));
        }
        kinds
    }

    /// A group's cpuset is another one. Programs have the CPUs of their groups then.
    fn recpused(&mut self, group: usize, cpus: &[CpuId]) -> Vec<ChangeKind> {
        let own = &mut self.now.groups[group].cpuset;
        let partition = own.as_ref().map_or(Partition::Member, |cpuset| cpuset.partition);
        *own = Some(Cpuset { cpus: cpus.to_vec(), partition });
        let placement = Arc::new(Placement::of(&self.now));
        let before = std::mem::replace(&mut self.placement, placement);
        let has_others =
            |group: Option<usize>| self.placement.of_group(group) != before.of_group(group);
        let of_groups: Vec<bool> =
            (0..self.now.groups.len()).map(|at| has_others(Some(at))).collect();
        let of_root = has_others(None);
        let programs = self.now.programs.iter().enumerate();
        let others =
            programs.filter(|(_, own)| own.group.map_or(of_root, |group| of_groups[group]));
        others.flat_map(|(index, _)| self.affinities(index)).collect()
    }

    /// Ids are given in the order of programs.
    fn threads_of(&self, program: usize) -> impl Iterator<Item = ThreadId> + use<> {
        let first = self.firsts[program];
        (first..first + Kind::threads(&self.now.programs[program].kind)).map(ThreadId)
    }

    /// The affinities that a program's threads have by their group.
    fn affinities(&self, program: usize) -> Vec<ChangeKind> {
        let place = self.placement.of_group(self.now.programs[program].group);
        let cpus = &place.cpus;
        let set = |turn: usize| match place.pinned {
            true => Arc::from([cpus[turn % cpus.len()]]),
            false => cpus.clone(),
        };
        let threads = self.threads_of(program).enumerate();
        threads.map(|(turn, thread)| ChangeKind::Affinity { thread, cpus: set(turn) }).collect()
    }
}
