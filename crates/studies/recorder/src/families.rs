//! Metrics as Prometheus' protobuf, the one format of a scrape that has exponential buckets.

mod proto;
#[cfg(test)]
mod tests;

use prost::Message;

use self::proto::{Bucket, BucketSpan, LabelPair, MetricFamily, MetricType, Timestamp, Value};
use crate::exponential::{Exponential, ZERO_THRESHOLD};
use crate::metric::{Data, Exemplar, Histogram, Labels, Metric};

/// All that have samples, each `io.prometheus.client.MetricFamily` behind its length.
pub fn families(all: &[Metric]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for family in all.iter().map(family).filter(|family| !family.metric.is_empty()) {
        family.encode_length_delimited(&mut bytes).expect("a Vec takes any length");
    }
    bytes
}

fn family(own: &Metric) -> MetricFamily {
    let (kind, metric): (_, Vec<proto::Metric>) = match &own.data {
        Data::Counter(all) => (MetricType::Counter, all.iter().map(counted).collect()),
        Data::Gauge(all) => (MetricType::Gauge, all.iter().map(measured).collect()),
        Data::Histogram(all) => (MetricType::Histogram, all.iter().map(observed).collect()),
    };
    // In this format families of counters are named as their samples are.
    let end = if kind == MetricType::Counter { "_total" } else { "" };
    MetricFamily {
        name: Some(format!("{}{end}", own.family())),
        // With the full stop that the text has.
        help: Some(format!("{}.", own.help)),
        r#type: Some(kind.into()),
        metric,
    }
}

fn counted((labels, count): &(Labels, u64)) -> proto::Metric {
    let counter = Some(Value { value: Some(*count as f64) });
    proto::Metric { label: pairs(labels), counter, ..proto::Metric::default() }
}

fn measured((labels, value): &(Labels, f64)) -> proto::Metric {
    let gauge = Some(Value { value: Some(*value) });
    proto::Metric { label: pairs(labels), gauge, ..proto::Metric::default() }
}

fn observed((labels, own): (&Labels, &Histogram)) -> proto::Metric {
    let histogram = Some(histogram(own));
    proto::Metric { label: pairs(labels), histogram, ..proto::Metric::default() }
}

/// Both kinds of buckets: a Prometheus takes the exponential ones, and the others where it is told to.
fn histogram(own: &Histogram) -> proto::Histogram {
    let exponential = own.exponential();
    let (positive_span, positive_delta) = spans(exponential);
    proto::Histogram {
        sample_count: Some(own.count()),
        sample_sum: Some(own.sum),
        bucket: fixed(own),
        schema: Some(exponential.schema()),
        // By this one, which is no zero, a histogram without values is seen to be a native one.
        zero_threshold: Some(ZERO_THRESHOLD),
        zero_count: Some(exponential.zeros()),
        positive_span,
        positive_delta,
        exemplars: own.exemplars().map(exemplar).collect(),
    }
}

fn fixed(own: &Histogram) -> Vec<Bucket> {
    let mut all = 0;
    let bucket = |((end, count), named): ((f64, u64), &Option<Exemplar>)| {
        all += count;
        let exemplar = named.as_ref().map(exemplar);
        Bucket { cumulative_count: Some(all), upper_bound: Some(end), exemplar }
    };
    own.buckets().zip(own.named()).map(bucket).collect()
}

/// Buckets that are not empty as the format has them: where they are, and by how much each count differs from
/// the one before.
fn spans(own: &Exponential) -> (Vec<BucketSpan>, Vec<i64>) {
    let (mut spans, mut deltas) = (Vec::<BucketSpan>::new(), Vec::new());
    let (mut next, mut before) = (0, 0);
    for (index, count) in own.buckets() {
        match spans.last_mut().filter(|_| *index == next) {
            Some(BucketSpan { length: Some(length), .. }) => *length += 1,
            _ => spans.push(BucketSpan { offset: Some(index - next), length: Some(1) }),
        }
        deltas.push(count.wrapping_sub(before) as i64);
        (next, before) = (index + 1, *count);
    }
    (spans, deltas)
}

fn exemplar(own: &Exemplar) -> proto::Exemplar {
    let hexadecimal = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let label = vec![
        pair("trace_id", hexadecimal(&own.trace_id)),
        pair("span_id", hexadecimal(&own.span_id)),
    ];
    let (seconds, nanos) = (own.at_ns / 1_000_000_000, own.at_ns % 1_000_000_000);
    let timestamp = Some(Timestamp { seconds: seconds as i64, nanos: nanos as i32 });
    proto::Exemplar { label, value: Some(own.value), timestamp }
}

fn pairs(labels: &Labels) -> Vec<LabelPair> {
    labels.iter().map(|(name, value)| pair(name, value.clone())).collect()
}

fn pair(name: &str, value: String) -> LabelPair {
    LabelPair { name: Some(name.to_string()), value: Some(value) }
}
