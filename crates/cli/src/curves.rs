//! A replayed trace as a curve of a document.

use model::{Failure, Nanos};
use queue::Discipline;
use report::Curve;
use stats::latency_estimates;

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
