//! The tail as a curve: the proportion of requests slower than a latency.

use model::Nanos;

use crate::batch::spread;
use crate::proportion::proportion;
use crate::quantile::Pool;

/// A point of the curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CcdfPoint {
    /// A latency.
    pub latency: Nanos,
    /// The proportion of requests slower than it: above 0.
    pub proportion: f64,
    /// The lower end of the proportion's 95% interval.
    pub low: f64,
    /// The upper end of the proportion's 95% interval.
    pub high: f64,
}

/// The complementary distribution function of pooled runs, each with its latencies in the order of arrival.
///
/// At most `points` points, evenly spaced on a logarithmic axis of proportions; latencies rise, proportions fall. The band
/// holds point by point, not for the whole curve at once. Lost requests are slower than any latency: the curve ends above them.
pub fn ccdf<R: AsRef<[Nanos]>>(runs: &[R], points: usize) -> Vec<CcdfPoint> {
    let pool = Pool::new(runs);
    let latencies = thinned(&pool, points);
    let counts = counts_by_batch(&pool, &latencies);
    let sizes = pool.cut.sums(|_, from, to| (to - from) as f64);
    let batches = sizes.len();
    let mut slower = vec![0u64; batches];
    let mut curve: Vec<CcdfPoint> = Vec::with_capacity(latencies.len());
    for (cell, latency) in latencies.iter().enumerate().rev() {
        slower
            .iter_mut()
            .zip(&counts[(cell + 1) * batches..])
            .for_each(|(sum, count)| *sum += count);
        let hits: u64 = slower.iter().sum();
        let mean = hits as f64 / pool.len() as f64;
        let centred = slower.iter().zip(&sizes).map(|(hits, n)| *hits as f64 - mean * n).collect();
        let estimate =
            proportion(hits as usize, pool.len(), hits as usize, &spread(&pool.cut, centred));
        let (low, high) = (estimate.low, estimate.high);
        curve.push(CcdfPoint { latency: *latency, proportion: mean, low, high });
    }
    curve.reverse();
    curve
}

/// Latencies that proportions evenly spaced on a logarithmic axis exceed, rising, all different.
fn thinned(pool: &Pool, points: usize) -> Vec<Nanos> {
    let n = pool.len();
    let step = (n as f64).ln() / points.max(2).saturating_sub(1) as f64;
    let slower = (0..points).map(|i| (n as f64 * (-step * i as f64).exp()).round() as usize);
    let mut latencies: Vec<Nanos> = slower
        .filter(|slower| (1..n).contains(slower))
        .map(|slower| pool.sorted[n - 1 - slower])
        .filter(|latency| *latency < *pool.sorted.last().expect("n is above 1"))
        .collect();
    latencies.dedup();
    latencies
}

/// How many samples of each batch lie above latency `cell` - 1 and not above latency `cell`, at [cell x batches + batch].
fn counts_by_batch(pool: &Pool, latencies: &[Nanos]) -> Vec<u64> {
    let batches = pool.runs.len() * pool.cut.per_run();
    let mut counts = vec![0u64; (latencies.len() + 1) * batches];
    for (run, samples) in pool.runs.iter().enumerate() {
        for i in 0..pool.cut.per_run() {
            let batch = run * pool.cut.per_run() + i;
            for sample in &samples[pool.cut.start(run, i)..pool.cut.start(run, i + 1)] {
                let cell = latencies.partition_point(|latency| latency < sample);
                counts[cell * batches + batch] += 1;
            }
        }
    }
    counts
}
