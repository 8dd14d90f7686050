//! Ideal queues as curves of a document.

use model::{Failure, Nanos};
use queue::{Discipline, IdealResult};
use report::{Curve, ExactLatency};
use stats::latency_estimates;

/// A simulated queue.
pub fn curve(name: &str, result: &IdealResult) -> Curve {
    Curve {
        name: name.to_string(),
        requests: result.requests,
        latency_ns: compare::convert::latency(&result.latency),
        exact_ns: result.exact.map(|exact| ExactLatency {
            mean: exact.mean,
            p50: exact.p50,
            p90: exact.p90,
            p99: exact.p99,
            p99_9: exact.p99_9,
        }),
        requests_per_s: None,
        ccdf: result.ccdf.iter().map(compare::convert::point).collect(),
    }
}

/// A replayed trace, each request (arrival, service).
pub fn traced(
    name: &str,
    requests: &[(Nanos, Nanos)],
    workers: u32,
    discipline: Discipline,
    seed: u64,
) -> Result<Curve, Failure> {
    let latencies = [queue::ideal(requests, workers, discipline, seed)];
    let latency = latency_estimates(&latencies)
        .ok_or_else(|| Failure::Input("the trace holds no requests".to_string()))?;
    Ok(Curve {
        name: name.to_string(),
        requests: requests.len() as u64,
        latency_ns: compare::convert::latency(&latency),
        ccdf: compare::convert::curve(&latencies),
        ..Curve::default()
    })
}
