//! Times that the kernel scales with the number of CPUs.

use model::Nanos;

/// The period of the timer tick: Debian's kernels have HZ 250.
pub const TICK: Nanos = Nanos::from_millis(4);

/// A thread that ran within this time is not moved lightly: its caches are warm
/// (`sysctl_sched_migration_cost`).
pub const CACHE_HOT: Nanos = Nanos::from_micros(500);

/// Times and granularities of both disciplines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tunables {
    /// CFS: within this every thread of a CPU should run once (`sysctl_sched_latency`).
    pub latency: Nanos,
    /// CFS: no turn is shorter (`sysctl_sched_min_granularity`).
    pub min_granularity: Nanos,
    /// CFS: how far behind a waker must be to preempt (`sysctl_sched_wakeup_granularity`).
    pub wakeup_granularity: Nanos,
    /// EEVDF: what a thread asks for at a time (`sysctl_sched_base_slice`).
    pub base_slice: Nanos,
}

impl Tunables {
    /// The defaults of 6.1 (6, 0.75 and 1 ms) and 7.2 (0.7 ms), each times 1 + log2 of the machine's CPUs, of
    /// which at most 8 count (`get_update_sysctl_factor()`). The machine has one CPU more than the scenario:
    /// the one from which load is generated.
    pub fn beside_generator(cpus: u32) -> Tunables {
        let factor = u64::from(1 + (cpus + 1).min(8).ilog2());
        Tunables {
            latency: Nanos(6_000_000 * factor),
            min_granularity: Nanos(750_000 * factor),
            wakeup_granularity: Nanos(1_000_000 * factor),
            base_slice: Nanos(700_000 * factor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_grow_with_the_logarithm_of_all_cpus_up_to_8() {
        let latency = |cpus| Tunables::beside_generator(cpus).latency.0 / 1_000_000;
        assert_eq!([1, 2, 3, 4, 7, 8, 80].map(latency), [12, 12, 18, 18, 24, 24, 24]);
        assert_eq!(Tunables::beside_generator(16).base_slice, Nanos(2_800_000));
    }
}
