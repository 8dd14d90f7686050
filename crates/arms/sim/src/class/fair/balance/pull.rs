//! Moving threads: from the busiest CPU of the busiest part to the one that looked (`sched_balance_rq()`).

use model::{CpuId, Nanos, ThreadId};

use super::super::Fair;
use super::super::average::{LOAD, RUNNING};
use super::super::timeline::{Arrival, Departure, Timeline};
use super::super::tree::EntityId;
use super::super::weight;
use super::Idleness;
use super::imbalance::{Excess, excess};
use crate::core::Core;

/// At most so many threads are looked at in one pass (`sysctl_sched_nr_migrate`).
const MOST_LOOKED_AT: usize = 32;

/// From where to where, and how eagerly.
#[derive(Clone, Copy, Debug)]
struct Route {
    from: CpuId,
    to: CpuId,
    level: usize,
    idleness: Idleness,
    /// Fruitless attempts before this one.
    failed: u32,
}

impl<T: Timeline> Fair<T> {
    /// Balances a CPU's domain by pulling to it. How many threads came.
    pub(super) fn balance(
        &mut self,
        core: &mut Core,
        cpu: CpuId,
        level: usize,
        idleness: Idleness,
    ) -> u32 {
        let Some((from, excess)) = self.find_excess(core, cpu, level, idleness) else {
            self.slow_down(cpu, level, idleness, true);
            return 0;
        };
        let failed = self.balancer.rhythms[cpu.index()][level].failed;
        let route = Route { from, to: cpu, level, idleness, failed };
        let moved = self.pull(core, route, excess);
        let mut pushed = false;
        if moved == 0 {
            let rhythm = &mut self.balancer.rhythms[cpu.index()][level];
            rhythm.failed += u32::from(idleness != Idleness::NewlyIdle);
            let cache_nice_tries = self.balancer.levels[level].cache_nice_tries;
            if matches!(excess, Excess::Threads(_)) && rhythm.failed > cache_nice_tries + 2 {
                pushed = self.ask_to_push(core, route);
            }
        } else {
            self.balancer.rhythms[cpu.index()][level].failed = 0;
        }
        self.slow_down(cpu, level, idleness, false);
        if pushed { 1 } else { moved }
    }

    fn find_excess(
        &mut self,
        core: &Core,
        cpu: CpuId,
        level: usize,
        idleness: Idleness,
    ) -> Option<(CpuId, Excess)> {
        let survey = self.survey(core, cpu, level, idleness)?;
        let shape = self.balancer.levels[level].clone();
        let excess = excess(&survey, &shape, idleness, || self.density(core, cpu, level))?;
        Some((self.busiest_cpu(core, cpu, &survey.busiest, excess)?, excess))
    }

    /// A balanced domain is looked at half as often, down to the level's least.
    fn slow_down(&mut self, cpu: CpuId, level: usize, idleness: Idleness, balanced: bool) {
        let least_ms = u64::from(self.balancer.levels[level].span);
        let rhythm = &mut self.balancer.rhythms[cpu.index()][level];
        if !balanced {
            rhythm.interval_ms = least_ms;
            return;
        }
        if idleness != Idleness::NewlyIdle {
            rhythm.failed = 0;
            if rhythm.interval_ms < 2 * least_ms {
                rhythm.interval_ms *= 2;
            }
        }
    }

    /// Moves threads until the excess is gone, those that ran longest ago first (`detach_tasks()`).
    fn pull(&mut self, core: &mut Core, route: Route, excess: Excess) -> u32 {
        if self.on_queues(core, route.from) <= 1 {
            return 0;
        }
        self.tree.charge(core, route.from);
        let candidates: Vec<ThreadId> =
            self.threads.of_cpu(route.from).take(MOST_LOOKED_AT).collect();
        let (mut left, mut moved) = (Some(excess), 0);
        for thread in candidates {
            let last_one = self.on_queues(core, route.from) <= 1;
            let Some(excess) = left.filter(|_| route.idleness == Idleness::Busy || !last_one)
            else {
                break;
            };
            let worth = self.worth(core.now, thread, excess);
            if !self.can_move(core, thread, route) || excess.is_exceeded_by(worth, route.failed) {
                continue;
            }
            self.migrate(core, thread, route.to);
            self.settle_in(core, thread, route);
            moved += 1;
            left = excess.less(worth).filter(|_| route.idleness != Idleness::NewlyIdle);
        }
        moved
    }

    /// A thread that runs cannot move; one with warm caches does when nothing else helped
    /// (`can_migrate_task()`).
    fn can_move(&self, core: &Core, thread: ThreadId, route: Route) -> bool {
        let level = &self.balancer.levels[route.level];
        let running = core.current(route.from) == Some(thread)
            || self.tree.current[route.from.index()] == Some(thread);
        let hot = !level.is_core
            && (self.threads.is_hot(thread, core.now) || self.is_wanted(thread, route.to));
        let admitted =
            core.may_run_on(thread, route.to) && self.may_be_moved(core, thread, route.to);
        admitted && !running && (!hot || route.failed > level.cache_nice_tries)
    }

    /// Named to run next where it is, while the other CPU has work (`CACHE_HOT_BUDDY`).
    fn is_wanted(&self, thread: ThreadId, to: CpuId) -> bool {
        let id = self.tree.entity_of(thread);
        let queue = self.tree.queue(self.tree.entity(id).queue);
        self.tree.root(to).runnable > 0 && queue.timeline.is_buddy(id)
    }

    /// How much of an excess a thread is.
    fn worth(&mut self, now: Nanos, thread: ThreadId, excess: Excess) -> u64 {
        match excess {
            Excess::Threads(_) => 1,
            Excess::Load(_) => self.hierarchical_load(now, thread).max(1),
            Excess::Used(_) => {
                let id = self.tree.entity_of(thread);
                self.tree.touch(now, id);
                self.tree.entity(id).average.mean(RUNNING, 1)
            }
        }
    }

    /// A thread's part of its CPU's load, through the groups around it (`task_h_load()`).
    fn hierarchical_load(&mut self, now: Nanos, thread: ThreadId) -> u64 {
        let mut id = self.tree.entity_of(thread);
        self.tree.touch(now, id);
        let mut load = self.entity_load(id);
        while let Some(owner) = self.tree.parent(id) {
            self.tree.touch(now, owner);
            let queue = self.tree.queue(self.tree.entity(id).queue);
            load = load * self.entity_load(owner) / (queue.average.mean(LOAD, 1) + 1);
            id = owner;
        }
        load
    }

    fn entity_load(&self, id: EntityId) -> u64 {
        let entity = self.tree.entity(id);
        entity.average.mean(LOAD, weight::coarse(entity.weight))
    }

    /// Takes a runnable thread, not running, to another CPU.
    pub(in super::super) fn migrate(&mut self, core: &mut Core, thread: ThreadId, to: CpuId) {
        self.exit(core, thread, Departure::Move);
        self.take_load(core.now, thread);
        core.threads[thread.index()].cpu = to;
        self.settle(core, thread, to);
        self.enter(core, thread, Arrival::Move);
        self.threads.moved(thread);
        self.balancer.pulls += 1;
    }

    /// The CPU that a thread came to learns of it, unless it is choosing right now.
    fn settle_in(&mut self, core: &mut Core, thread: ThreadId, route: Route) {
        if route.idleness != Idleness::NewlyIdle {
            self.preempt(core, thread, Arrival::Move);
        }
    }

    /// Nothing waits that could move: asks the CPU to stop what runs and let a thread go (`active_balance`).
    fn ask_to_push(&mut self, core: &mut Core, route: Route) -> bool {
        let slot = &mut self.balancer.push[route.from.index()];
        if slot.is_some() {
            return false;
        }
        *slot = Some((route.to, route.level));
        core.resched(route.from);
        true
    }

    /// Lets one thread go where [`Fair::ask_to_push`] asked for it (`active_load_balance_cpu_stop()`).
    pub(in super::super) fn push_away(&mut self, core: &mut Core, cpu: CpuId) {
        let Some((to, level)) = self.balancer.push[cpu.index()].take() else { return };
        if self.on_queues(core, cpu) <= 1 {
            return;
        }
        self.switch(core.now, cpu, None);
        let cache_nice_tries = self.balancer.levels[level].cache_nice_tries;
        let route =
            Route { from: cpu, to, level, idleness: Idleness::Idle, failed: cache_nice_tries + 1 };
        let thread = self.threads.of_cpu(cpu).find(|&thread| core.may_run_on(thread, to));
        if let Some(thread) = thread {
            self.migrate(core, thread, to);
            self.settle_in(core, thread, route);
            self.balancer.rhythms[to.index()][level].failed = 0;
        }
    }
}
