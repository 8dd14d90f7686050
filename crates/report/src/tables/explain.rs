//! The tables of an explanation, and those of stages.

use columnar::{Columns, RecordBatch};

use super::estimates::{latency, sources};
use crate::explain::{Culprit, Explained, ExplainedService, Finding, SlowRequest, Span, Split};
use crate::stages::{Stage, StagesDocument};

/// A row: the document, the service, and what is in it.
type Row<'a, T> = (&'a Explained, &'a ExplainedService, T);

/// Every table, by name.
pub fn batches(explained: &Explained) -> Vec<(&'static str, RecordBatch)> {
    vec![
        ("services", services(explained)),
        ("splits", splits(explained)),
        ("findings", findings(explained)),
        ("culprits", culprits(explained)),
        ("slow", slow(explained)),
        ("spans", spans(explained)),
    ]
}

/// The table of a watched service.
pub fn stages(document: &StagesDocument) -> Vec<(&'static str, RecordBatch)> {
    let columns = Columns::of(&document.stages)
        .text("service", |_| Some(&document.service))
        .number("port", |_| Some(document.port.into()));
    vec![("stages", stage(columns).batch())]
}

/// A stage, whoever watched.
pub fn stage(columns: Columns<Stage>) -> Columns<Stage> {
    let columns = columns.text("stage", |row| Some(&row.stage)).text("what", |row| Some(&row.what));
    latency(columns, "span", |row| Some(row.span_ns))
}

/// A row for each part of each service.
fn rows<'a, T: 'a, I: IntoIterator<Item = T>>(
    explained: &'a Explained,
    parts: impl Fn(&'a ExplainedService) -> I,
) -> Vec<Row<'a, T>> {
    let of = |service| parts(service).into_iter().map(move |part| (explained, service, part));
    explained.services.iter().flat_map(of).collect()
}

fn keyed<'a, 'r, T>(rows: &'a [Row<'r, T>]) -> Columns<'a, Row<'r, T>> {
    Columns::of(rows)
        .text("scenario", |row| Some(&row.0.scenario))
        .text("arm", |row| Some(&row.0.arm))
        .text("policy", |row| Some(&row.0.policy))
        .seed("seed", |row| Some(row.0.seed))
        .text("service", |row| Some(&row.1.name))
}

fn services(explained: &Explained) -> RecordBatch {
    let rows = rows(explained, |_| [()]);
    let columns = keyed(&rows)
        .text("kernel", |row| row.0.kernel.as_deref())
        .number("requests", |row| Some(row.1.requests))
        .number("lost", |row| Some(row.1.lost))
        .number("unknown", |row| Some(row.1.unknown))
        .number("slow_requests", |row| Some(row.1.slow_requests));
    let columns = latency(columns, "latency", |row| Some(row.1.latency_ns));
    latency(columns, "ideal", |row| Some(row.1.ideal_ns)).batch()
}

/// The parts that a request's time went into.
fn split<'a, T>(columns: Columns<'a, T>, of: impl Fn(&T) -> &Split) -> Columns<'a, T> {
    let columns = columns
        .float("latency_ns", |row| Some(of(row).latency))
        .float("ideal_ns", |row| Some(of(row).ideal))
        .float("service_ns", |row| Some(of(row).service));
    sources(columns, |row| Some(of(row).sources))
        .float("other_ns", |row| Some(of(row).other))
        .float("saved_ns", |row| Some(of(row).saved))
}

fn splits(explained: &Explained) -> RecordBatch {
    let rows: Vec<Row<(&str, Split)>> =
        rows(explained, |service| [("all", service.mean_ns), ("slow", service.slow_ns)]);
    let columns = keyed(&rows).text("which", |row| Some(row.2.0));
    split(columns, |row| &row.2.1).batch()
}

fn findings(explained: &Explained) -> RecordBatch {
    let rows: Vec<Row<&Finding>> = rows(explained, |service| &service.findings);
    keyed(&rows)
        .text("source", |row| Some(&row.2.source))
        .text("what", |row| Some(&row.2.what))
        .float("slow_ns", |row| Some(row.2.slow_ns))
        .float("share", |row| Some(row.2.share))
        .float("p99_9_ns", |row| Some(row.2.p99_9_ns))
        .float("p99_9_without_ns", |row| Some(row.2.p99_9_without_ns))
        .float("p99_9_ideal_ns", |row| Some(row.2.p99_9_ideal_ns))
        .text("mitigation", |row| Some(&row.2.mitigation))
        .text("trade_off", |row| Some(&row.2.trade_off))
        .text("from", |row| Some(&row.2.from))
        .batch()
}

fn culprits(explained: &Explained) -> RecordBatch {
    let rows: Vec<Row<(&Finding, &Culprit)>> =
        rows(explained, |service| service.findings.iter().flat_map(blamed));
    keyed(&rows)
        .text("source", |row| Some(&row.2.0.source))
        .text("culprit", |row| Some(&row.2.1.name))
        .text("group", |row| row.2.1.group.as_deref())
        .float("share", |row| Some(row.2.1.share))
        .batch()
}

fn blamed(finding: &Finding) -> impl Iterator<Item = (&Finding, &Culprit)> {
    finding.culprits.iter().map(move |culprit| (finding, culprit))
}

fn slow(explained: &Explained) -> RecordBatch {
    let rows: Vec<Row<&SlowRequest>> = rows(explained, |service| &service.slow);
    let columns = keyed(&rows)
        .number("request", |row| Some(row.2.request))
        .text("thread", |row| Some(&row.2.thread))
        .number("intended_ns", |row| Some(row.2.intended_ns))
        .number("sent_ns", |row| Some(row.2.sent_ns))
        .number("started_ns", |row| Some(row.2.started_ns))
        .number("completed_ns", |row| Some(row.2.completed_ns))
        .number("received_ns", |row| Some(row.2.received_ns));
    split(columns, |row| &row.2.split_ns)
        .text("source", |row| row.2.source.as_deref())
        .text("culprit", |row| row.2.culprit.as_deref())
        .batch()
}

/// Somebody who held a CPU while a request was under way.
type Held<'a> = (&'a SlowRequest, u32, &'a Span);

fn spans(explained: &Explained) -> RecordBatch {
    let rows: Vec<Row<Held>> = rows(explained, |service| service.slow.iter().flat_map(held));
    keyed(&rows)
        .number("request", |row| Some(row.2.0.request))
        .number("cpu", |row| Some(row.2.1.into()))
        .number("from_ns", |row| Some(row.2.2.from_ns))
        .number("to_ns", |row| Some(row.2.2.to_ns))
        .text("kind", |row| Some(&row.2.2.kind))
        .text("name", |row| Some(&row.2.2.name))
        .text("group", |row| row.2.2.group.as_deref())
        .batch()
}

fn held(request: &SlowRequest) -> impl Iterator<Item = Held<'_>> {
    let spans = request.cpus.iter().flat_map(|cpu| cpu.spans.iter().map(|span| (cpu.cpu, span)));
    spans.map(move |(cpu, span)| (request, cpu, span))
}
