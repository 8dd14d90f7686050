//! What is read off a result: `gvts lag_max_s`, `cfs p99_ms of service at 70%`.

use report::document::{CcdfPoint, Estimate, GroupResult, Latency, PolicyResult, ProgramResult};

/// Where to look, and what for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// A policy, or the name of an ideal queue.
    pub policy: String,
    /// A metric of [`metric`] or [`latency`].
    pub metric: String,
    /// A program or group; the first service unless given.
    pub of: Option<String>,
    /// A run; the first unless given.
    pub at: Option<String>,
}

impl Reading {
    /// Reads `POLICY METRIC [of PROGRAM] [at RUN]`.
    pub fn parse(text: &str) -> Option<Reading> {
        let (text, at) = parted(text, " at ");
        let (text, of) = parted(text, " of ");
        let (policy, metric) = text.rsplit_once(' ')?;
        Some(Reading { policy: policy.to_string(), metric: metric.to_string(), of, at })
    }
}

fn parted<'a>(text: &'a str, word: &str) -> (&'a str, Option<String>) {
    match text.split_once(word) {
        Some((before, after)) => (before, Some(after.to_string())),
        None => (text, None),
    }
}

/// A metric of a policy's result; `None`: no such metric, or unknown there.
pub fn metric(result: &PolicyResult, metric: &str, of: Option<&str>) -> Option<f64> {
    let lag = result.threads_lag_s;
    match metric {
        "lag_min_s" => lag.min,
        "lag_max_s" => lag.max,
        "lag_s" => Some(lag.max?.max(-lag.min?)),
        "pulls_per_s" => result.pulls_per_s,
        "fairness_min" => result.fairness.min,
        "fairness_max" => result.fairness.max,
        "share" => group(result, of)?.share,
        "unfairness" => Some(off(group(result, of)?)?.abs()),
        "gain" => off(group(result, of)?),
        "rounds" => rounds(result).reduce(|sum, next| sum + next),
        "rounds_spread" => {
            let (least, most) = extremes(result)?;
            Some(most - least)
        }
        "rounds_off" => {
            let (least, most) = extremes(result)?;
            Some((most - 1.0).max(1.0 - least))
        }
        "worst_group" => result.groups.iter().filter_map(off).map(f64::abs).reduce(f64::max),
        _ => of_program(program(result, of)?, metric),
    }
}

/// What each program that counts rounds has done.
pub fn rounds(result: &PolicyResult) -> impl Iterator<Item = f64> {
    let all = result.programs.iter().filter(|program| program.kind == "fork-join");
    all.filter_map(|program| program.rounds).map(|rounds| rounds as f64)
}

/// The least and the most that a program has done, over the mean.
fn extremes(result: &PolicyResult) -> Option<(f64, f64)> {
    let mean = rounds(result).sum::<f64>() / rounds(result).count() as f64;
    let (least, most) = (rounds(result).reduce(f64::min)?, rounds(result).reduce(f64::max)?);
    Some((least / mean, most / mean))
}

/// How much more than its due a group got, of its due.
fn off(group: &GroupResult) -> Option<f64> {
    Some(group.share? / group.due_share? - 1.0)
}

fn of_program(program: &ProgramResult, metric: &str) -> Option<f64> {
    match metric {
        "inversions" => program.inversions_per_request,
        "completion_inversions" => program.completion_inversions_per_request,
        "excess_p99_9" => program.excess_p99_9,
        "excess_p99" => {
            let (own, ideal) = (program.latency_ns.as_ref()?, program.ideal_ns.as_ref()?);
            Some(reach(own.p99)? / reach(ideal.p99)?)
        }
        "used" => program.utilisation,
        "valid_per_s" => program.outlier.as_ref()?.valid_throughput_per_s,
        _ => latency(&program.latency_ns?, &program.ccdf, metric),
    }
}

fn group<'a>(result: &'a PolicyResult, of: Option<&str>) -> Option<&'a GroupResult> {
    result.groups.iter().find(|group| Some(group.name.as_str()) == of)
}

fn program<'a>(result: &'a PolicyResult, of: Option<&str>) -> Option<&'a ProgramResult> {
    let wanted = |program: &&ProgramResult| match of {
        Some(name) => program.name == name,
        None => program.kind == "service",
    };
    result.programs.iter().find(wanted)
}

/// A metric of latency: `p99_us`, `p95_ms`, or `beyond_100us`, the proportion of slower requests.
pub fn latency(latency: &Latency, ccdf: &[CcdfPoint], metric: &str) -> Option<f64> {
    if let Some(threshold) = metric.strip_prefix("beyond_") {
        return Some(beyond(ccdf, model::units::duration(threshold).ok()?.0));
    }
    let (name, unit) = metric.rsplit_once('_')?;
    let unit_ns = match unit {
        "us" => 1e3,
        "ms" => 1e6,
        _ => return None,
    };
    let ns = match name {
        "mean" => reach(latency.mean),
        "p50" => reach(latency.p50),
        "p95" => quantile(ccdf, 0.05),
        "p99" => reach(latency.p99),
        "p99_9" => reach(latency.p99_9),
        _ => None,
    };
    Some(ns? / unit_ns)
}

/// The estimate; infinite where lost requests put it beyond every measurement.
fn reach(estimate: Estimate) -> Option<f64> {
    estimate.value.or(estimate.low.map(|_| f64::INFINITY))
}

/// The proportion slower than `threshold_ns`, between the curve's points on a line.
fn beyond(ccdf: &[CcdfPoint], threshold_ns: u64) -> f64 {
    let after = ccdf.partition_point(|point| point.latency_ns <= threshold_ns);
    let before = match after {
        0 => (0, 1.0),
        _ => (ccdf[after - 1].latency_ns, ccdf[after - 1].proportion),
    };
    let Some(next) = ccdf.get(after) else { return before.1 };
    let part = (threshold_ns - before.0) as f64 / (next.latency_ns - before.0) as f64;
    before.1 + part * (next.proportion - before.1)
}

/// The latency that a proportion of requests exceeds, as the curve has it.
fn quantile(ccdf: &[CcdfPoint], proportion: f64) -> Option<f64> {
    ccdf.iter().find(|point| point.proportion <= proportion).map(|point| point.latency_ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_names_policy_metric_program_and_run() {
        let some = |text: &str| Some(text.to_string());
        let reading = Reading::parse("8 workers p99_us of service at batch 70%").unwrap();
        assert_eq!((reading.policy.as_str(), reading.metric.as_str()), ("8 workers", "p99_us"));
        assert_eq!((reading.of, reading.at), (some("service"), some("batch 70%")));
        assert_eq!(Reading::parse("cfs"), None);
    }

    #[test]
    fn rounds_are_added_up_and_compared() {
        let program = |kind: &str, rounds| ProgramResult {
            kind: kind.to_string(),
            rounds: Some(rounds),
            ..ProgramResult::default()
        };
        // Cycles of a daemon are no rounds.
        let programs =
            vec![program("fork-join", 90), program("fork-join", 110), program("daemon", 999)];
        let result = PolicyResult { programs, ..PolicyResult::default() };
        assert_eq!(metric(&result, "rounds", None), Some(200.0));
        assert!((metric(&result, "rounds_spread", None).unwrap() - 0.2).abs() < 1e-12);
        assert!((metric(&result, "rounds_off", None).unwrap() - 0.1).abs() < 1e-12);
        assert_eq!(metric(&PolicyResult::default(), "rounds", None), None);
    }

    #[test]
    fn a_curve_answers_for_thresholds_and_quantiles() {
        let point =
            |latency_ns, proportion| CcdfPoint { latency_ns, proportion, low: None, high: None };
        let ccdf = [point(50_000, 0.4), point(100_000, 0.05), point(200_000, 0.0)];
        let read = |metric: &str| latency(&Latency::default(), &ccdf, metric);
        assert_eq!(read("beyond_100us"), Some(0.05));
        assert_eq!(read("beyond_150us"), Some(0.025));
        assert_eq!(read("beyond_300us"), Some(0.0));
        assert_eq!(read("p95_us"), Some(100.0));
        assert_eq!(read("p98_us"), None);
    }
}
