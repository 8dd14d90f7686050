//! Quantiles of dependent samples.

use model::Nanos;

use crate::batch::{Cut, spread};
use crate::estimate::Estimate;

/// A quantile as an exact fraction, so that its rank has no rounding error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantile {
    /// Numerator.
    pub numerator: u64,
    /// Denominator, above the numerator.
    pub denominator: u64,
}

impl Quantile {
    /// The median.
    pub const P50: Quantile = Quantile { numerator: 1, denominator: 2 };
    /// Nine of ten are faster.
    pub const P90: Quantile = Quantile { numerator: 9, denominator: 10 };
    /// All but one in a hundred are faster.
    pub const P99: Quantile = Quantile { numerator: 99, denominator: 100 };
    /// All but one in a thousand are faster.
    pub const P99_9: Quantile = Quantile { numerator: 999, denominator: 1_000 };

    /// The position in a sorted list of `samples` (at least 1): the least one with at least this share of the
    /// list at or before it.
    pub fn index(self, samples: usize) -> usize {
        let scaled = samples as u128 * u128::from(self.numerator);
        let rank = scaled.div_ceil(u128::from(self.denominator)) as usize;
        rank.clamp(1, samples) - 1
    }

    /// As a number between 0 and 1.
    pub fn as_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }
}

/// Samples of several independent runs: in the order of arrival run by run, and sorted over all.
pub(crate) struct Pool<'a> {
    pub runs: Vec<&'a [Nanos]>,
    pub sorted: Vec<Nanos>,
    pub cut: Cut,
}

impl<'a> Pool<'a> {
    /// Pools runs; empty ones are left out.
    pub fn new<R: AsRef<[Nanos]>>(runs: &'a [R]) -> Pool<'a> {
        let runs: Vec<&[Nanos]> =
            runs.iter().map(|run| run.as_ref()).filter(|run| !run.is_empty()).collect();
        let mut sorted = runs.concat();
        sorted.sort_unstable();
        let lengths: Vec<usize> = runs.iter().map(|run| run.len()).collect();
        Pool { cut: Cut::finest(&lengths), runs, sorted }
    }

    /// How many samples.
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// How many samples are above `threshold`.
    pub fn above(&self, threshold: Nanos) -> usize {
        self.len() - self.sorted.partition_point(|x| *x <= threshold)
    }

    /// The sums over batches of "is above `threshold`", less their mean.
    pub fn centred_above(&self, threshold: Nanos) -> Vec<f64> {
        let proportion = self.above(threshold) as f64 / self.len() as f64;
        self.cut.sums(|run, from, to| {
            let hits = self.runs[run][from..to].iter().filter(|x| **x > threshold).count();
            hits as f64 - proportion * (to - from) as f64
        })
    }

    /// The mean; meaningless with lost requests.
    pub fn mean(&self) -> f64 {
        total(&self.sorted) / self.len() as f64
    }

    /// The sums of the latencies over batches, less their mean; meaningless with lost requests.
    pub fn centred_total(&self) -> Vec<f64> {
        let mean = self.mean();
        self.cut.sums(|run, from, to| total(&self.runs[run][from..to]) - mean * (to - from) as f64)
    }

    /// The latency that splits the samples at a quantile: its order statistic. Lost requests lie above any
    /// latency.
    pub fn threshold(&self, quantile: Quantile) -> Nanos {
        self.sorted[quantile.index(self.len())].min(Nanos(Nanos::NEVER.0 - 1))
    }

    /// A quantile with its interval.
    ///
    /// The true quantile is exceeded by a known proportion. So a latency belongs to the interval unless the
    /// proportion of samples above it differs from that one by more than its spread allows.
    pub fn quantile(&self, quantile: Quantile) -> Estimate {
        let value = self.sorted[quantile.index(self.len())];
        let spread = spread(&self.cut, self.centred_above(self.threshold(quantile)));
        let n = self.len() as f64;
        let below = ((quantile.as_f64() - spread.below()) * n).floor();
        let above = ((quantile.as_f64() + spread.above()) * n).ceil();
        let low = if below < 1.0 { 0.0 } else { as_ns(self.sorted[below as usize - 1]) };
        let high = if above < n { as_ns(self.sorted[above as usize]) } else { f64::INFINITY };
        Estimate { value: as_ns(value), low, high }
    }
}

/// A latency as a number; that of a lost request is infinite.
pub(crate) fn as_ns(latency: Nanos) -> f64 {
    if latency == Nanos::NEVER { f64::INFINITY } else { latency.0 as f64 }
}

/// Sums of integers are exact, and the same in every order.
fn total(samples: &[Nanos]) -> f64 {
    samples.iter().map(|x| u128::from(x.0)).sum::<u128>() as f64
}
