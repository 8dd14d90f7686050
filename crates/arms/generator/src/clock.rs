//! The two clocks of a run: CLOCK_MONOTONIC, which all processes share, and the CPU time of a thread.

use model::Nanos;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_nanosleep};

/// Now, on the clock that the generator and all programs share.
pub fn now() -> Nanos {
    read(ClockId::CLOCK_MONOTONIC)
}

/// The CPU time that the calling thread has received. Reading it is a system call of 0.1 to 0.3 us, and it is
/// exact to the nanosecond: the kernel brings a running thread's time up to date.
pub fn thread_cpu() -> Nanos {
    read(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

/// What must be taken from a CLOCK_REALTIME stamp, such as a socket's, to have it on [`now`]'s clock.
pub fn realtime_lead() -> Nanos {
    read(ClockId::CLOCK_REALTIME).saturating_sub(now())
}

/// Sleeps until a moment of [`now`]'s clock.
pub fn sleep_until(at: Nanos) {
    let absolute = ClockNanosleepFlags::TIMER_ABSTIME;
    while now() < at {
        // Interrupted by a signal: the loop asks again.
        let _ = clock_nanosleep(ClockId::CLOCK_MONOTONIC, absolute, &to_timespec(at));
    }
}

/// Nanoseconds out of the kernel's pair.
pub fn from_timespec(time: TimeSpec) -> Nanos {
    Nanos(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

fn to_timespec(time: Nanos) -> TimeSpec {
    TimeSpec::new((time.0 / 1_000_000_000) as i64, (time.0 % 1_000_000_000) as i64)
}

fn read(clock: ClockId) -> Nanos {
    from_timespec(clock.now().expect("these clocks exist on every Linux"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleep_costs_wall_clock_time_and_no_cpu_time() {
        let (wall, cpu) = (now(), thread_cpu());
        sleep_until(wall + Nanos::from_millis(30));
        assert!(now() >= wall + Nanos::from_millis(30));
        assert!(thread_cpu() - cpu < Nanos::from_millis(15));
    }
}
