//! Comparisons: better, worse, or cannot tell.

use model::{Answer, Nanos};

use crate::delta;
use crate::estimate::Estimate;
use crate::latency::mean;
use crate::paired::Sides;
use crate::pairs::by_pairs;
use crate::proportion::proportion_above;
use crate::quantile::{Pool, Quantile, as_ns};

/// The probability that a verdict between equals is a false alarm, at most.
pub const FALSE_ALARM: f64 = 0.05;
/// Halvings of the room in which an end of the interval is searched for.
const STEPS: u32 = 12;
/// Ratios are searched for up to two to this power, and down to its inverse.
const FURTHEST: i32 = 40;

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

/// What an answer is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The figure of all runs together.
    Pooled,
    /// The median of the ratios that the pairs of runs have one by one, since one or two runs hold a tail.
    Pairs,
}

/// Whether `a` does better than `b`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// What was compared.
    pub metric: Metric,
    /// The answer.
    pub answer: Answer,
    /// The metric of `a` over that of `b`. Its value is NaN where both are 0 or both infinite.
    ///
    /// With [`Basis::Pairs`] the end that tells is that of the median of pairs.
    pub ratio: Estimate,
    /// What the answer is about.
    pub basis: Basis,
}

/// Compares two sides by pairs of runs, (`a`, `b`): each pair has one seed and so the same arrivals.
///
/// `None` without samples on either side. False alarms: at most 1 in 20 for a pair of sides that do not
/// differ, and more tests raise more.
pub fn compare<R: AsRef<[Nanos]>>(pairs: &[(R, R)], metric: Metric) -> Option<Verdict> {
    compare_at(pairs, metric, FALSE_ALARM)
}

/// [`compare`] where a false alarm may have another probability, and the interval misses as often.
pub fn compare_at<R: AsRef<[Nanos]>>(
    pairs: &[(R, R)],
    metric: Metric,
    miss: f64,
) -> Option<Verdict> {
    let pairs = with_samples(pairs);
    let pooled = pooled(&pairs, metric, miss)?;
    let Metric::Quantile(quantile) = metric else { return Some(pooled) };
    let decided = by_pairs(&pairs, quantile, pooled.ratio, miss);
    let of_pairs = |ratio| Verdict { basis: Basis::Pairs, ..Verdict::new(metric, ratio) };
    Some(decided.map_or(pooled, of_pairs))
}

/// [`compare`] by the pooled figures alone, also where one or two runs hold a tail: what pairs add is
/// seen beside it.
pub fn compare_pooled<R: AsRef<[Nanos]>>(pairs: &[(R, R)], metric: Metric) -> Option<Verdict> {
    pooled(&with_samples(pairs), metric, FALSE_ALARM)
}

fn with_samples<R: AsRef<[Nanos]>>(pairs: &[(R, R)]) -> Vec<(&[Nanos], &[Nanos])> {
    let both = pairs.iter().map(|(a, b)| (a.as_ref(), b.as_ref()));
    both.filter(|(a, b)| !a.is_empty() && !b.is_empty()).collect()
}

fn pooled(pairs: &[(&[Nanos], &[Nanos])], metric: Metric, miss: f64) -> Option<Verdict> {
    let (a, b): (Vec<_>, Vec<_>) = pairs.iter().copied().unzip();
    let same = a == b;
    let (mut a, mut b) = (Pool::new(&a), Pool::new(&b));
    let per_run = a.cut.per_run().min(b.cut.per_run());
    (a.cut, b.cut) = (a.cut.coarsened(per_run), b.cut.coarsened(per_run));
    let value = figure(&a, metric)? / figure(&b, metric)?;
    let ratio = if same { of_the_same(value) } else { pooled_ratio(&a, &b, metric, value, miss) };
    Some(Verdict::new(metric, ratio))
}

impl Verdict {
    /// Of a ratio of pooled figures.
    fn new(metric: Metric, ratio: Estimate) -> Verdict {
        Verdict { metric, answer: Answer::of(ratio.low, ratio.high), ratio, basis: Basis::Pooled }
    }
}

/// The ratio of two pooled figures with its interval.
fn pooled_ratio(a: &Pool, b: &Pool, metric: Metric, value: f64, miss: f64) -> Estimate {
    if metric == Metric::Mean && !(value > 0.0 && value.is_finite()) {
        return of_infinite_means(value);
    }
    let by_slope = delta::compare(a, b, metric, miss);
    let ratio = by_slope.unwrap_or_else(|| interval(&Sides::new(a, b, metric), value, miss));
    let (low, high) = Answer::allowing_for_runs(ratio.low, ratio.high, a.runs.len());
    Estimate { low, high, ..ratio }
}

fn of_the_same(value: f64) -> Estimate {
    let end = |unknown: f64| if value.is_nan() { unknown } else { 1.0 };
    Estimate { value, low: end(0.0), high: end(f64::INFINITY) }
}

/// A mean is infinite as soon as a request is lost: then that side is worse, unless both are.
fn of_infinite_means(value: f64) -> Estimate {
    let ratio = |low, high| Estimate { value, low, high };
    if value.is_nan() { ratio(0.0, f64::INFINITY) } else { ratio(value, value) }
}

fn figure(pool: &Pool, metric: Metric) -> Option<f64> {
    pool.sorted.last()?;
    Some(match metric {
        Metric::Mean => mean(pool).value,
        Metric::Quantile(quantile) => as_ns(pool.sorted[quantile.index(pool.len())]),
        Metric::Outliers(over) => proportion_above(pool, over)?.value,
    })
}

/// All ratios that a test does not reject: `a` divided by such a ratio is not told from `b`.
fn interval(sides: &Sides, value: f64, miss: f64) -> Estimate {
    let furthest = f64::from(FURTHEST);
    let centre = if value.is_finite() { value.log2() } else { value };
    let centre = if centre.is_nan() { 0.0 } else { centre.clamp(-furthest, furthest) };
    let below = |log: f64| sides.test(log.exp2()).against_more() < miss;
    let above = |log: f64| sides.test(log.exp2()).against_less() < miss;
    // A side that is lost so far is so by any ratio: the last one that is searched is no end.
    let low = match value == f64::INFINITY && below(furthest) {
        true => value,
        false => end(centre, -1.0, below).map_or(0.0, f64::exp2),
    };
    let high = match value == 0.0 && above(-furthest) {
        true => value,
        false => end(centre, 1.0, above).map_or(f64::INFINITY, f64::exp2),
    };
    // The estimate is rejected by no test of its own, but the order statistics lie beside the pooled one.
    let (low, high) = if value.is_nan() { (low, high) } else { (low.min(value), high.max(value)) };
    Estimate { value, low, high }
}

/// The first place from `centre` on, towards `side`, that is rejected; `None` where none is.
fn end(centre: f64, side: f64, rejected: impl Fn(f64) -> bool) -> Option<f64> {
    let mut inside = centre;
    let mut reach = 1.0 / 64.0;
    let mut outside = loop {
        let at = centre + side * reach;
        if rejected(at) {
            break at;
        }
        if reach > 2.0 * f64::from(FURTHEST) {
            return None;
        }
        (inside, reach) = (at, reach * 2.0);
    };
    for _ in 0..STEPS {
        let middle = inside.midpoint(outside);
        if rejected(middle) { outside = middle } else { inside = middle }
    }
    Some(outside)
}
