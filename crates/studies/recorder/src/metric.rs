//! What is counted and timed, for every format that metrics are written in.

use std::collections::BTreeMap;

use model::Nanos;

/// Upper ends of buckets: 1, 2 and 5 of each power of ten from 10 us to 5 s.
const BUCKETS_US: [u32; 18] = [
    10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000,
    500_000, 1_000_000, 2_000_000, 5_000_000,
];

/// Names and values.
pub type Labels = Vec<(&'static str, String)>;

/// A metric with all its samples.
#[derive(Clone, Debug)]
pub struct Metric {
    /// Without prefix and unit.
    pub name: &'static str,
    /// What it counts.
    pub help: &'static str,
    /// What its values are in.
    pub unit: Unit,
    /// The samples.
    pub data: Data,
}

/// What values are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// So many.
    Number,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
}

/// Samples by their labels.
#[derive(Clone, Debug)]
pub enum Data {
    /// What only grows.
    Counter(Vec<(Labels, u64)>),
    /// What rises and falls.
    Gauge(Vec<(Labels, f64)>),
    /// How often it was how much.
    Histogram(BTreeMap<Labels, Histogram>),
}

/// How often a time was how long.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    counts: [u64; BUCKETS_US.len() + 1],
    /// All of them together, in seconds.
    pub sum: f64,
    exemplars: [Option<Exemplar>; BUCKETS_US.len() + 1],
}

/// One of those that were counted, with where more is told of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exemplar {
    /// How long, in seconds.
    pub value: f64,
    /// When it ended, in nanoseconds since 1970.
    pub at_ns: u64,
    /// Of its trace.
    pub trace_id: [u8; 16],
    /// Of its span in that.
    pub span_id: [u8; 8],
}

impl Histogram {
    /// Counts one.
    pub fn observe(&mut self, span: Nanos) {
        let seconds = span.as_secs_f64();
        self.counts[bucket(seconds)] += 1;
        self.sum += seconds;
    }

    /// Names one that was counted. It is the bucket's until the next one comes.
    pub fn name(&mut self, exemplar: Exemplar) {
        self.exemplars[bucket(exemplar.value)] = Some(exemplar);
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Upper ends of buckets in seconds, the last one without end, and how many were in each.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64)> {
        bounds().chain([f64::INFINITY]).zip(self.counts)
    }

    /// Those that have a name.
    pub fn exemplars(&self) -> impl Iterator<Item = &Exemplar> {
        self.exemplars.iter().flatten()
    }
}

fn bounds() -> impl Iterator<Item = f64> {
    BUCKETS_US.iter().map(|us| f64::from(*us) / 1e6)
}

fn bucket(seconds: f64) -> usize {
    bounds().take_while(|end| *end < seconds).count()
}
