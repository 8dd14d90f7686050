//! What arrives, as OpenTelemetry's own messages.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use model::Nanos;
use model::trace::Stages;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::{self as official, metric, number_data_point};
use opentelemetry_proto::tonic::trace::v1::{Span, TracesData, span};
use prost::Message;
use recorder::{Data, Histogram, KeptRequest, Metric, Signal, Traced, Unit, exemplar, metrics};
use report::explain::{Culprit, Finding};

use crate::receiver::{TestReceiver, status};
use crate::{QUICK, sender};

const ENDED: u64 = 1_764_126_131_577_000_000;

/// A request of 42 ms, of which it waited 40 for a CPU.
pub fn traced() -> Traced {
    let [arrived, ready, running, read, sends, transmitted] =
        [5_000, 5_001, 45_001, 45_002, 46_990, 47_000].map(Nanos::from_micros);
    let culprit =
        Culprit { name: "rustc[7]".into(), group: Some("/batch".into()), owner: None, share: 0.9 };
    let source = "background".to_string();
    let finding = Finding { source, slow_ns: 4e7, culprits: vec![culprit], ..Finding::default() };
    let kept = KeptRequest {
        id: "20251126T030211-577Z".to_string(),
        ended: "2025-11-26 03:02:11.577 UTC".to_string(),
        service: "memcached[10182]".to_string(),
        port: 11_211,
        latency_ns: 42_000_000,
        ..KeptRequest::default()
    };
    let stages = Stages { arrived, ready, running, read, sends, transmitted };
    Traced { kept, stages, findings: vec![finding] }
}

fn texts(attributes: &[KeyValue]) -> BTreeMap<&str, String> {
    let text = |one: &any_value::Value| match one {
        any_value::Value::StringValue(text) => text.clone(),
        any_value::Value::IntValue(number) => number.to_string(),
        other => format!("{other:?}"),
    };
    let value = |one: &KeyValue| one.value.as_ref().and_then(|any| any.value.as_ref()).map(text);
    attributes.iter().map(|one| (one.key.as_str(), value(one).unwrap_or_default())).collect()
}

fn spans(all: &TracesData) -> &[Span] {
    &all.resource_spans[0].scope_spans[0].spans
}

#[test]
fn a_kept_request_arrives_as_a_trace_with_a_span_for_each_of_its_stages() {
    let receiver = TestReceiver::start(0, |_| status(200, "", ""));
    let (sender, said) = sender(&receiver.url(), Signal::Traces, QUICK);
    sender.offer(traced().message("host-1", "0.2.0").expect("it has an end"));
    let came = receiver.wait(1).remove(0);
    assert!(came.head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{}", came.head);
    let head = came.head.to_ascii_lowercase();
    assert!(head.contains("content-type: application/x-protobuf\r\n"), "{head}");
    assert!(head.contains("user-agent: rearguard/"), "{head}");
    let all = ExportTraceServiceRequest::decode(&came.body[..]).expect("OTLP");
    let all = TracesData { resource_spans: all.resource_spans };
    let of_resource = all.resource_spans[0].resource.as_ref().expect("a resource");
    let of_resource = texts(&of_resource.attributes);
    assert_eq!(of_resource["service.name"], "memcached");
    assert_eq!(of_resource["host.name"], "host-1");
    let [request, stages @ ..] = spans(&all) else { panic!("no span") };
    assert_eq!((request.kind, stages.len()), (span::SpanKind::Server as i32, 5));
    assert_eq!(request.end_time_unix_nano, ENDED);
    assert_eq!(request.start_time_unix_nano, ENDED - 42_000_000);
    assert_eq!((request.trace_id.len(), request.span_id.len()), (16, 8));
    let longest = stages.iter().max_by_key(|s| s.end_time_unix_nano - s.start_time_unix_nano);
    let longest = longest.expect("five");
    assert_eq!(longest.name, "t2_t3");
    assert_eq!(longest.end_time_unix_nano - longest.start_time_unix_nano, 40_000_000);
    assert!(stages.iter().all(|s| s.parent_span_id == request.span_id));
    let told = texts(&request.attributes);
    assert!(told["rearguard.background.culprits"].contains("rustc[7] in /batch (90%)"));
    sender.finish(Duration::from_secs(5));
    assert_eq!((sender.counts().sent, sender.counts().dropped()), (1, 0));
    assert_eq!(said.lock().expect("no panic").len(), 0, "nothing to say");
}

/// The file has the same message in the other encoding, but for the host: it may be written on another one.
#[test]
fn a_file_has_the_same_spans() {
    let sent = TracesData::decode(&traced().message("h", "0.2.0").expect("an end")[..]);
    let text = traced().json("0.2.0").expect("an end");
    let filed: TracesData = serde_json::from_str(&text).expect("OTLP's JSON");
    assert_eq!(spans(&filed), spans(&sent.expect("OTLP")));
}

fn arrived(all: &[Metric]) -> Vec<official::ResourceMetrics> {
    let receiver = TestReceiver::start(0, |_| status(200, "", ""));
    let (sender, _) = sender(&receiver.url(), Signal::Metrics, QUICK);
    let since = SystemTime::UNIX_EPOCH + Duration::from_nanos(ENDED);
    sender.offer(metrics(all, since, "host-1", "0.2.0"));
    let came = receiver.wait(1).remove(0);
    assert!(came.head.starts_with("POST /v1/metrics HTTP/1.1\r\n"), "{}", came.head);
    let all = ExportMetricsServiceRequest::decode(&came.body[..]).expect("OTLP");
    all.resource_metrics
}

fn metric(name: &'static str, unit: Unit, data: Data) -> Metric {
    Metric { name, help: "What it is", unit, data }
}

fn data(of: &official::ResourceMetrics, at: usize) -> &metric::Data {
    of.scope_metrics[0].metrics[at].data.as_ref().expect("data")
}

#[test]
fn counters_and_gauges_arrive_by_their_labels() {
    let port = vec![("port", "80".to_string())];
    let all = [
        metric("requests", Unit::Number, Data::Counter(vec![(port.clone(), 7)])),
        metric("ring", Unit::Bytes, Data::Gauge(vec![(port, 0.5)])),
    ];
    let arrived = arrived(&all).remove(0);
    let of_resource = texts(&arrived.resource.as_ref().expect("a resource").attributes);
    assert_eq!(of_resource["service.name"], "rearguard-watch");
    assert_eq!(of_resource["service.instance.id"], "host-1");
    let named = |at: usize| {
        let one = &arrived.scope_metrics[0].metrics[at];
        (one.name.as_str(), one.unit.as_str(), one.description.as_str())
    };
    assert_eq!(named(0), ("rearguard.watch.requests", "", "What it is"));
    assert_eq!(named(1), ("rearguard.watch.ring", "By", "What it is"));
    let metric::Data::Sum(sum) = data(&arrived, 0) else { panic!("no sum") };
    assert!(sum.is_monotonic && sum.aggregation_temporality == 2);
    let point = &sum.data_points[0];
    assert_eq!(point.value, Some(number_data_point::Value::AsInt(7)));
    assert_eq!(texts(&point.attributes)["port"], "80");
    assert_eq!(point.start_time_unix_nano, ENDED);
    assert!(point.time_unix_nano > ENDED);
    let metric::Data::Gauge(gauge) = data(&arrived, 1) else { panic!("no gauge") };
    assert_eq!(gauge.data_points[0].value, Some(number_data_point::Value::AsDouble(0.5)));
}

#[test]
fn a_histogram_arrives_with_the_trace_of_a_kept_request() {
    let one = traced();
    let mut latency = Histogram::default();
    for ns in [60_000, 60_000, 42_000_000, 9_000_000_000] {
        latency.observe(Nanos(ns));
    }
    let without = latency.clone();
    latency.name(exemplar(&one, None).expect("it has an end"));
    let of = |histogram: Histogram| {
        let samples = BTreeMap::from([(vec![("port", "80".to_string())], histogram)]);
        let all = [metric("latency", Unit::Seconds, Data::Histogram(samples.into()))];
        let arrived = arrived(&all).remove(0);
        let metric::Data::Histogram(own) = data(&arrived, 0) else { panic!("no histogram") };
        own.data_points[0].clone()
    };
    assert_eq!(of(without).exemplars, [], "the control");
    let point = of(latency);
    assert_eq!((point.count, point.bucket_counts.iter().sum::<u64>()), (4, 4));
    assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
    let at = point.explicit_bounds.iter().position(|end| *end == 0.05).expect("50 ms");
    assert_eq!((point.bucket_counts[at], point.bucket_counts.last()), (1, Some(&1)));
    assert!((point.sum.expect("a sum") - 9.042_12).abs() < 1e-9);
    let sent = TracesData::decode(&one.message("h", "0.2.0").expect("an end")[..]).expect("OTLP");
    let [named] = &point.exemplars[..] else { panic!("one exemplar") };
    assert_eq!(named.trace_id, spans(&sent)[0].trace_id);
    assert_eq!(named.span_id, spans(&sent)[0].span_id);
    assert_eq!(named.time_unix_nano, ENDED);
    let stage = exemplar(&one, Some("t2_t3")).expect("it has an end");
    assert_eq!((stage.value, stage.span_id.to_vec()), (0.04, spans(&sent)[2].span_id.clone()));
    assert_eq!(exemplar(&one, Some("t9")), None);
}
