//! Every policy held against the first one, and the first one against itself.

use model::scenario::{Kind, Program};
use model::{Answer, Nanos};
use report::ROUND;
use report::document::Verdict;
use stats::{Basis, Estimate, Metric, Quantile, compare_at, ratio_of_pairs_at, round_ns};

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
        let of_requests = judged.filter_map(move |(key, metric)| {
            let found = compare_at(&pairs, metric, miss)?;
            Some((key, found.answer, found.ratio, found.basis == Basis::Pairs))
        });
        let is_service = matches!(program.kind, Kind::Service(_));
        let of_rounds = rounds(program, i, [a, b], miss).into_iter();
        let of_rounds = of_rounds.map(|(key, answer, ratio)| (key, answer, ratio, false));
        let found = of_requests.filter(move |_| is_service).chain(of_rounds);
        found.map(move |(key, answer, ratio, by_pairs)| Verdict {
            metric: key.to_string(),
            program: Some(program.name.clone()),
            a: plan.policies[policy].to_string(),
            b: plan.policies[0].to_string(),
            answer,
            ratio: figures::estimate(ratio),
            by_pairs,
        })
    });
    all.collect()
}

/// How long rounds take, by pairs of runs with one seed: the document's key, the answer and the ratio.
fn rounds(
    program: &Program,
    index: usize,
    sides: [&Finding; 2],
    miss: f64,
) -> Option<(&'static str, Answer, Estimate)> {
    let of = |side: &Finding| -> Option<Vec<f64>> {
        side.traces.iter().map(|trace| round_ns(&program.kind, trace, index)).collect()
    };
    let [a, b] = sides.map(of);
    let (a, b) = (a?, b?);
    let ratio = ratio_of_pairs_at(&a, &b, miss)?;
    let (low, high) = Answer::allowing_for_runs(ratio.low, ratio.high, a.len());
    Some((ROUND, Answer::of(low, high), Estimate { low, high, ..ratio }))
}
