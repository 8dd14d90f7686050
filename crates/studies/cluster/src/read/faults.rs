//! Whether the parts of a cluster fit each other.

use model::Failure;
use model::scenario::Arrivals;

use crate::definition::Cluster;
use crate::{Dispatch, Redundancy};

/// Sub-requests of one run, so that a slip in a unit ends in a message and not in hours.
const MOST_SUB_REQUESTS: f64 = 4e9;

impl Cluster {
    /// [`Failure::Input`] where the parts do not fit each other: for a cluster whose parts were changed after
    /// it was read.
    pub fn check(&self) -> Result<(), Failure> {
        let faults = faults(self).into_iter().map(|(key, problem)| format!("{key}: {problem}"));
        let faults: Vec<String> = faults.collect();
        if faults.is_empty() { Ok(()) } else { Err(Failure::Input(faults.join("\n"))) }
    }
}

/// Keys whose values do not fit the others, and why.
pub(super) fn faults(cluster: &Cluster) -> Vec<(&'static str, String)> {
    let mut faults = Vec::new();
    let mut claim =
        |holds: bool, key, problem: String| faults.extend((!holds).then_some((key, problem)));
    let run_s = (cluster.warm_up + cluster.duration).as_secs_f64();
    let bounded = cluster.is_bounded();
    for load in &cluster.loads {
        if cluster.leaf.tier.is_measured() && !matches!(load, Arrivals::Rate(_)) {
            let what = "measured leaves have no utilisation; expected a rate";
            claim(false, "arrivals", what.to_string());
            continue;
        }
        let sub_requests = cluster.rate_per_s(*load) * run_s * f64::from(cluster.fan_out);
        claim(
            sub_requests <= MOST_SUB_REQUESTS,
            "duration",
            format!(
                "the run would send {sub_requests:.0} sub-requests; expected at most {MOST_SUB_REQUESTS:.0}"
            ),
        );
        let full = cluster.utilisation(*load).unwrap_or(0.0);
        claim(
            bounded || full < 1.0,
            "arrivals",
            format!(
                "the leaves' utilisation is {full:.3}; expected below 1, or a deadline: queues would grow for ever"
            ),
        );
        let full = cluster.root_utilisation(*load);
        claim(
            bounded || full < 1.0,
            "root",
            format!("the roots' utilisation is {full:.3}; expected below 1, or a deadline"),
        );
    }
    let late = |rule: &&Dispatch| matches!(rule, Dispatch::BatchSampling(_));
    let sampling = cluster.dispatch.iter().find(late);
    for rule in cluster.redundancy.iter().filter(|rule| **rule != Redundancy::None) {
        claim(
            rule.copies() <= cluster.leaf.replicas,
            "redundancy",
            format!("{rule}: expected at least as many replicas, each copy goes to another server"),
        );
        claim(
            sampling.is_none(),
            "redundancy",
            format!(
                "{rule} beside batch sampling, whose reservations are its redundancy; expected none"
            ),
        );
    }
    let binds_late = cluster.dispatch.iter().any(|rule| late(&rule) || *rule == Dispatch::Central);
    let what = "measured leaves and machines have no queue to bind late to; expected another rule";
    claim(cluster.leaf.tier.is_queue() || !binds_late, "dispatch", what.to_string());
    faults
}
