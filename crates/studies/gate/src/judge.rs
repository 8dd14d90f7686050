//! What became better, what became worse, and what cannot be told.

use std::fmt;

use model::{Answer, Failure, Nanos, Scenario};
use report::ROUND;
use stats::{Latency, Metric, Quantile, compare_at, latency_estimates, outlier, paired_p};

use crate::base::{Base, Measure, Recorded, Service};
use crate::holm::believed;

/// The probability that a gate between equals says anything but "cannot tell", at most.
pub const FAMILY: f64 = 0.05;
/// Every figure that a gate holds against another, by its name in the result document.
pub const FIGURES: [&str; 10] = [
    "latency_ns.mean",
    "latency_ns.p50",
    "latency_ns.p99",
    "latency_ns.p99_9",
    "outlier.proportion",
    "inversions_per_request",
    ROUND,
    "idle_share",
    "lag_s",
    "share_error",
];
/// Halvings in which the probability of a difference is searched for, and how small it can be.
const STEPS: u32 = 12;
const SUREST: f64 = 1e-6;

/// The least part by which a figure must change to matter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Least(pub f64);

/// In percent, to six digits: 0.07 times 100 is 7.000000000000001.
impl fmt::Display for Least {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let percent = 100.0 * self.0;
        let rounded = format!("{percent:.5e}").parse().unwrap_or(percent);
        write!(f, "{rounded}%")
    }
}

/// One figure of one scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The scenario.
    pub scenario: String,
    /// The program, where it is one's.
    pub program: Option<String>,
    /// Its name in the result document.
    pub figure: String,
    /// What was recorded.
    pub base: f64,
    /// What is now.
    pub now: f64,
    /// How probable such a difference is without any: 1 where the figure's own test says nothing at 5%.
    pub p: f64,
    /// What the family of all figures allows to be said.
    pub answer: Answer,
}

/// All figures of a gate.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome(pub Vec<Judged>);

impl Outcome {
    /// Those with this answer.
    pub fn with(&self, answer: Answer) -> impl Iterator<Item = &Judged> {
        self.0.iter().filter(move |judged| judged.answer == answer)
    }
}

/// Holds one base against another. [`Failure::Input`] unless both are of the same runs.
pub fn between(before: &Base, after: &Base, least: Least) -> Result<Outcome, Failure> {
    let runs = |base: &Base| {
        let all = base.scenarios.iter();
        let all = all.map(|one| (one.name.clone(), one.text.clone(), one.seeds.clone()));
        (base.arm.clone(), all.collect::<Vec<_>>())
    };
    if runs(before) != runs(after) {
        let what = "the two bases have other arms, scenarios or seeds, so their runs are no pairs";
        return Err(Failure::Input(format!("{what}: record both from the same scenarios")));
    }
    judge(&before.scenarios, &after.scenarios, least)
}

/// Holds what is found now against what was recorded: the same scenarios and seeds, in the same order.
pub fn judge(base: &[Recorded], now: &[Recorded], least: Least) -> Result<Outcome, Failure> {
    judge_at(base, now, least, FAMILY)
}

/// [`judge`] where any false alarm has another probability, [`FAMILY`] at most.
pub fn judge_at(
    base: &[Recorded],
    now: &[Recorded],
    least: Least,
    family: f64,
) -> Result<Outcome, Failure> {
    let mut judged = Vec::new();
    for (base, now) in base.iter().zip(now) {
        judged.extend(scenario(base, now, least)?);
    }
    let p: Vec<f64> = judged.iter().map(|judged| judged.p).collect();
    for (judged, believed) in judged.iter_mut().zip(believed(&p, family)) {
        if !believed {
            judged.answer = Answer::CannotTell;
        }
    }
    Ok(Outcome(judged))
}

fn scenario(base: &Recorded, now: &Recorded, least: Least) -> Result<Vec<Judged>, Failure> {
    let threshold = Scenario::read(&base.text, &base.name)?.outlier_threshold;
    let differs = |what: &str| {
        Failure::Input(format!("{}: the base has other {what}: record it again", base.name))
    };
    let mut judged = Vec::new();
    for service in &base.services {
        let same = |other: &&Service| other.program == service.program;
        let now = now.services.iter().find(same).ok_or_else(|| differs("services"))?;
        judged.extend(latencies(base, service, now, threshold, least));
    }
    for measure in &base.measures {
        let now = now
            .measures
            .iter()
            .find(|other| other.is_of(measure))
            .ok_or_else(|| differs("figures"))?;
        judged.push(number(base, measure, now, least));
    }
    Ok(judged)
}

fn latencies(
    recorded: &Recorded,
    base: &Service,
    now: &Service,
    threshold: Nanos,
    least: Least,
) -> Vec<Judged> {
    let (base_runs, now_runs) = (base.runs(), now.runs());
    let pairs: Vec<(&[Nanos], &[Nanos])> =
        now_runs.iter().zip(&base_runs).map(|(now, base)| (&now[..], &base[..])).collect();
    let sides = latency_estimates(&base_runs).zip(latency_estimates(&now_runs));
    let Some((base_latency, now_latency)) = sides else { return Vec::new() };
    let judged = metrics(threshold).into_iter().filter_map(|(figure, metric)| {
        let (answer, p) = told(&pairs, metric, least);
        Some(Judged {
            scenario: recorded.name.clone(),
            program: Some(base.program.clone()),
            figure: figure.to_string(),
            base: value(&base_latency, &base_runs, metric)?,
            now: value(&now_latency, &now_runs, metric)?,
            p,
            answer,
        })
    });
    judged.collect()
}

/// The figures of latencies, and what each is compared by.
pub(crate) fn metrics(threshold: Nanos) -> [(&'static str, Metric); 5] {
    [
        ("latency_ns.mean", Metric::Mean),
        ("latency_ns.p50", Metric::Quantile(Quantile::P50)),
        ("latency_ns.p99", Metric::Quantile(Quantile::P99)),
        ("latency_ns.p99_9", Metric::Quantile(Quantile::P99_9)),
        ("outlier.proportion", Metric::Outliers(threshold)),
    ]
}

pub(crate) fn value(latency: &Latency, runs: &[Vec<Nanos>], metric: Metric) -> Option<f64> {
    Some(match metric {
        Metric::Mean => latency.mean.value,
        Metric::Quantile(Quantile::P50) => latency.p50.value,
        Metric::Quantile(Quantile::P99) => latency.p99.value,
        Metric::Quantile(_) => latency.p99_9.value,
        Metric::Outliers(over) => outlier(runs, over, 1.0)?.proportion.value,
    })
}

/// The answer of one figure by itself, and the least probability of a false alarm at which it still stands.
fn told(pairs: &[(&[Nanos], &[Nanos])], metric: Metric, least: Least) -> (Answer, f64) {
    let at = |miss: f64| {
        compare_at(pairs, metric, miss)
            .map_or(Answer::CannotTell, |verdict| least.answer(verdict.ratio))
    };
    let answer = at(FAMILY);
    if answer == Answer::CannotTell {
        return (answer, 1.0);
    }
    let (mut stands, mut falls) = (FAMILY.ln(), SUREST.ln());
    for _ in 0..STEPS {
        let middle = stands.midpoint(falls);
        if at(middle.exp()) == answer { stands = middle } else { falls = middle }
    }
    (answer, stands.exp())
}

impl Least {
    fn answer(self, ratio: stats::Estimate) -> Answer {
        match () {
            () if ratio.high < 1.0 / (1.0 + self.0) => Answer::Better,
            () if ratio.low > 1.0 + self.0 => Answer::Worse,
            () => Answer::CannotTell,
        }
    }
}

/// What is one number a run, run by run: by Student's t over the runs' differences, each less what does not
/// matter.
fn number(recorded: &Recorded, base: &Measure, now: &Measure, least: Least) -> Judged {
    let pairs = || now.runs.iter().zip(&base.runs);
    // How far one run's figure is above the other's by more than what matters.
    let beyond = |more: f64, less: f64| more - (less + (less.abs() * least.0).max(base.floor));
    let above: Vec<f64> = pairs().map(|(now, base)| beyond(*now, *base)).collect();
    let below: Vec<f64> = pairs().map(|(now, base)| beyond(*base, *now)).collect();
    let sum = |runs: &[f64]| runs.iter().sum::<f64>();
    let (answer, p) = match () {
        () if sum(&above) > 0.0 => (Answer::Worse, paired_p(&above)),
        () if sum(&below) > 0.0 => (Answer::Better, paired_p(&below)),
        () => (Answer::CannotTell, 1.0),
    };
    let mean = |measure: &Measure| sum(&measure.runs) / measure.runs.len() as f64;
    Judged {
        scenario: recorded.name.clone(),
        program: base.program.clone(),
        figure: base.figure.clone(),
        base: mean(base),
        now: mean(now),
        p,
        answer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_have_no_tails() {
        let said = |share: f64| Least(share).to_string();
        assert_eq!(said(0.07), "7%");
        assert_eq!(said(Answer::LEAST - 1.0), "1%");
        assert_eq!([0.0, 0.001, 0.125, 10.0].map(said), ["0%", "0.1%", "12.5%", "1000%"]);
        // The control: what was asked for stays.
        assert_eq!(said(0.0123456), "1.23456%");
    }
}
