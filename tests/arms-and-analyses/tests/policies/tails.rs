//! Latencies beside the ideal, and the order in which requests were served.

use model::{Nanos, Scenario, Trace};

/// Measured latencies of the first program and those of the ideal queue for the same requests, both rising.
pub struct Tails {
    measured: Vec<Nanos>,
    ideal: Vec<Nanos>,
}

/// Those of a trace.
pub fn tails(scenario: &Scenario, trace: &Trace) -> Tails {
    let requests = &trace.programs[0].requests;
    let ideal = queue::ideal_latencies(trace, 0, scenario.machine.cpus);
    let counted = |&(r, _): &(&model::trace::Request, Nanos)| trace.window.contains(r.intended);
    let both = requests.iter().zip(ideal).filter(counted);
    let (mut measured, mut ideal): (Vec<Nanos>, Vec<Nanos>) =
        both.map(|(request, ideal)| (request.latency(), ideal)).unzip();
    measured.sort();
    ideal.sort();
    Tails { measured, ideal }
}

impl Tails {
    /// Measured over ideal at a quantile.
    pub fn excess(&self, quantile: f64) -> f64 {
        let at = |sorted: &[Nanos]| sorted[(sorted.len() as f64 * quantile) as usize].0 as f64;
        at(&self.measured) / at(&self.ideal)
    }
}

/// Pairs served in the other order than they came, by start and by completion.
pub fn inversions(trace: &Trace) -> [u64; 2] {
    let requests = || stats::window_requests(trace, 0);
    [
        stats::inverted_pairs(requests(), |request| request.started),
        stats::inverted_pairs(requests(), |request| request.completed),
    ]
}
