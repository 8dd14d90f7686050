//! What a figure draws, as series of points.

use report::document::{CcdfPoint, LagSample, PolicyResult};
use report::{Series, SeriesChart};

use crate::definition::{Chart, Over};
use crate::results::Results;

/// The chart of a figure; `None` where nothing was measured that it could draw.
pub fn chart(chart: &Chart, results: &Results) -> Option<SeriesChart> {
    let series = match chart.over {
        Over::Runs => sweep(chart, results),
        Over::Time => over(results, lag),
        Over::Latency => over(results, tail),
    };
    let (x, y) = match chart.over {
        Over::Runs => (chart.x.as_str(), chart.y.as_str()),
        Over::Time => ("time (s)", "least and greatest lag of a thread (s)"),
        Over::Latency => ("latency (ms)", "proportion of slower requests"),
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

/// One series a policy and metric, one point a run.
fn sweep(chart: &Chart, results: &Results) -> Vec<Series> {
    let mut series: Vec<Series> = Vec::new();
    for (run, document) in &results.runs {
        for (result, metric) in
            document.shown().iter().flat_map(|r| chart.read.iter().map(move |metric| (r, metric)))
        {
            let value = crate::reading::metric(result, metric, None);
            if let (Some(x), Some(y)) = (run.at, value) {
                let alone = chart.read.len() == 1;
                let name = if alone {
                    result.policy.clone()
                } else {
                    format!("{} {metric}", result.policy)
                };
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

/// The series of each policy of the first run.
fn over(results: &Results, of: fn(&PolicyResult) -> Vec<Series>) -> Vec<Series> {
    let queues =
        results.queues.iter().map(|q| Series { name: q.name.clone(), points: falling(&q.ccdf) });
    let shown = results.runs.first().map(|(_, document)| document.shown()).unwrap_or_default();
    queues.chain(shown.into_iter().flat_map(of)).filter(|one| !one.points.is_empty()).collect()
}

fn lag(result: &PolicyResult) -> Vec<Series> {
    let edge = |pick: fn(&LagSample) -> f64| -> Vec<(f64, f64)> {
        result.lag_samples.iter().map(|sample| (sample.at_ns as f64 / 1e9, pick(sample))).collect()
    };
    // There and back, as one outline.
    let back = edge(|sample| sample.min_s).into_iter().rev();
    let points = edge(|sample| sample.max_s).into_iter().chain(back).collect();
    vec![Series { name: result.policy.clone(), points }]
}

fn tail(result: &PolicyResult) -> Vec<Series> {
    let service = result.programs.iter().find(|program| program.kind == "service");
    let points = service.map(|program| falling(&program.ccdf)).unwrap_or_default();
    vec![Series { name: result.policy.clone(), points }]
}

fn falling(ccdf: &[CcdfPoint]) -> Vec<(f64, f64)> {
    let drawn = ccdf.iter().filter(|point| point.proportion > 0.0 && point.latency_ns > 0);
    drawn.map(|point| (point.latency_ns as f64 / 1e6, point.proportion)).collect()
}
