//! Quantiles of dependent samples.

use std::cell::OnceCell;

use model::Nanos;

use crate::batch::{Cut, effective, spread};
use crate::estimate::{Estimate, MISS, Spread};
use crate::memory::{independent, memory};

/// Quantiles beyond this one are a tail: it may consist of services alone for as long as the long busy
/// periods are yet to come.
const TAIL: f64 = 0.95;
/// Pieces as good as independent that must lie beyond a common quantile, to bound it from above.
const BEYOND: f64 = 8.0;
/// Pieces that bound any quantile from above.
const FEWEST_PIECES: f64 = 32.0;
/// The same of a tail, whose own scatter refuses sooner.
const BEYOND_TAIL: f64 = 2.0;
/// Pieces after which a tail of services alone is believed.
const BELIEVED: f64 = 56.0;
/// A tail is of services alone if no more than this share of it lies in the slower half of the batches.
const SLOWER: f64 = 2.0 / 3.0;
/// Quantiles beyond this one need bursts, too, and so many batches' worth of them.
const RARE: f64 = 0.99;
const FEWEST_BURSTS: f64 = 5.0;
/// One part in so many above the median is waiting.
const CLEAR: u64 = 32;
/// Pieces that stand for one degree of freedom: the first few busy periods are seldom the longest.
const PIECES_A_DEGREE: f64 = 6.0;

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

    /// Whether so many samples tell it: at least one of them lies beyond.
    pub fn is_within(self, samples: usize) -> bool {
        samples > 0 && self.index(samples) + 1 < samples
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
    pieces: OnceCell<f64>,
}

impl<'a> Pool<'a> {
    /// Pools runs; empty ones are left out.
    pub fn new<R: AsRef<[Nanos]>>(runs: &'a [R]) -> Pool<'a> {
        let runs: Vec<&[Nanos]> =
            runs.iter().map(|run| run.as_ref()).filter(|run| !run.is_empty()).collect();
        let mut sorted = runs.concat();
        sorted.sort_unstable();
        let lengths: Vec<usize> = runs.iter().map(|run| run.len()).collect();
        Pool { cut: Cut::finest(&lengths), runs, sorted, pieces: OnceCell::new() }
    }

    /// How many samples.
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// How many samples are above `threshold`.
    pub fn above(&self, threshold: Nanos) -> usize {
        self.len() - self.sorted.partition_point(|x| *x <= threshold)
    }

    /// The samples above `threshold` in a slice of a run.
    fn hits(&self, threshold: Nanos) -> impl Fn(usize, usize, usize) -> f64 {
        move |run, from, to| {
            self.runs[run][from..to].iter().filter(|x| **x > threshold).count() as f64
        }
    }

    /// The same less their mean.
    fn centred_hits(&self, threshold: Nanos) -> impl Fn(usize, usize, usize) -> f64 {
        let proportion = self.above(threshold) as f64 / self.len() as f64;
        let hits = self.hits(threshold);
        move |run, from, to| hits(run, from, to) - proportion * (to - from) as f64
    }

    /// The sums over batches of "is above `threshold`", less their mean.
    pub fn centred_above(&self, threshold: Nanos) -> Vec<f64> {
        self.cut.sums(self.centred_hits(threshold))
    }

    /// A latency that tells waiting from none, clear of the median by more than a machine's speed drifts:
    /// with services all alike a drift of one part in a thousand moves half of them over the median.
    fn waiting(&self) -> Nanos {
        let median = self.threshold(Quantile::P50).0;
        Nanos(median.saturating_add(median / CLEAR))
    }

    /// How many pieces of the runs are as good as independent, judged near the median: a tail does not
    /// show what has not come yet.
    pub fn pieces(&self) -> f64 {
        *self.pieces.get_or_init(|| {
            let lengths: Vec<usize> = self.runs.iter().map(|run| run.len()).collect();
            independent(&lengths, self.centred_hits(self.waiting()))
        })
    }

    /// A spread as sure as the pieces that it rests on.
    pub fn sure(&self, spread: Spread) -> Spread {
        let freedom = spread.freedom.min(self.pieces() / PIECES_A_DEGREE - 1.0);
        Spread { freedom, ..spread }
    }

    /// How many independent, equal batches would hold samples above `threshold` as unevenly as these do:
    /// near saturation a tail comes from a few long busy periods, however many samples that is.
    fn bursts_above(&self, threshold: Nanos) -> f64 {
        let hits = self.cut.sums(self.hits(threshold));
        // Where none is above, a single latency is all that was seen.
        effective(&hits).unwrap_or(f64::INFINITY) / memory(&hits, self.cut.per_run())
    }

    /// Whether the samples show how many more than `beyond` of them may lie above `threshold`: enough of such
    /// were seen, or they are a tail of services alone.
    pub fn shows(&self, beyond: f64, threshold: Nanos) -> bool {
        let pieces = self.pieces() * beyond;
        if beyond >= 1.0 - TAIL {
            return pieces >= BEYOND && self.pieces() >= FEWEST_PIECES;
        }
        (pieces >= BEYOND_TAIL || self.is_of_services(threshold))
            && (beyond >= 1.0 - RARE || self.bursts_above(threshold) >= FEWEST_BURSTS)
    }

    /// Whether samples above a threshold come from batches with little waiting almost as often as from those
    /// with much: then a long busy period that has not come yet adds little to them.
    fn is_of_services(&self, threshold: Nanos) -> bool {
        let hits = self.cut.sums(self.hits(threshold));
        let waiting = self.centred_above(self.waiting());
        let mut by_waiting: Vec<usize> = (0..hits.len()).collect();
        by_waiting.sort_by(|x, y| waiting[*x].total_cmp(&waiting[*y]));
        let slower: f64 = by_waiting[hits.len() / 2..].iter().map(|batch| hits[*batch]).sum();
        self.pieces() >= BELIEVED && slower <= SLOWER * hits.iter().sum::<f64>()
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
        self.quantile_at(quantile, MISS)
    }

    /// The same with an interval that misses the truth with another probability.
    pub fn quantile_at(&self, quantile: Quantile, miss: f64) -> Estimate {
        let value = self.sorted[quantile.index(self.len())];
        let spread = self.sure(spread(&self.cut, self.centred_above(self.threshold(quantile))));
        let n = self.len() as f64;
        let below = ((quantile.as_f64() - spread.below_at(miss)) * n).floor();
        let above = ((quantile.as_f64() + spread.above_at(miss)) * n).ceil();
        let above =
            if self.shows(1.0 - quantile.as_f64(), self.threshold(quantile)) { above } else { n };
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
pub(crate) fn total(samples: &[Nanos]) -> f64 {
    samples.iter().map(|x| u128::from(x.0)).sum::<u128>() as f64
}
