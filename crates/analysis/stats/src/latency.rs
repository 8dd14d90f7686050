//! A latency distribution in figures.

use model::Nanos;

use crate::batch::spread;
use crate::estimate::Estimate;
use crate::heavy::is_heavy;
use crate::quantile::{Pool, Quantile};

/// Pieces of a run, as good as independent, that bound a mean from above.
const PIECES: f64 = 60.0;

/// A latency distribution in figures, nanoseconds; a figure that lost requests reach is infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    /// The mean.
    pub mean: Estimate,
    /// The median.
    pub p50: Estimate,
    /// Nine of ten are faster.
    pub p90: Estimate,
    /// All but one in a hundred are faster.
    pub p99: Estimate,
    /// All but one in a thousand are faster.
    pub p99_9: Estimate,
    /// The slowest that was seen; [`Nanos::NEVER`] with lost requests.
    pub max: Nanos,
}

/// Mean, quantiles and maximum of the latencies of independent runs, each in the order of arrival.
///
/// The samples are pooled: percentiles are never averaged. `None` without samples.
pub fn latency_estimates<R: AsRef<[Nanos]>>(runs: &[R]) -> Option<Latency> {
    let pool = Pool::new(runs);
    let max = *pool.sorted.last()?;
    Some(Latency {
        mean: mean(&pool),
        p50: pool.quantile(Quantile::P50),
        p90: pool.quantile(Quantile::P90),
        p99: pool.quantile(Quantile::P99),
        p99_9: pool.quantile(Quantile::P99_9),
        max,
    })
}

/// One quantile of [`latency_estimates`], with an interval that misses the truth with another probability
/// than 5%.
pub fn quantile_at<R: AsRef<[Nanos]>>(
    runs: &[R],
    quantile: Quantile,
    miss: f64,
) -> Option<Estimate> {
    let pool = Pool::new(runs);
    (pool.len() > 0).then(|| pool.quantile_at(quantile, miss))
}

/// The mean with its interval; infinite with lost requests.
pub(crate) fn mean(pool: &Pool) -> Estimate {
    if pool.sorted.last() == Some(&Nanos::NEVER) {
        let infinite = f64::INFINITY;
        return Estimate { value: infinite, low: infinite, high: infinite };
    }
    let mean = pool.sure(spread(&pool.cut, pool.centred_total())).around(pool.mean());
    let is_bounded = pool.pieces() >= PIECES && !is_heavy(pool);
    let high = if is_bounded { mean.high } else { f64::INFINITY };
    Estimate { low: mean.low.max(0.0), high, ..mean }
}
