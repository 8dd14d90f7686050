//! What one policy did, as the document says it.

use std::collections::BTreeMap;

use model::trace::Neighbours;
use model::{Nanos, Scenario, Trace};
use report::SharedCpus;
use report::document::{
    Estimate, GroupResult, LagSample, Outlier, PolicyResult, ProgramResult, ShareSample,
};
use stats::{Course, GroupShare, ProgramSummary, latency_estimates, summarise};

use crate::finding::Finding;

/// The result of a policy's runs; `seed`: of the only one. Curves and courses are drawn for pooled results
/// alone.
pub(crate) fn result(scenario: &Scenario, finding: &Finding, seed: Option<u64>) -> PolicyResult {
    let summary = summarise(scenario, &finding.traces);
    let first = finding.traces[0];
    let course = seed.is_none().then(|| &summary.courses[0]);
    let programs = summary.programs.iter().enumerate();
    let groups = summary.groups.iter().enumerate();
    PolicyResult {
        policy: first.policy.clone(),
        kernel: first.kernel.clone(),
        seed,
        programs: programs
            .map(|(i, one)| program(scenario, one, finding, i, seed.is_none()))
            .collect(),
        groups: groups.map(|(i, one)| group(one, course, i)).collect(),
        threads_lag_s: figures::range(summary.threads_lag_s),
        fairness: figures::range(summary.fairness),
        switches: summary.switches,
        migrations: summary.migrations,
        pulls_per_s: summary.pulls_per_s,
        idle_share: summary.idle_share,
        others_share: summary.others_share,
        others: summary.others_share.and_then(|share| others(&finding.traces, share)),
        lag_samples: course.map(lag_samples).unwrap_or_default(),
    }
}

/// What others had over all runs, which last as long as each other.
fn others(traces: &[&Trace], others_share: f64) -> Option<SharedCpus> {
    let seen: Vec<&Neighbours> =
        traces.iter().map(|trace| trace.neighbours.as_ref()).collect::<Option<_>>()?;
    let runs = seen.len() as f64;
    let mean = |of: fn(&Neighbours) -> f64| seen.iter().map(|one| of(one)).sum::<f64>() / runs;
    let mut by_name = BTreeMap::<&str, f64>::new();
    for (name, share) in seen.iter().flat_map(|one| &one.programs) {
        *by_name.entry(name).or_default() += share / runs;
    }
    let mut programs: Vec<(String, f64)> =
        by_name.into_iter().map(|(name, share)| (name.to_string(), share)).collect();
    programs.sort_by(|a, b| b.1.total_cmp(&a.1));
    let shared = SharedCpus {
        cpus: seen.first()?.cpus.clone(),
        others_share,
        interrupts_share: mean(|one| one.interrupts),
        host_share: mean(|one| one.host),
        programs,
        ..SharedCpus::default()
    };
    Some(shared.with_ended())
}

fn program(
    scenario: &Scenario,
    one: &ProgramSummary,
    finding: &Finding,
    index: usize,
    drawn: bool,
) -> ProgramResult {
    let (measured, ideal) = (&finding.latencies[index], &finding.ideals[index]);
    let ideal_latency = latency_estimates(ideal);
    let is_service = one.inversions.is_some();
    let curve =
        |runs: &[Vec<Nanos>]| if drawn && is_service { figures::curve(runs) } else { Vec::new() };
    ProgramResult {
        name: one.name.clone(),
        kind: one.kind.to_string(),
        requests: one.requests,
        lost: one.lost,
        rounds: Some(one.rounds)
            .filter(|_| ["fork-join", "daemon", "periodic", "command"].contains(&one.kind)),
        round_ns: round(&one.round_ns),
        rate_per_s: Some(one.rate_per_s).filter(|_| is_service),
        utilisation: Some(one.utilisation),
        latency_ns: one.latency.as_ref().map(figures::latency),
        ideal_ns: ideal_latency.as_ref().map(figures::latency),
        excess_p99_9: excess(one, ideal_latency.as_ref()),
        inversions_per_request: one.inversions.map(|inversions| inversions.start),
        completion_inversions_per_request: one.inversions.map(|inversions| inversions.completion),
        outlier: one.outlier.as_ref().map(figures::outlier),
        ideal_outlier: ideal_outlier(scenario, finding, index),
        sources_ns: explain::pooled(finding.slow.iter().filter_map(|run| run.get(index)?.as_ref())),
        ccdf: curve(measured),
        ideal_ccdf: curve(ideal),
    }
}

/// One run shows nothing of how much runs differ.
fn round(runs_ns: &[f64]) -> Option<Estimate> {
    let of_one = || runs_ns.first().copied().map(Estimate::exact);
    stats::mean_of_runs(runs_ns).map(figures::estimate).or_else(of_one)
}

/// Requests that the ideal would have made slower than the scenario's threshold.
fn ideal_outlier(scenario: &Scenario, finding: &Finding, index: usize) -> Option<Outlier> {
    let seconds = finding.traces.iter().map(|trace| trace.window.span().as_secs_f64()).sum();
    let found = stats::outlier(&finding.ideals[index], scenario.outlier_threshold, seconds);
    found.as_ref().map(figures::outlier)
}

/// Measured p99.9 over that of the ideal; `None` where lost requests reach it.
fn excess(one: &ProgramSummary, ideal: Option<&stats::Latency>) -> Option<f64> {
    let ratio = one.latency.as_ref()?.p99_9.value / ideal?.p99_9.value;
    Some(ratio).filter(|ratio| ratio.is_finite())
}

fn group(one: &GroupShare, course: Option<&Course>, index: usize) -> GroupResult {
    GroupResult {
        name: one.name.clone(),
        weight: Some(one.weight),
        due_share: one.due_share,
        share: Some(one.share),
        share_samples: course.map(|course| share_samples(course, index)).unwrap_or_default(),
    }
}

/// What the group received in each span between two readings, at the span's end.
fn share_samples(course: &Course, group: usize) -> Vec<ShareSample> {
    let ends = course.at.iter().zip(&course.group_shares[group]).skip(1);
    ends.map(|(at, share)| ShareSample { at_ns: at.0, share: *share }).collect()
}

fn lag_samples(course: &Course) -> Vec<LagSample> {
    let band = course.lag_band().into_iter();
    band.map(|(at, min_s, max_s)| LagSample { at_ns: at.0, min_s, max_s }).collect()
}
