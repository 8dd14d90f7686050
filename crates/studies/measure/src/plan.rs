//! How long to measure for the precision that is wanted.

use model::{Failure, Nanos};
use stats::{Quantile, needed};

use crate::measurement::Measurement;

/// What is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Of which quantile.
    pub quantile: Quantile,
    /// How far its 95% interval may reach on either side, as a share of it.
    pub precision: f64,
}

/// The answer, out of a pilot run.
pub fn plan(pilot: &Measurement, wanted: Wanted) -> Result<report::MeasurePlan, Failure> {
    let latencies: Vec<Nanos> = pilot.records.iter().map(|record| record.latency()).collect();
    let needed = needed(&latencies, wanted.quantile, wanted.precision).ok_or_else(|| {
        Failure::Run(format!(
            "a pilot of {} requests is too short to tell, or lost too many: let it run longer (--duration)",
            latencies.len()
        ))
    })?;
    let requests = needed.requests.ceil();
    let rate = latencies.len() as f64 / pilot.trace.window.span().as_secs_f64();
    Ok(report::MeasurePlan {
        quantile: wanted.quantile.as_f64(),
        precision: wanted.precision,
        requests_per_independent: needed.requests_per_independent,
        requests: requests as u64,
        duration_ns: (requests / rate * 1e9) as u64,
    })
}
