//! Proportions of dependent samples, and outliers.

use model::Nanos;

use crate::batch::{batch_spread, spread};
use crate::estimate::{Estimate, Spread, exact_proportion, normal_reach};
use crate::quantile::Pool;

/// Samples that a design effect should rest on.
const ENOUGH: usize = 50;

/// Outliers: requests slower than a threshold (10-ms computing section II).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlier {
    /// A request slower than this is an outlier.
    pub threshold: Nanos,
    /// M / N: outliers over requests. A lost request is one.
    pub proportion: Estimate,
    /// (N - M) over the measured time: requests a second that were in time.
    pub valid_throughput_per_s: f64,
}

/// The outliers of runs, each with its latencies in the order of arrival, that took `seconds` in all.
///
/// `None` without samples.
pub fn outlier<R: AsRef<[Nanos]>>(runs: &[R], threshold: Nanos, seconds: f64) -> Option<Outlier> {
    let pool = Pool::new(runs);
    let proportion = proportion_above(&pool, threshold)?;
    let valid = (pool.len() - pool.above(threshold)) as f64;
    Some(Outlier { threshold, proportion, valid_throughput_per_s: valid / seconds })
}

/// The proportion of samples above `threshold` with its interval; `None` without samples.
pub(crate) fn proportion_above(pool: &Pool, threshold: Nanos) -> Option<Estimate> {
    let hits = pool.above(threshold);
    let near = telling_threshold(pool, threshold)?;
    let spread = pool.sure(spread(&pool.cut, pool.centred_above(near)));
    let estimate = proportion(hits, pool.len(), pool.above(near), &spread);
    let is_bounded = pool.shows(estimate.value, threshold);
    Some(Estimate { high: if is_bounded { estimate.high } else { 1.0 }, ..estimate })
}

/// The same from counts: `hits` in all, and batch by batch, a power of two of them in the order of arrival,
/// (requests, those above a threshold).
///
/// That threshold is the asked one or, where too few or too many are above it to show their dependence, one
/// near it: see [`telling`].
pub fn batch_proportion(hits: u64, batches: &[(u64, u64)]) -> Estimate {
    let requests: u64 = batches.iter().map(|(requests, _)| requests).sum();
    let reference: u64 = batches.iter().map(|(_, above)| above).sum();
    let mean = reference as f64 / requests as f64;
    let centred = batches.iter().map(|(requests, above)| *above as f64 - mean * *requests as f64);
    let spread = batch_spread(centred.collect(), requests as usize);
    proportion(hits as usize, requests as usize, reference as usize, &spread)
}

/// The share of `hits` in `n` with the exact 95% interval of independent ones; `None` of nothing.
pub fn share_of(hits: u64, n: u64) -> Option<Estimate> {
    let (value, (low, high)) =
        (hits as f64 / n as f64, exact_proportion(hits as f64, n.max(1) as f64));
    (n > 0).then_some(Estimate { value, low, high })
}

/// The interval of a proportion of `hits` in `n`, where the mean of `reference` hits in `n` has a known
/// spread.
///
/// The exact binomial interval for the number of independent samples that would spread as much, less a part
/// for the uncertainty of that number: Korn and Graubard (1998), "Confidence intervals for proportions with
/// small expected number of positive counts estimated from survey data".
pub(crate) fn proportion(hits: usize, n: usize, reference: usize, spread: &Spread) -> Estimate {
    let all = n as f64;
    let value = hits as f64 / all;
    let share = reference as f64 / all;
    let variance = spread.error * spread.error;
    let independent =
        if variance > 0.0 { (share * (1.0 - share) / variance).min(all) } else { all };
    // Further up where bursts are skewed, as of a quantile.
    let ends = |error: f64| {
        let reach = if spread.error > 0.0 { error / spread.error } else { spread.reach() };
        let trials = independent * (normal_reach() / reach).powi(2);
        if trials > 0.0 { exact_proportion(value * trials, trials) } else { (0.0, 1.0) }
    };
    Estimate { value, low: ends(spread.below()).0, high: ends(spread.above()).1 }
}

/// The threshold itself, or the nearest latency with enough samples on both sides to show their dependence.
fn telling_threshold(pool: &Pool, threshold: Nanos) -> Option<Nanos> {
    let hits = pool.above(threshold);
    match telling(hits, pool.len()) {
        enough if enough == hits => (pool.len() > 0).then_some(threshold),
        enough => pool.sorted.get((pool.len() - enough).checked_sub(1)?).copied(),
    }
}

/// The number nearest to `hits` in `n` whose dependence can be seen: enough samples lie on both sides.
pub fn telling(hits: usize, n: usize) -> usize {
    let enough = ENOUGH.min(n / 2);
    hits.clamp(enough, n - enough)
}
