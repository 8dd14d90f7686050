//! The latencies of any simulation, recorded while it runs in a memory that does not grow with their number.

use model::Nanos;
use stats::{CcdfPoint, Estimate, Latency};

use crate::engine::Sink;
use crate::record::{LatencyRecorder, batches};
use crate::summary::Summary;

/// A record that fills, in buckets of 0.1%.
#[derive(Clone, Debug)]
pub struct Recording(LatencyRecorder);

impl Recording {
    /// After `warm_up` latencies, records the next `requests`, at least 1.
    pub fn new(warm_up: u64, requests: u64) -> Recording {
        Recording(LatencyRecorder::new(0, warm_up, requests, batches(requests)))
    }

    /// The next latency.
    pub fn add(&mut self, latency: Nanos) {
        self.0.take(0, latency.0);
    }

    /// Whether the warm-up is over.
    pub fn is_warm(&self) -> bool {
        self.0.is_warm()
    }

    /// Whether all requests are recorded; more are ignored.
    pub fn is_full(&self) -> bool {
        self.0.is_full()
    }

    /// What was recorded in as many whole batches as make a power of two; `None` without one.
    pub fn finish(self) -> Option<Recorded> {
        let Recording(mut recorder) = self;
        let whole = recorder.batches.len().checked_ilog2()?;
        recorder.batches.truncate(1 << whole);
        Some(Recorded(Summary::new(recorder)))
    }
}

/// A finished record.
pub struct Recorded(Summary);

impl Recorded {
    /// The distribution in figures.
    pub fn latency(&self) -> Latency {
        self.0.latency()
    }

    /// The tail as a curve, from the fastest down to the last ten requests.
    pub fn ccdf(&self) -> Vec<CcdfPoint> {
        self.0.ccdf()
    }

    /// The proportion of latencies above a threshold; those of its bucket, within 0.1%, count as not above.
    pub fn outliers(&self, threshold: Nanos) -> Estimate {
        self.0.outliers(threshold.0)
    }
}
