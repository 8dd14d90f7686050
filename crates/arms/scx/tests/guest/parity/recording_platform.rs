//! The toy platform, with the caches of the test's machine, and every act remembered.

use std::cell::RefCell;

use model::{CpuId, ThreadId};
use policy_native::{Kick, Level, Local, Move, Platform};

use super::script::{Act, Call};
use crate::toy::Toy;

pub struct RecordingPlatform {
    pub toy: Toy,
    acts: RefCell<Vec<Act>>,
}

impl RecordingPlatform {
    pub fn new(cpus: u32) -> RecordingPlatform {
        RecordingPlatform { toy: Toy::new(cpus), acts: RefCell::default() }
    }

    /// The acts since the last call.
    pub fn take(&mut self) -> Vec<Act> {
        self.acts.take()
    }

    fn note(&self, call: Call, args: [u64; 4], answer: u64) {
        self.acts.borrow_mut().push(Act { call, args, answer });
    }

    fn noted_move(
        &self,
        call: Call,
        args: [u64; 2],
        thread: Option<ThreadId>,
        moved: bool,
    ) -> bool {
        self.note(call, [args[0], args[1], 0, 0], if moved { id(thread) } else { 0 });
        moved
    }

    /// `parity_size` of seam.bpf.h.
    fn size(&self, level: Level) -> u32 {
        match level {
            Level::Cpu => 1,
            Level::Core => 2,
            Level::Llc => 4,
            Level::Node | Level::Machine => self.toy.cpus,
        }
    }
}

fn id(thread: Option<ThreadId>) -> u64 {
    thread.map_or(0, |thread| u64::from(thread.0) + 1)
}

impl Platform for RecordingPlatform {
    fn now(&self) -> u64 {
        self.toy.now()
    }
    fn random(&mut self) -> u32 {
        let drawn = self.toy.random();
        self.note(Call::Random, [0; 4], drawn.into());
        drawn
    }
    fn exec_ns(&self, thread: ThreadId) -> u64 {
        self.toy.exec_ns(thread)
    }
    fn process(&self, thread: ThreadId) -> u32 {
        self.toy.process(thread)
    }
    fn weight(&self, thread: ThreadId) -> u32 {
        self.toy.weight(thread)
    }
    fn thread_cpu(&self, thread: ThreadId) -> CpuId {
        self.toy.thread_cpu(thread)
    }
    fn may_run_on(&self, thread: ThreadId, cpu: CpuId) -> bool {
        self.toy.may_run_on(thread, cpu)
    }
    fn affinity(&self, thread: ThreadId) -> u32 {
        self.toy.affinity(thread)
    }
    fn is_pinned(&self, thread: ThreadId) -> bool {
        self.toy.is_pinned(thread)
    }
    fn is_percpu_kthread(&self, thread: ThreadId) -> bool {
        self.toy.is_percpu_kthread(thread)
    }
    fn is_runnable(&self, prev: ThreadId) -> bool {
        self.toy.is_runnable(prev)
    }
    fn domain(&self, cpu: CpuId, level: Level) -> u32 {
        cpu.0 / self.size(level)
    }
    fn cpu_in(&self, cpu: CpuId, level: Level, i: u32) -> Option<CpuId> {
        let size = self.size(level);
        let first = cpu.0 / size * size;
        (i < size).then(|| CpuId(first + (cpu.0 - first + i) % size))
    }
    fn default_cpu(&mut self, thread: ThreadId, prev_cpu: CpuId) -> (CpuId, bool) {
        let (cpu, idle) = self.toy.default_cpu(thread, prev_cpu);
        let args = [id(Some(thread)), prev_cpu.0.into(), 0, 0];
        self.note(Call::DefaultCpu, args, u64::from(cpu.0) << 1 | u64::from(idle));
        (cpu, idle)
    }
    fn pick_idle(&mut self, thread: ThreadId) -> Option<CpuId> {
        let cpu = self.toy.pick_idle(thread);
        let answer = cpu.map_or(0, |cpu| u64::from(cpu.0) + 1);
        self.note(Call::PickIdle, [id(Some(thread)), 0, 0, 0], answer);
        cpu
    }
    fn kick(&mut self, cpu: CpuId, how: Kick) {
        self.note(Call::Kick, [cpu.0.into(), (how == Kick::Preempt).into(), 0, 0], 0);
        self.toy.kick(cpu, how);
    }
    fn create_queue(&mut self, queue: u32) {
        self.note(Call::Create, [queue.into(), 0, 0, 0], 0);
        self.toy.create_queue(queue);
    }
    fn insert_ordered(&mut self, thread: ThreadId, queue: u32, slice_ns: u64, key: u64) {
        self.note(Call::Insert, [id(Some(thread)), queue.into(), slice_ns, key], 0);
        self.toy.insert_ordered(thread, queue, slice_ns, key);
    }
    fn insert_local(&mut self, thread: ThreadId, slice_ns: u64, how: Local) {
        let flags = u64::from(how.head) | u64::from(how.preempt) << 1;
        self.note(Call::Local, [id(Some(thread)), slice_ns, flags, 0], 0);
        self.toy.insert_local(thread, slice_ns, how);
    }
    fn queue_length(&self, queue: u32) -> u32 {
        let length = self.toy.queue_length(queue);
        self.note(Call::Length, [queue.into(), 0, 0, 0], length.into());
        length
    }
    fn queue_peek(&self, queue: u32) -> Option<ThreadId> {
        let first = self.toy.queue_peek(queue);
        self.note(Call::Peek, [queue.into(), 0, 0, 0], id(first));
        first
    }
    fn move_thread(&mut self, queue: u32, thread: ThreadId) -> Move {
        let moved = self.toy.move_thread(queue, thread);
        self.note(Call::Move, [queue.into(), id(Some(thread)), 0, 0], moved as u64);
        moved
    }
    fn visit_next(&mut self, queue: u32, cursor: &mut u64) -> Option<ThreadId> {
        let next = self.toy.visit_next(queue, cursor);
        self.note(Call::Visit, [queue.into(), 0, 0, 0], id(next));
        next
    }
    fn visit_move(&mut self, queue: u32, cursor: &mut u64, thread: ThreadId) -> bool {
        let moved = self.toy.visit_move(queue, cursor, thread);
        self.noted_move(Call::VisitMove, [queue.into(), id(Some(thread))], Some(thread), moved)
    }
    fn set_slice(&mut self, thread: ThreadId, slice_ns: u64) {
        self.note(Call::SetSlice, [id(Some(thread)), slice_ns, 0, 0], 0);
        self.toy.set_slice(thread, slice_ns);
    }
}
