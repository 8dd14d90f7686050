//! `--otlp`: slow requests and metrics to a receiver of OpenTelemetry's protocol.

use std::time::{Duration, Instant, SystemTime};

use model::{Failure, Nanos};
use recorder::{Deliveries, Endpoint, Metric, Pace, Sender, Signal, Traced, metrics};

use crate::files::header_lines;

/// How long the receiver has for what is left at the end.
const AT_THE_END: Duration = Duration::from_secs(5);
/// More often would be a load of its own.
const LEAST_EVERY: Nanos = Nanos::from_millis(100);
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Receivers.
pub struct Otlp {
    traces: Option<Sender>,
    metrics: Option<Sender>,
    every: Duration,
    /// Since when it is counted.
    since: SystemTime,
    sent: Option<Instant>,
    host: String,
}

impl Otlp {
    /// Metrics go there so often.
    pub fn start(to: &[Endpoint], every: Nanos) -> Result<Otlp, Failure> {
        if every < LEAST_EVERY {
            return Err(Failure::Input(format!("--otlp-every: {LEAST_EVERY} at least")));
        }
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Ok(Otlp {
            traces: sender(to, Signal::Traces)?,
            metrics: sender(to, Signal::Metrics)?,
            every: Duration::from_nanos(every.0),
            since: SystemTime::now(),
            sent: None,
            host: host.trim().to_string(),
        })
    }

    /// Sends a request that was kept.
    pub fn keep(&self, one: &Traced) {
        let Some(traces) = &self.traces else { return };
        // The store gave it its end.
        if let Ok(message) = one.message(&self.host, VERSION) {
            traces.offer(message);
        }
    }

    /// Whether metrics are to be sent now.
    pub fn is_time(&self) -> bool {
        self.metrics.is_some() && self.sent.is_none_or(|at| at.elapsed() >= self.every)
    }

    /// Sends metrics.
    pub fn send(&mut self, all: &[Metric]) {
        self.sent = Some(Instant::now());
        let message = || metrics(all, self.since, &self.host, VERSION);
        self.metrics.iter().for_each(|sender| sender.offer(message()));
    }

    /// What became of messages, by signal.
    pub fn counts(&self) -> Vec<(Signal, Deliveries)> {
        self.senders().map(|(signal, sender)| (signal, sender.counts())).collect()
    }

    fn senders(&self) -> impl Iterator<Item = (Signal, &Sender)> {
        let both = [(Signal::Traces, &self.traces), (Signal::Metrics, &self.metrics)];
        both.into_iter().filter_map(|(signal, sender)| Some((signal, sender.as_ref()?)))
    }

    /// Waits until all is sent, and not for long.
    pub fn finish(self) -> Vec<(Signal, Deliveries)> {
        let until = Instant::now() + AT_THE_END;
        for (_, sender) in self.senders() {
            sender.finish(until.saturating_duration_since(Instant::now()));
        }
        self.counts()
    }
}

/// Receivers with the headers that a user gave: secrets of one, which no other gets.
pub fn receivers(to: &[Endpoint], given: &[String]) -> Result<Vec<Endpoint>, Failure> {
    let wrong = |why: &str| Failure::Input(format!("--otlp-header: {why}"));
    let lines = header_lines("--otlp-header", given)?;
    if !lines.is_empty() && to.iter().any(|one| !one.is_beside(&to[0])) {
        return Err(wrong(
            "headers go to one receiver: give one --otlp, or two with one host and port",
        ));
    }
    let with = |one: &Endpoint| one.clone().with_headers(&lines);
    to.iter().map(with).collect::<Result<_, _>>().map_err(|why| wrong(&why))
}

/// To the one receiver of a signal, if there is one.
fn sender(to: &[Endpoint], signal: Signal) -> Result<Option<Sender>, Failure> {
    let mut own = to.iter().filter(|to| to.takes(signal));
    let Some(first) = own.next() else { return Ok(None) };
    if own.next().is_some() {
        let name = signal.name();
        return Err(Failure::Input(format!("--otlp: {name} go to one receiver: which of them?")));
    }
    let say = Box::new(|line: &str| anstream::eprintln!("rearguard: {line}"));
    Sender::start(first, signal, Pace::default(), say).map(Some)
}
