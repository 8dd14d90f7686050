//! How late an idle CPU wakes up while the others compute: what turns of virtual CPUs add to every delay
//! between CPUs.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use host::Placement;
use model::Nanos;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::prctl::set_timerslack;
use nix::unistd::Pid;

use crate::order::Wakeups;

/// Enough for a mean to 10%, in 0.2 s.
const TRIALS: u32 = 200;
/// Sleeps of different length, so that they end at every phase of the turns.
const SHORTEST: Duration = Duration::from_micros(600);
const LONGER: Duration = Duration::from_micros(7);

/// A thread sleeps on the generator's CPU while all others spin; `None`: there are no others.
pub fn measure(placement: &Placement) -> io::Result<Option<Wakeups>> {
    let sleeper = placement.generator;
    let others: Vec<usize> =
        placement.scenario.iter().copied().filter(|cpu| *cpu != sleeper).collect();
    if others.is_empty() {
        return Ok(None);
    }
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        for cpu in others {
            let over = &over;
            scope.spawn(move || {
                // A CPU that cannot be had does not compute, which shows in nothing.
                bind(cpu).is_ok().then(|| while !over.load(Ordering::Relaxed) {});
            });
        }
        let slept = scope.spawn(move || sleep_often(sleeper)).join().expect("no panic");
        over.store(true, Ordering::Relaxed);
        slept.map(Some)
    })
}

fn sleep_often(cpu: usize) -> io::Result<Wakeups> {
    bind(cpu)?;
    set_timerslack(1)?;
    let late: Vec<Duration> = (0..TRIALS).map(|trial| late(SHORTEST + LONGER * trial)).collect();
    let nanos = |span: Duration| Nanos(span.as_nanos() as u64);
    let mean = nanos(late.iter().sum::<Duration>() / TRIALS);
    Ok(Wakeups { mean, worst: nanos(late.into_iter().max().unwrap_or_default()) })
}

fn late(span: Duration) -> Duration {
    let begin = Instant::now();
    thread::sleep(span);
    begin.elapsed().saturating_sub(span)
}

fn bind(cpu: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu)?;
    Ok(sched_setaffinity(Pid::from_raw(0), &set)?)
}
