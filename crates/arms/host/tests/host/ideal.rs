//! The ideal single server with one vacation, and nearest-rank quantiles: what a trace is held against.

use model::Nanos;
use model::trace::Request;

/// Latencies of requests served by one server, first come, first served, that does nothing from `away.0`
/// until `away.1`.
pub fn latencies(requests: &[Request], away: (Nanos, Nanos)) -> Vec<Nanos> {
    let mut free = Nanos::ZERO;
    requests
        .iter()
        .map(|request| {
            let mut start = free.max(request.intended);
            if away.0 <= start && start < away.1 {
                start = away.1;
            }
            free = start + request.service;
            if start < away.0 && away.0 < free {
                free += away.1 - away.0;
            }
            free - request.intended
        })
        .collect()
}

/// The smallest value that a share `q` of all do not exceed.
pub fn quantile(values: impl IntoIterator<Item = Nanos>, q: f64) -> Nanos {
    let mut values: Vec<Nanos> = values.into_iter().collect();
    values.sort_unstable();
    values[(q * values.len() as f64).ceil() as usize - 1]
}
