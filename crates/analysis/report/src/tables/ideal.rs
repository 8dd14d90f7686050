//! The tables of an ideal queue.

use columnar::{Columns, RecordBatch};

use super::estimates::{latency, tail};
use crate::document::CcdfPoint;
use crate::{Curve, ExactLatency, Ideal};

/// Every table, by name.
pub fn batches(ideal: &Ideal) -> Vec<(&'static str, RecordBatch)> {
    vec![("queues", queues(ideal)), ("curves", curves(ideal))]
}

fn queues(ideal: &Ideal) -> RecordBatch {
    let rows = [ideal];
    let columns = Columns::of(&rows).seed("seed", |row| row.seed);
    queue(columns, |row| &row.curve).batch()
}

/// What a queue did: simulated, and in closed form.
pub fn queue<'a, T>(columns: Columns<'a, T>, of: impl Fn(&T) -> &Curve) -> Columns<'a, T> {
    let columns = columns
        .text("queue", |row| Some(&of(row).name))
        .number("requests", |row| Some(of(row).requests));
    type Part = (&'static str, fn(&ExactLatency) -> Option<f64>);
    const EXACT: [Part; 5] = [
        ("exact_mean_ns", |exact| exact.mean),
        ("exact_p50_ns", |exact| exact.p50),
        ("exact_p90_ns", |exact| exact.p90),
        ("exact_p99_ns", |exact| exact.p99),
        ("exact_p99_9_ns", |exact| exact.p99_9),
    ];
    let columns = latency(columns, "latency", |row| Some(of(row).latency_ns));
    let with_exact = EXACT.iter().fold(columns, |columns, (name, read)| {
        columns.float(name, |row| of(row).exact_ns.as_ref().and_then(read))
    });
    with_exact.float("rate_per_s", |row| of(row).rate_per_s)
}

fn curves(ideal: &Ideal) -> RecordBatch {
    let rows: Vec<(&Ideal, &CcdfPoint)> =
        ideal.curve.ccdf.iter().map(|point| (ideal, point)).collect();
    let columns = Columns::of(&rows).text("queue", |row| Some(&row.0.curve.name));
    tail(columns, |row| row.1).batch()
}
