//! The tables of a cluster, and those of a fan-out.

use columnar::{Columns, RecordBatch};

use super::estimates::{estimate, latency, outlier, tail};
use crate::cluster::{ClusterCase, ClusterRun, ClusterTurn, ClusterVerdict};
use crate::document::CcdfPoint;
use crate::{FanOut, FanOutRow};

/// Every table of a cluster, by name.
pub fn batches(run: &ClusterRun) -> Vec<(&'static str, RecordBatch)> {
    vec![
        ("cases", cases(run)),
        ("verdicts", verdicts(run)),
        ("turns", turns(run)),
        ("curves", curves(run)),
    ]
}

/// The table of a fan-out.
pub fn fan_out(document: &FanOut) -> Vec<(&'static str, RecordBatch)> {
    let rows: Vec<(&FanOut, &FanOutRow)> =
        document.rows.iter().map(|row| (document, row)).collect();
    let columns = Columns::of(&rows)
        .text("source", |row| Some(&row.1.source))
        .number("servers", |row| Some(row.0.servers))
        .number("per_server", |row| Some(row.0.per_server))
        .number("threshold_ns", |row| row.1.threshold_ns);
    let columns = estimate(columns, "proportion", "", |row| row.1.proportion)
        .float("valid_throughput_per_s", |row| row.1.valid_throughput_per_s);
    let columns = estimate(columns, "service_proportion", "", |row| row.1.service_proportion)
        .float("required_proportion", |row| row.0.required_proportion);
    let columns = estimate(columns, "reduction", "", |row| row.1.reduction.unwrap_or_default());
    vec![("fanout", columns.batch())]
}

fn cases(run: &ClusterRun) -> RecordBatch {
    let rows: Vec<(&ClusterRun, &ClusterCase)> = run.cases.iter().map(|case| (run, case)).collect();
    let columns = Columns::of(&rows)
        .text("cluster", |row| Some(&row.0.cluster))
        .seed("seed", |row| Some(row.0.seed))
        .text("case", |row| Some(&row.1.name))
        .text("dispatch", |row| Some(&row.1.dispatch))
        .text("redundancy", |row| Some(&row.1.redundancy))
        .float("rate_per_s", |row| Some(row.1.rate_per_s))
        .float("offered_utilisation", |row| row.1.offered_utilisation)
        .number("requests", |row| Some(row.1.requests))
        .number("lost", |row| Some(row.1.lost));
    let columns = latency(columns, "latency", |row| Some(row.1.latency_ns));
    let columns = outlier(columns, |row| Some(row.1.outlier));
    let columns = latency(columns, "sub_latency", |row| Some(row.1.sub_requests?.latency_ns));
    let sub = |row: &(&ClusterRun, &ClusterCase)| row.1.sub_requests.map(|sub| sub.proportion);
    let columns = estimate(columns, "sub_proportion", "", |row| sub(row).unwrap_or_default());
    estimate(columns, "independent_proportion", "", |row| row.1.independent_proportion)
        .float("copies_per_sub_request", |row| Some(row.1.copies_per_sub_request))
        .float("utilisation", |row| row.1.utilisation)
        .float("wasted_share", |row| Some(row.1.wasted_share))
        .float("quality", |row| Some(row.1.quality))
        .float("complete_share", |row| Some(row.1.complete_share))
        .float("decisions_per_s", |row| Some(row.1.decisions_per_s))
        .number("events", |row| Some(row.1.events))
        .batch()
}

fn verdicts(run: &ClusterRun) -> RecordBatch {
    let rows: Vec<&ClusterVerdict> = run.verdicts.iter().collect();
    let columns = Columns::of(&rows)
        .text("a", |row| Some(&row.a))
        .text("b", |row| Some(&row.b))
        .text("answer", |row| Some(row.answer.word()));
    estimate(columns, "ratio", "", |row| row.ratio).batch()
}

fn turns(run: &ClusterRun) -> RecordBatch {
    let rows: Vec<&ClusterTurn> = run.turns.iter().collect();
    Columns::of(&rows)
        .text("rule", |row| Some(&row.rule))
        .text("against", |row| Some(&row.against))
        .float("helps_up_to", |row| row.helps_up_to)
        .float("harms_from", |row| row.harms_from)
        .batch()
}

fn curves(run: &ClusterRun) -> RecordBatch {
    let rows: Vec<(&ClusterCase, &CcdfPoint)> = run
        .cases
        .iter()
        .flat_map(|case| case.ccdf.iter().map(move |point| (case, point)))
        .collect();
    let columns = Columns::of(&rows).text("case", |row| Some(&row.0.name));
    tail(columns, |row| row.1).batch()
}
