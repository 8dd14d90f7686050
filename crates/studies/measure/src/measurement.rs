//! One measured run of a server, as a trace that every analysis reads.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use generator::{Limits, LiveCounters, Loss, Place, Record, SelfCheck, Sharing, Tally};
use model::law::Law;
use model::scenario::{Architecture, Arrivals, Kind, Machine, Mechanisms, Program, Service};
use model::seed::derive;
use model::trace::{ProgramTrace, Request, Trace, Window};
use model::workload::{self, Planned};
use model::{Failure, Nanos, Scenario, Watch};

use crate::local::Used;
use crate::observe::{Job, Observed, Setup, observe, service};
use crate::service_time::ServiceTime;
use crate::target::Target;
use crate::tls::{Tls, speaks_tls};

/// Connections that fill a server: enough to keep it busy, few enough for any.
const FILLING: u32 = 16;
/// What two requests cost the generator: three system calls each.
const OWN_WORK: Nanos = Nanos::from_micros(25);
/// How long a first answer may take before the user is told that there is none, and in how many tries.
const FIRST_ANSWER: Nanos = Nanos::from_millis(1_500);
const FIRST_TRIES: u64 = 3;
/// How long filling may take.
const FILLING_TIME: Nanos = Nanos::from_secs(120);

/// What to send when.
#[derive(Clone, Debug)]
pub struct Load {
    /// Requests a second; with stamps, what they come to.
    pub rate_per_s: f64,
    /// The law of the gaps.
    pub law: Law,
    /// Arrivals of a file instead, in rising order, from the start of the measured time on.
    pub stamps: Option<Vec<Nanos>>,
    /// Time before the measurement, under the same load; with stamps there is none.
    pub warm_up: Nanos,
    /// The measured time.
    pub duration: Nanos,
    /// The seed of arrivals and of what is asked.
    pub seed: u64,
    /// A slower request is an outlier.
    pub outlier_threshold: Nanos,
}

/// What was measured.
pub struct Measurement {
    /// The run, for analyses.
    pub trace: Trace,
    /// The run as a scenario of one service, for analyses.
    pub scenario: Scenario,
    /// Every request of the measured time, in order.
    pub records: Vec<Record>,
    /// How well the generator did.
    pub self_check: SelfCheck,
    /// Of all connections.
    pub tally: Tally,
    /// Lost requests by the cause's name.
    pub losses: BTreeMap<&'static str, u64>,
    /// Responses that were not what was wanted, by what was wrong.
    pub complaints: BTreeMap<&'static str, u64>,
    /// The ideal's service time, where it is known.
    pub service_time: Option<ServiceTime>,
    /// What the server used, where it runs here.
    pub used: Option<Used>,
    /// What else used the generator's CPUs.
    pub sharing: Sharing,
    /// When the first moment was.
    pub started: SystemTime,
    /// The same, on CLOCK_MONOTONIC.
    pub begin: Nanos,
    /// Where each request of the trace was in its connection's bytes, if it was answered.
    pub places: Vec<Option<Place>>,
}

impl Measurement {
    /// Replaces a service time that was read off the server's clocks by the CPU time of its threads in this
    /// run's own trace, without interrupts. Most kernels count interrupts as the time of the interrupted
    /// thread (CONFIG_IRQ_TIME_ACCOUNTING is off), and the ideal has none.
    pub fn leave_interrupts_out(&mut self, traced: &mut Trace) {
        let cpu = served(traced);
        let answered = answered(&self.trace);
        let (Some(used), Some(time)) = (&mut self.used, &mut self.service_time) else { return };
        if time.source != ServiceTime::CPU_TIME || cpu == Nanos::ZERO {
            return;
        }
        used.cpu = cpu;
        let Some(exact) = ServiceTime::of_cpu_time(used, answered) else { return };
        *time = exact;
        for trace in [&mut self.trace, traced] {
            trace.programs[0].requests.iter_mut().for_each(|request| request.service = exact.value);
        }
        if let Kind::Service(service) = &mut self.scenario.programs[0].kind {
            service.service_time = exact.value;
        }
    }
}

/// CPU time of the first program's threads in the window, by a trace that ends with it.
fn served(traced: &Trace) -> Nanos {
    let [before, .., after] = &traced.usage[..] else { return Nanos::ZERO };
    let own = traced.threads.iter().enumerate().filter(|(_, thread)| thread.program == 0);
    Nanos(own.map(|(at, _)| (after.cpu_time[at].saturating_sub(before.cpu_time[at])).0).sum())
}

/// Requests that were answered in the window.
fn answered(trace: &Trace) -> u64 {
    let requests = trace.programs[0].requests.iter();
    requests.filter(|request| trace.window.contains(request.received)).count() as u64
}

/// Fills the server, sends the load and watches. `service_time`: that of the ideal, where it is known before.
///
/// A generator that was late is in [`Measurement::self_check`]: such a run is to be reported as a failure.
pub fn measure(
    target: &Target,
    setup: &Setup,
    load: &Load,
    service_time: Option<ServiceTime>,
    live: Option<Arc<LiveCounters>>,
    watch: &dyn Watch,
) -> Result<Measurement, Failure> {
    let requests = load.requests(target.asked_service());
    if requests.is_empty() {
        return Err(Failure::Input(
            "no request falls into the measured time: raise --rate or --duration".to_string(),
        ));
    }
    let window = load.window();
    let protocol = || target.protocol();
    let until = window.end + setup.limits.timeout;
    let connections = setup.connections;
    let job = Job { requests: &requests, protocol: &protocol, connections, window, until, live };
    let observed = observe(target, setup, &job, watch)?;
    Ok(assembled(target, setup, load, service_time, observed))
}

/// What became of a first request, on a connection of its own; `None`: it was answered. Known after two
/// seconds at most.
pub fn first_loss(
    target: &Target,
    setup: &Setup,
    watch: &dyn Watch,
) -> Result<Option<Loss>, Failure> {
    let one = [Planned { intended: Nanos::ZERO, service: target.asked_service(), random: 0 }];
    let protocol = || target.protocol();
    let until = Nanos(FIRST_ANSWER.0 / FIRST_TRIES);
    let timeout = setup.limits.timeout.min(until);
    let setup = &Setup { limits: Limits { timeout, ..setup.limits }, ..setup.clone() };
    let job = Job {
        requests: &one,
        protocol: &protocol,
        connections: 1,
        window: Window { start: Nanos::ZERO, end: until },
        until,
        live: None,
    };
    let mut first = None;
    // One may be lost by chance: a datagram, or a connection that was dropped.
    for _ in 0..FIRST_TRIES {
        let observed = observe(target, setup, &job, &Quiet(watch))?;
        let Record { loss, complaint, .. } = observed.records[0];
        first = Some((loss, complaint));
        if loss.is_none() {
            break;
        }
    }
    let (loss, complaint) = first.unwrap_or_default();
    let is_wrong = loss.is_some() || complaint.is_some();
    let hint = target.tls().and_then(Tls::hint);
    if let Some((loss, hint)) = loss.zip(hint) {
        let word = loss.word();
        return Err(Failure::Input(format!(
            "{}: a first request was not answered ({word}); {hint}",
            target.text
        )));
    }
    match target.tls_scheme() {
        Some(scheme) if is_wrong && speaks_tls(&target.address) => Err(Failure::Input(format!(
            "{}: the server speaks TLS there: say {scheme}:// instead of {}://",
            target.text, target.scheme
        ))),
        _ => Ok(loss),
    }
}

/// Writes every key that the load will ask for, where the server needs that.
pub fn fill(target: &Target, setup: &Setup, watch: &dyn Watch) -> Result<(), Failure> {
    let Some((count, _)) = target.filler() else { return Ok(()) };
    let protocol = || target.filler().expect("it has one").1;
    let one = Planned { intended: Nanos::ZERO, service: Nanos(1), random: 0 };
    // Threads number their requests from 0: one thread writes all keys.
    let setup = Setup { cpus: setup.cpus[..1].to_vec(), ..setup.clone() };
    let job = Job {
        requests: &vec![one; count as usize],
        protocol: &protocol,
        connections: FILLING.min(setup.connections),
        window: Window { start: Nanos::ZERO, end: FILLING_TIME },
        until: FILLING_TIME,
        live: None,
    };
    let observed = observe(target, &setup, &job, &Quiet(watch))?;
    let failed = observed
        .records
        .iter()
        .find_map(|record| record.loss.map(|loss| loss.word()).or(record.complaint));
    match failed {
        None => Ok(()),
        Some(why) => Err(Failure::Run(format!(
            "{} could not be filled with its {count} keys ({why}): is it this protocol that the server speaks, and has it room?",
            target.text
        ))),
    }
}

/// Cancels and shows nothing.
pub struct Quiet<'a>(pub &'a dyn Watch);

impl Watch for Quiet<'_> {
    fn progress(&self, _done: f64) {}
    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }
}

impl Load {
    fn window(&self) -> Window {
        let start = if self.stamps.is_some() { Nanos::ZERO } else { self.warm_up };
        Window { start, end: start + self.duration }
    }

    /// All requests, drawn before the run.
    fn requests(&self, service_time: Nanos) -> Vec<Planned> {
        let end = self.window().end;
        let Some(stamps) = &self.stamps else {
            let service = Service {
                arrival_law: self.law.clone(),
                service_time,
                ..service(1, self.rate_per_s)
            };
            return workload::draw(&service, 1, self.seed, 0, end);
        };
        let random = |n: usize| derive(self.seed, &[n as u64]) as u32;
        let one = |(n, at): (usize, &Nanos)| Planned {
            intended: *at,
            service: service_time,
            random: random(n),
        };
        stamps.iter().enumerate().map(one).take_while(|planned| planned.intended < end).collect()
    }
}

fn assembled(
    target: &Target,
    setup: &Setup,
    load: &Load,
    given: Option<ServiceTime>,
    observed: Observed,
) -> Measurement {
    let Observed { records, tally, own, used, sharing, begin: (begin, started) } = observed;
    let window = load.window();
    let mut trace = trace(target, load, window, &records);
    let of_cpu = || ServiceTime::of_cpu_time(used.as_ref()?, answered(&trace));
    let service_time = given.or_else(of_cpu);
    let service = service_time.map_or(Nanos::ZERO, |time| time.value);
    trace.programs[0].requests.iter_mut().for_each(|request| request.service = service);
    let places = records.iter().map(|record| record.place).collect();
    let measured: Vec<Record> =
        records.into_iter().filter(|r| window.contains(r.planned.intended)).collect();
    Measurement {
        trace,
        scenario: scenario(target, setup, load, service_time),
        self_check: SelfCheck::new(&measured, on_time(&measured, setup.limits.timeout), own),
        losses: counted(measured.iter().filter_map(|record| Some(record.loss?.word()))),
        complaints: counted(measured.iter().filter_map(|record| record.complaint)),
        records: measured,
        tally,
        service_time,
        used,
        sharing,
        started,
        begin,
        places,
    }
}

/// A request is on time within half the median latency, as a real server's service time is not known
/// beforehand, and within what two requests cost the generator itself. For a lost one its client waited for
/// as long as it would.
fn on_time(records: &[Record], timeout: Nanos) -> Nanos {
    let latency = |record: &Record| record.latency().min(timeout);
    let mut latencies: Vec<Nanos> = records.iter().map(latency).collect();
    latencies.sort_unstable();
    let median = latencies.get(latencies.len() / 2).copied().unwrap_or(timeout);
    Nanos(median.0 / 2).max(OWN_WORK)
}

fn counted(words: impl Iterator<Item = &'static str>) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::new();
    words.for_each(|word| *counts.entry(word).or_default() += 1);
    counts
}

/// Requests without service times yet.
fn trace(target: &Target, load: &Load, window: Window, records: &[Record]) -> Trace {
    // Stamps of another machine are on another clock.
    let here = target.address.is_loopback();
    let request = |record: &Record| {
        let stamps = record.stamps.filter(|_| here);
        Request {
            intended: record.planned.intended,
            sent: record.sent,
            started: stamps.map_or(Nanos::NEVER, |stamps| stamps.started),
            completed: stamps.map_or(Nanos::NEVER, |stamps| stamps.completed),
            received: record.received,
            service: Nanos::ZERO,
        }
    };
    let requests = records.iter().map(request).collect();
    Trace {
        policy: "measured".to_string(),
        kernel: host::release().filter(|_| here),
        seed: load.seed,
        window,
        programs: vec![ProgramTrace { requests, ..ProgramTrace::default() }],
        ..Trace::default()
    }
}

/// The run as a scenario: one service with as many workers as serve.
fn scenario(
    target: &Target,
    setup: &Setup,
    load: &Load,
    service_time: Option<ServiceTime>,
) -> Scenario {
    let workers = service_time.map_or(1, |time| time.workers);
    let service = Service {
        architecture: Architecture::SharedQueue { workers },
        service_time: service_time.map_or(Nanos(1), |time| time.value),
        arrival_law: load.law.clone(),
        arrivals: Arrivals::Rate(load.rate_per_s),
        ..service(setup.connections, load.rate_per_s)
    };
    Scenario {
        name: target.text.clone(),
        shows: String::new(),
        machine: Machine { cpus: workers, ..Machine::ONE_CPU },
        groups: Vec::new(),
        programs: vec![Program::new(&target.text, Kind::Service(service))],
        duration: load.duration,
        warm_up: load.window().start,
        seeds: vec![load.seed],
        outlier_threshold: load.outlier_threshold,
        slice: None,
        mechanisms: Mechanisms::default(),
        alterations: Vec::new(),
    }
}

/// The scenario as a file says it, to simulate what was measured.
pub fn scenario_text(scenario: &Scenario) -> String {
    let Some(Program { kind: Kind::Service(service), .. }) = scenario.programs.first() else {
        return String::new();
    };
    format!(
        "# Measured: {}\nduration = \"{}ns\"\nwarm_up = \"{}ns\"\n[machine]\ncpus = {workers}\n\
         [[program]]\nname = \"measured\"\nkind = \"service\"\narchitecture = \"shared-queue\"\nworkers = {}\nconnections = {}\n\
         service_time = \"{}ns\"\narrivals = {{ rate = \"{:.6}/s\" }}\n",
        scenario.name,
        scenario.duration.0,
        scenario.warm_up.0,
        service.threads().min(service.connections),
        service.connections,
        service.service_time.0,
        service.rate_per_s(1),
        workers = scenario.machine.cpus,
    )
}
