//! Metrics as OTLP's: all is counted since the recorder's start.

use std::time::SystemTime;

use prost::Message;

use super::proto::{self, Buckets, Gauge, KeyValue, Number, Sum, scope, text};
use super::spans::since_1970;
use crate::metric::{Data, Exemplar, Histogram, Labels, Metric, Unit};

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`: each value has all since the start. One that is lost is not missed.
const CUMULATIVE: i32 = 2;
/// What metrics are of. A Prometheus makes it the label `job`.
const SERVICE: &str = "rearguard-watch";
/// What names begin with.
const PREFIX: &str = "rearguard.watch";

/// The body of a request to `/v1/metrics`, of a recorder that has run on a host since then.
pub fn metrics(all: &[Metric], since: SystemTime, host: &str, version: &str) -> Vec<u8> {
    let time = (since_1970(since), since_1970(SystemTime::now()));
    let resource = [("service.name", SERVICE), ("service.instance.id", host), ("host.name", host)];
    let attributes = resource.map(|(key, value)| text(key, value)).to_vec();
    let metrics = all.iter().map(|metric| message(metric, time)).collect();
    let scope_metrics = vec![proto::ScopeMetrics { scope: Some(scope(version)), metrics }];
    let resource = Some(proto::Resource { attributes });
    let resource_metrics = vec![proto::ResourceMetrics { resource, scope_metrics }];
    proto::Metrics { resource_metrics }.encode_to_vec()
}

fn message(metric: &Metric, time: (u64, u64)) -> proto::Metric {
    let unit = match metric.unit {
        Unit::Number => "",
        Unit::Seconds => "s",
        Unit::Bytes => "By",
    };
    let data = match &metric.data {
        Data::Counter(samples) => {
            let points = samples.iter().map(|(labels, count)| counted(labels, *count, time));
            let (data_points, aggregation_temporality) = (points.collect(), CUMULATIVE);
            proto::Data::Sum(Sum { data_points, aggregation_temporality, is_monotonic: true })
        }
        Data::Gauge(samples) => {
            let points = samples.iter().map(|(labels, value)| measured(labels, *value, time));
            proto::Data::Gauge(Gauge { data_points: points.collect() })
        }
        Data::Histogram(samples) => {
            let points = samples.iter().map(|(labels, own)| buckets(labels, own, time));
            let (data_points, aggregation_temporality) = (points.collect(), CUMULATIVE);
            proto::Data::Histogram(proto::Histogram { data_points, aggregation_temporality })
        }
    };
    proto::Metric {
        name: format!("{PREFIX}.{}", metric.name),
        description: metric.help.to_string(),
        unit: unit.to_string(),
        data: Some(data),
    }
}

fn attributes(labels: &Labels) -> Vec<KeyValue> {
    labels.iter().map(|(key, value)| text(key, value)).collect()
}

fn counted(labels: &Labels, count: u64, time: (u64, u64)) -> Number {
    let as_int = Some(i64::try_from(count).unwrap_or(i64::MAX));
    Number { as_int, ..number(labels, time) }
}

fn measured(labels: &Labels, value: f64, time: (u64, u64)) -> Number {
    Number { as_double: Some(value), ..number(labels, time) }
}

fn number(labels: &Labels, (start_time_unix_nano, time_unix_nano): (u64, u64)) -> Number {
    let attributes = attributes(labels);
    Number { start_time_unix_nano, time_unix_nano, attributes, ..Number::default() }
}

fn buckets(labels: &Labels, own: &Histogram, time: (u64, u64)) -> Buckets {
    let (mut explicit_bounds, bucket_counts): (Vec<f64>, Vec<u64>) = own.buckets().unzip();
    // The last one has no end.
    explicit_bounds.pop();
    Buckets {
        start_time_unix_nano: time.0,
        time_unix_nano: time.1,
        count: own.count(),
        sum: Some(own.sum),
        bucket_counts,
        explicit_bounds,
        exemplars: own.exemplars().map(exemplar).collect(),
        attributes: attributes(labels),
    }
}

fn exemplar(own: &Exemplar) -> proto::Exemplar {
    proto::Exemplar {
        time_unix_nano: own.at_ns,
        as_double: Some(own.value),
        span_id: own.span_id.to_vec(),
        trace_id: own.trace_id.to_vec(),
    }
}
