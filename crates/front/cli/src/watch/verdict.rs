//! A slow request with its trace and its verdict.

use model::Nanos;
use model::trace::Window;
use recorder::{KEPT_SCHEMA, KeptRequest, Place, Told, Traced};
use report::explain::Finding;
use report::stages::SERVER_STAGES;
use trace::Recorded;
use tracer::{Ended, Observed, Recording, snapshot};

use crate::stages::ran::Ran;
use crate::stages::recorded;

/// The least of what was before a request without which no verdict is given.
const LEAST_BEFORE: Nanos = Nanos::from_millis(50);

/// A slow request with what was seen of its time.
pub struct Slow {
    /// Its moments.
    pub one: Ended,
    /// Where it goes.
    pub place: Place,
    /// From which latency on requests are slow.
    pub threshold: Nanos,
    /// Whether that was given, and not learned.
    pub is_given: bool,
    /// The port.
    pub port: u16,
    /// The records.
    pub cut: Recording,
    /// When records were lost last.
    pub lost_at: Option<Nanos>,
}

/// What there is to keep of a request, and its trace; `None` where it is not to be found in what was seen.
pub fn explain(slow: Slow) -> Option<(Traced, Vec<u8>)> {
    let stages = slow.one.stages;
    let begin = slow.cut.begin().unwrap_or(Nanos::NEVER);
    let mut observed = snapshot(&slow.cut, Some(&slow.one))?;
    drop(slow.cut);
    let arrived = stages.arrived.saturating_sub(begin);
    observed.trace.window = Window { start: arrived, end: arrived + Nanos(1) };
    let recorded = recorded(slow.port, &observed);
    let (service, owner) = service(observed);
    let mut trace = Vec::new();
    trace::write(&recorded.header, &recorded.trace, &mut trace).ok()?;
    let longest = stages.spans().into_iter().zip(SERVER_STAGES).max_by_key(|(span, _)| *span);
    let is_whole = begin.saturating_add(LEAST_BEFORE) <= stages.arrived;
    let (told, findings) = match slow.lost_at.filter(|at| *at >= begin) {
        Some(_) => cannot("records of this time are missing"),
        None if stages.arrived < begin => cannot("it began before what is kept of the past"),
        None if !is_whole => cannot("the ring does not hold all that was before it"),
        None => told(&recorded, stages.latency()),
    };
    let kept = KeptRequest {
        schema: KEPT_SCHEMA.to_string(),
        service,
        owner,
        port: slow.port,
        latency_ns: stages.latency().0,
        threshold_ns: slow.threshold.0,
        threshold: if slow.is_given { "given" } else { "learned" }.to_string(),
        stage: longest.map_or(String::new(), |(_, names)| names.0.to_string()),
        stage_ns: longest.map_or(0, |(span, _)| span.0),
        told,
        ..KeptRequest::default()
    };
    Some((Traced { kept, stages, findings }, trace))
}

/// The service's name, and what it belongs to; all else goes.
fn service(observed: Observed) -> (String, Option<String>) {
    let service = observed.programs.into_iter().next();
    service.map(|process| (process.name, process.owner)).unwrap_or_default()
}

fn cannot(why: &str) -> (Told, Vec<Finding>) {
    (Told::cannot(why), Vec::new())
}

/// The verdict on the one request of a trace's window with this latency, and what took its time.
fn told(recorded: &Recorded, latency: Nanos) -> (Told, Vec<Finding>) {
    let Ok(document) = crate::explain::document(recorded) else {
        return cannot("no event names the thread that served it");
    };
    let service = document.services.first().filter(|one| one.slow_ns.latency == latency.0 as f64);
    let slow = service.and_then(|service| Some((service, service.slow.first()?)));
    let Some((service, slow)) = slow else {
        return cannot("its moments are not to be found again");
    };
    let trace = &recorded.trace;
    let ran = Ran::new(trace.threads.len(), trace.events.as_deref().unwrap_or_default());
    let thread = trace.events.iter().flatten().find_map(|event| match event.what {
        model::event::What::Start { thread, request }
            if u64::from(request) == slow.request && trace.threads[thread.index()].program == 0 =>
        {
            Some(thread)
        }
        _ => None,
    });
    let span =
        thread.map(|thread| ran.between(thread, Nanos(slow.started_ns), Nanos(slow.completed_ns)));
    (Told::of(service, span.unwrap_or_default()), service.findings.clone())
}
