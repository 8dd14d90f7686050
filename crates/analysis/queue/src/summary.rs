//! From batches of latencies to estimates.

use model::Nanos;
use stats::{CcdfPoint, Estimate, Latency, Spread, batch_proportion, batch_spread, telling};

use crate::histogram::{Histogram, bucket_of, least_of};
use crate::record::LatencyRecorder;

/// Points a decade of the tail.
const POINTS_A_DECADE: u32 = 20;

/// How many values lie below each bucket; one entry more than buckets.
struct Below(Vec<u64>);

impl Below {
    fn new(counts: impl Iterator<Item = u64>) -> Below {
        let mut total = 0;
        let sums = counts.map(|count| {
            total += count;
            total
        });
        Below(std::iter::once(0).chain(sums).collect())
    }

    fn of(histogram: &Histogram) -> Below {
        Below::new(histogram.counts().iter().map(|count| u64::from(*count)))
    }

    /// Values up to `place`; a batch whose own values end before it has none beyond.
    fn up_to(&self, place: Place) -> f64 {
        let last = self.0.len() - 1;
        let from = self.0[place.bucket.min(last)] as f64;
        let to = self.0[(place.bucket + 1).min(last)] as f64;
        from + (to - from) * place.share
    }
}

/// A latency as a bucket and the share of the bucket's values up to it.
#[derive(Clone, Copy, Debug)]
struct Place {
    bucket: usize,
    share: f64,
}

/// The recorded latencies of a run, ready for questions.
pub(crate) struct Summary {
    recorder: LatencyRecorder,
    all: Below,
    batches: Vec<Below>,
    requests: f64,
}

impl Summary {
    /// The batches of a full recorder, at least one request in all.
    pub fn new(recorder: LatencyRecorder) -> Summary {
        let batches: Vec<Below> =
            recorder.batches.iter().map(|b| Below::of(&b.histogram)).collect();
        let buckets =
            recorder.batches.iter().map(|b| b.histogram.counts().len()).max().unwrap_or(0);
        let mut counts = vec![0; buckets];
        for batch in &recorder.batches {
            let pairs = counts.iter_mut().zip(batch.histogram.counts());
            pairs.for_each(|(total, count)| *total += u64::from(*count));
        }
        let requests = recorder.batches.iter().map(|b| b.count).sum::<u64>() as f64;
        Summary { recorder, all: Below::new(counts.into_iter()), batches, requests }
    }

    /// The distribution in figures.
    pub fn latency(&self) -> Latency {
        Latency {
            mean: self.mean(),
            p50: self.quantile(0.5),
            p90: self.quantile(0.1),
            p99: self.quantile(0.01),
            p99_9: self.quantile(0.001),
            max: Nanos(self.recorder.max),
        }
    }

    /// The tail as a curve, from the fastest down to the last ten requests.
    pub fn ccdf(&self) -> Vec<CcdfPoint> {
        let step = |i: u32| 10f64.powf(-f64::from(i) / f64::from(POINTS_A_DECADE));
        let steps = (0..).map(step).take_while(|beyond| beyond * self.requests >= 10.0);
        let mut points: Vec<CcdfPoint> = steps.map(|beyond| self.point(beyond)).collect();
        points.dedup_by_key(|point| point.latency);
        points
    }

    /// The proportion of latencies beyond the bucket of one.
    pub fn outliers(&self, latency: u64) -> Estimate {
        let bucket = bucket_of(latency.saturating_sub(self.recorder.offset));
        let beyond = |below: &Below, bucket: usize| {
            let place = Place { bucket, share: 1.0 };
            (below.0[below.0.len() - 1] as f64 - below.up_to(place)) as u64
        };
        let hits = beyond(&self.all, bucket) as usize;
        // Too few, or too many, show nothing of their dependence: the nearest latency with enough on both
        // sides does.
        let enough = telling(hits, self.requests as usize);
        let near = self.place(self.requests - enough as f64).bucket;
        let near = if enough == hits { bucket } else { near };
        let batches = self.batches.iter().zip(&self.recorder.batches);
        let counts = batches.map(|(below, batch)| (batch.count, beyond(below, near)));
        batch_proportion(hits as u64, &counts.collect::<Vec<_>>())
    }

    fn point(&self, beyond: f64) -> CcdfPoint {
        let place = self.place((1.0 - beyond) * self.requests);
        let proportion = self.beyond(place);
        let Estimate { low, high, .. } = self.spread_at(place).around(proportion);
        let latency = Nanos(self.latency_at(place).round() as u64);
        CcdfPoint { latency, proportion, low: low.max(0.0), high: high.min(1.0) }
    }

    fn mean(&self) -> Estimate {
        let batches = &self.recorder.batches;
        let total: u128 = batches.iter().map(|batch| batch.sum).sum();
        let value = total as f64 / self.requests;
        let centred = batches.iter().map(|b| b.sum as f64 - value * b.count as f64).collect();
        batch_spread(centred, self.requests as usize).around(value)
    }

    /// The latency that a proportion `beyond` exceeds. An end that no request bounds is 0 or infinite.
    ///
    /// A latency belongs to the interval unless the proportion beyond it differs from the given one by more
    /// than its spread allows.
    fn quantile(&self, beyond: f64) -> Estimate {
        let place = self.place((1.0 - beyond) * self.requests);
        let spread = self.spread_at(place);
        let end = |proportion: f64| self.latency_at(self.place((1.0 - proportion) * self.requests));
        let (most, least) = (beyond + spread.below(), beyond - spread.above());
        Estimate {
            value: self.latency_at(place),
            low: if most < 1.0 { end(most) } else { 0.0 },
            high: if least > 0.0 { end(least) } else { f64::INFINITY },
        }
    }

    /// The proportion of latencies beyond a place.
    fn beyond(&self, place: Place) -> f64 {
        1.0 - self.all.up_to(place) / self.requests
    }

    /// How far that proportion may be off.
    fn spread_at(&self, place: Place) -> Spread {
        let proportion = self.beyond(place);
        let pairs = self.batches.iter().zip(&self.recorder.batches);
        let centred = pairs.map(|(below, batch)| {
            let count = batch.count as f64;
            count - below.up_to(place) - proportion * count
        });
        batch_spread(centred.collect(), self.requests as usize)
    }

    /// Where the value of a rank lies, from 0 to the number of requests.
    fn place(&self, rank: f64) -> Place {
        let below = &self.all.0;
        // Rank 0 is the least value, not an empty bucket before it.
        let next = below.partition_point(|n| (*n as f64) < rank.max(0.5)).clamp(1, below.len() - 1);
        let bucket = below[..next].partition_point(|n| *n < below[next]) - 1;
        let count = (below[bucket + 1] - below[bucket]) as f64;
        // Values in a bucket that is 1 ns wide are all the same: they lie at the place together.
        let share = (rank - below[bucket] as f64) / count;
        let share = if width(bucket) > 1.0 { share.clamp(0.0, 1.0) } else { 1.0 };
        Place { bucket, share }
    }

    /// The latency at a place: values are taken to lie evenly in their bucket.
    fn latency_at(&self, place: Place) -> f64 {
        let inside =
            if width(place.bucket) > 1.0 { width(place.bucket) * place.share } else { 0.0 };
        self.recorder.offset as f64 + least_of(place.bucket) + inside
    }
}

fn width(bucket: usize) -> f64 {
    least_of(bucket + 1) - least_of(bucket)
}
