//! Latencies of a simulation while it runs: a histogram for each of a fixed number of batches.

use crate::engine::Sink;
use crate::histogram::Histogram;

/// Consecutive latencies, in the order in which they settled.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    /// Latencies less [`LatencyRecorder::offset`].
    pub histogram: Histogram,
    /// Their number.
    pub count: u64,
    /// Their sum, the offset included.
    pub sum: u128,
}

/// Takes the latencies of a run: leaves out the warm-up, and all that come after the last batch is full.
#[derive(Clone, Debug)]
pub(crate) struct LatencyRecorder {
    /// What every latency is at least; taken off before counting, so that the buckets are fine where it
    /// matters.
    pub offset: u64,
    /// Batches that are full, and the one that fills.
    pub batches: Vec<Batch>,
    /// The greatest latency.
    pub max: u64,
    /// Requests to record in all.
    requests: u64,
    wanted: usize,
    histogram: Histogram,
    sum: u64,
    left: u64,
    warm: bool,
}

/// Batches of a run at most, a power of two. They are merged while they depend on each other.
const BATCHES: u64 = 128;
/// Requests of a batch at least.
const SHORTEST_BATCH: u64 = 8;

/// How many batches so many requests are recorded in: a power of two.
pub(crate) fn batches(requests: u64) -> usize {
    1 << (requests / SHORTEST_BATCH).clamp(1, BATCHES).ilog2()
}

impl LatencyRecorder {
    /// After `warm_up` latencies, records `requests` in `batches` batches of almost equal length.
    pub fn new(offset: u64, warm_up: u64, requests: u64, batches: usize) -> LatencyRecorder {
        let mut recorder = LatencyRecorder {
            offset,
            batches: Vec::with_capacity(batches),
            max: 0,
            requests,
            wanted: batches,
            histogram: Histogram::default(),
            sum: 0,
            left: warm_up,
            warm: false,
        };
        if warm_up == 0 {
            recorder.turn();
        }
        recorder
    }

    /// Whether the warm-up is over.
    pub fn is_warm(&self) -> bool {
        self.warm
    }

    /// Whether all batches are full.
    pub fn is_full(&self) -> bool {
        self.batches.len() == self.wanted
    }

    fn length(&self, batch: usize) -> u64 {
        let end = |i: usize| (u128::from(self.requests) * i as u128 / self.wanted as u128) as u64;
        end(batch + 1) - end(batch)
    }

    /// The warm-up or a batch is complete: on to the next one.
    #[cold]
    #[inline(never)]
    fn turn(&mut self) {
        let histogram = std::mem::take(&mut self.histogram);
        let sum = u128::from(std::mem::take(&mut self.sum));
        if self.is_full() {
            self.left = u64::MAX;
            return;
        }
        if self.warm {
            let count = self.length(self.batches.len());
            self.batches.push(Batch { histogram, count, sum });
        } else {
            (self.warm, self.max) = (true, 0);
        }
        self.left = if self.is_full() { u64::MAX } else { self.length(self.batches.len()) };
    }
}

impl Sink for LatencyRecorder {
    #[inline(always)]
    fn take(&mut self, _number: u64, latency: u64) {
        self.histogram.add(latency - self.offset);
        self.sum = self.sum.wrapping_add(latency);
        self.max = self.max.max(latency);
        self.left -= 1;
        if self.left == 0 {
            self.turn();
        }
    }
}
