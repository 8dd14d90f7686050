//! Every policy held against the first one, and the first one against itself.

use model::Nanos;
use report::document::Verdict;
use stats::{Metric, Quantile, compare_at};

use crate::finding::Finding;
use crate::plan::Plan;

/// What services are compared by: the document's key and the statistic behind it.
fn metrics(outlier_threshold: Nanos) -> [(&'static str, Metric); 4] {
    [
        ("latency_ns.p50", Metric::Quantile(Quantile::P50)),
        ("latency_ns.p99", Metric::Quantile(Quantile::P99)),
        ("latency_ns.p99_9", Metric::Quantile(Quantile::P99_9)),
        ("outlier.proportion", Metric::Outliers(outlier_threshold)),
    ]
}

/// All verdicts, by intervals that miss as rarely as given: the A/A pair first. None on a policy alone.
pub(crate) fn verdicts(
    plan: &Plan,
    findings: &[Finding],
    twin: Option<&Finding>,
    miss: f64,
) -> Vec<Verdict> {
    let others = findings.iter().enumerate().skip(1);
    let sides = twin.map(|twin| (0, twin)).into_iter().chain(others);
    sides.flat_map(|(policy, finding)| against(plan, policy, finding, &findings[0], miss)).collect()
}

fn against(plan: &Plan, policy: usize, a: &Finding, b: &Finding, miss: f64) -> Vec<Verdict> {
    let programs = plan.scenario.programs.iter().enumerate();
    let all = programs.flat_map(|(i, program)| {
        let runs = a.latencies[i].iter().zip(&b.latencies[i]);
        let pairs: Vec<(&[Nanos], &[Nanos])> = runs.map(|(a, b)| (&a[..], &b[..])).collect();
        let judged = metrics(plan.scenario.outlier_threshold).into_iter();
        let found =
            judged.filter_map(move |(key, metric)| Some((key, compare_at(&pairs, metric, miss)?)));
        found.map(move |(key, found)| Verdict {
            metric: key.to_string(),
            program: Some(program.name.clone()),
            a: plan.policies[policy].to_string(),
            b: plan.policies[0].to_string(),
            answer: found.answer,
            ratio: figures::estimate(found.ratio),
        })
    });
    all.collect()
}
