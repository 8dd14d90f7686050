//! Statistics as figures of the result document: the bridge from `stats` and `queue`, which know no document,
//! to `report`, which knows no statistics.
#![forbid(unsafe_code)]

use model::Nanos;
use queue::IdealResult;
use report::document::{self, Estimate, Latency};
use report::{Curve, ExactLatency};
use stats::{CcdfPoint, Outlier};

/// Points of a curve.
const CURVE_POINTS: usize = 200;

/// Requests over a threshold.
pub fn outlier(from: &Outlier) -> document::Outlier {
    document::Outlier {
        threshold_ns: from.threshold.0,
        proportion: estimate(from.proportion),
        valid_throughput_per_s: Some(from.valid_throughput_per_s),
    }
}

/// The least and the most.
pub fn range(from: Option<(f64, f64)>) -> document::Range {
    document::Range { min: from.map(|(min, _)| min), max: from.map(|(_, max)| max) }
}

/// An estimate.
pub fn estimate(from: stats::Estimate) -> Estimate {
    Estimate::new(from.value, from.low, from.high)
}

/// A latency distribution.
pub fn latency(from: &stats::Latency) -> Latency {
    Latency {
        mean: estimate(from.mean),
        p50: estimate(from.p50),
        p90: estimate(from.p90),
        p99: estimate(from.p99),
        p99_9: estimate(from.p99_9),
        max: Some(from.max.0).filter(|_| from.max != Nanos::NEVER),
    }
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
        rate_per_s: None,
        ccdf: result.ccdf.iter().map(point).collect(),
    }
}
