//! The tables of an ideal queue.

use columnar::{Columns, RecordBatch};

use super::estimates::latency;
use crate::document::CcdfPoint;
use crate::{ExactLatency, Ideal};

/// Every table, by name.
pub fn batches(ideal: &Ideal) -> Vec<(&'static str, RecordBatch)> {
    vec![("queues", queues(ideal)), ("curves", curves(ideal))]
}

fn queues(ideal: &Ideal) -> RecordBatch {
    let rows = [ideal];
    let columns = Columns::of(&rows)
        .text("queue", |row| Some(&row.curve.name))
        .seed("seed", |row| row.seed)
        .number("requests", |row| Some(row.curve.requests));
    type Part = (&'static str, fn(&ExactLatency) -> Option<f64>);
    const EXACT: [Part; 5] = [
        ("exact_mean_ns", |exact| exact.mean),
        ("exact_p50_ns", |exact| exact.p50),
        ("exact_p90_ns", |exact| exact.p90),
        ("exact_p99_ns", |exact| exact.p99),
        ("exact_p99_9_ns", |exact| exact.p99_9),
    ];
    let columns = latency(columns, "latency", |row| Some(row.curve.latency_ns));
    let with_exact = EXACT.iter().fold(columns, |columns, (name, read)| {
        columns.float(name, |row| row.curve.exact_ns.as_ref().and_then(read))
    });
    with_exact.float("requests_per_s", |row| row.curve.requests_per_s).batch()
}

fn curves(ideal: &Ideal) -> RecordBatch {
    let rows: Vec<(&Ideal, &CcdfPoint)> =
        ideal.curve.ccdf.iter().map(|point| (ideal, point)).collect();
    Columns::of(&rows)
        .text("queue", |row| Some(&row.0.curve.name))
        .number("latency_ns", |row| Some(row.1.latency_ns))
        .float("proportion", |row| Some(row.1.proportion))
        .float("proportion_low", |row| row.1.low)
        .float("proportion_high", |row| row.1.high)
        .batch()
}
