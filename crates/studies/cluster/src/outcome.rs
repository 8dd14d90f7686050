//! What one case came to.

use model::{Failure, Nanos, Watch};
use queue::{Recorded, Recording};
use stats::{CcdfPoint, Estimate, Latency, service_estimate};

use crate::definition::{Case, Cluster};
use crate::engine::{Engine, LOST, Totals};

/// What one case of a cluster came to in the measured time.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Requests that were answered or lost.
    pub requests: u64,
    /// Requests that their deadline cut off; they rank as infinitely slow.
    pub lost: u64,
    /// How long they took, in seconds: the time over which all was counted.
    pub seconds: f64,
    /// The latency of requests.
    pub latency: Latency,
    /// Its tail as a curve.
    pub ccdf: Vec<CcdfPoint>,
    /// The proportion of requests slower than the threshold.
    pub outliers: Estimate,
    /// Requests a second that were no outliers.
    pub valid_throughput_per_s: f64,
    /// The latency of sub-requests, from their being sent out to their first answer; `None` where too few
    /// were answered.
    pub sub_latency: Option<Latency>,
    /// The proportion of sub-requests slower than the threshold.
    pub sub_outliers: Option<Estimate>,
    /// The proportion of requests that would be slower if sub-requests were independent of each other (10-ms
    /// computing equation 4).
    pub independent_outliers: Option<Estimate>,
    /// Copies sent for each sub-request.
    pub copies_per_sub_request: f64,
    /// The share of the leaves' time that they served; `None` for leaves that are no queues.
    pub utilisation: Option<f64>,
    /// The share of their serving that was not needed.
    pub wasted_share: f64,
    /// Sub-requests answered in time over all of them, as a mean over requests; lost ones count as 0.
    pub quality: f64,
    /// The share of requests that had all answers.
    pub complete_share: f64,
    /// Copies given to a server or a central queue.
    pub decisions: u64,
    /// Events simulated.
    pub events: u64,
}

impl Cluster {
    /// Simulates one case. [`Failure::Interrupted`] when the watch says so.
    pub fn run(&self, case: &Case, seed: u64, watch: &dyn Watch) -> Result<Outcome, Failure> {
        Engine::new(self, case, seed)?.run(watch)
    }
}

impl Outcome {
    /// From counts and records.
    pub(crate) fn new(
        cluster: &Cluster,
        totals: &Totals,
        answered: Recording,
        sub_answered: Recording,
    ) -> Outcome {
        let (threshold, tier) = (cluster.outlier_threshold, &cluster.leaf.tier);
        let answered = answered.finish().expect("the run ends when it is full");
        let sub = sub_answered.finish();
        let sub_outliers = sub.as_ref().map(|sub| sub.outliers(threshold));
        let leaves = f64::from(cluster.fan_out);
        let requests = totals.requests.max(1) as f64;
        let seconds = totals.at as f64 / 1e9;
        let outliers = answered.outliers(threshold);
        let busy_s = totals.busy_ns as f64 / 1e9;
        Outcome {
            requests: totals.requests,
            lost: totals.lost,
            seconds,
            latency: latency(&answered),
            ccdf: answered.ccdf().into_iter().filter(|point| point.latency < LOST).collect(),
            outliers,
            valid_throughput_per_s: (1.0 - outliers.value) * requests / seconds,
            sub_latency: sub.as_ref().map(Recorded::latency),
            independent_outliers: sub_outliers.map(|leaf| service_estimate(&leaf, leaves)),
            sub_outliers,
            copies_per_sub_request: totals.copies as f64 / totals.tasks.max(1) as f64,
            utilisation: tier.is_queue().then(|| busy_s / (tier.all_workers() * seconds)),
            wasted_share: totals.wasted_ns as f64 / (totals.busy_ns as f64).max(1.0),
            quality: totals.quality / requests,
            complete_share: totals.complete as f64 / requests,
            decisions: totals.decisions,
            events: totals.events,
        }
    }
}

/// The distribution, with lost requests beyond every number.
fn latency(recorded: &Recorded) -> Latency {
    let latency = recorded.latency();
    let real = |x: f64| if x >= LOST.0 as f64 / 2.0 { f64::INFINITY } else { x };
    // A lost request took longer than the slowest that was answered, whatever else it took.
    let slowest = || {
        let mut answered = recorded.ccdf().into_iter().filter(|point| point.latency < LOST);
        answered.next_back().map_or(0.0, |point| point.latency.0 as f64)
    };
    let each = |q: Estimate| {
        let low = if real(q.low).is_finite() { q.low } else { slowest() };
        Estimate { value: real(q.value), low, high: real(q.high) }
    };
    let lost = latency.max >= LOST;
    let infinite = Estimate { value: f64::INFINITY, low: f64::INFINITY, high: f64::INFINITY };
    Latency {
        mean: if lost { infinite } else { latency.mean },
        p50: each(latency.p50),
        p90: each(latency.p90),
        p99: each(latency.p99),
        p99_9: each(latency.p99_9),
        max: if lost { Nanos::NEVER } else { latency.max },
    }
}
