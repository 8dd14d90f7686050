//! How many requests a quantile needs to be as precise as wanted.

use model::Nanos;

use crate::batch::spread;
use crate::estimate::normal_reach;
use crate::proportion::telling;
use crate::quantile::{Pool, Quantile, as_ns};

/// What a pilot run says of a quantile's precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Needed {
    /// Requests of the pilot for each one that is as good as independent: queueing makes neighbours alike.
    pub requests_per_independent: f64,
    /// Requests after which the 95% interval reaches so far on either side.
    pub requests: f64,
}

/// How many requests make the 95% interval of a quantile reach `precision` (a share of its value) on either
/// side, judged by a pilot run with its latencies in the order of arrival.
///
/// The proportion of requests beyond the quantile is known to within the standard error of as many
/// independent requests; the tail's slope makes a latency of that. Near the end of a queue's tail latency
/// grows as the logarithm of rarity, so the slope is taken from the pilot's own tail, over the decade below
/// the rarest quantile with enough samples. `None` where the pilot is too short to tell.
pub fn needed(pilot: &[Nanos], quantile: Quantile, precision: f64) -> Option<Needed> {
    let runs = [pilot];
    let pool = Pool::new(&runs);
    let n = pool.len();
    let beyond = 1.0 - quantile.as_f64();
    // The rarest proportion whose dependence the pilot shows.
    let hits = telling(((beyond * n as f64).round() as usize).max(1), n);
    let at = |hits: usize| as_ns(pool.sorted[n - 1 - hits.min(n - 1)]);
    if n < 1_000 || !at(hits / 2).is_finite() {
        return None;
    }
    let threshold = Nanos(at(hits) as u64);
    let share = pool.above(threshold) as f64 / n as f64;
    let error = spread(&pool.cut, pool.centred_above(threshold)).error;
    let independent = share * (1.0 - share) / (error * error);
    let each = (n as f64 / independent).max(1.0);
    // Latency a factor e in rarity, over a decade of the tail.
    let slope = (at(hits) - at(10 * hits)).max(0.0) / 10f64.ln();
    let value = at(hits) + slope * (hits as f64 / (beyond * n as f64)).ln();
    let relative = normal_reach() * slope / (value * precision);
    let requests = relative * relative * (1.0 - beyond) / beyond * each;
    Some(Needed { requests_per_independent: each, requests: requests.max(1.0 / beyond) })
}
