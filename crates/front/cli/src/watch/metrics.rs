//! What was seen and kept, for `--metrics` and `--otlp`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use model::Failure;
use recorder::{
    Data, Deliveries, Histogram, Labels, Metric, Signal, Traced, Unit, exemplar, families,
};
use report::stages::SERVER_STAGES;
use tracer::Ended;

use super::Args;
use super::explainer::Fates;
use super::open_metrics;
use super::otlp::{Otlp, receivers};
use super::samples::{Whole, of_port, of_services, of_signals, of_whole};
use super::service::Service;
use crate::exporter::Exporter;

/// How often what is shown is replaced.
const INTERVAL: Duration = Duration::from_secs(1);

/// Shared with what is shown for as long as that is written.
type Histograms = Arc<BTreeMap<Labels, Histogram>>;

/// Histograms that grow, and where all goes.
pub struct Metrics {
    shown: Option<Shown>,
    otlp: Option<Otlp>,
    latencies: Histograms,
    stages: Histograms,
}

/// Where metrics are shown.
struct Shown {
    exporter: Exporter,
    at: Option<Instant>,
    is_failing: bool,
}

fn of_stage(port: u16, stage: &str) -> Labels {
    vec![("port", port.to_string()), ("stage", stage.to_string())]
}

impl Metrics {
    /// To where is asked for; `None`: nowhere.
    pub fn open(args: &Args) -> Result<Option<Metrics>, Failure> {
        let exporter = args.metrics.as_deref().map(Exporter::open).transpose()?;
        let shown = exporter.map(|exporter| Shown { exporter, at: None, is_failing: false });
        let is_sent = !args.otlp.is_empty();
        let to = receivers(&args.otlp, &args.otlp_header)?;
        let otlp = is_sent.then(|| Otlp::start(&to, args.otlp_every)).transpose()?;
        let (latencies, stages) = (Histograms::default(), Histograms::default());
        let is_any = shown.is_some() || otlp.is_some();
        Ok(is_any.then_some(Metrics { shown, otlp, latencies, stages }))
    }

    /// Counts requests of a port that have ended.
    pub fn count(&mut self, port: u16, ended: &[Ended]) {
        let latencies = Arc::make_mut(&mut self.latencies).entry(of_port(port)).or_default();
        ended.iter().for_each(|one| latencies.observe(one.stages.latency()));
        let stages = Arc::make_mut(&mut self.stages);
        for (at, (stage, _)) in SERVER_STAGES.iter().enumerate() {
            let own = stages.entry(of_stage(port, stage)).or_default();
            ended.iter().for_each(|one| own.observe(one.stages.spans()[at]));
        }
    }

    /// Sends a request that was kept. Histograms name it, each in the bucket that it is in.
    pub fn keep(&mut self, one: &Traced) {
        let Some(otlp) = &self.otlp else { return };
        otlp.keep(one);
        let port = one.kept.port;
        let latency = Arc::make_mut(&mut self.latencies).entry(of_port(port)).or_default();
        exemplar(one, None).into_iter().for_each(|own| latency.name(own));
        let stages = Arc::make_mut(&mut self.stages);
        for (stage, _) in SERVER_STAGES {
            let span = stages.entry(of_stage(port, stage)).or_default();
            exemplar(one, Some(stage)).into_iter().for_each(|own| span.name(own));
        }
    }

    /// Whether something is to be shown or sent now.
    pub fn is_time(&self) -> bool {
        self.shown.as_ref().is_some_and(Shown::is_time)
            || self.otlp.as_ref().is_some_and(Otlp::is_time)
    }

    /// Shows and sends all, where it is time.
    pub fn show(&mut self, services: &[(&Service, Fates)], whole: &Whole) {
        let all = self.all(services, whole);
        self.shown.iter_mut().filter(|own| own.is_time()).for_each(|own| own.show(&all));
        self.otlp.iter_mut().filter(|own| own.is_time()).for_each(|own| own.send(&all));
    }

    /// Sends what was not sent yet; how much there was of each signal.
    pub fn finish(
        mut self,
        services: &[(&Service, Fates)],
        whole: &Whole,
    ) -> Vec<(Signal, Deliveries)> {
        let all = self.all(services, whole);
        self.otlp.take().map_or_else(Vec::new, |mut otlp| {
            otlp.send(&all);
            otlp.finish()
        })
    }

    fn all(&self, services: &[(&Service, Fates)], whole: &Whole) -> Vec<Metric> {
        let mut all = of_services(services);
        all.extend(of_whole(whole));
        all.extend(self.otlp.iter().flat_map(|otlp| of_signals(&otlp.counts())));
        let histogram = |name, help, of: &Histograms| Metric {
            name,
            help,
            unit: Unit::Seconds,
            data: Data::Histogram(Arc::clone(of)),
        };
        all.push(histogram("latency", "Latency of requests, from T1 to T6", &self.latencies));
        all.push(histogram("stage", "Stages of requests", &self.stages));
        all
    }
}

impl Shown {
    fn is_time(&self) -> bool {
        self.at.is_none_or(|at| at.elapsed() >= INTERVAL)
    }

    /// What cannot be written is said once.
    fn show(&mut self, all: &[Metric]) {
        self.at = Some(Instant::now());
        let shown = self.exporter.show_both(open_metrics::text(all), || families(all));
        if let Err(error) = &shown
            && !self.is_failing
        {
            anstream::eprintln!("rearguard: {error}; it goes on");
        }
        self.is_failing = shown.is_err();
    }
}

#[cfg(test)]
mod tests {
    use model::Nanos;
    use model::trace::Stages;
    use recorder::{Endpoint, KeptRequest};

    use super::*;
    use crate::watch::service::Counts;

    /// Metrics of three requests of a port that took 60 us each.
    fn of_three(port: u16) -> Metrics {
        let (latencies, stages) = (Histograms::default(), Histograms::default());
        let mut metrics = Metrics { shown: None, otlp: None, latencies, stages };
        metrics.count(port, &[ended(); 3]);
        metrics
    }

    fn ended() -> Ended {
        Ended { stages: stages(), thread: 7, service: 0 }
    }

    fn stages() -> Stages {
        let moments = [0, 1_000, 30_000, 32_000, 40_000, 60_000].map(Nanos);
        let [arrived, ready, running, read, sends, transmitted] = moments;
        Stages { arrived, ready, running, read, sends, transmitted }
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
        service.take_up(vec![ended()], Nanos::from_secs(1));
        service.counts = Counts { requests: 3, slow: 2, same_event: 4, less_slow: 5, late: 6 };
        let fates = Fates { kept: 7, replaced: 8, unwritten: 9, rotated: 10 };
        let whole = Whole { lost: 11, skipped: 12, incomplete: 13, unanswered: 14, ring_bytes: 15 };
        let mut all = of_three(80).all(&[(&service, fates)], &whole);
        let own = Deliveries { offered: 0, sent: 16, no_room: 17, refused: 18, not_taken: 19 };
        all.extend(of_signals(&[(Signal::Traces, own)]));
        let text = open_metrics::text(&all);
        assert_eq!(sorted(&text), sorted(include_str!("tests/metrics.txt")), "{text}");
    }

    #[test]
    fn what_was_seen_is_told_by_port_with_its_stages() {
        let metrics = of_three(80);
        let mut service = Service::new(80, None);
        service.counts.requests = 3;
        let text = |service: &Service| {
            open_metrics::text(&metrics.all(&[(service, Fates::default())], &Whole::default()))
        };
        let learning = text(&service);
        for line in [
            "rearguard_watch_requests_total{port=\"80\"} 3",
            "rearguard_watch_latency_seconds_bucket{le=\"0.00005\",port=\"80\"} 0",
            "rearguard_watch_latency_seconds_bucket{le=\"0.0001\",port=\"80\"} 3",
            "rearguard_watch_stage_seconds_count{port=\"80\",stage=\"t2_t3\"} 3",
            "rearguard_watch_not_kept_requests_total{port=\"80\",reason=\"same_event\"} 0",
        ] {
            assert!(learning.contains(line), "{line} in\n{learning}");
        }
        assert!(!learning.contains("threshold_seconds{"), "it is not learned yet");
        assert!(!learning.contains("otlp"), "nothing is sent");
        let fixed = text(&Service::new(80, Some(Nanos::from_millis(5))));
        assert!(fixed.contains("rearguard_watch_threshold_seconds{port=\"80\"} 0.005"), "{fixed}");
    }

    #[test]
    fn a_request_that_is_sent_is_named_in_the_histograms_that_it_is_in() {
        let named = |metrics: &Metrics| -> Vec<(Labels, f64)> {
            let all = [&metrics.latencies, &metrics.stages].into_iter().flat_map(|all| all.iter());
            let of = |(labels, own): (&Labels, &Histogram)| {
                own.exemplars().map(|one| (labels.clone(), one.value)).collect::<Vec<_>>()
            };
            all.flat_map(of).collect()
        };
        let mut metrics = of_three(80);
        let ended = "2025-11-26 03:02:11.577 UTC".to_string();
        let kept = KeptRequest { ended, port: 80, ..KeptRequest::default() };
        let one = Traced { kept, stages: stages(), findings: Vec::new() };
        metrics.keep(&one);
        assert_eq!(named(&metrics), [], "the control: it is sent to no receiver");
        let nowhere = Endpoint::parse("http://127.0.0.1:1").expect("a URL");
        metrics.otlp = Some(Otlp::start(&[nowhere], Nanos::from_millis(100)).expect("threads"));
        metrics.keep(&one);
        let of_stage = |at: usize| of_stage(80, SERVER_STAGES[at].0);
        let spans = [1e-6, 29e-6, 2e-6, 8e-6, 20e-6].into_iter().enumerate();
        let spans = spans.map(|(at, span)| (of_stage(at), span));
        let all: Vec<_> = [(of_port(80), 60e-6)].into_iter().chain(spans).collect();
        assert_eq!(named(&metrics), all);
    }
}
