//! Exponential buckets: each is wider than the one below it by the same factor. Prometheus calls a histogram
//! of them native.

#[cfg(test)]
mod tests;

use std::array;
use std::sync::LazyLock;

/// Each power of two has 2^4 buckets at first, so that one ends 4.4% above its lower end.
pub const FINEST: i32 = 4;
/// Up to this a value counts as zero, in seconds: as `client_golang` has it, so that sums with others'
/// histograms need no conversion.
pub const ZERO_THRESHOLD: f64 = 1.0 / (1_u128 << 127) as f64 / 2.0;
/// Buckets that are not empty. At schema 3, 9.1% each, they hold 40 powers of two: from 1 ns to 18 minutes.
const MOST: usize = 320;
/// Room is made for so many buckets at a time: doubling would make more than there may be.
const STEP: usize = 16;

/// Ends of the buckets between 1/2 and 1, without the last.
static ENDS: LazyLock<[f64; 1 << FINEST]> =
    LazyLock::new(|| array::from_fn(|at| libm::exp2(at as f64 / f64::from(1 << FINEST) - 1.0)));

/// How many values were in which bucket. Where there would be too many buckets, pairs of them become one.
#[derive(Clone, Debug, PartialEq)]
pub struct Exponential {
    schema: i32,
    zeros: u64,
    /// By index: bucket `i` ends at 2^(i / 2^schema), and has that end.
    counts: Vec<(i32, u64)>,
}

impl Default for Exponential {
    fn default() -> Exponential {
        Exponential { schema: FINEST, zeros: 0, counts: Vec::new() }
    }
}

impl Exponential {
    /// Counts a value, which is no infinity.
    pub fn observe(&mut self, value: f64) {
        if value <= ZERO_THRESHOLD {
            self.zeros += 1;
            return;
        }
        let finest = finest_index(value);
        loop {
            let index = coarser(finest, FINEST - self.schema);
            match self.counts.binary_search_by_key(&index, |(own, _)| *own) {
                Ok(at) => return self.counts[at].1 += 1,
                Err(at) if self.counts.len() < MOST => return self.insert(at, index),
                Err(_) => self.coarsen(),
            }
        }
    }

    /// Each power of two has 2^schema buckets.
    pub fn schema(&self) -> i32 {
        self.schema
    }

    /// How many values were no greater than the threshold.
    pub fn zeros(&self) -> u64 {
        self.zeros
    }

    /// Index and count of buckets that are not empty, by index.
    pub fn buckets(&self) -> &[(i32, u64)] {
        &self.counts
    }

    fn insert(&mut self, at: usize, index: i32) {
        if self.counts.len() == self.counts.capacity() {
            self.counts.reserve_exact(STEP);
        }
        self.counts.insert(at, (index, 1));
    }

    /// Makes buckets twice as wide.
    fn coarsen(&mut self) {
        self.schema -= 1;
        self.counts.iter_mut().for_each(|(index, _)| *index = coarser(*index, 1));
        self.counts.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            kept.1 += if is_same { next.1 } else { 0 };
            is_same
        });
    }
}

/// The bucket of a positive value at the finest schema.
fn finest_index(value: f64) -> i32 {
    let (fraction, exponent) = libm::frexp(value);
    let below = ENDS.partition_point(|end| *end < fraction);
    ((exponent - 1) << FINEST) + below as i32
}

/// The bucket that this one is in where buckets are wider by 2^steps: its end rounded up.
fn coarser(index: i32, steps: i32) -> i32 {
    -(-index >> steps)
}
