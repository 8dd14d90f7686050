//! The kernel's default classes: CFS as in Linux 6.1 and EEVDF as in Linux 7.2.
//!
//! Both are one frame: entities in queues, one tree for each CPU (`tree`), a choice of CPU for wakers
//! (`select`), load balancing between CPUs (`balance`). What differs is a `timeline::Timeline`: how one queue
//! is ordered, when a turn ends, which thread preempts. Names in code font are the kernel's functions and
//! features whose behaviour is modelled.
//!
//! Not modelled: `wake_affine()` (see `select`), the time that balancing takes, slices of a thread's own,
//! CPUs of unequal capacity, NUMA balancing, the cache-aware balancing of 7.2
//! (`SCHED_CACHE`) and `util_est`. Remote wake-ups do not wait for the next interrupt (`PREEMPT_LAZY`): here
//! every wake-up comes as one. A moved thread's load reaches the groups around it within some 30 ms, not at
//! once.

mod alter;
mod average;
mod balance;
mod bandwidth;
mod census;
mod cfs;
mod deadline_tree;
mod domains;
mod eevdf;
mod select;
mod shares;
mod threads;
mod throttle;
mod timeline;
mod tree;
mod tunables;
mod turns;
mod walk;
mod weight;

use std::hint::black_box;

use std::collections::BTreeMap;

use model::scenario::{Group, Machine, Quota};
use model::{CpuId, Nanos, Scenario, ThreadId};

use super::Class;
use crate::core::Core;
use balance::Balancer;
use threads::Threads;
use timeline::{Arrival, Departure, Timeline};
use tree::{QueueId, Tree};
use tunables::Tunables;

/// CFS of Linux 6.1.
pub type Cfs = Fair<cfs::Cfs>;

/// EEVDF of Linux 7.2.
pub type Eevdf = Fair<eevdf::Eevdf>;

/// A default class: a discipline for each queue, and what moves threads between queues.
pub struct Fair<T: Timeline> {
    tree: Tree<T>,
    threads: Threads,
    balancer: Balancer,
    /// Whether turns end at their moment (`HRTICK`), and not at the next tick.
    precise: bool,
    /// Throttled threads by the queue of their group.
    held: BTreeMap<QueueId, Vec<ThreadId>>,
}

impl<T: Timeline> Fair<T> {
    /// The kernel whose class this is.
    pub const KERNEL: &'static str = T::KERNEL;

    /// The class on a machine with these groups, seed 0.
    pub fn new(machine: &Machine, groups: &[Group]) -> Fair<T> {
        Fair::seeded(machine, groups, 0)
    }

    /// The class with a seed for what no scenario decides: the dice of `NI_RANDOM` and the like.
    pub fn seeded(machine: &Machine, groups: &[Group], seed: u64) -> Fair<T> {
        let tunables = Tunables::beside_generator(machine.cpus);
        Fair {
            tree: Tree::new(machine, groups, tunables, seed),
            threads: Threads::new(machine),
            balancer: Balancer::new(machine, seed),
            precise: T::PRECISE_TURNS,
            held: BTreeMap::new(),
        }
    }

    /// The class as a scenario has it.
    pub fn of(scenario: &Scenario, seed: u64) -> Fair<T> {
        let class = Fair::seeded(&scenario.machine, &scenario.groups, seed);
        let precise = class.precise && !scenario.mechanisms.turns_end_at_ticks;
        Fair { precise, ..class }
    }

    /// Whether a thread still holds a place in a queue.
    fn is_queued(&self, thread: ThreadId) -> bool {
        self.tree.entity(self.tree.entity_of(thread)).on_queue
    }

    /// Threads on a CPU's queues, a real-time one that runs there among them (`nr_running`).
    fn on_queues(&self, core: &Core, cpu: CpuId) -> u32 {
        self.tree.root(cpu).queued + u32::from(core.runs_realtime(cpu))
    }

    /// Puts a thread among those that its CPU runs.
    fn enter(&mut self, core: &mut Core, thread: ThreadId, arrival: Arrival) {
        let cpu = core.thread(thread).cpu;
        self.tree.charge(core, cpu);
        self.tree.enqueue(core.now, thread, arrival);
        self.threads.front(cpu, thread);
        // Only the second thread says so (add_nr_running()).
        self.balancer.overload |= self.on_queues(core, cpu) == 2;
    }

    /// Takes a thread from those that its CPU runs. False: it keeps its place although it sleeps.
    fn exit(&mut self, core: &mut Core, thread: ThreadId, departure: Departure) -> bool {
        let cpu = core.thread(thread).cpu;
        self.tree.charge(core, cpu);
        let gone = self.tree.dequeue(core.now, thread, departure);
        self.threads.drop(cpu, thread);
        if self.tree.bandwidth.is_used() {
            self.hand_back(core.now, thread);
        }
        gone
    }

    /// Asks the CPU of a thread that arrived to choose again, where it takes the CPU from what runs.
    fn preempt(&mut self, core: &mut Core, thread: ThreadId, arrival: Arrival) {
        let cpu = core.thread(thread).cpu;
        let Some(current) = core.current(cpu) else { return core.resched(cpu) };
        if self.tree.current[cpu.index()] != Some(current) || core.cpus[cpu.index()].need_resched {
            return;
        }
        let (running, woken) = (self.tree.entity_of(current), self.tree.entity_of(thread));
        let by_idleness = self.tree.preempts_idle(running, woken);
        let preempts = by_idleness
            .unwrap_or_else(|| T::preempts(&mut self.tree, core.now, running, woken, arrival));
        // With the second thread the turn of the first gets an end: choosing again sets the timer
        // (hrtick_update()).
        let timed = self.precise && self.tree.root(cpu).runnable == 2;
        if preempts || timed {
            core.resched(cpu);
        }
    }

    /// Reads something of each cache line of a thread that has waited long: they are fetched at the same
    /// time, not each when it is needed.
    fn fetch(&self, core: &Core, thread: ThreadId) {
        let entity = self.tree.entity(self.tree.entity_of(thread));
        black_box((entity.on_queue, entity.ran));
        black_box((core.thread(thread).exec, self.threads.is_listed(thread)));
    }

    /// Makes `next` current on a CPU.
    fn switch(&mut self, now: Nanos, cpu: CpuId, next: Option<ThreadId>) {
        if let Some(previous) = self.tree.current[cpu.index()] {
            self.threads.stopped(previous, now);
        }
        self.tree.switch(now, cpu, next);
        if let Some(thread) = next {
            self.threads.front(cpu, thread);
        }
    }
}

impl<T: Timeline> Class for Fair<T> {
    fn fork(&mut self, core: &mut Core, thread: ThreadId) {
        self.place_on_fork(core, thread);
    }

    fn select_cpu(&mut self, core: &mut Core, thread: ThreadId) -> CpuId {
        if self.threads.is_new(thread, core.now) {
            self.idlest_cpu(core, thread)
        } else if self.is_queued(thread) && core.may_run_on(thread, core.thread(thread).cpu) {
            // A sleeper that stayed is woken where it is (ttwu_runnable()).
            core.thread(thread).cpu
        } else {
            self.detach_refused(core, thread);
            self.wake_cpu(core, thread)
        }
    }

    fn enqueue(&mut self, core: &mut Core, thread: ThreadId) {
        let arrival = self.arrive(core, thread);
        self.enter(core, thread, arrival);
        self.preempt(core, thread, arrival);
    }

    fn dequeue(&mut self, core: &mut Core, thread: ThreadId) {
        self.exit(core, thread, Departure::Sleep);
    }

    /// As `yield_task_fair()`: in its own queue alone, whatever waits beside its group.
    fn give_way(&mut self, core: &mut Core, cpu: CpuId, thread: ThreadId) {
        if self.on_queues(core, cpu) > 1 {
            self.tree.charge(core, cpu);
            let running = self.tree.entity_of(thread);
            T::give_way(&mut self.tree, running);
        }
    }

    fn pick(&mut self, core: &mut Core, cpu: CpuId, _prev: Option<ThreadId>) -> Option<ThreadId> {
        self.tree.charge(core, cpu);
        self.push_away(core, cpu);
        loop {
            let next = self.tree.next_thread(core.now, cpu);
            if let Some(thread) = next {
                if !self.may_run(core, thread) {
                    continue;
                }
                self.fetch(core, thread);
                self.switch(core.now, cpu, next);
                return next;
            }
            if !self.pull_before_idle(core, cpu) {
                self.switch(core.now, cpu, None);
                return None;
            }
        }
    }

    fn displace(&mut self, core: &mut Core, cpu: CpuId, _prev: ThreadId) {
        self.tree.charge(core, cpu);
        self.switch(core.now, cpu, None);
        // It waits behind a real-time thread: there are two on this CPU.
        self.balancer.overload |= core.has_realtime;
    }

    fn tick(&mut self, core: &mut Core, cpu: CpuId, current: ThreadId) {
        self.tree.charge(core, cpu);
        let running = self.tree.entity_of(current);
        let mut next = Some(running);
        while let Some(id) = next {
            self.tree.touch(core.now, id);
            self.tree.update_share(core.now, id);
            next = self.tree.parent(id);
        }
        T::tick(&mut self.tree, core, cpu, running);
        self.balance_at_tick(core, cpu);
    }

    /// Balancing goes on above whatever runs (`sched_tick()`).
    fn tick_of_another(&mut self, core: &mut Core, cpu: CpuId) {
        self.balance_at_tick(core, cpu);
    }

    fn turn_end(&self, core: &Core, cpu: CpuId) -> Nanos {
        let current = self.tree.current[cpu.index()].filter(|_| self.precise);
        let alone = self.tree.root(cpu).runnable < 2;
        let Some(thread) = current.filter(|_| !alone) else { return Nanos::NEVER };
        let left = T::turn_left(self.tree.entity(self.tree.entity_of(thread)));
        core.cpus[cpu.index()].accounted.saturating_add(left)
    }

    fn turn_over(&mut self, core: &mut Core, cpu: CpuId) {
        self.tree.charge(core, cpu);
    }

    fn save(&mut self, core: &mut Core, thread: ThreadId) {
        self.tree.charge(core, core.thread(thread).cpu);
    }

    fn restore(&mut self, core: &mut Core, thread: ThreadId) {
        self.renice(core, thread);
    }

    fn migrate(&mut self, core: &mut Core, thread: ThreadId, to: CpuId) {
        if self.unhold(core, thread) {
            core.threads[thread.index()].cpu = to;
            let arrival = self.arrive(core, thread);
            self.enter(core, thread, arrival);
        } else {
            self.migrate(core, thread, to);
        }
        self.preempt(core, thread, Arrival::Move);
    }

    fn move_group(&mut self, core: &mut Core, thread: ThreadId, group: usize) {
        self.regroup(core, thread, group);
    }

    fn exit(&mut self, core: &mut Core, thread: ThreadId) {
        self.detach_refused(core, thread);
        self.take_load(core.now, thread);
    }

    fn weigh_group(&mut self, core: &mut Core, group: usize, weight: u32) {
        self.set_group_weight(core, group, weight);
    }

    fn limit_group(&mut self, core: &mut Core, group: usize, max: Option<Quota>) {
        self.set_quota(core, group, max);
    }

    fn idle_group(&mut self, core: &mut Core, group: usize, idle: bool) {
        self.set_group_idle(core, group, idle);
    }

    fn next_timer(&self) -> Nanos {
        self.tree.bandwidth.next_timer()
    }

    fn timer(&mut self, core: &mut Core) {
        self.fill_pools(core);
    }

    /// The balancer goes on to count the capacity of CPUs that are gone.
    fn hotplug(&mut self, _core: &mut Core) {}

    /// It looks for work as any CPU does, and all that it finds may not run there. So it looks again without
    /// those CPUs, and the others have no second thread (`LBF_ALL_PINNED` and `rd->overload`). Where looks
    /// become as rare as finds it hardly looks.
    fn client_sleeps(&mut self) {
        self.balancer.overload &= T::RARE_NEWIDLE;
    }

    fn pulls(&self) -> u64 {
        self.balancer.pulls
    }
}
