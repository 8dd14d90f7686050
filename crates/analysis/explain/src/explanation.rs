//! A trace explained.

use std::collections::BTreeSet;

use model::event::Event;
use model::{Failure, Nanos, Trace};

use crate::long::Long;
use crate::room::{MOST_STEPS, MOST_WORDS, Room};
use crate::serving::Serving;
use crate::setting::Setting;
use crate::source::Source;
use crate::split::{Explained, split};
use crate::sweep::{Scene, Slots};
use crate::timeline::Timeline;

/// The slowest requests that are looked at one by one: 0.1%.
pub const SLOWEST: f64 = 0.001;

/// A trace laid out, with the split of every service's requests.
pub struct Explanation<'a> {
    pub(crate) scene: Scene<'a>,
    pub(crate) setting: &'a Setting,
    /// Every service with requests, in the scenario's order.
    pub services: Vec<Service>,
}

/// The requests of a service.
#[derive(Clone, Debug, PartialEq)]
pub struct Service {
    /// Index of its program.
    pub program: usize,
    /// Requests intended inside the measured part that were answered and whose thread is known, in the order
    /// of intended moments.
    pub requests: Vec<Explained>,
    /// Places in `requests` of the slowest, the slowest first: a thousandth, at least one.
    pub slow: Vec<usize>,
    /// Requests that never were answered.
    pub lost: u64,
    /// Requests that were answered, but no event says by which thread.
    pub unknown: u64,
    /// Whether threads of several CPUs pass each other often enough that it is unknown what they would do
    /// without a source.
    pub reorders: bool,
    /// The requests that most of the slowest ones' time is due to, if they are far longer than others.
    pub(crate) long: Option<Long>,
    /// The intended moments of all of the program's requests.
    pub(crate) intended: Vec<Nanos>,
    /// The processes whose work is its own, itself among them.
    pub(crate) own: BTreeSet<u32>,
    /// The processes that a wait for is its own: those of the same name and group, too.
    pub(crate) kin: BTreeSet<u32>,
}

/// The part of requests that were passed from which on the order matters.
const PASSED: f64 = 0.01;

impl Service {
    /// The slowest requests, the slowest first.
    pub fn slowest(&self) -> impl Iterator<Item = &Explained> + Clone {
        self.slow.iter().map(|&at| &self.requests[at])
    }
}

/// Explains every service of a trace. [`Failure::Input`] where the trace has no scheduling events, or stands
/// for more causes than there is room for.
pub fn explain<'a>(trace: &'a Trace, setting: &'a Setting) -> Result<Explanation<'a>, Failure> {
    explain_within(&mut Room::new(MOST_WORDS, MOST_STEPS), trace, setting)
}

fn explain_within<'a>(
    room: &mut Room,
    trace: &'a Trace,
    setting: &'a Setting,
) -> Result<Explanation<'a>, Failure> {
    let Some(events) = trace.events.as_deref() else {
        return Err(Failure::Input(
            "the trace has no scheduling events, so it cannot be told which thread held the CPUs: record one with events (docs/reference/traces.md says which arms have them)"
                .to_string(),
        ));
    };
    explain_scene(room, lay_out(trace, events, setting), setting)
}

pub(crate) fn explain_scene<'a>(
    room: &mut Room,
    scene: Scene<'a>,
    setting: &'a Setting,
) -> Result<Explanation<'a>, Failure> {
    let trace = scene.trace;
    let serves = |program: &usize| setting.programs[*program].serves;
    let services = (0..trace.programs.len()).filter(serves);
    let services = services.map(|program| service(&scene, setting, program, room));
    let mut services = services.collect::<Result<Vec<Service>, Failure>>()?;
    services.retain(|service| !service.requests.is_empty());
    Ok(Explanation { services, setting, scene })
}

/// A trace laid out for sweeping.
pub(crate) fn lay_out<'a>(trace: &'a Trace, events: &[Event], setting: &Setting) -> Scene<'a> {
    let cpus = setting.machine.cpus as usize;
    let timeline = Timeline::new(events, cpus);
    let moments = moments(trace, events, &timeline);
    let serving = Serving::new(trace, events, cpus);
    let homes = setting.homes(trace, events);
    let node_of = (0..cpus).map(|cpu| setting.node(cpu)).collect();
    Scene {
        trace,
        timeline,
        serving,
        moments,
        homes,
        node_of,
        #[cfg(test)]
        is_slow: false,
    }
}

/// Every moment at which a holder, a thread or a request changes.
fn moments(trace: &Trace, events: &[Event], timeline: &Timeline) -> Vec<Nanos> {
    let of_events = events.iter().map(|event| event.at);
    let of_holders = timeline.changes.iter().map(|change| change.at);
    let requests = trace.programs.iter().flat_map(|program| &program.requests);
    let of_requests = requests.flat_map(|r| [r.intended, r.sent, r.started, r.completed]);
    let all = of_events.chain(of_holders).chain(of_requests);
    let mut all: Vec<Nanos> = all.filter(|at| *at != Nanos::NEVER).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn service(
    scene: &Scene,
    setting: &Setting,
    program: usize,
    room: &mut Room,
) -> Result<Service, Failure> {
    let trace = scene.trace;
    let requests = &trace.programs[program].requests;
    let inside = |at: usize| trace.window.contains(requests[at].intended);
    let mut explained = split(scene, program, room)?;
    explained.retain(|one| inside(one.request as usize));
    let (lost, answered): (Vec<usize>, Vec<usize>) =
        (0..requests.len()).filter(|&at| inside(at)).partition(|&at| requests[at].is_lost());
    let mut slow: Vec<usize> = (0..explained.len()).collect();
    slow.sort_by_key(|&at| (std::cmp::Reverse(explained[at].latency), at));
    slow.truncate((SLOWEST * explained.len() as f64).ceil() as usize);
    let passed = explained.iter().filter(|one| one.of(Source::Inversion) > 0).count();
    let slots = scene.slots(program);
    let shares_cpus = matches!(slots, Slots::Cpus(cpus) if cpus > 1);
    let slowest = slow.iter().map(|&at| &explained[at]);
    Ok(Service {
        program,
        reorders: shares_cpus && passed as f64 > PASSED * explained.len() as f64,
        long: Long::of(requests, slots.count() as u32, slowest),
        slow,
        intended: requests.iter().map(|request| request.intended).collect(),
        own: setting.own(program),
        kin: setting.kin(program),
        lost: lost.len() as u64,
        unknown: (answered.len() - explained.len()) as u64,
        requests: explained,
    })
}

#[cfg(test)]
mod tests {
    use model::event::{Interrupt, NameId, Tables, What, Why};
    use model::scenario::Machine;
    use model::trace::{ProgramTrace, Request, ThreadTrace, Window};
    use model::{CpuId, ThreadId};

    use super::*;
    use crate::setting::Program;

    /// A thread serves one request after another, all sent at once; an interrupt of another name comes in
    /// each.
    fn trace(requests: u32) -> Trace {
        let (cpu, thread) = (CpuId(0), ThreadId(0));
        let request = |n: u32| {
            let [intended, started, completed] =
                [0, 100 * n, 100 * n + 90].map(|at| Nanos(u64::from(at)));
            let (sent, received, service) = (intended, completed, Nanos(50));
            Request { intended, sent, started, completed, received, service }
        };
        let event = |(at, what)| Event { at: Nanos(u64::from(at)), what };
        let (from, to, why) = (None, Some(thread), Why::Idle);
        let begin = [What::Wake { thread, cpu, by: None }, What::Switch { cpu, from, to, why }];
        let kind = Interrupt::Soft;
        let of_request = |n: u32| {
            let (request, name) = (n, NameId(n));
            [
                (100 * n, What::Start { thread, request }),
                (100 * n + 10, What::InterruptBegin { cpu, kind, name }),
                (100 * n + 50, What::InterruptEnd { cpu, kind, name }),
                (100 * n + 90, What::Finish { thread, request }),
            ]
        };
        let events =
            begin.map(|what| (0, what)).into_iter().chain((0..requests).flat_map(of_request));
        Trace {
            seed: 1,
            window: Window { start: Nanos::ZERO, end: Nanos(u64::from(100 * requests)) },
            programs: vec![ProgramTrace {
                requests: (0..requests).map(request).collect(),
                ..ProgramTrace::default()
            }],
            threads: vec![ThreadTrace { program: 0 }],
            events: Some(events.map(event).collect()),
            tables: Tables {
                names: (0..requests).map(|n| format!("irq {n}")).collect(),
                ..Tables::default()
            },
            ..Trace::default()
        }
    }

    #[test]
    fn causes_of_many_requests_under_way_have_room_or_are_refused() {
        let program = Program {
            name: "loop".to_string(),
            group: None,
            owner: None,
            serves: true,
            descends: false,
            process: 0,
            memory: None,
        };
        let setting = Setting { machine: Machine::ONE_CPU, programs: vec![program] };
        let fits = |requests, words| {
            explain_within(&mut Room::new(words, MOST_STEPS), &trace(requests), &setting).is_ok()
        };
        assert!(fits(20, 20_000) && fits(200, MOST_WORDS), "the control");
        let Err(why) =
            explain_within(&mut Room::new(20_000, MOST_STEPS), &trace(200), &setting).map(drop)
        else {
            panic!("200 requests with 200 causes each")
        };
        assert!(why.exit_code() == 2 && why.to_string().contains("record less"), "{why}");
    }
}
