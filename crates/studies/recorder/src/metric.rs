//! What is counted and timed, for every format that metrics are written in.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::Nanos;

use crate::exponential::Exponential;

/// Upper ends of buckets in seconds: 1, 2 and 5 of each power of ten from 10 us to 5 s.
const BUCKETS: [f64; 18] = [
    1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5, 1.0,
    2.0, 5.0,
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

impl Metric {
    /// Its name in formats that are read by a Prometheus, which add to it what a sample is.
    pub fn family(&self) -> String {
        let unit = match self.unit {
            Unit::Number => "",
            Unit::Seconds => "_seconds",
            Unit::Bytes => "_bytes",
        };
        format!("rearguard_watch_{}{unit}", self.name)
    }
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
    /// How often it was how much. They are large, so no copy is made where one is shown.
    Histogram(Arc<BTreeMap<Labels, Histogram>>),
}

/// How often a time was how long.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    counts: [u64; BUCKETS.len() + 1],
    /// All of them together, in seconds.
    pub sum: f64,
    exemplars: [Option<Exemplar>; BUCKETS.len() + 1],
    exponential: Exponential,
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
        self.exponential.observe(seconds);
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
        BUCKETS.into_iter().chain([f64::INFINITY]).zip(self.counts)
    }

    /// Those that have a name.
    pub fn exemplars(&self) -> impl Iterator<Item = &Exemplar> {
        self.exemplars.iter().flatten()
    }

    /// What each bucket names.
    pub(crate) fn named(&self) -> &[Option<Exemplar>] {
        &self.exemplars
    }

    /// The same values in exponential buckets.
    pub fn exponential(&self) -> &Exponential {
        &self.exponential
    }
}

fn bucket(seconds: f64) -> usize {
    BUCKETS.iter().take_while(|end| **end < seconds).count()
}
