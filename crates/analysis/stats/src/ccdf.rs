//! The tail as a curve: the proportion of requests slower than a latency.

use model::Nanos;

use crate::batch::spread;
use crate::proportion::{proportion, telling};
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
/// At most `points` points, evenly spaced on a logarithmic axis of proportions; latencies rise, proportions
/// fall. The band holds point by point, not for the whole curve at once. Lost requests are slower than any
/// latency: the curve ends above them.
pub fn ccdf<R: AsRef<[Nanos]>>(runs: &[R], points: usize) -> Vec<CcdfPoint> {
    let pool = Pool::new(runs);
    let latencies = thinned(&pool, points);
    let slower = slower_by_batch(&pool, &latencies);
    let hits: Vec<usize> =
        slower.iter().map(|of_batch| of_batch.iter().sum::<u64>() as usize).collect();
    let point = |(cell, latency): (usize, &Nanos)| {
        let near = telling_cell(&hits, cell, pool.len());
        let (low, high) = band(&pool, hits[cell], hits[near], &slower[near]);
        let proportion = hits[cell] as f64 / pool.len() as f64;
        CcdfPoint { latency: *latency, proportion, low, high }
    };
    latencies.iter().enumerate().map(point).collect()
}

/// The ends of a proportion's interval, its dependence taken from batches with `reference` hits in all.
fn band(pool: &Pool, hits: usize, reference: usize, by_batch: &[u64]) -> (f64, f64) {
    let mean = reference as f64 / pool.len() as f64;
    let sizes = pool.cut.sums(|_, from, to| (to - from) as f64);
    let centred = by_batch.iter().zip(sizes).map(|(hits, n)| *hits as f64 - mean * n).collect();
    let estimate = proportion(hits, pool.len(), reference, &pool.sure(spread(&pool.cut, centred)));
    (estimate.low, estimate.high)
}

/// The cell nearest to `cell` with enough samples on both sides to show their dependence, or `cell` where
/// none has.
fn telling_cell(hits: &[usize], cell: usize, n: usize) -> usize {
    let tells = |i: &usize| (telling(hits[*i], n)) == hits[*i];
    let tell = (0..hits.len()).filter(tells);
    tell.min_by_key(|i| i.abs_diff(cell)).unwrap_or(cell)
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

/// For each latency, how many samples of each batch are slower.
fn slower_by_batch(pool: &Pool, latencies: &[Nanos]) -> Vec<Vec<u64>> {
    let per_run = pool.cut.per_run();
    let mut counts = vec![vec![0u64; pool.runs.len() * per_run]; latencies.len()];
    for (run, samples) in pool.runs.iter().enumerate() {
        for i in 0..per_run {
            for sample in &samples[pool.cut.start(run, i)..pool.cut.start(run, i + 1)] {
                let faster = latencies.partition_point(|latency| latency < sample);
                if let Some(last) = faster.checked_sub(1) {
                    counts[last][run * per_run + i] += 1;
                }
            }
        }
    }
    // So far each sample counts at the last latency below it; it is slower than all before that as well.
    for cell in (1..counts.len()).rev() {
        let (before, from_here) = counts.split_at_mut(cell);
        let sums = before[cell - 1].iter_mut().zip(&from_here[0]);
        sums.for_each(|(sum, count)| *sum += count);
    }
    counts
}
