//! Ideal queues as curves of a document.

use model::{Failure, Nanos, Watch};
use queue::{Discipline, Ideal};
use report::Curve;
use stats::latency_estimates;

/// A drawn queue, with its load.
pub fn drawn(ideal: &Ideal, watch: &dyn Watch) -> Result<Curve, Failure> {
    let result = ideal.run(watch)?;
    let rate_per_s = Some(ideal.rate_per_s());
    Ok(Curve { rate_per_s, ..figures::queue("ideal", &result) })
}

/// A replayed trace, each request (arrival, service).
pub fn traced(
    requests: &[(Nanos, Nanos)],
    workers: u32,
    discipline: Discipline,
    seed: u64,
) -> Result<Curve, Failure> {
    let latencies = [queue::ideal(requests, workers, discipline, seed)];
    let latency = latency_estimates(&latencies)
        .ok_or_else(|| Failure::Input("the trace holds no requests".to_string()))?;
    Ok(Curve {
        name: "ideal".to_string(),
        requests: requests.len() as u64,
        latency_ns: figures::latency(&latency),
        ccdf: figures::curve(&latencies),
        ..Curve::default()
    })
}
