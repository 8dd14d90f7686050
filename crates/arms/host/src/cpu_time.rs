//! Work, as an amount of CPU time.

use std::hint::black_box;

use model::Nanos;

use crate::clock;

/// Turns of the loop before the last look at the clock: under 1 us, so that a piece of work ends at most
/// about 1 us late.
const SPINS: u64 = 256;

/// Burns `wanted` of the calling thread's CPU time and returns what it really took.
///
/// Wall-clock time would not do: a thread that is preempted while it "works" would get that part of its
/// service for free, and the scheduler that preempts most would look best.
///
/// The clock is looked at whenever an eighth of what is left should be done, at the speed so far. Each look
/// takes the lock of the CPU's run queue, which a waker of a thread there wants, too. A look every
/// microsecond made one wake-up in 40 late by 0.6 ms in guests whose CPUs take turns.
pub fn burn(wanted: Nanos) -> Nanos {
    let start = clock::thread_cpu();
    let mut done = 0;
    loop {
        let used = clock::thread_cpu() - start;
        if used >= wanted {
            return used;
        }
        let turns = next(wanted - used, used, done);
        compute(turns);
        done += u64::from(turns);
    }
}

/// Turns for an eighth of the `left` time, if `done` took `used`. So nothing gets longer where a CPU falls to
/// an eighth of its speed meanwhile. CPUs of a guest do that where they share one budget of instructions.
fn next(left: Nanos, used: Nanos, done: u64) -> u32 {
    let eighth = u128::from(left.0) * u128::from(done) / 8 / u128::from(used.0.max(1));
    eighth.clamp(u128::from(SPINS), u128::from(u32::MAX)) as u32
}

/// Computes for so many turns. No instruction tells the processor that nothing is at stake, as PAUSE would:
/// it would give the core to an SMT sibling, and in a virtual machine the whole CPU to another.
pub fn compute(turns: u32) {
    (0..turns).for_each(|turn| {
        black_box(turn);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_is_looked_at_a_few_times_and_not_each_microsecond() {
        // A turn takes 3 ns, and a look 500 ns.
        let (mut used, mut done, mut looks) = (Nanos(500), 0, 0);
        let wanted = Nanos::from_millis(2);
        while used < wanted {
            let turns = u64::from(next(wanted - used, used, done));
            (used, done, looks) = (used + Nanos(3 * turns + 500), done + turns, looks + 1);
        }
        assert!(used < wanted + Nanos::from_micros(2), "{used}");
        assert!(looks < 80, "{looks} looks");
    }

    #[test]
    fn work_is_never_short_and_hardly_long() {
        for us in [1, 50, 2_000] {
            let wanted = Nanos::from_micros(us);
            // The best of some: an interrupt's time may be charged to the thread.
            let best = (0..20).map(|_| burn(wanted)).min().unwrap();
            assert!(
                best >= wanted && best < wanted + Nanos::from_micros(50),
                "{best} for {wanted}"
            );
        }
    }
}
