//! A platform of few lines, driven step by step, that remembers what the policy ordered.
#![allow(dead_code)]

use std::collections::{BTreeMap, VecDeque};

use model::scenario::Machine;
use model::{CpuId, PolicySpec, ThreadId};
use policy_native::{Kick, Level, Local, Move, Options, Platform, Policy};

/// A thread that does nothing on its own.
#[derive(Clone)]
pub struct Thread {
    pub process: u32,
    pub cpu: u32,
    pub exec_ns: u64,
    pub weight: u32,
    /// Its group; 0: the root.
    pub group: u32,
    /// The only CPU that it may run on.
    pub only_on: Option<u32>,
    pub percpu_kthread: bool,
}

/// One of CPU 0 that has not run.
pub const THREAD: Thread = Thread {
    process: 0,
    cpu: 0,
    exec_ns: 0,
    weight: 1_024,
    group: 0,
    only_on: None,
    percpu_kthread: false,
};

/// Everything that the policy can ask and change.
pub struct Toy {
    pub now: u64,
    pub cpus: u32,
    pub threads: Vec<Thread>,
    /// Threads by key, equal keys by insertion.
    pub queues: BTreeMap<u32, Vec<(u64, ThreadId)>>,
    pub locals: Vec<VecDeque<ThreadId>>,
    pub kicks: Vec<(u32, Kick)>,
    pub slices: BTreeMap<u32, u64>,
    pub idle: Vec<u32>,
    pub last_local: Option<Local>,
    /// The thread that wakes another.
    pub waker: Option<ThreadId>,
    /// Since when the requests of threads are there.
    pub requests: BTreeMap<ThreadId, u64>,
    /// The CPU that dispatches, and its runnable thread.
    pub dispatching: (u32, Option<ThreadId>),
    pub draws: u32,
    /// The key of the thread that was moved last.
    pub taken: Option<u64>,
    /// A call that panics, for the test of panics.
    pub broken_clock: bool,
}

/// A policy on a toy.
pub struct Bench {
    pub policy: Policy,
    pub toy: Toy,
}

impl Bench {
    /// A machine of CPUs that share a cache, none of them idle.
    pub fn new(policy: &str, cpus: u32) -> Bench {
        let machine = Machine { cpus, ..Machine::ONE_CPU };
        let spec = PolicySpec::parse(policy).unwrap();
        let policy = Policy::new(Options::parse(&spec, &machine, None).unwrap());
        let toy = Toy::new(cpus);
        let mut bench = Bench { policy, toy };
        bench.policy.init(&mut bench.toy).unwrap();
        bench
    }

    /// A new thread of a process on a CPU.
    pub fn thread(&mut self, process: u32, cpu: u32) -> ThreadId {
        self.thread_like(Thread { process, cpu, ..THREAD })
    }

    pub fn thread_like(&mut self, thread: Thread) -> ThreadId {
        let id = ThreadId(self.toy.threads.len() as u32);
        let group = thread.group;
        self.toy.threads.push(thread);
        self.policy.init_thread(&mut self.toy, id, group).unwrap();
        id
    }

    /// The thread wakes and waits where the policy puts it: for a pinned one no CPU is selected.
    pub fn wake(&mut self, thread: ThreadId) {
        self.wake_by(thread, None);
    }

    /// A thread wakes it, and no interrupt.
    pub fn wake_by(&mut self, thread: ThreadId, by: Option<ThreadId>) {
        self.toy.waker = by;
        let of = self.toy.of(thread);
        let (at, selects) = (CpuId(of.cpu), of.only_on.is_none() && !of.percpu_kthread);
        if selects {
            self.toy.threads[thread.index()].cpu =
                self.policy.select_cpu(&mut self.toy, thread, at).0;
        }
        self.policy.enqueue(&mut self.toy, thread, true);
    }

    /// The CPU asks for work. Answers the thread that it got, else prev.
    pub fn dispatch(&mut self, cpu: u32, prev: Option<ThreadId>) -> Option<ThreadId> {
        self.toy.dispatching = (cpu, prev);
        self.policy.dispatch(&mut self.toy, CpuId(cpu), prev);
        self.toy.locals[cpu as usize].pop_front().or(prev)
    }

    /// The thread runs for a while and then blocks or, still runnable, stops.
    pub fn run(&mut self, thread: ThreadId, ns: u64, blocks: bool) {
        self.pass(thread, ns);
        self.policy.stopping(&mut self.toy, thread, !blocks);
    }

    /// Time passes while the thread runs.
    pub fn pass(&mut self, thread: ThreadId, ns: u64) {
        self.toy.now += ns;
        self.toy.threads[thread.index()].exec_ns += ns;
    }

    pub fn vruntime(&self, thread: ThreadId) -> u64 {
        self.policy.vruntime(thread).unwrap()
    }

    pub fn is_batch(&self, thread: ThreadId) -> bool {
        self.policy.is_batch(thread).unwrap()
    }

    /// All vruntimes, rising.
    pub fn vruntimes(&self) -> Vec<u64> {
        let all = 0..self.toy.threads.len() as u32;
        let mut vruntimes: Vec<u64> = all.map(|id| self.vruntime(ThreadId(id))).collect();
        vruntimes.sort();
        vruntimes
    }
}

impl Toy {
    /// CPUs of which none is idle, and no thread.
    pub fn new(cpus: u32) -> Toy {
        Toy {
            now: 1_000_000_000,
            cpus,
            threads: Vec::new(),
            queues: BTreeMap::new(),
            locals: vec![VecDeque::new(); cpus as usize],
            kicks: Vec::new(),
            slices: BTreeMap::new(),
            idle: Vec::new(),
            last_local: None,
            waker: None,
            requests: BTreeMap::new(),
            dispatching: (0, None),
            draws: 7,
            taken: None,
            broken_clock: false,
        }
    }

    fn of(&self, thread: ThreadId) -> &Thread {
        &self.threads[thread.index()]
    }

    fn move_at(&mut self, queue: u32, position: usize) -> bool {
        let cpu = self.dispatching.0;
        let (key, thread) = self.queues.get_mut(&queue).unwrap().remove(position);
        self.taken = Some(key);
        self.threads[thread.index()].cpu = cpu;
        self.locals[cpu as usize].push_back(thread);
        true
    }
}

impl Platform for Toy {
    fn now(&self) -> u64 {
        assert!(!self.broken_clock, "the clock is broken");
        self.now
    }
    fn random(&mut self) -> u32 {
        self.draws = self.draws.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.draws
    }
    fn exec_ns(&self, thread: ThreadId) -> u64 {
        self.of(thread).exec_ns
    }
    fn process(&self, thread: ThreadId) -> u32 {
        self.of(thread).process
    }
    fn weight(&self, thread: ThreadId) -> u32 {
        self.of(thread).weight
    }
    fn thread_cpu(&self, thread: ThreadId) -> CpuId {
        CpuId(self.of(thread).cpu)
    }
    fn may_run_on(&self, thread: ThreadId, cpu: CpuId) -> bool {
        self.of(thread).only_on.is_none_or(|only| only == cpu.0)
    }
    fn affinity(&self, thread: ThreadId) -> u32 {
        self.of(thread).only_on.map_or(0, |cpu| cpu + 1)
    }
    fn is_pinned(&self, thread: ThreadId) -> bool {
        self.of(thread).only_on.is_some() || self.cpus == 1
    }
    fn is_percpu_kthread(&self, thread: ThreadId) -> bool {
        self.of(thread).percpu_kthread
    }
    fn is_runnable(&self, prev: ThreadId) -> bool {
        self.dispatching.1 == Some(prev)
    }
    fn domain(&self, cpu: CpuId, level: Level) -> u32 {
        if level == Level::Cpu { cpu.0 } else { 0 }
    }
    fn cpu_in(&self, cpu: CpuId, level: Level, i: u32) -> Option<CpuId> {
        let size = if level == Level::Cpu { 1 } else { self.cpus };
        (i < size).then(|| CpuId((cpu.0 + i) % self.cpus))
    }
    fn default_cpu(&mut self, _thread: ThreadId, prev_cpu: CpuId) -> (CpuId, bool) {
        self.idle.pop().map_or((prev_cpu, false), |cpu| (CpuId(cpu), true))
    }
    fn waker(&self) -> Option<ThreadId> {
        self.waker
    }
    fn request_at(&self, thread: ThreadId) -> Option<u64> {
        self.requests.get(&thread).copied()
    }
    fn pick_idle(&mut self, _thread: ThreadId) -> Option<CpuId> {
        self.idle.pop().map(CpuId)
    }
    fn kick(&mut self, cpu: CpuId, how: Kick) {
        self.kicks.push((cpu.0, how));
    }
    fn create_queue(&mut self, queue: u32) {
        assert!(self.queues.insert(queue, Vec::new()).is_none(), "queue {queue} exists");
    }
    fn insert_ordered(&mut self, thread: ThreadId, queue: u32, slice_ns: u64, key: u64) {
        self.slices.insert(thread.0, slice_ns);
        let queue = self.queues.get_mut(&queue).unwrap();
        let at = queue.partition_point(|entry| entry.0 <= key);
        queue.insert(at, (key, thread));
    }
    fn insert_local(&mut self, thread: ThreadId, slice_ns: u64, how: Local) {
        self.slices.insert(thread.0, slice_ns);
        self.last_local = Some(how);
        let cpu = self.of(thread).cpu as usize;
        self.locals[cpu].push_back(thread);
    }
    fn queue_length(&self, queue: u32) -> u32 {
        self.queues[&queue].len() as u32
    }
    fn queue_peek(&self, queue: u32) -> Option<ThreadId> {
        self.queues[&queue].first().map(|entry| entry.1)
    }
    fn move_thread(&mut self, queue: u32, thread: ThreadId) -> Move {
        let found = self.queues[&queue].iter().position(|entry| entry.1 == thread);
        match found {
            _ if !self.may_run_on(thread, CpuId(self.dispatching.0)) => Move::Refused,
            Some(position) if self.move_at(queue, position) => Move::Moved,
            _ => Move::Gone,
        }
    }
    fn visit_next(&mut self, queue: u32, cursor: &mut u64) -> Option<ThreadId> {
        let entry = self.queues[&queue].get(*cursor as usize)?;
        *cursor += 1;
        Some(entry.1)
    }
    fn visit_move(&mut self, queue: u32, cursor: &mut u64, _thread: ThreadId) -> bool {
        *cursor -= 1;
        self.move_at(queue, *cursor as usize)
    }
    fn set_slice(&mut self, thread: ThreadId, slice_ns: u64) {
        self.slices.insert(thread.0, slice_ns);
    }
}
