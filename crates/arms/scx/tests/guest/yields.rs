//! Threads that wait by `sched_yield` in a real kernel.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{sleep, yield_now};
use std::time::Duration;

use libtest_mimic::{Failed, Trial};
use model::Failure;

use crate::guest::{numbers, stay, told, under_each};

pub fn trials() -> Vec<Trial> {
    let trial = |kernel: &'static str| {
        Trial::test(format!("threads_that_yield_meet_on_{kernel}"), move || meet(kernel))
            .with_ignored_flag(true)
    };
    vec![trial("7.2"), trial("6.18")]
}

const POLICIES: [Option<&str>; 3] = [None, Some("rearguard"), Some("rearguard:yields=off")];
const THREADS: u32 = 8;
/// Long enough that they are batch for most of it.
const SPAN: Duration = Duration::from_millis(1_500);
/// About 1 ms of CPU time in an emulated machine.
const WORK: u32 = 200_000;

fn meet(kernel: &str) -> Result<(), Failed> {
    let lines = told(kernel, 2, "yields");
    let of = |what| numbers::<f64>(&lines, what);
    let (rounds, steps) = (of("rounds:"), of("steps:"));
    assert!(rounds[1] >= 0.9 * rounds[0] && rounds[2] < 0.5 * rounds[0], "{rounds:?}");
    // The worker is batch, so the two share the CPU (policy/yield.h, Limits).
    assert!(steps[1] >= 0.5 * steps[0] && steps[1] > 1.05 * steps[2], "{steps:?}");
    Ok(())
}

/// In the guest.
pub fn play() -> Result<Vec<String>, Failure> {
    under_each(&POLICIES, &[("rounds:", barrier), ("steps:", beside_one_that_yields)])
}

/// Not by PAUSE, as in life.rs.
fn compute() {
    let mut round = 0u32;
    while round < WORK {
        round = std::hint::black_box(round + 1);
    }
}

/// Rounds of threads that compute and wait for the last one.
fn barrier() -> u32 {
    let (arrived, round, over) = (AtomicU32::new(0), AtomicU32::new(0), AtomicBool::new(false));
    let meet = || {
        let now = round.load(Ordering::Acquire);
        if arrived.fetch_add(1, Ordering::AcqRel) + 1 == THREADS {
            arrived.store(0, Ordering::Relaxed);
            round.store(now + 1, Ordering::Release);
        }
        while round.load(Ordering::Acquire) == now && !over.load(Ordering::Relaxed) {
            yield_now();
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    compute();
                    meet();
                }
            });
        }
        sleep(SPAN);
        over.store(true, Ordering::Relaxed);
    });
    round.into_inner()
}

/// What a thread gets done on a CPU where a sibling waits for its end.
fn beside_one_that_yields() -> u32 {
    let (steps, over) = (AtomicU32::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            stay(&[1]);
            while !over.load(Ordering::Relaxed) {
                yield_now();
            }
        });
        scope.spawn(|| {
            stay(&[1]);
            while !over.load(Ordering::Relaxed) {
                compute();
                steps.fetch_add(1, Ordering::Relaxed);
            }
        });
        sleep(SPAN / 2);
        over.store(true, Ordering::Relaxed);
    });
    steps.into_inner()
}
