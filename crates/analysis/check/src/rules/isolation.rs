//! Isolation: while a thread of a group waits, the group receives at least a part of what its weight is worth
//! of its CPUs, whatever it and others have received there or elsewhere.
//!
//! In a max-min fair division no CPU that a group waits for gives time to others that have more for their
//! weight. So the group is due at least the part of its CPUs that its weight is of all weights that may be
//! there. Who sleeps counts, too: the bound then asks for less.

use std::collections::BTreeSet;

use model::change::ChangeKind;
use model::weight::thread_weight;
use model::{CpuId, Nanos, Scenario, ThreadId};

use super::Rule;
use super::groups::Groups;
use crate::fault::Finding;
use crate::promises::Isolated;
use crate::scene::Scene;

pub const NAME: &str = "isolation";

/// A group of the top level whose threads may all run on the same CPUs.
struct Account {
    group: usize,
    cpus: Vec<CpuId>,
    /// What it receives at least, in CPUs.
    least: f64,
    /// How much less it may have received, in CPU seconds.
    bound_s: f64,
}

pub struct Isolation {
    promise: Isolated,
    /// As changes of weights leave it.
    scenario: Scenario,
    /// The group of the top level of each thread, as moves leave it.
    groups: Vec<Option<usize>>,
    /// The nice value of each thread.
    nice: Vec<i8>,
    accounts: Vec<Account>,
    /// What each group has missed since none of its threads waited, in CPU seconds.
    missed_s: Vec<f64>,
    /// Whether something has changed since the accounts were drawn up.
    stale: bool,
}

impl Isolation {
    pub fn new(scenario: &Scenario, promise: Isolated) -> Isolation {
        let groups = Groups(scenario);
        let programs = scenario.programs.iter();
        let threads: Vec<(Option<usize>, i8)> = programs
            .flat_map(|p| {
                vec![(p.group.map(|at| groups.top_of(at)), p.nice); p.kind.threads() as usize]
            })
            .collect();
        let (groups, nice) = threads.into_iter().unzip();
        let missed_s = vec![0.0; scenario.groups.len()];
        let (scenario, accounts) = (scenario.clone(), Vec::new());
        Isolation { promise, scenario, groups, nice, accounts, missed_s, stale: true }
    }

    fn threads_of(&self, group: usize) -> impl Iterator<Item = ThreadId> {
        let ids = (0..self.groups.len() as u32).map(ThreadId);
        ids.filter(move |id| self.groups[id.index()] == Some(group))
    }

    /// The CPUs that are there of a group whose threads may all run on the same ones.
    fn cpus_of(&self, scene: &Scene, group: usize) -> Option<Vec<CpuId>> {
        let mut threads = self.threads_of(group);
        let admitted = &scene.thread(threads.next()?).admitted;
        let alike = threads.all(|thread| scene.thread(thread).admitted == *admitted);
        let there = (0..admitted.len() as u32).map(CpuId);
        let there =
            there.filter(|cpu| admitted[cpu.index()] && scene.online[cpu.index()]).collect();
        alike.then_some(there)
    }

    /// The threads that may run on one of some CPUs.
    fn rivals(&self, scene: &Scene, cpus: &[CpuId]) -> Vec<ThreadId> {
        let ids = (0..self.groups.len() as u32).map(ThreadId);
        ids.filter(|id| cpus.iter().any(|&cpu| scene.may_run_on(*id, cpu))).collect()
    }

    /// What the groups of some threads weigh, and those that belong to none.
    fn weight(&self, threads: &[ThreadId]) -> f64 {
        let group_of = |id: &ThreadId| self.groups[id.index()];
        let alone = threads.iter().filter(|id| group_of(id).is_none());
        let alone: f64 = alone.map(|id| thread_weight(self.nice[id.index()])).sum();
        let groups: BTreeSet<usize> = threads.iter().filter_map(group_of).collect();
        alone + groups.into_iter().map(|at| Groups(&self.scenario).weight(at)).sum::<f64>()
    }

    /// What a group is due at least, beside all that may run on one of its CPUs.
    fn account(&self, scene: &Scene, group: usize) -> Option<Account> {
        let cpus = self.cpus_of(scene, group).filter(|cpus| !cpus.is_empty())?;
        let rivals = self.rivals(scene, &cpus);
        let weight = Groups(&self.scenario).weight(group) / self.weight(&rivals);
        let others = rivals.iter().filter(|id| self.groups[id.index()] != Some(group));
        let kind = |id: &ThreadId| &self.scenario.programs[scene.thread(*id).program].kind;
        let round_s: f64 = others.map(|id| self.promise.turn_s(kind(id))).sum();
        let least = self.promise.least(weight * cpus.len() as f64);
        let bound_s = self.promise.bound_s(least, round_s / cpus.len() as f64);
        Some(Account { group, cpus, least, bound_s })
    }

    fn refresh(&mut self, scene: &Scene) {
        let top = Groups(&self.scenario).top();
        self.accounts = top.filter_map(|group| self.account(scene, group)).collect();
        self.stale = false;
    }

    /// How many threads of each group wait.
    fn waiting(&self, scene: &Scene) -> Vec<u32> {
        let mut waiting = vec![0; self.scenario.groups.len()];
        let groups = scene.waiting.iter().filter_map(|id| self.groups[id.index()]);
        groups.for_each(|group| waiting[group] += 1);
        waiting
    }

    /// How fast a group of which so many threads wait misses that, in CPUs.
    fn misses(&self, scene: &Scene, account: &Account, waiting: u32) -> f64 {
        let is_own = |id: ThreadId| self.groups[id.index()] == Some(account.group);
        let runs = |cpu: &CpuId| {
            let free = scene.interrupts[cpu.index()] == 0;
            scene.occupants[cpu.index()].filter(|_| free).map(is_own)
        };
        let taken: Vec<bool> = account.cpus.iter().filter_map(runs).collect();
        let running = taken.iter().filter(|&&own| own).count() as f64;
        let others = taken.len() as f64 - running;
        let missed = account.least.min(running + f64::from(waiting)) - running;
        missed.min(others)
    }
}

impl Rule for Isolation {
    fn name(&self) -> &'static str {
        NAME
    }

    fn changed(&mut self, _scene: &Scene, kind: &ChangeKind) -> Option<Finding> {
        match *kind {
            ChangeKind::Weight { group, weight } => self.scenario.groups[group].weight = weight,
            ChangeKind::Nice { thread, nice } => self.nice[thread.index()] = nice,
            ChangeKind::Move { thread, group } => {
                self.groups[thread.index()] = Some(Groups(&self.scenario).top_of(group));
            }
            _ => {}
        }
        self.stale = true;
        None
    }

    fn passes(&mut self, scene: &Scene, to: Nanos) -> Option<Finding> {
        if self.stale {
            self.refresh(scene);
        }
        if self.accounts.is_empty() {
            return None;
        }
        let waiting = self.waiting(scene);
        let span_s = to.saturating_sub(scene.now).as_secs_f64();
        for account in &self.accounts {
            let missed_s = match waiting[account.group] {
                0 => 0.0,
                n => self.missed_s[account.group] + self.misses(scene, account, n) * span_s,
            };
            self.missed_s[account.group] = missed_s.max(0.0);
            if missed_s > account.bound_s {
                let name = &self.scenario.groups[account.group].name;
                let Account { least, bound_s, .. } = account;
                let text = format!(
                    "`{name}` waits, and {least:.3} CPUs would have given it {missed_s:.3} CPU s more; \
                     at most {bound_s:.3} may be missing"
                );
                return Some(Finding::general(text));
            }
        }
        None
    }
}
