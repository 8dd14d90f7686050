//! The levels of a machine's domains on which virtual times are held together, and how far apart their
//! targets are.

use model::{Nanos, scenario::Machine};

/// `RG_LEVEL_ROWS` of `policy/state.h`: the rows of a table by level.
pub const ROWS: usize = 8;

/// The last level of `policy/platform.h`: CPU, core, cache, node, machine.
pub const MACHINE: usize = 4;

const LEVELS: usize = MACHINE + 1;

/// Between targets of a domain whose CPUs share what the level names (GVTS section 4). The paper says "hops x
/// 300 ms" for nodes; its source 150 ms x distance / 10, which is this at the kernel's default distances of
/// 10 and 20.
const INTERVALS: [Nanos; LEVELS] = [
    Nanos::from_millis(30),
    Nanos::from_millis(30),
    Nanos::from_millis(90),
    Nanos::from_millis(150),
    Nanos::from_millis(300),
];

/// The interval of each level above the queues', 0 for a level that joins no more than the one below.
/// `lowest` replaces the interval of the lowest level in use, and the others change in proportion.
pub fn intervals(machine: &Machine, queue: usize, lowest: Option<Nanos>) -> [u64; ROWS] {
    let Machine { cpus, smt, llcs, nodes } = *machine;
    let sizes = [1, smt, cpus / llcs, cpus / nodes, cpus];
    let mut intervals = [0; ROWS];
    for level in queue + 1..LEVELS {
        if sizes[level] > sizes[level - 1] {
            intervals[level] = INTERVALS[level].0;
        }
    }
    if intervals.iter().all(|interval| *interval == 0) {
        // One queue serves all: no queue to pull from, but wakers are placed by a target all the same.
        let shared = sizes.iter().position(|size| *size == cpus).unwrap_or(0);
        intervals[MACHINE] = INTERVALS[shared].0;
    }
    let first = intervals.iter().copied().find(|interval| *interval > 0).unwrap_or(1);
    let scaled = |interval: u64| match lowest {
        Some(lowest) => (u128::from(interval) * u128::from(lowest.0) / u128::from(first)) as u64,
        None => interval,
    };
    intervals.map(scaled)
}

/// The golden section of the CPUs, as near as it has no divisor in common with them: so its multiples reach
/// every CPU, and the first few of them lie far apart.
pub fn stride(cpus: u32) -> u32 {
    let golden = (f64::from(cpus) * 0.618) as u32;
    let is_coprime = |stride: &u32| greatest_divisor(*stride, cpus) == 1;
    (1..=golden).rev().find(is_coprime).unwrap_or(1)
}

fn greatest_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAPER: Machine = Machine { cpus: 16, smt: 2, llcs: 2, nodes: 2 };

    fn millis(machine: Machine, queue: usize, lowest: Option<Nanos>) -> [u64; LEVELS] {
        std::array::from_fn(|level| intervals(&machine, queue, lowest)[level] / 1_000_000)
    }

    #[test]
    fn a_level_that_joins_nothing_is_not_in_use() {
        assert_eq!(millis(PAPER, 0, None), [0, 30, 90, 0, 300]);
        assert_eq!(millis(PAPER, 2, None), [0, 0, 0, 0, 300]);
        assert_eq!(millis(Machine { llcs: 4, ..PAPER }, 2, None), [0, 0, 0, 150, 300]);
        assert_eq!(
            millis(Machine { smt: 1, llcs: 1, nodes: 1, cpus: 4 }, 0, None),
            [0, 0, 90, 0, 0]
        );
    }

    #[test]
    fn one_queue_for_all_has_a_target_of_what_its_cpus_share() {
        assert_eq!(millis(Machine::ONE_CPU, 0, None), [0, 0, 0, 0, 30]);
        assert_eq!(
            millis(Machine { smt: 1, llcs: 1, nodes: 1, cpus: 4 }, 2, None),
            [0, 0, 0, 0, 90]
        );
    }

    #[test]
    fn strides_reach_every_cpu_and_halve_the_machine() {
        for cpus in 1..=200 {
            let mut reached: Vec<u32> = (0..cpus).map(|i| i * stride(cpus) % cpus).collect();
            reached.sort_unstable();
            assert!(reached.into_iter().eq(0..cpus), "{cpus}");
        }
        assert_eq!((0..4).map(|i| i * stride(16) % 16 / 8).collect::<Vec<u32>>(), [0, 1, 0, 1]);
    }

    #[test]
    fn the_lowest_interval_scales_the_others() {
        let lowest = Some(Nanos::from_millis(10));
        assert_eq!(millis(PAPER, 0, lowest), [0, 10, 30, 0, 100]);
    }
}
