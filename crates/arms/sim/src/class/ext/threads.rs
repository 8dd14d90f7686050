//! What sched_ext keeps of threads and CPUs: slices, queues, and the owner of a thread.

use std::collections::VecDeque;

use model::scenario::Machine;
use model::{CpuId, Nanos, Scenario, ThreadId};
use policy_native::{Local, Place, QUEUES};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::domains::Domains;
use super::queue::OrderedQueue;
use super::timers::Timers;
use crate::affinity::Affinities;
use crate::core::Core;

/// The owner of a thread (`enum scx_ops_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    /// The kernel: it blocks, runs, or waits in a local queue.
    None,
    /// The policy is just being asked where to put it.
    Queueing,
    /// It waits in a queue of the policy.
    Queued,
    /// It is on its way from there to a local queue.
    Dispatching,
}

#[derive(Clone, Debug)]
struct Thread {
    /// Whether it has come to life.
    exists: bool,
    owner: Owner,
    slice: Nanos,
    /// Of its place in a queue of the policy, if it waits there.
    key: u64,
    /// That queue.
    queue: u32,
}

/// An insertion that takes effect when the callback has returned.
#[derive(Clone, Copy, Debug)]
struct Insertion {
    slice: Nanos,
    target: Target,
}

#[derive(Clone, Copy, Debug)]
enum Target {
    Queue { id: u32, key: u64 },
    Local(Local),
}

/// Whether a queue is one of threads that a group holds (`RG_HELD` of platform.h).
fn is_of_held(queue: u32) -> bool {
    queue as usize >= QUEUES
}

/// A dispatch under way.
#[derive(Clone, Copy, Debug)]
struct Dispatch {
    cpu: CpuId,
    /// The runnable thread of the CPU, which is in no queue.
    prev: Option<ThreadId>,
    /// Whether it leaves the CPU though it could go on.
    vacates: bool,
}

/// The state of the class beside the policy's own.
pub struct Threads {
    pub machine: Machine,
    pub domains: Domains,
    pub random: Xoshiro256PlusPlus,
    /// Those of groups and CPUs.
    pub timers: Timers,
    threads: Vec<Thread>,
    queues: Vec<Option<OrderedQueue>>,
    locals: Vec<VecDeque<ThreadId>>,
    insertion: Option<Insertion>,
    dispatch: Option<Dispatch>,
}

impl Threads {
    /// No threads and no queues yet.
    pub fn new(scenario: &Scenario, seed: u64) -> Threads {
        let machine = scenario.machine;
        let cpus = machine.cpus as usize;
        Threads {
            machine,
            domains: Domains::new(&machine, &Affinities::new(machine.cpus)),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            timers: Timers::default(),
            threads: Vec::new(),
            queues: vec![None; cpus],
            locals: vec![VecDeque::new(); cpus],
            insertion: None,
            dispatch: None,
        }
    }

    /// A thread comes under the policy.
    pub fn add(&mut self, thread: ThreadId) {
        let unborn =
            Thread { exists: false, owner: Owner::None, slice: Nanos::ZERO, key: 0, queue: 0 };
        self.threads.resize(self.threads.len().max(thread.index() + 1), unborn);
        self.threads[thread.index()].exists = true;
    }

    /// A thread has exited.
    pub fn remove(&mut self, thread: ThreadId) {
        self.threads[thread.index()].exists = false;
    }

    /// Whether a thread is under the policy.
    pub fn exists(&self, thread: ThreadId) -> bool {
        self.threads.get(thread.index()).is_some_and(|thread| thread.exists)
    }

    /// All threads under the policy.
    pub fn ids(&self) -> impl Iterator<Item = ThreadId> + use<> {
        let exists: Vec<u32> =
            (0..).zip(&self.threads).filter(|(_, t)| t.exists).map(|(id, _)| id).collect();
        exists.into_iter().map(ThreadId)
    }

    /// A policy is gone, with its queues, and the CPUs are others.
    pub fn clear(&mut self, core: &mut Core, slice: Nanos) {
        self.domains = Domains::new(&self.machine, &core.affinities);
        self.timers = Timers::default();
        let waiting = self.ids().filter(|id| self.threads[id.index()].owner == Owner::Queued);
        let held = waiting.filter(|id| is_of_held(self.threads[id.index()].queue));
        core.kept.extend(held.map(|id| (id, false)));
        self.queues.iter_mut().for_each(|queue| *queue = None);
        self.locals.iter_mut().for_each(VecDeque::clear);
        for thread in &mut self.threads {
            (thread.owner, thread.slice) = (Owner::None, slice);
        }
    }

    /// Takes a thread out of whatever queue it waits in.
    pub fn dequeue(&mut self, core: &mut Core, thread: ThreadId) {
        self.local(core.thread(thread).cpu).retain(|&waiting| waiting != thread);
        let Thread { owner, key, queue, .. } = &mut self.threads[thread.index()];
        if std::mem::replace(owner, Owner::None) != Owner::Queued {
            return;
        }
        if let Some(Some(waiting)) = self.queues.get_mut(*queue as usize) {
            waiting.position(thread, *key).map(|position| waiting.remove(position));
        }
        if is_of_held(*queue) {
            core.kept.push((thread, false));
        }
    }

    /// What is left of a thread's slice.
    pub fn slice_mut(&mut self, thread: ThreadId) -> &mut Nanos {
        &mut self.threads[thread.index()].slice
    }

    /// The queue from which alone a CPU runs threads.
    pub fn local(&mut self, cpu: CpuId) -> &mut VecDeque<ThreadId> {
        &mut self.locals[cpu.index()]
    }

    /// Whether select_cpu has already put the thread that wakes.
    pub fn is_inserted(&self) -> bool {
        self.insertion.is_some()
    }

    fn own(&mut self, core: &mut Core, thread: ThreadId, from: Owner, to: Owner) {
        let owner = &mut self.threads[thread.index()].owner;
        if *owner != from {
            core.fail(format!("thread {} is {owner:?}, not {from:?}", thread.0));
        }
        *owner = to;
    }

    /// The policy is about to be asked where a thread shall wait.
    pub fn enqueue_begins(&mut self, core: &mut Core, thread: ThreadId) {
        self.own(core, thread, Owner::None, Owner::Queueing);
    }

    /// select_cpu has returned: unless it inserted the thread, enqueue will be asked.
    pub fn select_ends(&mut self, thread: ThreadId) {
        if self.insertion.is_none() {
            self.threads[thread.index()].owner = Owner::None;
        }
    }

    /// The policy has returned: its insertion takes effect.
    pub fn enqueue_ends(&mut self, core: &mut Core, thread: ThreadId) {
        let Some(Insertion { slice, target }) = self.insertion.take() else {
            return core.fail(format!("the policy put thread {} nowhere", thread.0));
        };
        match target {
            Target::Queue { id, key } => {
                self.own(core, thread, Owner::Queueing, Owner::Queued);
                self.wait_in(core, thread, id, slice, key);
            }
            Target::Local(how) => {
                self.own(core, thread, Owner::Queueing, Owner::None);
                self.insert_local(core, thread, slice, how);
            }
        }
    }

    fn wait_in(&mut self, core: &mut Core, thread: ThreadId, id: u32, slice: Nanos, key: u64) {
        let waiting = &mut self.threads[thread.index()];
        (waiting.key, waiting.queue) = (key, id);
        if is_of_held(id) {
            core.kept.push((thread, true));
            if self.queue(id).is_none() {
                self.create(id);
            }
        }
        match self.queues.get_mut(id as usize) {
            Some(Some(queue)) => queue.insert(thread, slice, key),
            _ => core.fail(format!("the policy has no queue {id}")),
        }
    }

    /// Moves the thread at a position of a queue to another queue.
    pub fn move_to(&mut self, core: &mut Core, id: u32, position: usize, to: Place) {
        let queue = self.queues.get_mut(id as usize).and_then(Option::as_mut);
        let Some(entry) = queue.and_then(|queue| queue.remove(position)) else { return };
        if is_of_held(id) {
            core.kept.push((entry.thread, false));
        }
        self.wait_in(core, entry.thread, to.queue, Nanos(to.slice_ns), to.key);
    }

    fn insert_local(&mut self, core: &mut Core, thread: ThreadId, slice: Nanos, how: Local) {
        let cpu = core.thread(thread).cpu;
        *self.slice_mut(thread) = slice;
        if how.head {
            self.local(cpu).push_front(thread);
        } else {
            self.local(cpu).push_back(thread);
        }
        if how.preempt {
            self.end_slice(core, cpu);
        }
        if how.preempt || core.current(cpu).is_none() {
            core.resched(cpu);
        }
    }

    /// Ends the slice of what a CPU runs, if it runs a thread of this class.
    pub fn end_slice(&mut self, core: &Core, cpu: CpuId) {
        let ours = core.current(cpu).filter(|&thread| !core.thread(thread).realtime);
        if let Some(current) = ours {
            *self.slice_mut(current) = Nanos::ZERO;
        }
    }

    /// A CPU asks for work.
    pub fn dispatch_begins(&mut self, cpu: CpuId, prev: Option<ThreadId>) {
        self.dispatch = Some(Dispatch { cpu, prev, vacates: false });
    }

    /// The runnable thread of the CPU that dispatches shall not go on.
    pub fn vacate(&mut self, core: &mut Core, thread: ThreadId) {
        match &mut self.dispatch {
            Some(dispatch) if dispatch.prev == Some(thread) => dispatch.vacates = true,
            _ => core.fail(format!("thread {} cannot leave a CPU here", thread.0)),
        }
    }

    /// The policy has brought what it had. Whether the runnable thread of the CPU may go on.
    pub fn dispatch_ends(&mut self) -> bool {
        self.dispatch.take().is_none_or(|dispatch| !dispatch.vacates)
    }

    /// Whether a thread is the runnable one of the CPU that dispatches.
    pub fn is_runnable_prev(&self, thread: ThreadId) -> bool {
        self.dispatch.is_some_and(|dispatch| dispatch.prev == Some(thread))
    }

    /// Creates a queue by number.
    pub fn create(&mut self, id: u32) {
        self.queues.resize_with(self.queues.len().max(id as usize + 1), || None);
        self.queues[id as usize] = Some(OrderedQueue::default());
    }

    /// A queue by number, if the policy created it.
    pub fn queue(&self, id: u32) -> Option<&OrderedQueue> {
        self.queues.get(id as usize)?.as_ref()
    }

    /// Where a thread stands in a queue, if it waits there.
    pub fn position(&self, id: u32, thread: ThreadId) -> Option<usize> {
        self.queue(id)?.position(thread, self.threads[thread.index()].key)
    }

    /// Notes where the policy wants a thread that is Queueing.
    pub fn insert_ordered(
        &mut self,
        core: &mut Core,
        thread: ThreadId,
        id: u32,
        slice: u64,
        key: u64,
    ) {
        self.note(
            core,
            thread,
            Insertion { slice: Nanos(slice), target: Target::Queue { id, key } },
        );
    }

    /// Notes that the policy wants a thread in the local queue of its CPU.
    pub fn note_local(&mut self, core: &mut Core, thread: ThreadId, slice: u64, how: Local) {
        self.note(core, thread, Insertion { slice: Nanos(slice), target: Target::Local(how) });
    }

    fn note(&mut self, core: &mut Core, thread: ThreadId, insertion: Insertion) {
        if self.threads[thread.index()].owner != Owner::Queueing || self.insertion.is_some() {
            core.fail(format!("the policy put thread {} where it was not asked to", thread.0));
        }
        self.insertion = Some(insertion);
    }

    /// Moves the thread at a position of a queue to the dispatching CPU's local queue, if it may run there.
    pub fn move_to_local(&mut self, core: &mut Core, id: u32, position: usize) -> bool {
        let Some(Dispatch { cpu, .. }) = self.dispatch else {
            core.fail("the policy moved a thread outside of dispatch");
            return false;
        };
        let queue = self.queues.get_mut(id as usize).and_then(Option::as_mut);
        let queue = queue.filter(|queue| {
            queue.get(position).is_some_and(|entry| core.may_run_on(entry.thread, cpu))
        });
        let Some(entry) = queue.and_then(|queue| queue.remove(position)) else { return false };
        self.own(core, entry.thread, Owner::Queued, Owner::Dispatching);
        core.threads[entry.thread.index()].cpu = cpu;
        *self.slice_mut(entry.thread) = entry.slice;
        self.local(cpu).push_back(entry.thread);
        self.own(core, entry.thread, Owner::Dispatching, Owner::None);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::{State, Thread as Task};

    const SLICE: u64 = 4_000_000;

    fn bench() -> (Core, Threads) {
        let text = "# Two threads.\nduration = \"1s\"\n[machine]\ncpus = 2\n\
                    [[program]]\nname = \"b\"\nkind = \"batch\"\nthreads = 2\n";
        let scenario = Scenario::read(text, "test").unwrap();
        let (mut core, mut threads) = (Core::new(scenario.machine), Threads::new(&scenario, 1));
        for id in 0..2 {
            core.threads.push(Task {
                program: 0,
                process: 0,
                group: None,
                nice: 0,
                realtime: false,
                state: State::Runnable,
                cpu: CpuId(0),
                exec: Nanos::ZERO,
                remaining: Nanos::ZERO,
            });
            threads.add(ThreadId(id));
        }
        threads.create(0);
        (core, threads)
    }

    #[test]
    fn an_insertion_takes_effect_when_the_callback_has_returned() {
        let (mut core, mut threads) = bench();
        threads.enqueue_begins(&mut core, ThreadId(0));
        threads.insert_ordered(&mut core, ThreadId(0), 0, SLICE, 1);
        assert_eq!(threads.queue(0).unwrap().len(), 0);
        threads.enqueue_ends(&mut core, ThreadId(0));
        assert_eq!(threads.queue(0).unwrap().len(), 1);
        threads.dispatch_begins(CpuId(1), Some(ThreadId(1)));
        assert!(threads.is_runnable_prev(ThreadId(1)) && !threads.is_runnable_prev(ThreadId(0)));
        assert!(threads.move_to_local(&mut core, 0, 0));
        threads.dispatch_ends();
        assert_eq!(threads.local(CpuId(1)).front(), Some(&ThreadId(0)));
        assert_eq!(core.thread(ThreadId(0)).cpu, CpuId(1));
        assert_eq!(*threads.slice_mut(ThreadId(0)), Nanos(SLICE));
        assert_eq!(core.fault(), None);
    }

    #[test]
    fn what_ends_a_policy_ends_the_run() {
        type Wrong = fn(&mut Core, &mut Threads);
        let wrongs: [(&str, Wrong); 6] = [
            ("nowhere", |core, threads| {
                threads.enqueue_begins(core, ThreadId(0));
                threads.enqueue_ends(core, ThreadId(0));
            }),
            ("not asked", |core, threads| threads.insert_ordered(core, ThreadId(0), 0, SLICE, 1)),
            ("not asked", |core, threads| {
                threads.enqueue_begins(core, ThreadId(0));
                threads.insert_ordered(core, ThreadId(0), 0, SLICE, 1);
                threads.note_local(core, ThreadId(0), SLICE, Local::default());
            }),
            ("no queue 1", |core, threads| {
                threads.enqueue_begins(core, ThreadId(0));
                threads.insert_ordered(core, ThreadId(0), 1, SLICE, 1);
                threads.enqueue_ends(core, ThreadId(0));
            }),
            ("outside of dispatch", |core, threads| {
                threads.move_to_local(core, 0, 0);
            }),
            ("is Queued", |core, threads| {
                threads.enqueue_begins(core, ThreadId(0));
                threads.insert_ordered(core, ThreadId(0), 0, SLICE, 1);
                threads.enqueue_ends(core, ThreadId(0));
                threads.enqueue_begins(core, ThreadId(0));
            }),
        ];
        for (reason, wrong) in wrongs {
            let (mut core, mut threads) = bench();
            wrong(&mut core, &mut threads);
            assert!(core.fault().is_some_and(|fault| fault.contains(reason)), "{reason}");
        }
    }
}
