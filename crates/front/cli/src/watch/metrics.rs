//! `--metrics`: what was seen and kept, as OpenMetrics.

use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use model::{Failure, Nanos};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use report::stages::SERVER_STAGES;
use tracer::Ended;

use super::explainer::Fates;
use super::service::Service;
use crate::exporter::Exporter;

/// How often what is shown is replaced.
const INTERVAL: Duration = Duration::from_secs(1);
/// Upper ends of buckets: 1, 2 and 5 of each power of ten from 10 us to 5 s.
const BUCKETS_US: [u32; 18] = [
    10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000,
    500_000, 1_000_000, 2_000_000, 5_000_000,
];

type Labels = Vec<(&'static str, String)>;
type Histograms = Family<Labels, Histogram, fn() -> Histogram>;

/// What of the whole recorder is shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Whole {
    /// Records that found no room.
    pub lost: u64,
    /// Calls of hooks that the kernel skipped.
    pub skipped: u64,
    /// Requests of which a moment is missing.
    pub incomplete: u64,
    /// Requests without an answer.
    pub unanswered: u64,
    /// Bytes of the ring's records.
    pub ring_bytes: u64,
}

/// Histograms that grow, and where all goes.
pub struct Metrics {
    exporter: Exporter,
    latencies: Histograms,
    stages: Histograms,
    shown: Option<Instant>,
    is_failing: bool,
}

fn histogram() -> Histogram {
    Histogram::new(BUCKETS_US.map(|us| f64::from(us) / 1e6))
}

fn of_port(port: u16) -> Labels {
    vec![("port", port.to_string())]
}

impl Metrics {
    /// To an address or a file.
    pub fn open(place: &str) -> Result<Metrics, Failure> {
        let family = || Histograms::new_with_constructor(histogram);
        Ok(Metrics {
            exporter: Exporter::open(place)?,
            latencies: family(),
            stages: family(),
            shown: None,
            is_failing: false,
        })
    }

    /// Counts requests of a port that have ended.
    pub fn count(&self, port: u16, ended: &[Ended]) {
        let labels = of_port(port);
        let latencies = self.latencies.get_or_create(&labels);
        ended.iter().for_each(|one| latencies.observe(one.stages.latency().as_secs_f64()));
        for (at, (stage, _)) in SERVER_STAGES.iter().enumerate() {
            let labels = [&labels[..], &[("stage", (*stage).to_string())]].concat();
            let own = self.stages.get_or_create(&labels);
            for one in ended {
                let moments = one.stages.moments();
                own.observe(moments[at + 1].saturating_sub(moments[at]).as_secs_f64());
            }
        }
    }

    /// Shows all, where it is time. What cannot be written is said once.
    pub fn show(&mut self, services: &[(&Service, Fates)], whole: &Whole) {
        if self.shown.is_some_and(|at| at.elapsed() < INTERVAL) {
            return;
        }
        self.shown = Some(Instant::now());
        let shown = self.exporter.show(self.text(services, whole));
        if let Err(error) = &shown
            && !self.is_failing
        {
            anstream::eprintln!("rearguard: {error}; it goes on");
        }
        self.is_failing = shown.is_err();
    }

    fn text(&self, services: &[(&Service, Fates)], whole: &Whole) -> String {
        let mut registry = Registry::with_prefix("rearguard_watch");
        register_services(&mut registry, services);
        register_whole(&mut registry, whole);
        let (latency, stages) = (self.latencies.clone(), self.stages.clone());
        registry.register("latency_seconds", "Latency of requests, from T1 to T6", latency);
        registry.register("stage_seconds", "Stages of requests", stages);
        let mut text = String::new();
        encode(&mut text, &registry).expect("a String takes any text");
        text
    }
}

fn counters(all: impl Iterator<Item = (Labels, u64)>) -> Family<Labels, Counter> {
    let family = Family::<Labels, Counter>::default();
    for (labels, count) in all {
        family.get_or_create(&labels).inc_by(count);
    }
    family
}

fn register_services(registry: &mut Registry, services: &[(&Service, Fates)]) {
    let mut by_port = |name: &str, help: &str, of: &dyn Fn(&Service, &Fates) -> u64| {
        let all = services.iter().map(|(one, fates)| (of_port(one.port), of(one, fates)));
        registry.register(name, help, counters(all));
    };
    by_port("requests", "Requests that were answered", &|one, _| one.counts.requests);
    by_port("slow_requests", "Requests over the threshold", &|one, _| one.counts.slow);
    by_port("kept_requests", "Requests that were kept", &|_, fates| fates.kept);
    by_port("rotated_requests", "Kept requests that went for younger ones", &|_, fates| {
        fates.rotated
    });
    let reasons = services.iter().flat_map(|(one, fates)| {
        let counts = one.counts;
        let reasons = [
            ("same_event", counts.same_event),
            ("less_slow", counts.less_slow),
            ("replaced", fates.replaced),
            ("not_explained_in_time", counts.late),
            ("not_written", fates.unwritten),
        ];
        let labels = |reason: &str| [of_port(one.port), vec![("reason", reason.to_string())]];
        reasons.map(|(reason, count)| (labels(reason).concat(), count))
    });
    registry.register("not_kept_requests", "Slow requests not kept", counters(reasons));
    let thresholds = Family::<Labels, Gauge<f64, AtomicU64>>::default();
    for (port, at) in services.iter().filter_map(|(one, _)| Some((one.port, one.threshold.now()?)))
    {
        thresholds.get_or_create(&of_port(port)).set(Nanos::as_secs_f64(at));
    }
    let help = "From which latency on requests are slow; none until it is learned";
    registry.register("threshold_seconds", help, thresholds);
}

fn register_whole(registry: &mut Registry, whole: &Whole) {
    let Whole { lost, skipped, incomplete, unanswered, ring_bytes } = *whole;
    let mut counter = |name: &str, help: &str, count| {
        let counter = Counter::<u64>::default();
        counter.inc_by(count);
        registry.register(name, help, counter);
    };
    counter("lost_records", "Records of hooks that found no room", lost);
    counter("skipped_hooks", "Calls of hooks that the kernel skipped", skipped);
    counter("incomplete_requests", "Requests of which a moment is missing", incomplete);
    counter("unanswered_requests", "Requests without an answer", unanswered);
    let ring = Gauge::<f64, AtomicU64>::default();
    ring.set(ring_bytes as f64);
    registry.register("ring_bytes", "Memory of the ring of records", ring);
}

#[cfg(test)]
mod tests {
    use model::trace::Stages;

    use super::*;
    use crate::watch::service::Counts;

    /// Metrics of three requests of a port that took 60 us each.
    fn of_three(port: u16) -> Metrics {
        let metrics = Metrics::open("/nonexistent/metrics").expect("it is not written yet");
        let moments = [0, 1_000, 30_000, 32_000, 40_000, 60_000].map(Nanos);
        let [arrived, ready, running, read, sends, transmitted] = moments;
        let stages = Stages { arrived, ready, running, read, sends, transmitted };
        metrics.count(port, &[Ended { stages, thread: 7, service: 0 }; 3]);
        metrics
    }

    /// packaging/prometheus and packaging/grafana are held against the names in this text.
    #[test]
    fn what_was_seen_is_this_open_metrics() {
        let sorted = |text: &str| {
            let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
            lines.sort();
            lines
        };
        let mut service = Service::new(80, Some(Nanos::from_millis(5)));
        service.counts = Counts { requests: 3, slow: 2, same_event: 4, less_slow: 5, late: 6 };
        let fates = Fates { kept: 7, replaced: 8, unwritten: 9, rotated: 10 };
        let whole = Whole { lost: 11, skipped: 12, incomplete: 13, unanswered: 14, ring_bytes: 15 };
        let text = of_three(80).text(&[(&service, fates)], &whole);
        assert_eq!(sorted(&text), sorted(include_str!("tests/metrics.txt")), "{text}");
    }

    #[test]
    fn what_was_seen_is_told_by_port_with_its_stages() {
        let metrics = of_three(80);
        let mut service = Service::new(80, None);
        service.counts.requests = 3;
        let text = metrics.text(&[(&service, Fates::default())], &Whole::default());
        for line in [
            "rearguard_watch_requests_total{port=\"80\"} 3",
            "rearguard_watch_latency_seconds_bucket{le=\"0.00005\",port=\"80\"} 0",
            "rearguard_watch_latency_seconds_bucket{le=\"0.0001\",port=\"80\"} 3",
            "rearguard_watch_stage_seconds_count{port=\"80\",stage=\"t2_t3\"} 3",
            "rearguard_watch_not_kept_requests_total{port=\"80\",reason=\"same_event\"} 0",
        ] {
            assert!(text.contains(line), "{line} in\n{text}");
        }
        assert!(!text.contains("threshold_seconds{"), "it is not learned yet");
        let fixed = Service::new(80, Some(Nanos::from_millis(5)));
        let text = metrics.text(&[(&fixed, Fates::default())], &Whole::default());
        assert!(text.contains("rearguard_watch_threshold_seconds{port=\"80\"} 0.005"), "{text}");
    }
}
