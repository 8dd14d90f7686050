//! A small kernel behind the seam: runqueues with locks, dispatch queues, idle CPUs, kicks, insertions that
//! take effect when a callback has returned. The order of steps is that of `kernel/sched/ext.c` of Linux
//! 6.12 to 7.2; what differs between releases is an [`Idling`].

mod answers;
mod change;
mod schedule;
mod wake;

use std::collections::{BTreeMap, VecDeque};

use crate::scenario::{Idling, Op, Scenario};
use crate::world::{Wait, World};

pub use schedule::cpu_main;

/// `SCX_SLICE_DFL`.
const DEFAULT_SLICE_NS: u64 = 20_000_000;

/// What is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lock {
    /// A CPU's runqueue.
    Rq(usize),
    /// A thread's `pi_lock`: one wake-up or change at a time.
    Pi(usize),
    /// The policy's, of a queue.
    Queue(u32),
}

/// What a thread is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It sleeps.
    Blocked,
    /// It waits for a CPU.
    Waiting,
    /// It runs.
    Running,
    /// It has exited, or is in another class.
    Gone,
}

/// Where a waiting thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In no queue: on its way.
    Nowhere,
    /// In a queue of the policy.
    Queue(u32),
    /// In the local queue of a CPU.
    Local(usize),
}

/// A thread.
#[derive(Clone, Debug)]
pub struct Thread {
    /// What it is doing.
    pub state: State,
    /// Where it waits.
    pub place: Place,
    /// `task_cpu`.
    pub cpu: usize,
    /// Whether a CPU has not yet switched away from it.
    pub on_cpu: bool,
    /// CPUs that it may run on, a bit each.
    pub mask: u64,
    /// Its process.
    pub process: u32,
    /// At nice 0 1,024.
    pub weight: u32,
    /// What is left of its slice.
    pub slice_ns: u64,
    /// CPU time received until its CPU looked last.
    pub exec_ns: u64,
    /// How often it ran.
    pub runs: u32,
    key: u64,
    /// Of its insertion, among all.
    seq: u64,
    at: usize,
    pending: bool,
    migrates: bool,
}

/// A CPU.
#[derive(Clone, Debug)]
pub struct Cpu {
    /// What it runs.
    pub current: Option<usize>,
    /// Its local queue.
    pub local: VecDeque<usize>,
    /// Its bit in the mask of idle CPUs.
    pub idle: bool,
    resched: bool,
    tick: bool,
    in_balance: bool,
    since: u64,
}

/// Where an insertion goes once the callback has returned.
#[derive(Clone, Copy, Debug)]
enum Target {
    Queue(u32, u64),
    Local { head: bool, preempt: bool },
}

/// What a coroutine has under way.
#[derive(Clone, Debug, Default)]
struct Agent {
    /// CPU, and whether it preempts: sent when interrupts are on again.
    kicks: Vec<(usize, bool)>,
    insertion: Option<(usize, u64, Target)>,
    /// CPU and runnable `prev` of a dispatch.
    dispatch: Option<(usize, Option<usize>)>,
    callback: &'static str,
}

/// The kernel's state.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The clock.
    pub now: u64,
    /// By number.
    pub threads: Vec<Thread>,
    /// By number.
    pub cpus: Vec<Cpu>,
    /// The policy's queues, by ascending key.
    pub queues: BTreeMap<u32, Vec<usize>>,
    /// Whether a thread has left a queue otherwise than by dispatch.
    pub departures: bool,
    idling: Idling,
    /// Insertions so far.
    seq: u64,
    locks: BTreeMap<Lock, usize>,
    agents: Vec<Agent>,
}

impl Kernel {
    /// All CPUs idle, all threads asleep.
    pub fn new(scenario: &Scenario, cpus: usize) -> Kernel {
        let thread = |thread: &crate::scenario::Thread| Thread {
            state: State::Blocked,
            place: Place::Nowhere,
            cpu: (thread.mask.trailing_zeros() as usize).min(cpus - 1),
            on_cpu: false,
            mask: thread.mask,
            process: thread.process,
            weight: thread.weight,
            slice_ns: 0,
            exec_ns: 0,
            runs: 0,
            key: 0,
            seq: 0,
            at: 0,
            pending: false,
            migrates: false,
        };
        let cpu = Cpu {
            current: None,
            local: VecDeque::new(),
            idle: true,
            resched: false,
            tick: false,
            in_balance: false,
            since: 0,
        };
        Kernel {
            now: 1_000_000_000,
            threads: scenario.threads.iter().map(thread).collect(),
            cpus: vec![cpu; cpus],
            queues: BTreeMap::new(),
            departures: false,
            idling: scenario.idling,
            seq: 0,
            locks: BTreeMap::new(),
            agents: vec![Agent::default(); crate::world::AGENTS],
        }
    }

    /// Whether a coroutine that waits could go on.
    pub fn is_over(&self, wait: Wait) -> bool {
        match wait {
            Wait::Ready => true,
            Wait::Never => false,
            Wait::Lock(lock) => !self.locks.contains_key(&lock),
            Wait::Attention(cpu) => self.cpus[cpu].resched || self.cpus[cpu].tick,
            Wait::Switched(thread) => !self.threads[thread].on_cpu,
            Wait::Settled(thread) => {
                let thread = &self.threads[thread];
                thread.state != State::Waiting || thread.place != Place::Nowhere
            }
        }
    }

    /// CPU time of a thread as of now, as far as its CPU has looked unless `exact`.
    fn exec_ns(&self, thread: usize, exact: bool) -> u64 {
        let Thread { cpu, exec_ns, .. } = self.threads[thread];
        let runs = self.cpus[cpu].current == Some(thread);
        exec_ns + if runs && exact { self.now - self.cpus[cpu].since } else { 0 }
    }

    /// `update_curr_scx`.
    fn account(&mut self, cpu: usize) {
        let ran = self.now - self.cpus[cpu].since;
        self.cpus[cpu].since = self.now;
        if let Some(current) = self.cpus[cpu].current {
            let thread = &mut self.threads[current];
            thread.exec_ns += ran;
            thread.slice_ns = thread.slice_ns.saturating_sub(ran);
        }
    }

    fn resched(&mut self, cpu: usize) {
        self.cpus[cpu].resched = true;
    }

    fn insert(&mut self, thread: usize, queue: u32, key: u64) {
        self.seq += 1;
        self.threads[thread].key = key;
        self.threads[thread].seq = self.seq;
        self.threads[thread].place = Place::Queue(queue);
        let threads = &self.threads;
        let waiting = self.queues.entry(queue).or_default();
        let at = waiting.partition_point(|&other| threads[other].key <= key);
        waiting.insert(at, thread);
    }

    /// Takes a thread out of where it waits.
    fn remove(&mut self, thread: usize) {
        match self.threads[thread].place {
            Place::Queue(queue) => {
                self.queues.entry(queue).or_default().retain(|&other| other != thread);
            }
            Place::Local(cpu) => self.cpus[cpu].local.retain(|&other| other != thread),
            Place::Nowhere => {}
        }
        self.threads[thread].place = Place::Nowhere;
    }

    /// A tick for every CPU that runs something, one slice of the timer later.
    pub fn pass_tick(&mut self, ns: u64) {
        self.now += ns;
        for cpu in &mut self.cpus {
            cpu.tick = cpu.current.is_some();
        }
    }
}

/// A coroutine's hands: all that it does goes through here.
#[derive(Clone, Copy)]
pub struct Hands<'a> {
    /// The world.
    pub world: &'a World,
    /// Who.
    pub agent: usize,
}

impl Hands<'_> {
    fn with<R>(self, act: impl FnOnce(&mut Kernel) -> R) -> R {
        act(&mut self.world.kernel.borrow_mut())
    }

    fn wait(self, wait: Wait) {
        self.world.point();
        while !self.with(|kernel| kernel.is_over(wait)) {
            self.world.suspend(wait);
        }
    }

    fn lock(self, lock: Lock) {
        self.wait(Wait::Lock(lock));
        self.with(|kernel| kernel.locks.insert(lock, self.agent));
    }

    fn unlock(self, lock: Lock) {
        self.with(|kernel| kernel.locks.remove(&lock));
        self.world.released();
    }

    /// Calls the policy. It must have let go of its locks when it returns.
    fn call<R>(self, name: &'static str, callback: impl FnOnce() -> R) -> R {
        self.world.say(|| name.to_string());
        self.with(|kernel| kernel.agents[self.agent].callback = name);
        self.world.point();
        let result = callback();
        let holds = self.with(|kernel| {
            kernel
                .locks
                .iter()
                .any(|(lock, by)| matches!(lock, Lock::Queue(_)) && *by == self.agent)
        });
        if holds {
            self.world.fail(format!("{name} returned with a lock"));
        }
        result
    }

    /// What a thread does next of its own, and what devices do.
    fn act(self, op: Op, thread: Option<usize>) {
        match op {
            Op::Run(ns) => self.with(|kernel| kernel.now += ns),
            Op::Expire(cpu) => self.expire(cpu),
            Op::Wake(other) => self.wake(other),
            Op::Tick => self.with(|kernel| kernel.pass_tick(4_000_000)),
            Op::Affine(other, mask) => self.set_affinity(other, mask),
            Op::Regroup(other, group) => self.set_group(other, group),
            Op::Leave(other) => self.leave_class(other),
            Op::Block | Op::Exit => {
                if let Some(thread) = thread {
                    self.cease(thread, op == Op::Exit);
                }
            }
        }
    }
}

/// What a device does: interrupts of CPUs that are not modelled.
pub fn device_main(hands: Hands, ops: &[Op]) {
    for op in ops {
        hands.world.say(|| format!("{op:?}"));
        hands.world.point();
        hands.act(*op, None);
    }
}
