//! The holders of the CPUs, as hooks that come into force one by one tell it. Takes root and a kernel with
//! BTF.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use model::event::{Event, What};
use model::trace_session::{KernelTracer, Run};
use model::{CpuId, Nanos, ThreadId};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::{Pid, gettid};
use tracer::Hooks;

/// As often as this the hooks are put into force. Without the rule that nothing counts before all of them
/// are, one start in five told of a softirq without end.
const STARTS: usize = 20;
const CPUS: [usize; 2] = [0, 1];
/// So often the sleeper may go on. Before most it sleeps, and it is woken when it starts and is moved, too.
const WAKES: usize = 200;

/// Softirqs without a pause until it is told to stop.
fn storm(stop: &AtomicBool) {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let own = socket.local_addr().expect("its address");
    while !stop.load(Ordering::Relaxed) {
        // No reader: what finds no room is dropped by the softirq.
        let _ = socket.send_to(&[0; 8], own);
    }
}

fn record() -> Vec<Event> {
    let session = Hooks.start(&CPUS).expect("hooks");
    thread::sleep(Duration::from_millis(20));
    let run = Run { cpus: &CPUS, threads: &[], start: Nanos(0), moments: &[] };
    session.finish(&run).expect("a whole recording").events
}

/// How often a CPU went on to another thread though an interrupt had not ended.
fn without_end(events: &[Event]) -> usize {
    let mut open = BTreeMap::new();
    let mut count = 0;
    for event in events {
        match event.what {
            What::InterruptBegin { cpu, .. } => *open.entry(cpu).or_insert(0_i32) += 1,
            What::InterruptEnd { cpu, .. } => {
                open.entry(cpu).and_modify(|open| *open = (*open - 1).max(0));
            }
            What::Switch { cpu, .. } => {
                count += usize::from(open.get(&cpu).is_some_and(|n| *n > 0))
            }
            _ => {}
        }
    }
    count
}

#[test]
fn every_interrupt_that_begins_ends_before_its_cpu_goes_on() {
    if let Err(failure) = Hooks.check() {
        return eprintln!("skipped: {failure}");
    }
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let storms = [(); 2].map(|()| scope.spawn(|| storm(&stop)));
        let recordings: Vec<Vec<Event>> = (0..STARTS).map(|_| record()).collect();
        stop.store(true, Ordering::Relaxed);
        storms.into_iter().for_each(|storm| storm.join().expect("a storm that was stopped"));
        let interrupts = recordings.iter().flatten();
        let interrupts =
            interrupts.filter(|event| matches!(event.what, What::InterruptBegin { .. })).count();
        assert!(interrupts > 100 * STARTS, "a storm: {interrupts}");
        let faults: Vec<usize> = recordings.iter().map(|events| without_end(events)).collect();
        assert!(faults.iter().all(|count| *count == 0), "{faults:?}");
    });
}

/// Keeps this thread on one of the CPUs.
fn stay_on(cpu: usize) {
    let mut only = CpuSet::new();
    only.set(cpu).expect("a CPU");
    sched_setaffinity(Pid::from_raw(0), &only).expect("two CPUs");
}

/// Sleeps on one CPU, is woken from the other one again and again, and tells the CPUs that woke it. An idle
/// CPU tells a wake-up itself; one that is busy does not, and then there is nothing to get wrong.
#[test]
fn a_wake_up_is_by_the_cpu_that_asked_for_it() {
    if let Err(failure) = Hooks.check() {
        return eprintln!("skipped: {failure}");
    }
    let session = Hooks.start(&CPUS).expect("hooks");
    let (tell, told) = std::sync::mpsc::channel();
    let sleeper = thread::spawn(move || {
        stay_on(CPUS[1]);
        tell.send(gettid().as_raw()).expect("a test");
        (0..WAKES).for_each(|_| thread::park());
    });
    let id = told.recv().expect("a thread");
    stay_on(CPUS[0]);
    while !sleeper.is_finished() {
        thread::sleep(Duration::from_millis(1));
        sleeper.thread().unpark();
    }
    let threads = [vec![id]];
    let run = Run { cpus: &CPUS, threads: &threads, start: Nanos(0), moments: &[] };
    let events = session.finish(&run).expect("a whole recording").events;
    let wakers = events.iter().filter_map(|event| match event.what {
        What::Wake { thread: ThreadId(0), by, .. } => Some(by),
        _ => None,
    });
    let wakers: Vec<_> = wakers.collect();
    let others = wakers.iter().filter(|by| **by != Some(CpuId(0))).count();
    assert!(wakers.len() >= WAKES / 2 && others <= 5, "{others} of {}", wakers.len());
}
