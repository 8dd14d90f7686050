//! The events of a run: they tell what the trace tells, in an order that a kernel can produce, and observing
//! them changes nothing.

#[path = "common/shipped.rs"]
mod shipped;

use model::event::{Event, What, Why};
use model::trace::Window;
use model::{CpuId, Nanos, PolicySpec, Scenario, Silent, ThreadId, Trace};
use sim::EventLog;
use sim::arm::{names, observe, run_on};
use sim::events::Tournament;

fn observed(scenario: &Scenario, policy: &PolicySpec) -> (Trace, Vec<Event>) {
    let mut log = EventLog::default();
    let run = observe::<Tournament, _>(scenario, policy, 1, &Silent, &mut log).unwrap();
    (run.trace, log.events)
}

/// Follows a run by its events alone.
struct Follower {
    running: Vec<Option<ThreadId>>,
    runnable: Vec<bool>,
    last_on: Vec<Option<CpuId>>,
    now: Nanos,
}

impl Follower {
    fn new(trace: &Trace, cpus: u32) -> Follower {
        let threads = trace.threads.len();
        Follower {
            running: vec![None; cpus as usize],
            runnable: vec![false; threads],
            last_on: vec![None; threads],
            now: Nanos::ZERO,
        }
    }

    fn follow(&mut self, event: &Event) -> Result<(), String> {
        let ensure = |holds: bool| if holds { Ok(()) } else { Err(format!("{event:?}")) };
        ensure(event.at >= self.now)?;
        self.now = event.at;
        match event.what {
            What::Fork { thread } => ensure(!self.runnable[thread.index()]),
            What::Wake { thread, .. } => {
                let was = std::mem::replace(&mut self.runnable[thread.index()], true);
                ensure(!was)
            }
            What::Block { thread, cpu } => {
                self.runnable[thread.index()] = false;
                ensure(self.running[cpu.index()] == Some(thread))
            }
            What::Migrate { thread, from, to } => {
                ensure(self.last_on[thread.index()] == Some(from) && from != to)
            }
            What::Switch { cpu, from, to, why } => {
                let (is_from, leaves) = self.switch(cpu, from, to)?;
                let fits = match why {
                    Why::Idle => from.is_none(),
                    Why::Blocked => leaves,
                    Why::Expired | Why::Preempted => from.is_some() && !leaves,
                };
                ensure(is_from && fits)
            }
            What::Start { thread, .. } | What::Finish { thread, .. } => {
                ensure(self.running.contains(&Some(thread)))
            }
            // No shipped scenario has interrupts or idle states; `machine` follows those.
            What::InterruptBegin { .. } | What::InterruptEnd { .. } | What::IdleExit { .. } => {
                ensure(false)
            }
            What::Affinity { .. }
            | What::Nice { .. }
            | What::Weight { .. }
            | What::Offline { .. }
            | What::Online { .. }
            | What::Off { .. }
            | What::Released { .. }
            | What::Waking { .. } => Ok(()),
        }
    }

    fn switch(
        &mut self,
        cpu: CpuId,
        from: Option<ThreadId>,
        to: Option<ThreadId>,
    ) -> Result<(bool, bool), String> {
        let leaves = from.is_some_and(|thread| !self.runnable[thread.index()]);
        let is_from = self.running[cpu.index()] == from && from != to;
        self.running[cpu.index()] = None;
        if let Some(thread) = to {
            if !self.runnable[thread.index()] || self.running.contains(&to) {
                return Err(format!("{thread:?} cannot run on {cpu:?}"));
            }
            self.last_on[thread.index()] = Some(cpu);
        }
        self.running[cpu.index()] = to;
        Ok((is_from, leaves))
    }
}

fn follow(trace: &Trace, events: &[Event], cpus: u32) -> Result<(), String> {
    let mut follower = Follower::new(trace, cpus);
    events.iter().try_for_each(|event| follower.follow(event))
}

fn count(events: &[Event], window: Window, is: impl Fn(&What) -> bool) -> u64 {
    // What happens at a moment at which totals are read is read before.
    events.iter().filter(|event| window.contains(event.at) && is(&event.what)).count() as u64
}

/// Every stamp of a request that a server makes has its event, and no event is without a stamp.
fn assert_requests(trace: &Trace, events: &[Event], what: &str) {
    let (mut started, mut finished) = (0, 0);
    for event in events {
        let (thread, request, start) = match event.what {
            What::Start { thread, request } => (thread, request, true),
            What::Finish { thread, request } => (thread, request, false),
            _ => continue,
        };
        let program = &trace.programs[trace.threads[thread.index()].program];
        let request = &program.requests[request as usize];
        assert_eq!(if start { request.started } else { request.completed }, event.at, "{what}");
        *(if start { &mut started } else { &mut finished }) += 1;
    }
    let requests = trace.programs.iter().flat_map(|program| &program.requests);
    let reached = |stamp: Nanos| usize::from(stamp != Nanos::NEVER);
    let stamped = requests.fold((0, 0), |(s, f), request| {
        (s + reached(request.started), f + reached(request.completed))
    });
    assert_eq!((started, finished), stamped, "{what}");
}

#[test]
fn events_tell_what_the_trace_tells_and_change_nothing() {
    for scenario in shipped::cut_short() {
        for name in names() {
            let policy = PolicySpec::plain(name);
            let what = format!("{} under {name}", scenario.name);
            let (trace, events) = observed(&scenario, &policy);
            let unheard = run_on::<Tournament>(&scenario, &policy, 1, &Silent).unwrap().trace;
            assert!(trace == unheard, "{what}");
            assert_eq!(follow(&trace, &events, scenario.machine.cpus), Ok(()), "{what}");
            let count = |is: fn(&What) -> bool| Some(count(&events, trace.window, is));
            let counters = trace.counters;
            assert_eq!(
                count(|w| matches!(w, What::Switch { to: Some(_), .. })),
                counters.switches,
                "{what}"
            );
            assert_eq!(count(|w| matches!(w, What::Migrate { .. })), counters.migrations, "{what}");
            assert_requests(&trace, &events, &what);
        }
    }
}

#[test]
fn a_missing_event_is_noticed() {
    let scenario = shipped::cut_short().into_iter().find(|s| s.name == "four-cpus").unwrap();
    let (trace, events) = observed(&scenario, &PolicySpec::plain("cfs"));
    for lost in 100..200 {
        let mut torn = events.clone();
        let is_needed = !matches!(
            torn.remove(lost).what,
            What::Migrate { .. } | What::Start { .. } | What::Finish { .. } | What::Fork { .. }
        );
        assert_eq!(follow(&trace, &torn, 4).is_err(), is_needed, "{:?}", events[lost]);
    }
}
