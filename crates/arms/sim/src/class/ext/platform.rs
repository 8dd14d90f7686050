//! The seam: the modelled kernel as a policy sees it during one callback.

use model::weight::nice_weight;
use model::{CpuId, Nanos, ThreadId};
use policy_native::{Kick, Level, Local, Move, Place, Platform};
use rand::RngExt;

use super::idle;
use super::threads::Threads;
use super::timers::Timer;
use crate::core::Core;

/// The kernel and the class's own state, lent to the policy for one callback.
pub struct Seam<'a> {
    core: &'a mut Core,
    threads: &'a mut Threads,
}

impl<'a> Seam<'a> {
    /// Lends both.
    pub fn new(core: &'a mut Core, threads: &'a mut Threads) -> Seam<'a> {
        Seam { core, threads }
    }

    /// Back to the thread just visited, which is to be moved.
    fn step_back(&mut self, queue: u32, cursor: &mut u64, thread: ThreadId) -> bool {
        let Some(position) = cursor.checked_sub(1) else { return false };
        let visited = self.threads.queue(queue).and_then(|queue| queue.get(position as usize));
        if visited.is_none_or(|entry| entry.thread != thread) {
            self.core.fail("the policy moved a thread that it was not visiting");
            return false;
        }
        *cursor = position;
        true
    }

    fn claim_idle(&mut self, thread: ThreadId, from: CpuId) -> Option<CpuId> {
        let (machine, idle) = (&self.threads.machine, &self.core.idle);
        let found = if self.core.affinities.number(thread) == 0 {
            idle::nearest(machine, idle, from)?
        } else {
            idle::nearest_within(machine, idle, &self.core.affinities, thread, from)?
        };
        self.core.idle.remove(found);
        Some(found)
    }
}

impl Platform for Seam<'_> {
    fn now(&self) -> u64 {
        self.core.now.0
    }

    fn random(&mut self) -> u32 {
        self.threads.random.random()
    }

    fn exec_ns(&self, thread: ThreadId) -> u64 {
        self.core.thread(thread).exec.0
    }

    fn process(&self, thread: ThreadId) -> u32 {
        self.core.thread(thread).process as u32
    }

    fn weight(&self, thread: ThreadId) -> u32 {
        nice_weight(self.core.thread(thread).nice)
    }

    fn thread_cpu(&self, thread: ThreadId) -> CpuId {
        self.core.thread(thread).cpu
    }

    fn may_run_on(&self, thread: ThreadId, cpu: CpuId) -> bool {
        self.core.may_run_on(thread, cpu)
    }

    fn affinity(&self, thread: ThreadId) -> u32 {
        self.core.affinities.number(thread)
    }

    fn is_pinned(&self, thread: ThreadId) -> bool {
        self.core.affinities.is_pinned(thread)
    }

    fn is_percpu_kthread(&self, _thread: ThreadId) -> bool {
        false
    }

    fn is_runnable(&self, prev: ThreadId) -> bool {
        self.threads.is_runnable_prev(prev)
    }

    fn domain(&self, cpu: CpuId, level: Level) -> u32 {
        self.threads.domains.of(cpu, level as usize)
    }

    fn cpu_in(&self, cpu: CpuId, level: Level, i: u32) -> Option<CpuId> {
        self.threads.domains.cpu_in(cpu, level as usize, i)
    }

    fn default_cpu(&mut self, thread: ThreadId, prev_cpu: CpuId) -> (CpuId, bool) {
        match self.claim_idle(thread, prev_cpu) {
            Some(cpu) => (cpu, true),
            None => (prev_cpu, false),
        }
    }

    fn request_at(&self, thread: ThreadId) -> Option<u64> {
        self.core.requests.get(thread.index()).copied().flatten().map(|at| at.0)
    }

    fn pick_idle(&mut self, thread: ThreadId) -> Option<CpuId> {
        self.claim_idle(thread, self.core.thread(thread).cpu)
    }

    fn kick(&mut self, cpu: CpuId, how: Kick) {
        match how {
            Kick::Idle if self.core.current(cpu).is_some() => {}
            Kick::Idle => self.core.resched(cpu),
            Kick::Preempt => {
                self.threads.end_slice(self.core, cpu);
                self.core.resched(cpu);
            }
        }
    }

    fn create_queue(&mut self, queue: u32) {
        self.threads.create(queue);
    }

    fn insert_ordered(&mut self, thread: ThreadId, queue: u32, slice_ns: u64, key: u64) {
        self.threads.insert_ordered(self.core, thread, queue, slice_ns, key);
    }

    fn insert_local(&mut self, thread: ThreadId, slice_ns: u64, how: Local) {
        self.threads.note_local(self.core, thread, slice_ns, how);
    }

    fn queue_length(&self, queue: u32) -> u32 {
        self.threads.queue(queue).map_or(0, |queue| queue.len() as u32)
    }

    fn queue_peek(&self, queue: u32) -> Option<ThreadId> {
        self.threads.queue(queue)?.get(0).map(|entry| entry.thread)
    }

    fn move_thread(&mut self, queue: u32, thread: ThreadId) -> Move {
        match self.threads.position(queue, thread) {
            Some(position) if self.threads.move_to_local(self.core, queue, position) => Move::Moved,
            // Nothing else refuses a thread that is there.
            Some(_) => Move::Refused,
            None => Move::Gone,
        }
    }

    /// The cursor is the position of the next thread; nothing else changes a queue during a visit.
    fn visit_next(&mut self, queue: u32, cursor: &mut u64) -> Option<ThreadId> {
        let entry = self.threads.queue(queue)?.get(*cursor as usize)?;
        *cursor += 1;
        Some(entry.thread)
    }

    fn visit_move(&mut self, queue: u32, cursor: &mut u64, thread: ThreadId) -> bool {
        self.step_back(queue, cursor, thread)
            && self.threads.move_to_local(self.core, queue, *cursor as usize)
    }

    fn visit_move_to(&mut self, queue: u32, cursor: &mut u64, t: ThreadId, to: Place) -> bool {
        let moves = self.step_back(queue, cursor, t);
        if moves {
            self.threads.move_to(self.core, queue, *cursor as usize, to);
        }
        moves
    }

    fn vacate(&mut self, prev: ThreadId) {
        self.threads.vacate(self.core, prev);
    }

    fn group_timer(&mut self, group: u32, after_ns: u64) -> bool {
        self.threads.timers.set(Timer::Group(group), self.core.now + Nanos(after_ns));
        true
    }

    fn cpu_timer(&mut self, cpu: CpuId, after_ns: u64) {
        self.threads.timers.set(Timer::Cpu(cpu), self.core.now + Nanos(after_ns));
    }

    fn set_slice(&mut self, thread: ThreadId, slice_ns: u64) {
        *self.threads.slice_mut(thread) = Nanos(slice_ns);
    }

    fn fault(&mut self, what: &str) {
        self.core.fail(what);
    }
}
