//! `--metrics`: OpenMetrics.

use std::fmt::Error;

use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use recorder::{Data, Histogram, Labels, Metric};

/// Metrics as text.
pub fn text(all: &[Metric]) -> String {
    let mut registry = Registry::default();
    for metric in all {
        registry.register(metric.family(), metric.help, Samples(metric.data.clone()));
    }
    let mut text = String::new();
    encode(&mut text, &registry).expect("a String takes any text");
    text
}

#[derive(Debug)]
struct Samples(Data);

impl EncodeMetric for Samples {
    fn encode(&self, mut encoder: MetricEncoder) -> Result<(), Error> {
        match &self.0 {
            Data::Counter(samples) => samples.iter().try_for_each(|(labels, count)| {
                of(&mut encoder, labels, |own| {
                    own.encode_counter::<NoLabelSet, u64, u64>(count, None)
                })
            }),
            Data::Gauge(samples) => samples.iter().try_for_each(|(labels, value)| {
                of(&mut encoder, labels, |own| own.encode_gauge(value))
            }),
            Data::Histogram(samples) => samples.iter().try_for_each(|(labels, histogram)| {
                of(&mut encoder, labels, |own| buckets(histogram, own))
            }),
        }
    }

    fn metric_type(&self) -> MetricType {
        match self.0 {
            Data::Counter(_) => MetricType::Counter,
            Data::Gauge(_) => MetricType::Gauge,
            Data::Histogram(_) => MetricType::Histogram,
        }
    }

    fn is_empty(&self) -> bool {
        match &self.0 {
            Data::Counter(samples) => samples.is_empty(),
            Data::Gauge(samples) => samples.is_empty(),
            Data::Histogram(samples) => samples.is_empty(),
        }
    }
}

/// A sample with its labels. Without any the library would write empty braces.
fn of(
    encoder: &mut MetricEncoder,
    labels: &Labels,
    encode: impl Fn(&mut MetricEncoder) -> Result<(), Error>,
) -> Result<(), Error> {
    if labels.is_empty() { encode(encoder) } else { encode(&mut encoder.encode_family(labels)?) }
}

fn buckets(own: &Histogram, encoder: &mut MetricEncoder) -> Result<(), Error> {
    // The library writes this one as `+Inf`.
    let buckets: Vec<_> = own.buckets().map(|(end, count)| (end.min(f64::MAX), count)).collect();
    encoder.encode_histogram::<NoLabelSet>(own.sum, own.count(), &buckets, None)
}
