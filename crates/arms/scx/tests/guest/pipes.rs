//! A thread that goes on computing wakes another through a pipe, of which the kernel says that the waker is
//! about to block. The other must not wait for it where a CPU idles, or runs a thread that is further ahead.

use std::io::{Read, Write, pipe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use libtest_mimic::{Failed, Trial};
use model::Failure;

use crate::guest::{numbers, stay, told, under_each};

pub fn trials() -> Vec<Trial> {
    let trial = |kernel: &'static str| {
        Trial::test(format!("a_pipe_is_read_at_once_on_{kernel}"), move || read_at_once(kernel))
            .with_ignored_flag(true)
    };
    vec![trial("7.3"), trial("6.18")]
}

/// Which message of so many is late: by half of what a thread gets at a time.
const MESSAGES: u32 = 400;
const LATE: Duration = Duration::from_millis(2);
const BETWEEN: Duration = Duration::from_millis(3);
/// Without preemption a message waits for the end of a slice where no CPU idles: so lateness is seen.
const POLICIES: [Option<&str>; 3] = [None, Some("rearguard"), Some("rearguard:preempt=off")];

fn read_at_once(kernel: &str) -> Result<(), Failed> {
    let lines = told(kernel, 3, "pipes");
    let of = |what| numbers::<u32>(&lines, what);
    let (part, napping) = (of("in a part of the CPUs:"), of("beside CPUs that nap:"));
    assert!(part[1] <= MESSAGES / 10 && part[2] > MESSAGES / 5, "{part:?}");
    assert!(napping[1] <= MESSAGES / 20, "{napping:?}");
    Ok(())
}

/// In the guest: how many messages are late under each policy.
pub fn play() -> Result<Vec<String>, Failure> {
    under_each(
        &POLICIES,
        &[("in a part of the CPUs:", in_a_part), ("beside CPUs that nap:", beside_naps)],
    )
}

fn compute(span: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < span {
        std::hint::black_box(0);
    }
}

/// All may run on two CPUs, of which another thread has one; the third CPU idles.
fn in_a_part() -> u32 {
    late(&[0, 1], &[0, 1], |over| {
        stay(&[0, 1]);
        while !over.load(Ordering::Relaxed) {
            compute(BETWEEN);
        }
    })
}

/// The writer has a CPU to itself. Each of the others is in use for half of the time.
fn beside_naps() -> u32 {
    late(&[0], &[0, 1, 2], |over| {
        std::thread::scope(|scope| {
            for (cpu, span) in [(1, BETWEEN), (2, BETWEEN * 2)] {
                scope.spawn(move || {
                    stay(&[cpu]);
                    while !over.load(Ordering::Relaxed) {
                        compute(span);
                        sleep(span);
                    }
                });
            }
        });
    })
}

/// How many messages are late that a thread sends which computes all the time, beside others.
fn late(writer: &[usize], reader: &[usize], beside: impl Fn(&AtomicBool) + Sync) -> u32 {
    let over = AtomicBool::new(false);
    let (mut from, mut to) = pipe().expect("a pipe");
    let begin = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| beside(&over));
        scope.spawn(|| {
            stay(writer);
            for _ in 0..MESSAGES {
                compute(BETWEEN);
                let sent = begin.elapsed().as_nanos() as u64;
                to.write_all(&sent.to_le_bytes()).expect("a pipe that is read");
            }
        });
        stay(reader);
        let mut late = 0;
        for _ in 0..MESSAGES {
            let mut sent = [0; 8];
            from.read_exact(&mut sent).expect("a message");
            let since = begin.elapsed() - Duration::from_nanos(u64::from_le_bytes(sent));
            late += u32::from(since > LATE);
        }
        over.store(true, Ordering::Relaxed);
        late
    })
}
