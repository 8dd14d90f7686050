//! The tables of an explanation, and those of stages.

use columnar::{Columns, RecordBatch};

use super::estimates::{estimate, latency, rows, sources};
use crate::explain::{Culprit, Explained, ExplainedService, Finding, SlowRequest, Span, Split};
use crate::overhead::Overhead;
use crate::stages::{Stage, StagesDocument};

/// A row: the service, and what is in it.
type Row<'a, T> = (&'a ExplainedService, T);

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

/// The table of what watching costs.
pub fn overhead(document: &Overhead) -> Vec<(&'static str, RecordBatch)> {
    let columns = Columns::of(&document.rows)
        .text("kernel", |_| document.kernel.as_deref())
        .number("rounds", |_| Some(document.rounds.into()))
        .text("watched", |row| Some(&row.watched));
    let columns = estimate(columns, "cpu", "_ns", |row| row.cpu_ns);
    let columns = estimate(columns, "instructions", "", |row| row.instructions);
    let columns = estimate(columns, "cpu_overhead", "", |row| row.cpu_overhead);
    let columns = estimate(columns, "instruction_overhead", "", |row| row.instruction_overhead);
    vec![("overhead", columns.batch())]
}

/// A stage, from either side.
pub fn stage(columns: Columns<Stage>) -> Columns<Stage> {
    let columns = columns.text("stage", |row| Some(&row.stage)).text("what", |row| Some(&row.what));
    latency(columns, "span", |row| Some(row.span_ns))
}

fn keyed<'a, 'r, T>(explained: &Explained, rows: &'a [Row<'r, T>]) -> Columns<'a, Row<'r, T>> {
    Columns::of(rows)
        .text("scenario", |_| Some(&explained.scenario))
        .text("arm", |_| Some(&explained.arm))
        .text("policy", |_| Some(&explained.policy))
        .seed("seed", |_| Some(explained.seed))
        .text("service", |row| Some(&row.0.name))
}

fn services(explained: &Explained) -> RecordBatch {
    let rows = rows(&explained.services, |_| [()]);
    let columns = keyed(explained, &rows)
        .text("kernel", |_| explained.kernel.as_deref())
        .number("requests", |row| Some(row.0.requests))
        .number("lost", |row| Some(row.0.lost))
        .number("unknown", |row| Some(row.0.unknown))
        .number("slow_requests", |row| Some(row.0.slow_requests));
    let columns = latency(columns, "latency", |row| Some(row.0.latency_ns));
    latency(columns, "ideal", |row| row.0.ideal_ns).batch()
}

/// The parts that a request's time went into.
fn split<'a, T>(columns: Columns<'a, T>, of: impl Fn(&T) -> &Split) -> Columns<'a, T> {
    let columns = columns
        .float("latency_ns", |row| Some(of(row).latency))
        .float("ideal_ns", |row| of(row).ideal)
        .float("service_ns", |row| Some(of(row).service));
    sources(columns, |row| Some(of(row).sources))
        .float("own_work_ns", |row| Some(of(row).kept.own_work))
        .float("lock_ns", |row| Some(of(row).kept.lock))
        .float("sleep_ns", |row| Some(of(row).kept.sleep))
        .float("socket_ns", |row| Some(of(row).kept.socket))
        .float("client_ns", |row| Some(of(row).kept.client))
        .float("disk_ns", |row| Some(of(row).kept.disk))
        .float("page_fault_ns", |row| Some(of(row).kept.page_fault))
        .float("stopped_ns", |row| Some(of(row).kept.stopped))
        .float("throttled_ns", |row| Some(of(row).kept.throttled))
        .float("other_ns", |row| Some(of(row).other))
        .float("saved_ns", |row| of(row).saved)
}

fn splits(explained: &Explained) -> RecordBatch {
    let rows: Vec<Row<(&str, Split)>> =
        rows(&explained.services, |service| [("all", service.mean_ns), ("slow", service.slow_ns)]);
    let columns = keyed(explained, &rows).text("which", |row| Some(row.1.0));
    split(columns, |row| &row.1.1).batch()
}

fn findings(explained: &Explained) -> RecordBatch {
    let rows: Vec<Row<&Finding>> = rows(&explained.services, |service| &service.findings);
    keyed(explained, &rows)
        .text("source", |row| Some(&row.1.source))
        .text("what", |row| Some(&row.1.what))
        .float("slow_ns", |row| Some(row.1.slow_ns))
        .float("share", |row| Some(row.1.share))
        .float("p99_9_ns", |row| Some(row.1.p99_9_ns))
        .float("p99_9_without_ns", |row| row.1.p99_9_without_ns)
        .float("p99_9_ideal_ns", |row| row.1.p99_9_ideal_ns)
        .text("mitigation", |row| Some(&row.1.mitigation))
        .text("trade_off", |row| Some(&row.1.trade_off))
        .text("from", |row| Some(&row.1.from))
        .batch()
}

fn culprits(explained: &Explained) -> RecordBatch {
    let rows: Vec<Row<(&Finding, &Culprit)>> =
        rows(&explained.services, |service| service.findings.iter().flat_map(blamed));
    keyed(explained, &rows)
        .text("source", |row| Some(&row.1.0.source))
        .text("culprit", |row| Some(&row.1.1.name))
        .text("group", |row| row.1.1.group.as_deref())
        .text("owner", |row| row.1.1.owner.as_deref())
        .float("share", |row| Some(row.1.1.share))
        .batch()
}

fn blamed(finding: &Finding) -> impl Iterator<Item = (&Finding, &Culprit)> {
    finding.culprits.iter().map(move |culprit| (finding, culprit))
}

fn slow(explained: &Explained) -> RecordBatch {
    let rows: Vec<Row<&SlowRequest>> = rows(&explained.services, |service| &service.slow);
    let columns = keyed(explained, &rows)
        .number("request", |row| Some(row.1.request))
        .text("thread", |row| Some(&row.1.thread))
        .number("intended_ns", |row| Some(row.1.intended_ns))
        .number("sent_ns", |row| Some(row.1.sent_ns))
        .number("started_ns", |row| Some(row.1.started_ns))
        .number("completed_ns", |row| Some(row.1.completed_ns))
        .number("received_ns", |row| Some(row.1.received_ns));
    split(columns, |row| &row.1.split_ns)
        .text("source", |row| row.1.source.as_deref())
        .text("culprit", |row| row.1.culprit.as_deref())
        .batch()
}

/// A thread that held a CPU while a request was under way.
type Held<'a> = (&'a SlowRequest, u32, &'a Span);

fn spans(explained: &Explained) -> RecordBatch {
    let rows: Vec<Row<Held>> =
        rows(&explained.services, |service| service.slow.iter().flat_map(held));
    keyed(explained, &rows)
        .number("request", |row| Some(row.1.0.request))
        .number("cpu", |row| Some(row.1.1.into()))
        .number("from_ns", |row| Some(row.1.2.from_ns))
        .number("to_ns", |row| Some(row.1.2.to_ns))
        .text("kind", |row| Some(&row.1.2.kind))
        .text("name", |row| Some(&row.1.2.name))
        .text("group", |row| row.1.2.group.as_deref())
        .text("owner", |row| row.1.2.owner.as_deref())
        .batch()
}

fn held(request: &SlowRequest) -> impl Iterator<Item = Held<'_>> {
    let spans = request.cpus.iter().flat_map(|cpu| cpu.spans.iter().map(|span| (cpu.cpu, span)));
    spans.map(move |(cpu, span)| (request, cpu, span))
}
