//! What is counted, with its names and labels.

use model::Nanos;
use recorder::{Data, Deliveries, Labels, Metric, Signal, Unit};

use super::explainer::Fates;
use super::service::Service;

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

/// Labels of a service.
pub fn of_port(port: u16) -> Labels {
    vec![("port", port.to_string())]
}

fn counter(name: &'static str, help: &'static str, samples: Vec<(Labels, u64)>) -> Metric {
    Metric { name, help, unit: Unit::Number, data: Data::Counter(samples) }
}

fn gauge(
    name: &'static str,
    help: &'static str,
    unit: Unit,
    samples: Vec<(Labels, f64)>,
) -> Metric {
    Metric { name, help, unit, data: Data::Gauge(samples) }
}

/// By port.
pub fn of_services(services: &[(&Service, Fates)]) -> Vec<Metric> {
    let by_port = |name, help, of: &dyn Fn(&Service, &Fates) -> u64| {
        let all = services.iter().map(|(one, fates)| (of_port(one.port), of(one, fates)));
        counter(name, help, all.collect())
    };
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
    let thresholds = services
        .iter()
        .filter_map(|(one, _)| Some((of_port(one.port), Nanos::as_secs_f64(one.threshold.now()?))));
    let seconds = |name, help, of: &dyn Fn(&Service) -> Nanos| {
        let all = services.iter().map(|(one, _)| (of_port(one.port), of(one).as_secs_f64()));
        gauge(name, help, Unit::Seconds, all.collect())
    };
    let of_threshold = "From which latency on requests are slow; none until it is learned";
    vec![
        by_port("requests", "Requests that were answered", &|one, _| one.counts.requests),
        by_port("slow_requests", "Requests over the threshold", &|one, _| one.counts.slow),
        by_port("kept_requests", "Requests that were kept", &|_, fates| fates.kept),
        by_port("rotated_requests", "Kept requests that went for younger ones", &|_, fates| {
            fates.rotated
        }),
        counter("not_kept_requests", "Slow requests not kept", reasons.collect()),
        gauge("threshold", of_threshold, Unit::Seconds, thresholds.collect()),
        seconds("slowest_request", "Slowest of this minute and the last", &|one| one.slowest.get()),
        seconds("longest_wait", "Longest wait for a CPU (T2 to T3) of these minutes", &|one| {
            one.longest_wait.get()
        }),
    ]
}

/// Of the recorder.
pub fn of_whole(whole: &Whole) -> [Metric; 5] {
    let Whole { lost, skipped, incomplete, unanswered, ring_bytes } = *whole;
    let counter = |name, help, count| counter(name, help, vec![(Vec::new(), count)]);
    let ring = vec![(Vec::new(), ring_bytes as f64)];
    [
        counter("lost_records", "Records of hooks that found no room", lost),
        counter("skipped_hooks", "Calls of hooks that the kernel skipped", skipped),
        counter("incomplete_requests", "Requests of which a moment is missing", incomplete),
        counter("unanswered_requests", "Requests without an answer", unanswered),
        gauge("ring", "Memory of the ring of records", Unit::Bytes, ring),
    ]
}

/// Messages of OTLP, by what they have.
pub fn of_signals(counts: &[(Signal, Deliveries)]) -> [Metric; 2] {
    let of = |signal: Signal| vec![("signal", signal.name().to_string())];
    let sent = counts.iter().map(|(signal, own)| (of(*signal), own.sent));
    let dropped = counts.iter().flat_map(|(signal, own)| {
        let reasons =
            [("no_room", own.no_room), ("refused", own.refused), ("not_taken", own.not_taken)];
        let labels = move |reason: &str| [of(*signal), vec![("reason", reason.to_string())]];
        reasons.map(|(reason, count)| (labels(reason).concat(), count))
    });
    [
        counter("otlp_sent", "Messages that the receiver took", sent.collect()),
        counter("otlp_dropped", "Messages that the receiver does not have", dropped.collect()),
    ]
}
