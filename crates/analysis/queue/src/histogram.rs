//! Counts of values in buckets whose width grows with the value.

/// Buckets to an octave, as a power of two: a bucket is at most 0.1% of its values wide.
const DETAIL: u32 = 10;

/// Values below this have a bucket each.
#[cfg(test)]
const EXACT_BELOW: u64 = 2 << DETAIL;

/// A log-linear histogram of any u64. Buckets of at most 2^32 - 1 values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Histogram {
    counts: Vec<u32>,
}

/// The bucket of a value: octave by octave, 2^DETAIL in each, without a branch.
#[inline(always)]
pub(crate) fn bucket_of(value: u64) -> usize {
    let octave = (value | 1 << DETAIL).ilog2() - DETAIL;
    ((octave as usize) << DETAIL) + (value >> octave) as usize
}

/// The least value of a bucket; for one past the last bucket of all, 2^64.
pub(crate) fn least_of(bucket: usize) -> f64 {
    let octave = (bucket >> DETAIL).saturating_sub(1);
    ((bucket - (octave << DETAIL)) as f64) * (octave as f64).exp2()
}

impl Histogram {
    /// Counts a value.
    #[inline(always)]
    pub fn add(&mut self, value: u64) {
        let bucket = bucket_of(value);
        match self.counts.get_mut(bucket) {
            Some(count) => *count += 1,
            None => self.grow(bucket),
        }
    }

    /// Counts a value beyond the last bucket so far.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, bucket: usize) {
        // A whole octave at a time, or values that creep up would move the counts again and again.
        self.counts.resize((bucket | ((1 << DETAIL) - 1)) + 1, 0);
        self.counts[bucket] += 1;
    }

    /// The counts, bucket by bucket; buckets beyond the end are empty.
    pub fn counts(&self) -> &[u32] {
        &self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_its_bucket() {
        let values = (0..5_000).chain((12..64).flat_map(|e| [(1 << e) - 1, 1 << e, (1 << e) + 77]));
        for value in values.chain([u64::MAX]) {
            let bucket = bucket_of(value);
            assert!(least_of(bucket) <= value as f64, "{value}");
            assert!((value as f64) < least_of(bucket + 1) || value >= 1 << 53, "{value}");
            let width = least_of(bucket + 1) - least_of(bucket);
            assert!(width <= 1.0 || width <= value as f64 / 1_000.0, "{value} {width}");
        }
        assert_eq!(bucket_of(EXACT_BELOW - 1) as u64, EXACT_BELOW - 1);
        assert_eq!(bucket_of(EXACT_BELOW), bucket_of(EXACT_BELOW + 1), "control: then they widen");
    }

    #[test]
    fn counts_stay_while_it_grows() {
        let mut histogram = Histogram::default();
        for value in [3, 1 << 40, 3, 9] {
            histogram.add(value);
        }
        assert_eq!(histogram.counts()[3], 2);
        assert_eq!(histogram.counts()[9], 1);
        assert_eq!(histogram.counts()[bucket_of(1 << 40)], 1);
        assert_eq!(histogram.counts().iter().sum::<u32>(), 4);
    }
}
