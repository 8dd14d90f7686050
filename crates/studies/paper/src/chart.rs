//! What a figure draws, as series of points.

use report::document::{CcdfPoint, LagSample, PolicyResult, ProgramResult};
use report::{Series, SeriesChart};

use crate::definition::{Chart, Over, Run};
use crate::reading;
use crate::results::Results;

/// The chart of a figure; `None` where nothing was measured that it could draw.
pub fn chart(chart: &Chart, results: &Results) -> Option<SeriesChart> {
    let (x, y, series) = match chart.over {
        Over::Runs => (chart.x.as_str(), chart.y.as_str(), sweep(chart, results)),
        Over::Time => ("time (s)", "least and greatest lag of a thread (s)", over(results, lag)),
        Over::Latency => (
            "latency (ms)",
            "proportion of slower requests",
            ideal(chart, results).into_iter().chain(over(results, tail)).collect(),
        ),
        Over::Work => {
            ("programs (%), the least first", "work done beyond the mean (%)", over(results, work))
        }
    };
    let latency = chart.over == Over::Latency;
    let drawn = SeriesChart {
        x: x.to_string(),
        y: y.to_string(),
        log_x: latency,
        log_y: latency || chart.log,
        series,
    };
    (!drawn.series.is_empty()).then_some(drawn)
}

/// One series a policy and metric, or as the runs say; one point a run.
fn sweep(chart: &Chart, results: &Results) -> Vec<Series> {
    let mut series: Vec<Series> = Vec::new();
    for (run, document) in &results.runs {
        for (result, metric) in
            document.shown().iter().flat_map(|r| chart.read.iter().map(move |metric| (r, metric)))
        {
            let value = reading::metric(result, metric, None);
            if let (Some(x), Some(y)) = (run.at, value) {
                let alone = chart.read.len() == 1;
                let whose = run.series.as_ref().unwrap_or(&result.policy).clone();
                let name = if alone { whose } else { format!("{whose} {metric}") };
                put(&mut series, name, (x, y));
            }
        }
    }
    series
}

fn put(series: &mut Vec<Series>, name: String, point: (f64, f64)) {
    match series.iter_mut().find(|one| one.name == name) {
        Some(one) => one.points.push(point),
        None => series.push(Series { name, points: vec![point] }),
    }
}

type Points = Vec<(f64, f64)>;

/// One series a queue, and a run and policy.
fn over(results: &Results, of: fn(&PolicyResult) -> Points) -> Vec<Series> {
    let queues =
        results.queues.iter().map(|q| Series { name: q.name.clone(), points: falling(&q.ccdf) });
    let runs = results
        .runs
        .iter()
        .flat_map(|(run, document)| document.shown().into_iter().map(move |result| (run, result)));
    let mut policies = results.runs.iter().flat_map(|(run, _)| &run.policies);
    let alone = policies.next().is_some_and(|first| policies.all(|next| next == first));
    let name = |run: &Run, policy: &str| match (results.runs.len(), alone) {
        (1, _) => policy.to_string(),
        (_, true) => run.name.clone(),
        (_, false) => format!("{policy}, {}", run.name),
    };
    let runs =
        runs.map(|(run, result)| Series { name: name(run, &result.policy), points: of(result) });
    queues.chain(runs).filter(|one| !one.points.is_empty()).collect()
}

fn lag(result: &PolicyResult) -> Points {
    let edge = |pick: fn(&LagSample) -> f64| -> Points {
        result.lag_samples.iter().map(|sample| (sample.at_ns as f64 / 1e9, pick(sample))).collect()
    };
    // There and back, as one outline.
    let back = edge(|sample| sample.min_s).into_iter().rev();
    edge(|sample| sample.max_s).into_iter().chain(back).collect()
}

fn tail(result: &PolicyResult) -> Points {
    service(result).map(|program| falling(&program.ccdf)).unwrap_or_default()
}

/// What an ideal queue makes of the requests of a run.
fn ideal(chart: &Chart, results: &Results) -> Option<Series> {
    let (_, document) =
        results.runs.iter().find(|(run, _)| Some(&run.name) == chart.ideal.as_ref())?;
    let shown = document.shown();
    let points = falling(&service(shown.first()?)?.ideal_ccdf);
    Some(Series { name: "ideal".to_string(), points })
}

fn service(result: &PolicyResult) -> Option<&ProgramResult> {
    result.programs.iter().find(|program| program.kind == "service")
}

/// What each program has done beyond what all have on average, percent.
fn work(result: &PolicyResult) -> Points {
    let mut rounds: Vec<f64> = reading::rounds(result).collect();
    rounds.sort_by(f64::total_cmp);
    let mean = rounds.iter().sum::<f64>() / rounds.len() as f64;
    let place = |at: usize| 100.0 * (at as f64 + 0.5) / rounds.len() as f64;
    rounds.iter().enumerate().map(|(at, done)| (place(at), 100.0 * (done / mean - 1.0))).collect()
}

fn falling(ccdf: &[CcdfPoint]) -> Points {
    let drawn = ccdf.iter().filter(|point| point.proportion > 0.0 && point.latency_ns > 0);
    drawn.map(|point| (point.latency_ns as f64 / 1e6, point.proportion)).collect()
}
