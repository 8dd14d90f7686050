//! Samples with a known truth, and what a textbook says of them.
//!
//! First come, first served queues by the recursion of Kiefer and Wolfowitz: the time until each worker is
//! free, in ascending order.

use model::Nanos;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A service time of 1 in nanoseconds.
pub const UNIT: f64 = 1e6;

/// A queue with Poisson arrivals, mean service time 1, four workers.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    /// Utilisation.
    pub load: f64,
    /// Whether services are exponential; else all are 1.
    pub exponential: bool,
    /// Exact p50, p90, p99, p99.9 of the latency.
    pub exact: [f64; 4],
    /// The exact mean latency.
    pub mean: f64,
}

const WORKERS: usize = 4;

/// M/M/4 and M/D/4 at 50, 80 and 90%: quantiles from Erlang C, and from Franx (2001) for constant services.
pub const QUEUES: [Queue; 6] = [
    Queue {
        load: 0.5,
        exponential: true,
        exact: [0.7834, 2.4501, 4.7642, 7.0680],
        mean: 1.0869565,
    },
    Queue {
        load: 0.5,
        exponential: false,
        exact: [1.0000, 1.1888, 1.7108, 2.1690],
        mean: 1.0496517,
    },
    Queue {
        load: 0.8,
        exponential: true,
        exact: [1.3462, 3.7760, 6.8932, 9.8797],
        mean: 1.7455400,
    },
    Queue {
        load: 0.8,
        exponential: false,
        exact: [1.1372, 2.1193, 3.4546, 4.7907],
        mean: 1.3860949,
    },
    Queue {
        load: 0.9,
        exponential: true,
        exact: [2.2545, 6.4244, 12.1932, 17.9500],
        mean: 2.9693825,
    },
    Queue {
        load: 0.9,
        exponential: false,
        exact: [1.6211, 3.5604, 6.3394, 9.1183],
        mean: 1.9999659,
    },
];

impl Queue {
    /// Kendall's name and the load.
    pub fn name(&self) -> String {
        let law = if self.exponential { 'M' } else { 'D' };
        format!("M/{law}/{WORKERS} {:.0}%", self.load * 100.0)
    }

    /// Latencies in the order of arrival, after a warm-up of 2,000 / (1 - load) requests: 50
    /// relaxation times, rho / (1 - sqrt(rho))^2 requests each, and more.
    pub fn latencies(&self, seed: u64, requests: usize) -> Vec<Nanos> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut exponential = move || -(1.0 - random.random::<f64>()).ln();
        let gap = 1.0 / (self.load * WORKERS as f64);
        let mut free = [0.0f64; WORKERS];
        let mut step = || {
            let gone = exponential() * gap;
            free.iter_mut().for_each(|work| *work = (*work - gone).max(0.0));
            let latency = free[0] + if self.exponential { exponential() } else { 1.0 };
            free[0] = latency;
            sink(&mut free);
            Nanos((latency * UNIT).round() as u64)
        };
        let warm_up = (2_000.0 / (1.0 - self.load)) as usize;
        (0..warm_up + requests).map(|_| step()).skip(warm_up).collect()
    }
}

/// Restores ascending order after the first entry grew.
fn sink(free: &mut [f64; WORKERS]) {
    for i in 1..WORKERS {
        if free[i - 1] > free[i] {
            free.swap(i - 1, i);
        }
    }
}

/// The textbook's 95% interval of a quantile: order statistics, as if the samples were independent.
pub fn textbook(samples: &[Nanos], p: f64) -> (f64, f64) {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    let n = samples.len() as f64;
    let half = 1.96 * (n * p * (1.0 - p)).sqrt();
    let at = |rank: f64| sorted[(rank as usize).min(samples.len() - 1)].0 as f64;
    (at(n * p - half), at(n * p + half))
}

/// Whether an interval holds `truth`, which is known to half a unit of its fourth decimal.
pub fn holds((low, high): (f64, f64), truth: f64) -> bool {
    let known = 0.5e-4 * UNIT;
    low <= truth * UNIT + known && truth * UNIT - known <= high
}
