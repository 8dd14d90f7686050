//! The ratio of two estimates with its interval, by the delta method on its logarithm.

use model::{Answer, Nanos};

use crate::batch::{Cut, effective, spread};
use crate::estimate::Estimate;
use crate::latency::mean;
use crate::proportion::proportion_above;
use crate::quantile::{Pool, Quantile, as_ns};
use crate::verdict::Metric;

/// Samples that the slope of a distribution must rest on, to either side of a quantile.
const FEWEST: f64 = 5.0;

/// Batches that the samples which count must lie in: within one burst both sides differ by the same factor
/// throughout, which says nothing about the next.
const FEWEST_BATCHES: f64 = 2.0;
/// The same where too few pairs of runs check what batches say.
const FEWEST_ALONE: f64 = 4.0;

/// One side of a comparison: its estimate, and what each batch adds to the error of the estimate's logarithm.
struct Side {
    estimate: Estimate,
    /// `None` where the logarithm has no error that the samples could show.
    log_errors: Option<Vec<f64>>,
    /// How many runs the estimate rests on: fewer than there are, where most of a tail comes from one of
    /// them.
    runs: f64,
}

impl Side {
    fn new(pool: &Pool, metric: Metric) -> Option<Side> {
        pool.sorted.last()?;
        let (estimate, over) = match metric {
            Metric::Mean => (mean(pool), None),
            Metric::Quantile(quantile) => (pool.quantile(quantile), Some(pool.threshold(quantile))),
            Metric::Outliers(over) => (proportion_above(pool, over)?, Some(over)),
        };
        let centred = over.map_or_else(|| pool.centred_total(), |over| pool.centred_above(over));
        let slope = match metric {
            Metric::Quantile(quantile) => log_slope(pool, quantile, &centred),
            Metric::Mean | Metric::Outliers(_) => Some(1.0 / estimate.value),
        };
        let bursts = effective_batches(pool, over);
        let fewest =
            if pool.runs.len() < Answer::ENOUGH_PAIRS { FEWEST_ALONE } else { FEWEST_BATCHES };
        let slope = slope.filter(|slope| slope.is_finite() && bursts >= fewest);
        let part = |slope: f64| slope / pool.len() as f64;
        let log_errors = slope.map(|slope| centred.iter().map(|sum| sum * part(slope)).collect());
        let runs = effective_runs(pool, over);
        Some(Side { estimate, log_errors, runs })
    }
}

/// How many equal runs would be as good as these, which hold unequal parts of the samples that count.
fn effective_runs(pool: &Pool, over: Option<Nanos>) -> f64 {
    let parts: Vec<f64> = pool.runs.iter().map(|run| counting(run, over)).collect();
    effective(&parts).unwrap_or(parts.len() as f64)
}

/// The same of batches; 0 where no sample counts.
fn effective_batches(pool: &Pool, over: Option<Nanos>) -> f64 {
    let parts = pool.cut.sums(|run, from, to| counting(&pool.runs[run][from..to], over));
    effective(&parts).unwrap_or(0.0)
}

fn counting(samples: &[Nanos], over: Option<Nanos>) -> f64 {
    samples.iter().filter(|sample| over.is_none_or(|over| **sample > over)).count() as f64
}

/// How much the logarithm of a quantile grows with the proportion of samples above a fixed latency, near the
/// quantile: over as much of the distribution as its error reaches, but no further than half of its tail.
fn log_slope(pool: &Pool, quantile: Quantile, centred: &[f64]) -> Option<f64> {
    let (n, at_or_below) = (pool.len() as f64, quantile.as_f64());
    let error = spread(&pool.cut, centred.to_vec()).below();
    let step = error.max(FEWEST / n).min(at_or_below.min(1.0 - at_or_below) / 2.0);
    if step * n < FEWEST {
        return None;
    }
    let at = |proportion: f64| as_ns(pool.sorted[(proportion * n) as usize]);
    let (low, high) = (at(at_or_below - step), at(at_or_below + step));
    Some((high / low).ln() / (2.0 * step))
}

/// The ratio of two estimates with its interval. `None` where a side has no logarithm or no visible error.
///
/// Batch by batch the errors of both sides are subtracted, so that what they share (the same bursts of
/// arrivals) cancels.
pub(crate) fn compare(a: &Pool, b: &Pool, metric: Metric, miss: f64) -> Option<Estimate> {
    let (of_a, of_b) = (Side::new(a, metric)?, Side::new(b, metric)?);
    let value = of_a.estimate.value / of_b.estimate.value;
    if !(value > 0.0 && value.is_finite()) {
        return None;
    }
    let (cut, requests) = (&a.cut, a.cut.requests() as f64);
    let pairs = of_a.log_errors?.into_iter().zip(of_b.log_errors?);
    let apart = pairs.map(|(x, y)| (x - y) * requests).collect();
    let error = error_apart(cut, apart, of_a.runs.min(of_b.runs), miss);
    let ratio = Estimate { value, low: value * (-error).exp(), high: value * error.exp() };
    (ratio.low > 0.0 || ratio.high.is_finite()).then_some(ratio)
}

/// How far the sum of the errors may reach: by batches, and at least by whole pairs of runs where there are
/// enough.
///
/// A policy that meets a slower moment of the machine differs from the other for a whole run; three pairs
/// show what that amounts to, whatever the batches inside them say.
fn error_apart(cut: &Cut, apart: Vec<f64>, effective_runs: f64, miss: f64) -> f64 {
    let totals = apart.chunks_exact(cut.per_run()).map(|run| run.iter().sum()).collect();
    let runs = apart.len() / cut.per_run();
    let by_batch = spread(cut, apart).below_at(miss);
    if runs < Answer::ENOUGH_PAIRS {
        return by_batch;
    }
    let mut by_run = spread(&cut.clone().coarsened(1), totals);
    by_run.freedom = by_run.freedom.min(effective_runs - 1.0);
    by_batch.max(by_run.below_at(miss))
}
