//! Weights: what a nice value and a group's share are worth, and what they make of a span of time.

use model::Nanos;
use model::scenario::Group;
use model::weight::{GROUP_WEIGHT, IDLE_WEIGHT, NICE_0_WEIGHT, nice_weight};

/// Bits by which weights are finer than the nice table, so that a group's share splits over many CPUs
/// (`scale_load()` of 64-bit kernels).
pub const SCALE_BITS: u32 = 10;

/// The weight of a thread of nice 0, whose virtual time passes as fast as real time (`NICE_0_LOAD`).
pub const NICE_0: u64 = (NICE_0_WEIGHT as u64) << SCALE_BITS;

/// The least weight of a group on one CPU (`MIN_SHARES`).
pub const LEAST: u64 = 2 << SCALE_BITS;

/// The weight of a thread.
pub fn of_nice(nice: i8) -> u64 {
    u64::from(nice_weight(nice)) << SCALE_BITS
}

/// The weight of a group against threads beside it.
pub fn of_group(group: &Group) -> u64 {
    if group.idle { u64::from(IDLE_WEIGHT) << SCALE_BITS } else { of_cpu_weight(group.weight) }
}

/// What `cpu.weight` weighs (`sched_weight_from_cgroup()`).
fn of_cpu_weight(cpu_weight: u32) -> u64 {
    let (nice_0, group) = (u64::from(NICE_0_WEIGHT), u64::from(GROUP_WEIGHT));
    (((u64::from(cpu_weight) * nice_0 + group / 2) / group) << SCALE_BITS).max(LEAST)
}

/// The virtual time that passes while an entity of `weight` runs for `span` (`calc_delta_fair()`), in
/// nanoseconds.
pub fn virtual_time(span: Nanos, weight: u64) -> i64 {
    if weight == NICE_0 {
        return span.0 as i64;
    }
    (u128::from(span.0) * u128::from(NICE_0) / u128::from(weight)) as i64
}

/// A weight in units of the nice table, as load averages count it.
pub fn coarse(weight: u64) -> u64 {
    weight >> SCALE_BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_steps_of_nice_are_three_to_one() {
        let share = of_nice(-5) as f64 / (of_nice(-5) + of_nice(0)) as f64;
        assert!((share - 0.753).abs() < 0.001, "{share}");
    }

    #[test]
    fn a_group_of_weight_100_is_a_thread_of_nice_0() {
        let of_group = |weight| of_group(&Group::new("g", None, weight));
        assert_eq!(of_group(100), of_nice(0));
        assert_eq!(of_group(300), 3 * NICE_0);
        assert_eq!(of_group(1), 10 << SCALE_BITS);
    }

    #[test]
    fn virtual_time_is_real_time_over_relative_weight() {
        assert_eq!(virtual_time(Nanos(3_000), NICE_0), 3_000);
        assert_eq!(virtual_time(Nanos(3_000), 3 * NICE_0), 1_000);
        assert_eq!(virtual_time(Nanos::from_secs(1_000), LEAST), 512_000_000_000_000);
    }
}
