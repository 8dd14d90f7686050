//! Comparisons: better, worse, or cannot tell.

use model::Nanos;

use crate::batch::spread;
use crate::estimate::{Estimate, Spread};
use crate::latency::mean;
use crate::proportion::proportion_above;
use crate::quantile::{Pool, Quantile};

/// What two policies are compared by. Less is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// The mean latency.
    Mean,
    /// A quantile of the latency.
    Quantile(Quantile),
    /// The proportion of requests slower than this.
    Outliers(Nanos),
}

/// The answer of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The whole interval of the ratio lies below 1.
    Better,
    /// The whole interval of the ratio lies above 1.
    Worse,
    /// The interval holds 1: the data allow either.
    CannotTell,
}

/// Whether `a` does better than `b`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// What was compared.
    pub metric: Metric,
    /// The answer.
    pub answer: Answer,
    /// The metric of `a` over that of `b`. Its value is NaN where both are 0 or both infinite.
    pub ratio: Estimate,
}

/// Compares two sides by pairs of runs, (`a`, `b`): each pair has one seed and so the same arrivals.
///
/// `None` without samples on either side. False alarms: at most 1 in 20 for a pair of sides that do not differ, and more
/// tests raise more.
pub fn compare<R: AsRef<[Nanos]>>(pairs: &[(R, R)], metric: Metric) -> Option<Verdict> {
    let both = pairs.iter().map(|(a, b)| (a.as_ref(), b.as_ref()));
    let (a, b): (Vec<_>, Vec<_>) = both.filter(|(a, b)| !a.is_empty() && !b.is_empty()).unzip();
    let (mut a, mut b) = (Pool::new(&a), Pool::new(&b));
    let per_run = a.cut.per_run().min(b.cut.per_run());
    (a.cut, b.cut) = (a.cut.coarsened(per_run), b.cut.coarsened(per_run));
    let (a, b) = (Side::new(a, metric)?, Side::new(b, metric)?);
    let ratio = ratio(&a, &b);
    let answer = match () {
        () if ratio.high < 1.0 => Answer::Better,
        () if ratio.low > 1.0 => Answer::Worse,
        () => Answer::CannotTell,
    };
    Some(Verdict { metric, answer, ratio })
}

/// One side of a comparison: its estimate, and what moved it batch by batch.
struct Side<'a> {
    pool: Pool<'a>,
    estimate: Estimate,
    centred: Vec<f64>,
    spread: Spread,
}

impl<'a> Side<'a> {
    fn new(pool: Pool<'a>, metric: Metric) -> Option<Side<'a>> {
        let last = *pool.sorted.last()?;
        let (estimate, centred) = match metric {
            Metric::Mean if last == Nanos::NEVER => (mean(&pool), Vec::new()),
            Metric::Mean => (mean(&pool), pool.centred_total()),
            Metric::Quantile(q) => (pool.quantile(q), pool.centred_above(pool.order_statistic(q))),
            Metric::Outliers(t) => (proportion_above(&pool, t)?, pool.centred_above(t)),
        };
        let spread = spread(&pool.cut, centred.clone());
        Some(Side { pool, estimate, centred, spread })
    }

    /// What each batch contributes to the error of the logarithm of the estimate, on the side of `end` of its interval.
    /// `None` where that end is at no finite distance.
    fn log_scores(&self, end: f64) -> Option<Vec<f64>> {
        let distance = (end / self.estimate.value).ln().abs();
        let of_one_error = distance / self.spread.reach();
        if !distance.is_finite() || !of_one_error.is_finite() {
            return None;
        }
        if self.spread.error == 0.0 {
            return Some(vec![0.0; self.centred.len()]);
        }
        let scale = of_one_error / (self.spread.error * self.pool.len() as f64);
        Some(self.centred.iter().map(|sum| sum * scale).collect())
    }
}

/// The ratio of two estimates with its interval.
///
/// How far the logarithm of either estimate may be off on the side that counts is its own interval's business; batch by
/// batch the two errors are subtracted, so that what both sides share (the same bursts of arrivals) cancels.
fn ratio(a: &Side, b: &Side) -> Estimate {
    let (of_a, of_b) = (&a.estimate, &b.estimate);
    let value = of_a.value / of_b.value;
    if value == 0.0 || !value.is_finite() {
        let low = Some(of_a.low / of_b.high).filter(|x| !x.is_nan()).unwrap_or(0.0);
        let high = Some(of_a.high / of_b.low).filter(|x| !x.is_nan()).unwrap_or(f64::INFINITY);
        return Estimate { value, low, high };
    }
    let distance = |end_a: f64, end_b: f64| -> Option<f64> {
        let (a_scores, b_scores) = (a.log_scores(end_a)?, b.log_scores(end_b)?);
        let requests = a.pool.len() as f64;
        let apart = a_scores.iter().zip(&b_scores).map(|(x, y)| (x - y) * requests).collect();
        Some(spread(&a.pool.cut, apart).below())
    };
    Estimate {
        value,
        low: distance(of_a.low, of_b.high).map_or(0.0, |log| value * (-log).exp()),
        high: distance(of_a.high, of_b.low).map_or(f64::INFINITY, |log| value * log.exp()),
    }
}
