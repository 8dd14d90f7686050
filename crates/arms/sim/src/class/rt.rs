//! SCHED_FIFO and SCHED_RR (`kernel/sched/rt.c`): a queue a CPU, and pushes and pulls so that a machine of M
//! CPUs runs M threads.
//!
//! All threads have one priority, as those of a service have: order is first come, first served, and a waking
//! thread preempts no other of the class.

use std::collections::VecDeque;

use model::scenario::Machine;
use model::{CpuId, ThreadId};

use crate::class::Class;
use crate::core::Core;
use crate::cpu_set::CpuSet;
use crate::kernel::TICK;

/// Which of the two classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// SCHED_FIFO: a thread runs until it blocks.
    Fifo,
    /// SCHED_RR: a thread goes behind its equals after a slice.
    RoundRobin,
}

/// Ticks of a SCHED_RR slice: 100 ms, `RR_TIMESLICE` in the kernel.
const SLICE_TICKS: u32 = (100_000_000 / TICK.0) as u32;

/// The class of all real-time threads.
pub struct Rt {
    kind: Kind,
    queues: Vec<VecDeque<ThreadId>>,
    /// CPUs that neither run nor are about to run a real-time thread: `find_lowest_rq` chooses among them.
    low: CpuSet,
    /// CPUs where a thread waits behind another (`rto_mask`): the only ones worth pulling from.
    overloaded: CpuSet,
    /// Ticks left of each thread's slice, unless it runs.
    slices: Vec<u32>,
    /// Of the thread that each CPU runs: a tick need not look for the thread's.
    running: Vec<u32>,
    /// CPUs whose current thread is at the end of its slice and must go behind its equals.
    expired: CpuSet,
}

impl Rt {
    /// The class on a machine.
    pub fn new(kind: Kind, machine: &Machine) -> Rt {
        Rt {
            kind,
            queues: vec![VecDeque::new(); machine.cpus as usize],
            low: CpuSet::all(machine.cpus),
            overloaded: CpuSet::none(machine.cpus),
            slices: Vec::new(),
            running: vec![SLICE_TICKS; machine.cpus as usize],
            expired: CpuSet::none(machine.cpus),
        }
    }

    /// The nearest CPU to `from` without a real-time thread: the last CPU itself, then its core, cache and
    /// node (`find_lowest_rq`). Within a domain it takes the lowest number, where the kernel rotates.
    fn lowest(&self, core: &Core, thread: ThreadId, from: CpuId) -> Option<CpuId> {
        if self.low.contains(from) && core.may_run_on(thread, from) {
            return Some(from);
        }
        let restricted = core.affinities.are_restricted();
        let admitted = restricted.then(|| core.affinities.within(thread, &self.low));
        let low = admitted.as_ref().unwrap_or(&self.low);
        let place = core.places.of(from);
        [&place.core, &place.llc, &place.node, &(0..core.machine.cpus)]
            .into_iter()
            .find_map(|domain| low.first_in(domain.clone()))
    }

    /// Takes the thread that has waited longest on the first overloaded CPU where one may run here
    /// (`pull_rt_task`).
    fn pull(&mut self, core: &mut Core, to: CpuId) -> Option<ThreadId> {
        let mut next = self.overloaded.first();
        while let Some(from) = next {
            let queue = &self.queues[from.index()];
            let pulled = queue.iter().copied().find(|&thread| core.may_run_on(thread, to));
            if let Some(pulled) = pulled {
                self.leave(from, pulled);
                core.threads[pulled.index()].cpu = to;
                return Some(pulled);
            }
            next = self.overloaded.first_in(from.0 + 1..core.machine.cpus);
        }
        None
    }

    /// A thread leaves the queue where it waits.
    fn leave(&mut self, cpu: CpuId, thread: ThreadId) {
        let queue = &mut self.queues[cpu.index()];
        if let Some(position) = queue.iter().position(|&waiting| waiting == thread) {
            queue.remove(position);
        }
        if queue.is_empty() {
            self.overloaded.remove(cpu);
        }
    }

    /// A thread runs no longer, and what was asked of it is settled.
    fn stopped(&mut self, cpu: CpuId, thread: ThreadId) {
        self.expired.remove(cpu);
        self.slices[thread.index()] = self.running[cpu.index()];
    }

    fn note_occupied(&mut self, cpu: CpuId) {
        self.low.remove(cpu);
        if self.queues[cpu.index()].is_empty() {
            self.overloaded.remove(cpu);
        } else {
            self.overloaded.insert(cpu);
        }
    }
}

impl Class for Rt {
    fn fork(&mut self, _core: &mut Core, thread: ThreadId) {
        self.slices.resize(self.slices.len().max(thread.index() + 1), SLICE_TICKS);
    }

    /// `select_task_rq_rt`: stays unless its CPU has a real-time thread and another has none.
    fn select_cpu(&mut self, core: &mut Core, thread: ThreadId) -> CpuId {
        let last = core.thread(thread).cpu;
        self.lowest(core, thread, last).unwrap_or(last)
    }

    fn enqueue(&mut self, core: &mut Core, thread: ThreadId) {
        let cpu = core.thread(thread).cpu;
        if self.low.contains(cpu) {
            self.low.remove(cpu);
            core.resched(cpu);
        } else {
            self.overloaded.insert(cpu);
        }
        self.queues[cpu.index()].push_back(thread);
    }

    /// Nothing to charge: the class goes by order, not by time received.
    fn dequeue(&mut self, core: &mut Core, thread: ThreadId) {
        self.stopped(core.thread(thread).cpu, thread);
    }

    /// `yield_task_rt`: behind its equals, which are all.
    fn give_way(&mut self, _core: &mut Core, cpu: CpuId, _thread: ThreadId) {
        if !self.queues[cpu.index()].is_empty() {
            self.expired.insert(cpu);
        }
    }

    fn pick(&mut self, core: &mut Core, cpu: CpuId, prev: Option<ThreadId>) -> Option<ThreadId> {
        match prev {
            Some(expired) if self.expired.contains(cpu) => {
                self.stopped(cpu, expired);
                self.queues[cpu.index()].push_back(expired);
            }
            Some(_) => return prev,
            None => {}
        }
        let next = self.queues[cpu.index()].pop_front().or_else(|| self.pull(core, cpu));
        if let Some(next) = next {
            self.running[cpu.index()] = self.slices[next.index()];
            self.note_occupied(cpu)
        } else if core.affinities.is_online(cpu) {
            self.low.insert(cpu)
        }
        next
    }

    /// Only the fair server displaces a real-time thread, which keeps its place at the head.
    fn displace(&mut self, _core: &mut Core, cpu: CpuId, prev: ThreadId) {
        self.stopped(cpu, prev);
        self.queues[cpu.index()].push_front(prev);
        self.note_occupied(cpu);
    }

    /// `task_tick_rt`: the slice of a thread with none behind it starts anew.
    fn tick(&mut self, core: &mut Core, cpu: CpuId, _current: ThreadId) {
        if self.kind == Kind::Fifo {
            return;
        }
        let slice = &mut self.running[cpu.index()];
        *slice -= 1;
        if *slice > 0 {
            return;
        }
        *slice = SLICE_TICKS;
        if !self.queues[cpu.index()].is_empty() {
            self.expired.insert(cpu);
            core.resched(cpu);
        }
    }

    /// Neither affinity nor weight decides where a thread stands in its queue; where it may not stay, it is
    /// moved.
    fn save(&mut self, _core: &mut Core, _thread: ThreadId) {}

    fn restore(&mut self, _core: &mut Core, _thread: ThreadId) {}

    fn migrate(&mut self, core: &mut Core, thread: ThreadId, to: CpuId) {
        self.leave(core.thread(thread).cpu, thread);
        core.threads[thread.index()].cpu = to;
        self.enqueue(core, thread);
    }

    fn weigh_group(&mut self, _core: &mut Core, _group: usize, _weight: u32) {}

    fn hotplug(&mut self, core: &mut Core) {
        for cpu in (0..core.machine.cpus).map(CpuId) {
            let current = core.current(cpu).is_some_and(|thread| core.thread(thread).realtime);
            if !core.affinities.is_online(cpu) {
                self.low.remove(cpu);
            } else if !current && self.queues[cpu.index()].is_empty() {
                self.low.insert(cpu);
            }
        }
    }
}
