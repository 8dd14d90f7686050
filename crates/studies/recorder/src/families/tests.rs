use std::collections::BTreeMap;

use model::Nanos;

use super::*;
use crate::metric::Unit;

fn read(mut bytes: &[u8]) -> Vec<MetricFamily> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        all.push(MetricFamily::decode_length_delimited(&mut bytes).expect("a family"));
    }
    all
}

fn of_port(port: u64) -> Labels {
    vec![("port", port.to_string())]
}

fn histogram_of(values_ns: impl IntoIterator<Item = u64>) -> Histogram {
    let mut own = Histogram::default();
    values_ns.into_iter().for_each(|ns| own.observe(Nanos(ns)));
    own
}

fn latency(all: BTreeMap<Labels, Histogram>) -> Metric {
    let data = Data::Histogram(all.into());
    Metric { name: "latency", help: "Latency", unit: Unit::Seconds, data }
}

/// What is in a histogram that was sent, by index.
fn buckets(own: &proto::Histogram) -> Vec<(i32, u64)> {
    let (mut index, mut count, mut all) = (0, 0, Vec::new());
    let mut deltas = own.positive_delta.iter();
    for BucketSpan { offset, length } in &own.positive_span {
        index += offset.expect("an offset");
        for _ in 0..length.expect("a length") {
            count += deltas.next().expect("one for each bucket");
            all.push((index, u64::try_from(count).expect("no negative count")));
            index += 1;
        }
    }
    assert_eq!(deltas.next(), None, "no bucket for it");
    all
}

/// Google's library for Python, with client_model's own file, reads these bytes and writes the same.
#[test]
fn a_counter_is_these_bytes() {
    let data = Data::Counter(vec![(of_port(80), 3)]);
    let own = Metric { name: "requests", help: "Answered", unit: Unit::Number, data };
    let name = b"rearguard_watch_requests_total";
    let head = [b"\x46\x0a\x1e".as_slice(), name, b"\x12\x09Answered.", b"\x18\x00"].concat();
    let sample =
        b"\x22\x17\x0a\x0a\x0a\x04port\x12\x0280\x1a\x09\x09\x00\x00\x00\x00\x00\x00\x08\x40";
    assert_eq!(families(&[own]), [head.as_slice(), sample].concat());
}

#[test]
fn spans_and_deltas_are_the_buckets_that_were_counted() {
    let log = (0..400).map(|at| 1.03_f64.powi(at * 7 % 400) as u64 * 1_000);
    let values: Vec<u64> = [0, 1, 1, 2, u64::MAX].into_iter().chain(log).collect();
    let own = histogram_of(values.iter().copied());
    let sent = histogram(&own);
    assert_eq!(buckets(&sent), own.exponential().buckets());
    assert!(sent.positive_span.len() > 2, "the control: there are gaps, {:?}", sent.positive_span);
    let counted: u64 = buckets(&sent).iter().map(|(_, count)| count).sum();
    assert_eq!(sent.zero_count.map(|zeros| zeros + counted), sent.sample_count);
    assert_eq!(sent.sample_count, Some(values.len() as u64));
    let ends: Vec<f64> = sent.bucket.iter().filter_map(|one| one.upper_bound).collect();
    assert!(ends.is_sorted() && ends.last() == Some(&f64::INFINITY), "{ends:?}");
    assert_eq!(sent.bucket.last().and_then(|one| one.cumulative_count), sent.sample_count);
}

/// As Prometheus tells the two kinds apart: since version 2.40 by buckets and zeros, or by spans as well.
#[test]
fn a_histogram_without_values_is_native() {
    let sent = histogram(&Histogram::default());
    assert!(sent.positive_span.is_empty() && sent.zero_count == Some(0), "the control: {sent:?}");
    assert!(sent.zero_threshold > Some(0.0), "{sent:?}");
}

#[test]
fn metrics_without_samples_are_left_out() {
    let data = Data::Gauge(Vec::new());
    let empty = Metric { name: "threshold", help: "Threshold", unit: Unit::Seconds, data };
    let one = latency([(of_port(80), Histogram::default())].into());
    let names = |all: &[Metric]| -> Vec<String> {
        read(&families(all)).into_iter().filter_map(|own| own.name).collect()
    };
    assert_eq!(names(&[empty, one]), ["rearguard_watch_latency_seconds"]);
}

#[test]
fn kept_requests_are_named_in_both_kinds_of_buckets() {
    let mut own = histogram_of([42_000_000]);
    let at_ns = 1_764_126_131_577_000_000;
    own.name(Exemplar { value: 0.042, at_ns, trace_id: [0xab; 16], span_id: [1; 8] });
    let sent = histogram(&own);
    let named: Vec<_> = sent.bucket.iter().filter_map(|one| one.exemplar.as_ref()).collect();
    let one = &sent.exemplars[0];
    assert_eq!(named, [one]);
    let label = vec![pair("trace_id", "ab".repeat(16)), pair("span_id", "01".repeat(8))];
    let timestamp = Some(Timestamp { seconds: 1_764_126_131, nanos: 577_000_000 });
    assert_eq!(*one, proto::Exemplar { label, value: Some(0.042), timestamp });
}

/// Latencies and five stages, with many buckets.
#[test]
fn metrics_of_a_thousand_services_take_less_than_8_mib() {
    let wide = histogram_of((0..2_000).map(|at| 1.01_f64.powi(at) as u64));
    assert!(wide.exponential().buckets().len() > 200, "the control: they are many");
    let all = (0..6_000).map(|port| (of_port(port), wide.clone())).collect();
    let bytes = families(&[latency(all)]);
    assert!(bytes.len() < 8 << 20, "{}", bytes.len());
}
