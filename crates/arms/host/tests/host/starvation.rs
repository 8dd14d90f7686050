//! A generator that does not get its CPU must fail the run rather than report its own delay.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use host::HostArm;
use libtest_mimic::{Failed, Trial};
use model::scenario::{Architecture, Scenario};
use model::{Arm, Events, Failure, Nanos, Silent};
use nix::sched::sched_setaffinity;
use nix::unistd::Pid;
use thread_priority::RealtimeThreadSchedulePolicy;

use crate::fixtures::{
    calmest_policy, generators_cpu, may_have_real_time, run, scenario, service, trial,
};

/// How long a starver with the highest priority holds the CPU, and then leaves it to all others.
const HOLD: Duration = Duration::from_millis(3);
const LEAVE: Duration = Duration::from_millis(7);
/// Without such a priority: so many threads, and they never leave it.
const CROWD: usize = 24;
/// No starver lives longer, whatever becomes of the test.
const LIFETIME: Duration = Duration::from_secs(15);

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("a_starved_generator_fails_the_run", starved),
        trial("a_generator_left_alone_passes", left_alone),
    ]
}

fn starved() -> Result<(), Failed> {
    let policy = calmest_policy();
    let starvers = if may_have_real_time() { 1 } else { CROWD };
    let done = AtomicBool::new(false);
    let outcome = thread::scope(|scope| {
        (0..starvers).for_each(|_| drop(scope.spawn(|| starve(&done))));
        let outcome = HostArm::default().run(&fixture(), &policy, 1, Events::Omitted, &Silent);
        done.store(true, Ordering::Relaxed);
        outcome
    });
    match outcome {
        Err(Failure::Run(reason)) if reason.contains("load generator") => Ok(()),
        Err(failure) => Err(format!("failed for another reason: {failure}").into()),
        Ok(_) => Err("a starved generator reported a result".into()),
    }
}

fn left_alone() -> Result<(), Failed> {
    run(&fixture(), &calmest_policy()).map_err(|failure| failure.to_string())?;
    Ok(())
}

fn fixture() -> Scenario {
    scenario(vec![service(Architecture::ThreadPerConnection, 16, 0.3)], Nanos::from_secs(2))
}

/// Keeps the generator's CPU busy: with the highest priority and some of the time where that is permitted,
/// else as one of a crowd.
fn starve(done: &AtomicBool) {
    sched_setaffinity(Pid::from_raw(0), &generators_cpu()).expect("one of this process's CPUs");
    let is_strong = generator::thread::real_time(RealtimeThreadSchedulePolicy::Fifo, 99).is_ok();
    let started = Instant::now();
    while !done.load(Ordering::Relaxed) && started.elapsed() < LIFETIME {
        let end = Instant::now() + HOLD;
        while Instant::now() < end {
            spin_loop();
        }
        if is_strong {
            sleep(LEAVE);
        }
    }
}
