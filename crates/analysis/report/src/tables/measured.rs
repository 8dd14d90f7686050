//! The tables of a measurement, and those of a search for a server's capacity.

use columnar::{Columns, RecordBatch};

use super::compare::{Point, points};
use super::estimates::{latency, program, tail};
use super::explain::stage;
use crate::measured::{MeasureService, Measured, Saturated};

/// Every table of a measurement, by name.
pub fn batches(measured: &Measured) -> Vec<(&'static str, RecordBatch)> {
    vec![
        ("measurements", measurements(measured)),
        ("self_checks", self_checks(measured)),
        ("capacities", capacities(&measured.target, measured.service_time.as_ref())),
        ("steps", steps(&measured.target, measured.service_time.as_ref())),
        ("troubles", troubles(measured)),
        ("kinds", kinds(measured)),
        ("stages", stages(measured)),
        ("curves", curves(measured)),
    ]
}

/// Every table of a search alone.
pub fn saturated(found: &Saturated) -> Vec<(&'static str, RecordBatch)> {
    let service = Some(&found.service_time);
    vec![
        ("capacities", capacities(&found.target, service)),
        ("steps", steps(&found.target, service)),
    ]
}

fn keyed<'a>(rows: &'a [&Measured]) -> Columns<'a, &'a Measured> {
    Columns::of(rows).text("target", |row| Some(&row.target)).seed("seed", |row| Some(row.seed))
}

fn measurements(measured: &Measured) -> RecordBatch {
    let rows = [measured];
    let columns = keyed(&rows)
        .text("protocol", |row| Some(&row.protocol))
        .text("arrivals", |row| Some(&row.arrivals))
        .number("warm_up_ns", |row| Some(row.warm_up_ns))
        .number("duration_ns", |row| Some(row.duration_ns))
        .number("connections", |row| Some(row.connections.into()))
        .number("connections_opened", |row| Some(row.connections_opened))
        .number("connections_refused", |row| Some(row.connections_refused))
        .number("connections_dropped_idle", |row| Some(row.connections_dropped_idle));
    program(columns, |row| &row.service).batch()
}

fn self_checks(measured: &Measured) -> RecordBatch {
    let rows = [measured];
    keyed(&rows)
        .number("lag_p50_ns", |row| Some(row.self_check.lag_p50_ns))
        .number("lag_p99_ns", |row| Some(row.self_check.lag_p99_ns))
        .number("lag_p99_9_ns", |row| Some(row.self_check.lag_p99_9_ns))
        .number("lag_max_ns", |row| Some(row.self_check.lag_max_ns))
        .float("intended_rate_per_s", |row| Some(row.self_check.intended_rate_per_s))
        .float("achieved_rate_per_s", |row| Some(row.self_check.achieved_rate_per_s))
        .float("on_time_share", |row| Some(row.self_check.on_time_share))
        .number("on_time_bound_ns", |row| Some(row.self_check.on_time_bound_ns))
        .float("gap_error", |row| Some(row.self_check.gap_error))
        .float("cpu_share", |row| Some(row.self_check.cpu_share))
        .float("wait_share", |row| Some(row.self_check.wait_share))
        .number("run_delay_per_request_ns", |row| Some(row.self_check.run_delay_per_request_ns))
        .batch()
}

fn capacities(target: &str, service: Option<&MeasureService>) -> RecordBatch {
    let rows: Vec<&MeasureService> = service.into_iter().collect();
    Columns::of(&rows)
        .text("target", |_| Some(target))
        .number("service_time_ns", |row| Some(row.value_ns))
        .number("workers", |row| Some(row.workers.into()))
        .text("source", |row| Some(&row.source))
        .float("capacity_per_s", |row| Some(row.capacity_per_s))
        .float("saturated_throughput_per_s", |row| row.saturated_throughput_per_s)
        .flag("generator_limited", |row| row.generator_limited)
        .flag("connections_limited", |row| row.connections_limited)
        .batch()
}

fn steps(target: &str, service: Option<&MeasureService>) -> RecordBatch {
    let rows: Vec<(u32, f64)> = service.into_iter().flat_map(|one| one.steps.clone()).collect();
    Columns::of(&rows)
        .text("target", |_| Some(target))
        .number("connections", |row| Some(row.0.into()))
        .float("throughput_per_s", |row| Some(row.1))
        .batch()
}

/// Requests that were lost or answered otherwise than wanted, by why.
fn troubles(measured: &Measured) -> RecordBatch {
    let all = [("lost", &measured.losses), ("complaint", &measured.complaints)];
    let rows: Vec<(&str, &str, u64)> = all
        .into_iter()
        .flat_map(|(kind, counts)| counts.iter().map(move |(cause, n)| (kind, cause.as_str(), *n)))
        .collect();
    Columns::of(&rows)
        .text("target", |_| Some(&measured.target))
        .text("kind", |row| Some(row.0))
        .text("cause", |row| Some(row.1))
        .number("requests", |row| Some(row.2))
        .batch()
}

/// None where all requests are alike.
fn kinds(measured: &Measured) -> RecordBatch {
    let rows = measured.kinds.as_deref().unwrap_or_default();
    let columns = Columns::of(rows)
        .text("target", |_| Some(&measured.target))
        .text("name", |row| Some(&row.name))
        .number("kinds", |row| Some(row.kinds))
        .number("requests", |row| Some(row.requests))
        .float("share", |row| Some(row.share))
        .number("lost", |row| Some(row.lost))
        .number("complaints", |row| Some(row.complaints));
    latency(columns, "latency", |row| row.latency_ns).batch()
}

/// None where they were not traced.
fn stages(measured: &Measured) -> RecordBatch {
    let rows = measured.stages.as_deref().unwrap_or_default();
    stage(Columns::of(rows).text("target", |_| Some(&measured.target))).batch()
}

fn curves(measured: &Measured) -> RecordBatch {
    let rows: Vec<Point> = points(&measured.service).collect();
    let columns = Columns::of(&rows)
        .text("target", |_| Some(&measured.target))
        .text("curve", |row| Some(row.1));
    tail(columns, |row| row.2).batch()
}
