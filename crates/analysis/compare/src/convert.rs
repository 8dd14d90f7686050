//! From the types of the statistics to those of the document.

/// A latency distribution, an estimate.
pub use explain::{estimate, latency_figures as latency};
use model::Nanos;
use queue::IdealResult;
use report::{Curve, ExactLatency, document};
use stats::{CcdfPoint, Outlier};

/// Points of a curve.
const CURVE_POINTS: usize = 200;

pub(crate) fn outlier(from: &Outlier) -> document::Outlier {
    document::Outlier {
        threshold_ns: from.threshold.0,
        proportion: estimate(from.proportion),
        valid_throughput_per_s: Some(from.valid_throughput_per_s),
    }
}

pub(crate) fn range(from: Option<(f64, f64)>) -> document::Range {
    document::Range { min: from.map(|(min, _)| min), max: from.map(|(_, max)| max) }
}

/// The tail of pooled runs as a curve.
pub fn curve(runs: &[Vec<Nanos>]) -> Vec<document::CcdfPoint> {
    stats::ccdf(runs, CURVE_POINTS).into_iter().map(|one| point(&one)).collect()
}

/// A point of a curve.
pub fn point(from: &CcdfPoint) -> document::CcdfPoint {
    document::CcdfPoint {
        latency_ns: from.latency.0,
        proportion: from.proportion,
        low: Some(from.low),
        high: Some(from.high),
    }
}

/// A simulated ideal queue.
pub fn queue(name: &str, result: &IdealResult) -> Curve {
    Curve {
        name: name.to_string(),
        requests: result.requests,
        latency_ns: latency(&result.latency),
        exact_ns: result.exact.map(|exact| ExactLatency {
            mean: exact.mean,
            p50: exact.p50,
            p90: exact.p90,
            p99: exact.p99,
            p99_9: exact.p99_9,
        }),
        requests_per_s: None,
        ccdf: result.ccdf.iter().map(point).collect(),
    }
}
