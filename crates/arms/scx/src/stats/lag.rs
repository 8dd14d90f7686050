//! Lag: what is due minus what was received, as virtual times tell it.

use std::collections::BTreeMap;

use super::rows::Active;

/// The weight at which virtual time passes as fast as CPU time: that of a thread of nice 0.
const NORMAL: f64 = 1_024.0;

/// The lag of each active thread in ns of CPU time: how far its virtual time is behind the mean, by weight,
/// of all that share its clock, times its weight. Above 0 it is owed. The lags of one clock sum to 0.
pub fn lags(active: &[Active]) -> Vec<f64> {
    let mut clocks: BTreeMap<u32, (f64, f64, u64)> = BTreeMap::new();
    for thread in active {
        // Relative to the first vruntime, so that differences of large numbers stay exact.
        let (sum, weights, base) =
            clocks.entry(thread.clock).or_insert((0.0, 0.0, thread.vruntime));
        *sum += thread.weight * ahead(thread.vruntime, *base);
        *weights += thread.weight;
    }
    let lag = |thread: &Active| {
        let (sum, weights, base) = clocks[&thread.clock];
        if weights == 0.0 {
            0.0
        } else {
            (sum / weights - ahead(thread.vruntime, base)) * thread.weight / NORMAL
        }
    };
    active.iter().map(lag).collect()
}

fn ahead(vruntime: u64, base: u64) -> f64 {
    vruntime.wrapping_sub(base) as i64 as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(clock: u32, vruntime: u64, weight: f64) -> Active {
        Active { process: 1, group: 0, clock, vruntime, weight, batch: false }
    }

    #[test]
    fn a_thread_that_is_behind_is_owed_and_the_sum_is_nil() {
        let high = 1 << 60;
        assert_eq!(
            lags(&[thread(0, high + 2_000, NORMAL), thread(0, high, NORMAL)]),
            [-1_000.0, 1_000.0]
        );
        let lags = lags(&[thread(0, 4_000, 3.0 * NORMAL), thread(0, 0, NORMAL)]);
        assert_eq!(lags, [-3_000.0, 3_000.0]);
    }

    #[test]
    fn clocks_are_not_compared() {
        assert_eq!(lags(&[thread(1, 5_000, NORMAL), thread(2, 9_000_000, NORMAL)]), [0.0, 0.0]);
    }
}
