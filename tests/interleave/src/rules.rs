//! What must hold when all CPUs are quiet.

use crate::kernel::{Kernel, Place, State};
use crate::world::{Wait, World};

/// What c/probe.h finds, from 1 on.
const FAULTS: [&str; 6] = [
    "a vruntime in a heap is less than the one above it",
    "the list of a pool has other threads than it counts",
    "a pool has fewer vruntimes than threads",
    "the least vruntime that others see is not that of the heaps",
    "threads that wait are neither listed nor counted as unlisted",
    "a pool has a vruntime that belongs to no thread",
];

/// The run has failed; nobody is in a coroutine.
pub fn fail(world: &World, what: String) {
    world.failure.borrow_mut().get_or_insert(what);
}

/// No coroutine can go on: is all as it should be?
pub fn quiet(world: &World, waits: &[Wait]) {
    let stuck = waits
        .iter()
        .position(|wait| matches!(wait, Wait::Lock(_) | Wait::Switched(_) | Wait::Settled(_)));
    let broken = match stuck {
        Some(agent) => Some(format!("{} waits for ever: {:?}", name(world, agent), waits[agent])),
        None => broken(world),
    };
    if let Some(what) = broken {
        world.say(|| format!("FAILS: {what}"));
        fail(world, what);
    }
}

/// What a coroutine is called.
pub fn name(world: &World, agent: usize) -> String {
    let cpus = world.machine.cpus as usize;
    if agent < cpus { format!("CPU {agent}") } else { format!("device {}", agent - cpus) }
}

fn broken(world: &World) -> Option<String> {
    let kernel = world.kernel.borrow();
    lost(&kernel)
        .or_else(|| idle_beside(&kernel))
        .or_else(|| misplaced(&kernel))
        .or_else(|| late(world, &kernel))
        .or_else(|| {
            drop(kernel);
            index(world)
        })
}

fn waits(kernel: &Kernel) -> impl Iterator<Item = (usize, Place)> {
    let waiting = kernel.threads.iter().enumerate();
    waiting.filter(|(_, t)| t.state == State::Waiting).map(|(at, thread)| (at, thread.place))
}

fn lost(kernel: &Kernel) -> Option<String> {
    let (thread, _) = waits(kernel).find(|(_, place)| *place == Place::Nowhere)?;
    Some(format!("thread {thread} is lost: it wants a CPU and waits in no queue"))
}

/// A lost wake-up.
fn idle_beside(kernel: &Kernel) -> Option<String> {
    waits(kernel).find_map(|(thread, place)| {
        let admitted = |cpu: usize| kernel.threads[thread].mask >> cpu & 1 == 1;
        let takes = |cpu: usize| match place {
            Place::Local(of) => of == cpu,
            _ => admitted(cpu),
        };
        let idle = |&cpu: &usize| kernel.cpus[cpu].current.is_none() && takes(cpu);
        let cpu = (0..kernel.cpus.len()).find(idle)?;
        Some(format!("CPU {cpu} idles while thread {thread} waits in {place:?}: a lost wake-up"))
    })
}

fn misplaced(kernel: &Kernel) -> Option<String> {
    kernel.cpus.iter().enumerate().find_map(|(at, cpu)| {
        let thread = cpu.current?;
        let admitted = kernel.threads[thread].mask >> at & 1 == 1;
        (!admitted).then(|| format!("thread {thread} runs on CPU {at}, which it may not"))
    })
}

/// Threads that must run by now: what woke them has preempted another for them.
fn late(world: &World, kernel: &Kernel) -> Option<String> {
    let must = world.scenario.must_run.iter();
    let late = must.copied().find(|&thread| kernel.threads[thread].state == State::Waiting)?;
    Some(format!(
        "thread {late} waits though its wake-up preempts others: it is late by a tick or more"
    ))
}

/// What the policy's own tables say, where they are ours.
fn index(world: &World) -> Option<String> {
    let (probe, knows) = (world.code.probe?, world.code.waits?);
    let (queues, threads, exact) = {
        let kernel = world.kernel.borrow();
        let queues: Vec<u32> = kernel.queues.keys().copied().collect();
        (queues, kernel.threads.len() as u32, !kernel.departures)
    };
    let waiting = waiting(world);
    world.enter(|| {
        let faulty = queues.iter().find_map(|&queue| {
            let fault = probe(queue, threads, exact);
            (fault != 0).then(|| format!("queue {queue}: {}", FAULTS[fault as usize - 1]))
        });
        faulty.or_else(|| {
            let unknown =
                waiting.iter().find(|(thread, queue)| knows(*thread as u32 + 1) != queue + 1);
            unknown.map(|(thread, queue)| {
                format!("thread {thread} waits in queue {queue}, and the policy does not know it")
            })
        })
    })
}

/// Threads that wait in queues of the policy, and where.
pub fn waiting(world: &World) -> Vec<(usize, u32)> {
    let kernel = world.kernel.borrow();
    let queued = waits(&kernel).filter_map(|(thread, place)| match place {
        Place::Queue(queue) => Some((thread, queue)),
        _ => None,
    });
    queued.collect()
}

/// Ticks after which every thread that waited has had its turn.
const TURNS: u32 = 64;

/// Of the threads that waited when all was quiet first (with how often they had run), each must have run
/// since, if that was long ago.
pub fn had_turns(world: &World, waited: &[(usize, u32)], ticks: u32) {
    let kernel = world.kernel.borrow();
    let starved = waited.iter().find(|(thread, runs)| {
        kernel.threads[*thread].state == State::Waiting && kernel.threads[*thread].runs == *runs
    });
    if let Some((thread, _)) = starved.filter(|_| ticks >= TURNS) {
        fail(world, format!("thread {thread} has waited for {ticks} ticks"));
    }
}

/// Threads that wait, and how often each has run.
pub fn runs(world: &World) -> Vec<(usize, u32)> {
    let kernel = world.kernel.borrow();
    waits(&kernel).map(|(thread, _)| (thread, kernel.threads[thread].runs)).collect()
}
