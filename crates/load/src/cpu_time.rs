//! Work, as an amount of CPU time.

use std::hint::black_box;

use model::Nanos;

use crate::clock;

/// Turns of the loop between two looks at the clock: under 1 us, so that a piece of work ends at most about 1 us late.
const SPINS: u32 = 256;

/// Burns `wanted` of the calling thread's CPU time and returns what it really took.
///
/// Wall-clock time would not do: a thread that is preempted while it "works" would get that part of its service for
/// free, and the scheduler that preempts most would look best.
pub fn burn(wanted: Nanos) -> Nanos {
    let start = clock::thread_cpu();
    loop {
        let used = clock::thread_cpu() - start;
        if used >= wanted {
            return used;
        }
        compute(SPINS);
    }
}

/// Computes for so many turns. No instruction tells the processor that nothing is at stake, as PAUSE would: it would give the core to
/// an SMT sibling, and in a virtual machine the whole CPU to another.
pub fn compute(turns: u32) {
    (0..turns).for_each(|turn| {
        black_box(turn);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

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
