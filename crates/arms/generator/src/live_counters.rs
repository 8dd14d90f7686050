//! What a run has done so far, for an observer: counters that the generator's thread raises and
//! others read.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use model::Nanos;

use crate::record::Record;

/// Buckets of one power of two: values are told to 3%.
const STEPS: u64 = 32;
const BUCKETS: usize = (64 - STEPS.ilog2() as usize + 1) * STEPS as usize;

/// Latencies and losses of a run under way.
pub struct LiveCounters {
    buckets: Vec<AtomicU64>,
    sent: AtomicU64,
    lost: AtomicU64,
    /// Requests whose passing the client's kernel has stamped, since they were last taken.
    stamped: Mutex<Vec<Record>>,
}

/// The latencies and losses between two looks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    counts: Vec<u64>,
    /// Requests that were sent.
    pub sent: u64,
    /// Requests that will have no response.
    pub lost: u64,
}

impl Default for LiveCounters {
    fn default() -> LiveCounters {
        let buckets = std::iter::repeat_with(AtomicU64::default).take(BUCKETS).collect();
        let (sent, lost) = Default::default();
        LiveCounters { buckets, sent, lost, stamped: Mutex::default() }
    }
}

impl LiveCounters {
    pub(crate) fn send(&self) {
        self.sent.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn answer(&self, latency: Nanos) {
        self.buckets[bucket(latency.0)].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn lose(&self) {
        self.lost.fetch_add(1, Ordering::Relaxed);
    }

    /// The generator does not wait: while an observer takes them, or another thread adds one, a request is
    /// missed.
    pub(crate) fn add_stamped(&self, record: &Record) {
        if let Ok(mut stamped) = self.stamped.try_lock() {
            stamped.push(*record);
        }
    }

    /// Takes the requests that have been answered since the last time, where the client's kernel stamps them.
    /// Their moments are on CLOCK_MONOTONIC.
    pub fn take_stamped(&self) -> Vec<Record> {
        self.stamped.lock().map(|mut stamped| std::mem::take(&mut *stamped)).unwrap_or_default()
    }

    /// Everything so far.
    pub fn total(&self) -> Histogram {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Histogram {
            counts: self.buckets.iter().map(read).collect(),
            sent: read(&self.sent),
            lost: read(&self.lost),
        }
    }
}

impl Histogram {
    /// What has come since an earlier look.
    pub fn since(&self, earlier: &Histogram) -> Histogram {
        let before = earlier.counts.iter().copied().chain(std::iter::repeat(0));
        Histogram {
            counts: self.counts.iter().zip(before).map(|(now, before)| now - before).collect(),
            sent: self.sent - earlier.sent,
            lost: self.lost - earlier.lost,
        }
    }

    /// Requests with a response.
    pub fn answered(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The latency that so large a share of the requests does not exceed, to 3%; [`Nanos::NEVER`] where lost
    /// ones reach it. `None` without requests.
    pub fn quantile(&self, share: f64) -> Option<Nanos> {
        let all = self.answered() + self.lost;
        let rank = (share * all as f64).ceil().max(1.0) as u64;
        let mut below = 0;
        let reached = self.counts.iter().position(|count| {
            below += count;
            below >= rank
        });
        (all > 0).then(|| reached.map_or(Nanos::NEVER, |at| Nanos(last_of(at))))
    }

    /// Requests slower than `threshold`, lost ones included, over requests; to 3% of the threshold.
    pub fn proportion_over(&self, threshold: Nanos) -> Option<f64> {
        let all = self.answered() + self.lost;
        let slower: u64 = self.counts.iter().skip(bucket(threshold.0) + 1).sum();
        (all > 0).then(|| (slower + self.lost) as f64 / all as f64)
    }
}

/// The bucket of a value: as it is up to `STEPS`, then `STEPS` to a power of two.
fn bucket(value: u64) -> usize {
    if value < STEPS {
        return value as usize;
    }
    let shift = value.ilog2() - STEPS.ilog2();
    (u64::from(shift) * STEPS + (value >> shift)) as usize
}

/// The greatest value of a bucket.
fn last_of(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < STEPS {
        return bucket;
    }
    let (shift, step) = (bucket / STEPS - 1, bucket % STEPS);
    ((STEPS + step) << shift) + ((1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_in_the_bucket_that_ends_at_most_3_percent_above_it() {
        for value in (0..2_000).chain((10..64).map(|bit| (1u64 << bit) + 12_345 % (1 << bit))) {
            let last = last_of(bucket(value));
            assert!(last >= value && last - value <= value / STEPS, "{value}: {last}");
            assert!(value == 0 || last_of(bucket(value) - 1) < value, "{value}");
        }
        assert!(bucket(u64::MAX) < BUCKETS);
    }

    #[test]
    fn lost_requests_rank_last() {
        let live = LiveCounters::default();
        (1..=90).for_each(|us| live.answer(Nanos::from_micros(us)));
        let before = live.total();
        let median = before.quantile(0.5).expect("requests").0;
        assert!((45_000..=46_400).contains(&median), "{median}");
        (0..10).for_each(|_| live.lose());
        let after = live.total();
        assert_eq!(after.quantile(0.95), Some(Nanos::NEVER));
        assert_eq!(after.since(&before).lost, 10);
        assert_eq!(after.since(&before).answered(), 0);
        assert_eq!(after.proportion_over(Nanos::from_secs(1)), Some(0.1));
        assert_eq!(LiveCounters::default().total().quantile(0.5), None);
    }
}
