//! Statistics of dependent samples.

use model::{Failure, Nanos};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use stats::{Estimate, Metric, Quantile};

use crate::failure::wrong;
use crate::samples::Samples;
use crate::work::work;

/// A value and the ends of its 95% interval.
type Interval = (f64, f64, f64);

fn interval(from: Estimate) -> Interval {
    (from.value, from.low, from.high)
}

fn runs(samples: Vec<Samples>) -> PyResult<Vec<Vec<Nanos>>> {
    let runs: Vec<Vec<Nanos>> = samples.into_iter().map(|run| run.0).collect();
    if runs.iter().all(Vec::is_empty) { Err(wrong("no samples")) } else { Ok(runs) }
}

/// Mean, quantiles and maximum of runs.
#[pyfunction]
pub fn latency<'py>(py: Python<'py>, samples: Vec<Samples>) -> PyResult<Bound<'py, PyDict>> {
    let runs = runs(samples)?;
    let found = work(py, None, |_| {
        stats::latency_estimates(&runs).ok_or_else(|| Failure::Input("no samples".to_string()))
    })?;
    let all = PyDict::new(py);
    for (name, estimate) in [
        ("mean_ns", found.mean),
        ("p50_ns", found.p50),
        ("p90_ns", found.p90),
        ("p99_ns", found.p99),
        ("p99_9_ns", found.p99_9),
    ] {
        all.set_item(name, interval(estimate))?;
    }
    all.set_item("max_ns", found.max.0)?;
    Ok(all)
}

/// The proportion of samples above a threshold.
#[pyfunction]
pub fn outliers(py: Python, samples: Vec<Samples>, threshold_ns: u64) -> PyResult<Interval> {
    let runs = runs(samples)?;
    let found = work(py, None, |_| {
        stats::outlier(&runs, Nanos(threshold_ns), 1.0)
            .ok_or_else(|| Failure::Input("no samples".to_string()))
    })?;
    Ok(interval(found.proportion))
}

/// Whether the runs of `a` are better than those of `b`, and the ratio of the metric.
#[pyfunction]
pub fn verdict(
    py: Python,
    a: Vec<Samples>,
    b: Vec<Samples>,
    metric: &str,
) -> PyResult<(&'static str, Interval)> {
    if a.len() != b.len() {
        let (a, b) = (a.len(), b.len());
        return Err(wrong(format!(
            "{a} runs and {b}: expected pairs of runs, each with the same arrivals"
        )));
    }
    let metric = self::metric(metric)?;
    let pairs: Vec<_> = runs(a)?.into_iter().zip(runs(b)?).collect();
    let found = work(py, None, |_| {
        stats::compare(&pairs, metric).ok_or_else(|| Failure::Input("no samples".to_string()))
    })?;
    Ok((found.answer.word(), interval(found.ratio)))
}

/// The proportion of a service's requests that are outliers, where each waits for so many answers.
#[pyfunction]
pub fn service_proportion(proportion: f64, leaves: f64) -> f64 {
    stats::service_proportion(proportion, leaves)
}

/// The proportion that one answer must reach for so many of the service's requests to be outliers.
#[pyfunction]
pub fn required_proportion(target: f64, leaves: f64) -> f64 {
    stats::required_proportion(target, leaves)
}

fn metric(word: &str) -> PyResult<Metric> {
    const WORDS: [(&str, Metric); 5] = [
        ("mean", Metric::Mean),
        ("p50", Metric::Quantile(Quantile::P50)),
        ("p90", Metric::Quantile(Quantile::P90)),
        ("p99", Metric::Quantile(Quantile::P99)),
        ("p99_9", Metric::Quantile(Quantile::P99_9)),
    ];
    let known: Vec<&str> = WORDS.iter().map(|(known, _)| *known).collect();
    let found = WORDS.iter().find(|(known, _)| *known == word);
    found
        .map(|(_, metric)| *metric)
        .ok_or_else(|| wrong(format!("metric `{word}`: expected {}", known.join(", "))))
}
