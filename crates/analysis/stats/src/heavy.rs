//! Tails so heavy that a mean has no upper end that a run shows.
//!
//! Waits behind services with a tail of exponent a have one of a - 1, and up to 2 the variance is infinite.
//! Hill's estimate (1975) of an exponent scatters, so the limits lie above 2.

use crate::batch::effective;
use crate::quantile::{Pool, as_ns, total};

/// Exponents below which a mean has no upper end: of the slowest requests, and of the slowest of each batch.
const HEAVIEST: f64 = 4.0;
const HEAVIEST_OF_BATCHES: f64 = 3.0;
/// The batches with the slowest requests of all: one in so many.
const SLOWEST_BATCHES: usize = 8;
/// Batches whose totals are as uneven as if this times fewer held all have a mean without an upper end.
const UNEVEN: f64 = 3.0;

/// Whether the samples have so heavy a tail.
pub(crate) fn is_heavy(pool: &Pool) -> bool {
    let n = pool.len();
    let slowest = ((n as f64).sqrt() as usize / 2).min(n / 500).max(10).min(n / 10);
    let all: Vec<f64> = pool.sorted[n - 1 - slowest..].iter().map(|x| as_ns(*x)).collect();
    slowest > 0 && (exponent(&all) < HEAVIEST || exponent(&maxima(pool)) < HEAVIEST_OF_BATCHES)
        || is_uneven(pool)
}

/// The slowest request of each batch, those of the slowest batches, in ascending order. One busy period
/// makes many of the slowest requests, but not those of other batches.
fn maxima(pool: &Pool) -> Vec<f64> {
    let slowest = |run: usize, from, to| {
        as_ns(pool.runs[run][from..to].iter().copied().max().unwrap_or_default())
    };
    let mut maxima = pool.cut.sums(slowest);
    maxima.sort_by(f64::total_cmp);
    maxima.split_off(maxima.len() - (maxima.len() / SLOWEST_BATCHES + 1))
}

/// The exponent of a tail from its ascending samples; infinite of fewer than two.
fn exponent(tail: &[f64]) -> f64 {
    let logarithms: f64 = tail.iter().map(|x| (x / tail[0]).ln()).sum();
    if logarithms > 0.0 { (tail.len() - 1) as f64 / logarithms } else { f64::INFINITY }
}

/// One burst of latencies that are all alike has no tail, yet may hold most of the total.
fn is_uneven(pool: &Pool) -> bool {
    let totals = pool.cut.sums(|run, from, to| total(&pool.runs[run][from..to]));
    let even = effective(&totals).unwrap_or(f64::INFINITY);
    even * UNEVEN < totals.len() as f64
}
