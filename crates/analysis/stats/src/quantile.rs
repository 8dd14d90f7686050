//! Quantiles of dependent samples.

use model::Nanos;

use crate::batch::{Cut, effective, memory, spread};
use crate::estimate::Estimate;

/// Batches' worth of bursts that bound a quantile from above.
const FEWEST_BURSTS: f64 = 5.0;
/// Quantiles beyond this one need as many, and batches that have forgotten the one before them.
const RARE: f64 = 0.99;
/// Quantiles from this one on need batches whose memory is shorter than so many of them.
const TAIL: f64 = 0.99;
const LONG: f64 = 2.0;
/// A tail's exponent below which a mean has no upper end: above 2, since Hill's estimate scatters.
const HEAVIEST: f64 = 4.0;
/// Batches whose totals are as uneven as if this times fewer held all have a mean without an upper end.
const UNEVEN: f64 = 3.0;

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

    /// How many independent, equal batches would hold samples above `threshold` as unevenly as these do:
    /// near saturation a tail comes from a few long busy periods, however many samples that is.
    fn bursts_above(&self, threshold: Nanos) -> f64 {
        let hits = self.cut.sums(|run, from, to| {
            self.runs[run][from..to].iter().filter(|x| **x > threshold).count() as f64
        });
        // Where none is above, a single latency is all that was seen.
        effective(&hits).unwrap_or(f64::INFINITY) / memory(&hits, self.cut.per_run())
    }

    /// Memories of the queue without which no interval can be true.
    pub const TELLING: f64 = 8.0;
    /// Memories of the queue that bound a mean or a common quantile from above.
    pub const BOUNDING: f64 = 56.0;

    /// How many batches what is common to neighbours lasts, judged by the median: a tail may consist of
    /// services alone for as long as the long busy periods are yet to come.
    fn memory(&self) -> f64 {
        let halves = self.centred_above(self.threshold(Quantile::P50));
        let constant = halves.iter().all(|sum| *sum == 0.0);
        if constant { 1.0 } else { memory(&halves, self.cut.per_run()) }
    }

    /// Whether so many memories of the queue were seen; `true` where too few batches show none.
    pub fn has_memories(&self, wanted: f64) -> bool {
        let batches = self.cut.batches() as f64;
        batches <= wanted || batches / self.memory() >= wanted
    }

    /// Whether the samples show how far a quantile may lie above.
    fn bounds(&self, quantile: Quantile) -> bool {
        match quantile.as_f64() {
            common if common < TAIL => self.has_memories(Self::BOUNDING),
            near if near <= RARE => self.memory() < LONG,
            _ => {
                self.memory() <= 1.0 && self.bursts_above(self.threshold(quantile)) >= FEWEST_BURSTS
            }
        }
    }

    /// Whether the samples have a tail so heavy that their mean has no upper end that they show: its exponent
    /// by Hill (1975) over the slowest of them. Waits behind services with a tail of exponent a have one of
    /// a - 1, and up to 2 the variance is infinite.
    pub fn is_heavy(&self) -> bool {
        let n = self.len();
        let slowest = ((n as f64).sqrt() as usize / 2).min(n / 500).max(10).min(n / 10);
        let least = as_ns(self.sorted[n - 1 - slowest]);
        let tail = self.sorted[n - slowest..].iter().map(|x| (as_ns(*x) / least).ln());
        let mean = tail.sum::<f64>() / slowest as f64;
        // One burst of latencies that are all alike has no tail, yet may hold most of the total.
        let totals = self.cut.sums(|run, from, to| total(&self.runs[run][from..to]));
        let even = effective(&totals).unwrap_or(f64::INFINITY) * UNEVEN >= totals.len() as f64;
        slowest > 0 && (mean * HEAVIEST > 1.0 || !even)
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
        let (below, above) = match () {
            () if !self.has_memories(Self::TELLING) => (0.0, n),
            () if self.bounds(quantile) => (below, above),
            () => (below, n),
        };
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
