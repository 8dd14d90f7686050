//! What a request inherits from those before it, against a slow oracle: a server of one thread, followed
//! nanosecond by nanosecond.
//!
//! Such a server is `latency = ideal + what it was behind its ideal when the request came + what it has lost
//! since`, whatever the causes are; how far it was behind is known by cause if every nanosecond is booked
//! when it is lost.

mod server;
mod verdicts;

use explain::{Class, Confidence, Culprit, Source};
use model::event::{Cause as Off, Event, Interrupt, NameId, What, Why};
use model::{CpuId, Nanos, ThreadId};
use server::{Cause, Server, worst};

/// Causes that take the CPU from a server in the midst of its work.
const CAUSES: [Cause; 6] =
    [Cause::Hog, Cause::Interrupt, Cause::Lock, Cause::Sleep, Cause::Stopped, Cause::Throttled];

/// A small generator of random numbers (Marsaglia 2003, xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    /// Forty requests at some 70% of the server, and up to four stalls.
    fn server(&mut self) -> Server {
        let mut arrival = 0;
        let mut request = || {
            arrival += self.below(200);
            (arrival, 20 + self.below(100))
        };
        let requests = (0..40).map(|_| request()).collect();
        let mut stalls: Vec<(u64, Cause, u64)> = (0..1 + self.below(4))
            .map(|_| (self.below(3_000), CAUSES[self.below(6) as usize], 20 + self.below(600)))
            .collect();
        stalls.sort_unstable_by_key(|stall| stall.0);
        Server { requests, stalls, told: true }
    }
}

#[test]
fn every_request_inherits_the_causes_of_those_before_it() {
    let mut random = Random(42);
    let mut seen = std::collections::BTreeMap::<Source, u64>::new();
    for round in 0..300 {
        let server = random.server();
        let run = server.run();
        let service = server.explained(&run);
        for (explained, truth) in service.requests.iter().zip(&run.truth) {
            for (source, ns) in truth {
                let found = explained.of(*source) as f64;
                // Causes are repaid alike, in whole nanoseconds here and there.
                assert!((found - ns).abs() <= 4.0, "{round}: {source:?} {ns} in {explained:?}");
                *seen.entry(*source).or_default() += *ns as u64;
            }
            let known: f64 = truth.iter().map(|(_, ns)| ns).sum();
            assert!((explained.excess() as f64 - known).abs() <= 8.0, "{round}: {explained:?}");
        }
    }
    assert!(seen.len() == CAUSES.len() && seen.values().all(|ns| *ns > 10_000), "{seen:?}");
}

/// A hundred requests at half of a server's capacity that stalls once, for as long as fifty of them take.
fn stalled(cause: Cause) -> Server {
    let requests = (0..100).map(|n| (n * 2_000, 1_000)).collect();
    Server { requests, stalls: vec![(40_500, cause, 50_000)], told: true }
}

/// The part of all requests' excess that a source has, of theirs and of what is unknown.
fn share(server: &Server, source: Source) -> f64 {
    let service = server.explained(&server.run());
    let of = |one: &explain::Explained| one.of(source) as i64;
    let all = |one: &explain::Explained| one.excess() as i64 + one.other.max(0);
    let sum =
        |part: &dyn Fn(&explain::Explained) -> i64| service.requests.iter().map(part).sum::<i64>();
    sum(&of) as f64 / sum(&all).max(1) as f64
}

#[test]
fn what_queues_behind_a_stalled_thread_is_blamed_on_what_stalled_it() {
    for cause in CAUSES {
        let source = cause.source();
        assert!(
            share(&stalled(cause), source) > 0.99,
            "{cause:?} {}",
            share(&stalled(cause), source)
        );
        // The controls: without the stall there is nothing; and where no event tells, nothing is blamed for
        // it.
        let calm = Server { stalls: Vec::new(), ..stalled(cause) };
        assert_eq!(share(&calm, source), 0.0, "{cause:?}");
        if !matches!(cause, Cause::Hog | Cause::Interrupt) {
            let untold = Server { told: false, ..stalled(cause) };
            let service = untold.explained(&untold.run());
            let slow = service.requests.iter().filter(|one| one.latency.0 > 10_000);
            let wrong = slow.filter(|one| 10 * one.excess() > one.latency.0 && one.of(source) == 0);
            let wrong = wrong.filter(|one| cause != Cause::Throttled || one.of(Source::Power) == 0);
            assert_eq!(wrong.count(), 0, "{cause:?}");
        }
    }
}

#[test]
fn a_servers_own_work_is_its_own_and_that_of_what_queues_behind_it() {
    let burns = stalled(Cause::Own);
    assert!(share(&burns, Source::Own) > 0.95, "{}", share(&burns, Source::Own));
    let calm = Server { stalls: Vec::new(), ..stalled(Cause::Own) };
    assert_eq!(share(&calm, Source::Own), 0.0);
}

#[test]
fn who_lets_a_lock_go_is_named() {
    let server = stalled(Cause::Lock);
    let service = server.explained(&server.run());
    assert_eq!(service.findings()[0].culprits[0].0, Culprit::Program(1));
}

/// The verdict where the server waited for a socket instead of a lock, with these names of the processes; in
/// an interrupt of a name, if one ended the wait.
fn of_a_socket(names: [&str; 2], interrupt: Option<&str>) -> (Class, Option<(Source, Culprit)>) {
    let mut trace = stalled(Cause::Lock).run().trace;
    trace.tables.names = interrupt.iter().map(ToString::to_string).collect();
    let (cpu, kind, name) = (CpuId(0), Interrupt::Hard, NameId(0));
    let mut events = Vec::new();
    for mut event in trace.events.take().expect("events") {
        let around =
            [What::InterruptBegin { cpu, kind, name }, What::InterruptEnd { cpu, kind, name }];
        let around = around.map(|what| Event { what, ..event });
        let is_ended = interrupt.is_some() && matches!(event.what, What::Wake { by: Some(_), .. });
        if let What::Off { cause: cause @ Off::Lock, .. } = &mut event.what {
            *cause = Off::Socket;
        }
        events.extend(is_ended.then_some(around[0]));
        events.push(event);
        events.extend(is_ended.then_some(around[1]));
    }
    trace.events = Some(events);
    server::blamed(&trace, names, 1)
}

/// PostgreSQL waits for its own locks in epoll, as it does for the end of a sleep.
#[test]
fn what_ends_a_wait_for_sockets_says_what_it_was() {
    let other = Culprit::Program(1);
    let waited = of_a_socket(["postgres[1]", "postgres[2]"], None);
    assert_eq!(waited, (Class::OwnCode, Some((Source::Socket, other))));
    let behind = of_a_socket(["nginx[1]", "php-fpm[2]"], None);
    assert_eq!(
        behind,
        (Class::Behind, Some((Source::Socket, other))),
        "the control: another program"
    );
    let slept = of_a_socket(["p", "p"], Some("local timer"));
    assert_eq!(slept, (Class::OwnCode, Some((Source::Sleep, Culprit::Itself))));
    let network = of_a_socket(["p", "p"], Some("softirq net_rx"));
    assert_eq!(network, (Class::Behind, Some((Source::Socket, Culprit::Itself))), "the control");
}

/// The holder of the lock sleeps meanwhile, for a cause that its events tell.
fn behind_a_lock(cause: Option<Off>) -> (Class, Option<(Source, Culprit)>) {
    let server = stalled(Cause::Lock);
    let mut run = server.run();
    let (cpu, holder) = (CpuId(0), ThreadId(1));
    let switch = |from, to| What::Switch { cpu, from, to, why: Why::Blocked };
    let mut events = Vec::new();
    for event in run.trace.events.take().expect("events") {
        let with = |what| Event { what, ..event };
        if let What::Wake { by: Some(_), .. } = event.what {
            let wakes = [What::Wake { thread: holder, cpu, by: None }, switch(None, Some(holder))];
            events.extend(wakes.map(with));
        }
        events.push(event);
        if let What::Switch { to: Some(ThreadId(1)), .. } = event.what {
            let sleeps = [What::Block { thread: holder, cpu }, switch(Some(holder), None)];
            events.extend(sleeps.map(with));
            events.extend(cause.map(|cause| with(What::Off { thread: holder, cause })));
        }
    }
    run.trace.events = Some(events);
    let verdict = server.explained(&run).verdict();
    (verdict.class, worst(&verdict))
}

/// Of PostgreSQL's processes one writes for all, and holds a lock while it does.
#[test]
fn a_lock_whose_holder_waits_for_the_disk_is_the_disks() {
    let itself = Culprit::Itself;
    assert_eq!(behind_a_lock(Some(Off::Disk)), (Class::Disk, Some((Source::Disk, itself))));
    let own = (Class::OwnCode, Some((Source::Lock, Culprit::Program(1))));
    assert_eq!(behind_a_lock(None), own, "the control");
    assert_eq!(behind_a_lock(Some(Off::Sleep)), own, "a sleep with a lock is its own");
}

#[test]
fn the_verdict_says_what_kind_of_cause_it_was() {
    let verdict = |server: &Server| server.explained(&server.run()).verdict();
    let class = |cause: Cause| match cause {
        Cause::Hog | Cause::Interrupt => Class::Neighbours,
        Cause::Lock | Cause::Sleep | Cause::Own => Class::OwnCode,
        Cause::Stopped => Class::Stopped,
        Cause::Throttled => Class::Limits,
    };
    for cause in CAUSES.into_iter().chain([Cause::Own]) {
        let told = verdict(&stalled(cause));
        assert_eq!((told.class, told.confidence), (class(cause), Confidence::Sure), "{cause:?}");
        assert_eq!(told.events, 1, "{cause:?}");
        // The control: what is not there is not blamed.
        let calm = verdict(&Server { stalls: Vec::new(), ..stalled(cause) });
        assert_eq!((calm.class, calm.confidence), (Class::Load, Confidence::Sure), "{cause:?}");
    }
    let untold = verdict(&Server { told: false, ..stalled(Cause::Lock) });
    assert_eq!((untold.class, untold.confidence), (Class::Unknown, Confidence::None));
}

#[test]
fn a_moment_without_a_stamp_is_no_number() {
    let server = stalled(Cause::Hog);
    let mut run = server.run();
    for request in run.trace.programs[0].requests.iter_mut().step_by(2) {
        (request.started, request.completed) = (Nanos::NEVER, Nanos::NEVER);
    }
    let service = server.explained(&run);
    assert_eq!((service.unknown, service.requests.len()), (50, 50));
    let end = run.trace.window.end.0;
    let excess = service.requests.iter().map(explain::Explained::excess).max();
    assert!(excess < Some(end), "{excess:?} of {end} ns");
}

/// A thread that reads several requests before it answers may have no CPU time of its own for one of them.
#[test]
fn a_request_without_a_service_time_is_explained() {
    let server = stalled(Cause::Hog);
    let mut run = server.run();
    let control = server.explained(&run).slow;
    run.trace.programs[0].requests[0].service = Nanos::ZERO;
    let service = server.explained(&run);
    assert_eq!((service.requests.len(), service.slow), (100, control));
}

/// Stamps of two clocks, or of a broken file: a server that is done before the client was due.
#[test]
fn a_request_that_is_done_with_before_it_was_due_is_explained() {
    let server = stalled(Cause::Hog);
    let mut run = server.run();
    let request = &mut run.trace.programs[0].requests[50];
    request.intended = Nanos(request.completed.0 + 1);
    (request.sent, request.received) = (request.intended, Nanos(request.intended.0 + 1));
    assert_eq!(server.explained(&run).requests.len(), 100);
}

/// A timeline of every switch for each of the slowest would be as many as requests times switches.
#[test]
fn timelines_stay_bounded_where_a_queue_grows() {
    let spans = |requests: u64, gap_ns: u64| {
        let requests = (0..requests).map(|n| (n * gap_ns, 30)).collect();
        let server = Server { requests, stalls: Vec::new(), told: true };
        let documents = server.documents(&server.run());
        let slow = documents[0].slow.iter().flat_map(|one| &one.cpus);
        slow.map(|cpu| cpu.spans.len()).sum::<usize>()
    };
    assert_eq!(spans(32_000, 20), 0, "each waits for tens of thousands of switches");
    // The control: short queues have timelines.
    assert!(spans(32_000, 60) >= 32, "one a slow request at least");
}
