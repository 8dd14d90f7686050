//! Verdicts where the plain reading of a trace is wrong.

mod long;

use explain::{Class, Confidence, Culprit, Lack, Source, Verdict};
use model::event::{Cause as Off, CpuSetId, Event, Interrupt, NameId, Tables, What, Why};
use model::trace::{ProgramTrace, Request, ThreadTrace, Trace, Window};
use model::{CpuId, Nanos, ThreadId};

use crate::server::{Cause, Run, Server, worst};

/// Requests at half of a server's capacity that stalls once, for as long as fifty of them take.
fn stalled(requests: u64, stalls: &[(u64, Cause, u64)]) -> Server {
    let requests = (0..requests).map(|n| (n * 2_000, 1_000)).collect();
    Server { requests, stalls: stalls.to_vec(), told: true }
}

/// Service times that hold what other threads of the service do, as those of a watched service may.
fn inflated(mut run: Run, by_ns: u64) -> Run {
    run.trace.programs[0].requests.iter_mut().for_each(|one| one.service += Nanos(by_ns));
    run
}

fn verdict(server: &Server, inflated_by_ns: u64) -> Verdict {
    server.explained(&inflated(server.run(), inflated_by_ns)).verdict()
}

/// A helper thread burns CPU time while requests wait for a lock or sleep: the ideal is far above what was
/// measured.
#[test]
fn an_ideal_above_what_was_measured_makes_no_load() {
    for (cause, source) in [(Cause::Lock, Source::Lock), (Cause::Sleep, Source::Sleep)] {
        let server = stalled(100, &[(40_500, cause, 50_000)]);
        let told = |by_ns| {
            let told = verdict(&server, by_ns);
            (told.class, told.confidence, worst(&told).map(|worst| worst.0), told.lack)
        };
        let (class, sure, source) = (Class::OwnCode, Confidence::Sure, Some(source));
        for by_ns in [3_000, 20_000] {
            assert_eq!(told(by_ns), (class, sure, source, Some(Lack::Ideal)), "{by_ns} {cause:?}");
        }
        assert_eq!(told(0), (class, sure, source, None), "the control: {cause:?}");
    }
    // The control: where nothing keeps them, their own work is the load, whatever the ideal.
    let calm = verdict(&stalled(100, &[]), 3_000);
    assert_eq!((calm.class, calm.lack), (Class::Load, Some(Lack::Ideal)));
    assert!(calm.share > 0.99, "{calm:?}");
}

/// What is said of a server that waits for a lock, where its service times are longer by so much.
fn documented(inflated_by_ns: u64) -> report::explain::Explained {
    let server = stalled(100, &[(40_500, Cause::Lock, 50_000)]);
    let services = server.documents(&inflated(server.run(), inflated_by_ns));
    report::explain::Explained { services, ..Default::default() }
}

#[test]
fn an_ideal_that_is_left_out_has_no_figure() {
    let figures = |by_ns| {
        let told = documented(by_ns).services.remove(0);
        let splits = [told.mean_ns, told.slow_ns, told.slow[0].split_ns];
        let splits = splits.into_iter().flat_map(|split| [split.ideal, split.saved]);
        let of_finding = [told.findings[0].p99_9_ideal_ns, told.findings[0].p99_9_without_ns];
        let ideal = told.ideal_ns.map(|ideal| ideal.mean.value.expect("it is known"));
        splits.chain(of_finding).chain([ideal]).flatten().count()
    };
    assert_eq!((figures(3_000), figures(0)), (0, 9), "the control has all of them");
    for words in ["where the ideal is", "\nideal "] {
        let text = |by_ns| report::explained_table(&documented(by_ns), 200).contains(words);
        assert_eq!((text(3_000), text(0)), (false, true), "{words}");
    }
    for words in ["where the ideal is", "<td>ideal", "class=\"due\""] {
        let page = |by_ns| report::explained_html(&documented(by_ns)).contains(words);
        assert_eq!((page(3_000), page(0)), (false, true), "{words}");
    }
}

/// What a tail has by chance of such an ideal is no load either.
#[test]
fn service_that_was_never_done_makes_no_load() {
    let server = stalled(100, &[(40_500, Cause::Lock, 50_000)]);
    let near = |by_ns: &u64| {
        let service = server.explained(&inflated(server.run(), *by_ns));
        let most = |of: fn(&explain::Explained) -> Nanos| service.requests.iter().map(of).max();
        let (latency, ideal) = (most(|one| one.latency), most(|one| one.ideal));
        ideal > latency.map(|ns| Nanos(ns.0 * 9 / 10))
            && ideal < latency.map(|ns| Nanos(ns.0 * 11 / 10))
    };
    let by_ns = (1_000..2_000).step_by(20).find(near).expect("an ideal near what was measured");
    let told = verdict(&server, by_ns);
    assert_eq!((told.class, told.confidence), (Class::OwnCode, Confidence::Sure), "{by_ns}");
}

#[test]
fn a_handful_of_requests_is_no_load() {
    for by_ns in [0, 3_000] {
        for few in 1..4 {
            let told = verdict(&stalled(few, &[]), by_ns);
            let expected = (Confidence::None, Some(Lack::Requests));
            assert_eq!((told.confidence, told.lack), expected, "{few} {by_ns}");
        }
    }
    let many = verdict(&stalled(100, &[]), 0);
    assert_eq!((many.class, many.confidence, many.lack), (Class::Load, Confidence::Sure, None));
    // The control: what one request of few waited for was seen.
    let asleep = verdict(&stalled(3, &[(500, Cause::Sleep, 50_000)]), 0);
    assert_eq!((asleep.class, asleep.confidence), (Class::OwnCode, Confidence::Sure));
}

const CPU: CpuId = CpuId(0);
const HOLDER: ThreadId = ThreadId(1);
const HOG: ThreadId = ThreadId(2);
/// Another thread of the service, which reads no request.
const HELPER: ThreadId = ThreadId(3);

/// The class and what is blamed where the holder of the lock is a thread of the service, and a third program
/// is there.
fn blamed(mut trace: Trace) -> (Class, Option<(Source, Culprit)>) {
    trace.threads = [0, 0, 1, 0].map(|program| ThreadTrace { program }).to_vec();
    judged(trace, 1)
}

/// The same of a service and a hog on so many CPUs.
fn judged(mut trace: Trace, cpus: u32) -> (Class, Option<(Source, Culprit)>) {
    trace.programs.truncate(1);
    trace.programs.push(ProgramTrace::default());
    crate::server::blamed(&trace, ["service[1]", "hog[2]"], cpus)
}

/// Its events, each with those that come right before and behind it.
fn with(mut trace: Trace, around: impl Fn(What) -> [Vec<What>; 2]) -> Trace {
    let events = trace.events.take().expect("events").into_iter().flat_map(|event| {
        let [before, behind] = around(event.what);
        let whole = before.into_iter().chain([event.what]).chain(behind);
        whole.map(move |what| Event { what, ..event }).collect::<Vec<_>>()
    });
    trace.events = Some(events.collect());
    trace
}

/// The holder of the lock is taken from its CPU as soon as the others wait for it, and gets it back only to
/// let the lock go.
fn inverted(why: Why) -> Trace {
    let trace = stalled(100, &[(40_500, Cause::Lock, 50_000)]).run().trace;
    let switch = |from, to| What::Switch { cpu: CPU, from: Some(from), to: Some(to), why };
    let sleeps = (why == Why::Blocked).then_some(What::Block { thread: HOLDER, cpu: CPU });
    let wakes = (why == Why::Blocked).then_some(What::Wake { thread: HOLDER, cpu: CPU, by: None });
    with(trace, |what| match what {
        What::Switch { to: Some(HOLDER), .. } => {
            [vec![], sleeps.into_iter().chain([switch(HOLDER, HOG)]).collect()]
        }
        What::Wake { by: Some(_), .. } => {
            [wakes.into_iter().chain([switch(HOG, HOLDER)]).collect(), vec![]]
        }
        _ => [vec![], vec![]],
    })
}

#[test]
fn a_lock_whose_holder_is_preempted_is_the_neighbours() {
    let hog = Some((Source::Background, Culprit::Program(1)));
    assert_eq!(blamed(inverted(Why::Preempted)), (Class::Neighbours, hog));
    let own = (Class::OwnCode, Some((Source::Lock, Culprit::Program(0))));
    assert_eq!(blamed(inverted(Why::Blocked)), own, "the control: it sleeps");
    let runs = stalled(100, &[(40_500, Cause::Lock, 50_000)]).run().trace;
    assert_eq!(blamed(runs), own, "the control: it runs");
}

/// An idle CPU tells a wake-up late: the holder that asked for it has left its own CPU by then.
#[test]
fn a_wake_up_that_is_told_late_is_by_the_thread_that_asked_for_it() {
    let switch = |from, to| What::Switch { cpu: CPU, from, to, why: Why::Preempted };
    let told_late = |is_asked: bool| {
        with(inverted(Why::Preempted), |what| match what {
            What::Wake { thread, by: Some(by), .. } => {
                let asked = is_asked.then_some(What::Waking { thread, by });
                let leaves = switch(Some(HOLDER), Some(HOG));
                [asked.into_iter().chain([leaves]).collect(), vec![]]
            }
            _ => [vec![], vec![]],
        })
    };
    let hog = Some((Source::Background, Culprit::Program(1)));
    assert_eq!(blamed(told_late(true)), (Class::Neighbours, hog));
    let wrong = (Class::OwnCode, Some((Source::Lock, Culprit::Program(1))));
    assert_eq!(blamed(told_late(false)), wrong, "the control: who asked is not told");
}

/// The lock comes by way of a thread that serves no request and waited for it, too.
fn by_way_of_a_helper(waits_for: Off) -> Trace {
    let switch = |from, to| What::Switch { cpu: CPU, from, to, why: Why::Blocked };
    with(inverted(Why::Preempted), |what| match what {
        What::Off { cause: Off::Lock, .. } => {
            [vec![], vec![What::Off { thread: HELPER, cause: waits_for }]]
        }
        What::Wake { cpu, by, .. } if by.is_some() => {
            let wakes = What::Wake { thread: HELPER, cpu, by };
            [vec![wakes, switch(Some(HOLDER), Some(HELPER))], vec![]]
        }
        _ => [vec![], vec![]],
    })
}

#[test]
fn what_keeps_a_lock_is_followed_through_threads_that_serve_nothing() {
    let hog = Some((Source::Background, Culprit::Program(1)));
    assert_eq!(blamed(by_way_of_a_helper(Off::Lock)), (Class::Neighbours, hog));
    let own = (Class::OwnCode, Some((Source::Lock, Culprit::Program(0))));
    assert_eq!(blamed(by_way_of_a_helper(Off::Sleep)), own, "the control: it sleeps");
}

/// A hog has the only CPU that the request's thread may run on. Another thread of the service may run on any.
#[test]
fn a_cpu_that_is_free_is_none_to_a_thread_that_is_bound_to_another() {
    let beside_a_free_cpu = |is_bound: bool| {
        let mut trace = stalled(100, &[(40_500, Cause::Hog, 50_000)]).run().trace;
        trace.threads = [0, 1, 0].map(|program| ThreadTrace { program }).to_vec();
        trace.tables.cpu_sets = vec![vec![CPU]];
        let what = What::Affinity { thread: ThreadId(0), cpus: CpuSetId(0) };
        let bound = is_bound.then_some(Event { at: Nanos::ZERO, what });
        trace.events = trace.events.map(|events| bound.into_iter().chain(events).collect());
        judged(trace, 2)
    };
    let hog = Some((Source::Background, Culprit::Program(1)));
    assert_eq!(beside_a_free_cpu(true), (Class::Neighbours, hog));
    let placed = (Class::Scheduler, Some((Source::IdleElsewhere, Culprit::Placement)));
    assert_eq!(beside_a_free_cpu(false), placed, "the control: it is bound to none");
}

/// Waits for a lock of which a timer ends the first so many.
fn timed_out(server: &Server, most: usize) -> (Class, Option<(Source, Culprit)>) {
    let mut trace = server.run().trace;
    trace.tables.names = vec!["local timer".to_string()];
    let (cpu, kind, name) = (CPU, Interrupt::Hard, NameId(0));
    let count = std::cell::Cell::new(0);
    blamed(with(trace, |what| match what {
        What::Wake { by: Some(_), .. } if count.replace(count.get() + 1) < most => {
            let begin = What::InterruptBegin { cpu, kind, name };
            [vec![begin], vec![What::InterruptEnd { cpu, kind, name }]]
        }
        _ => [vec![], vec![]],
    }))
}

/// Thread.sleep of Java is a wait for a condition that nothing signals.
#[test]
fn a_lock_that_a_timer_ends_is_a_sleep() {
    let once = stalled(100, &[(40_500, Cause::Lock, 50_000)]);
    let slept = (Class::OwnCode, Some((Source::Sleep, Culprit::Itself)));
    let locked = (Class::OwnCode, Some((Source::Lock, Culprit::Program(0))));
    assert_eq!(timed_out(&once, 1), slept);
    assert_eq!(timed_out(&once, 0), locked, "the control");
}

/// Threads of Python wait for the interpreter's lock for 5 ms at most, and then again.
#[test]
fn a_thread_that_waits_for_a_lock_again_at_once_did_not_sleep() {
    let thrice = stalled(100, &[(40_500, Cause::Lock, 20_000); 3]);
    let locked = (Class::OwnCode, Some((Source::Lock, Culprit::Itself)));
    assert_eq!(timed_out(&thrice, 2), locked);
    let slept = (Class::OwnCode, Some((Source::Sleep, Culprit::Itself)));
    assert_eq!(timed_out(&thrice, 3), slept, "the control: nothing lets it go");
    let stalls = vec![(1_000, Cause::Lock, 500_000), (700_000, Cause::Lock, 10_000)];
    let apart = Server { requests: vec![(0, 300_000)], stalls, told: true };
    assert_eq!(timed_out(&apart, 1), slept, "the control: it works in between");
}

/// Messages that come in wake all threads that wake.
fn woken_by_messages(trace: &mut Trace) {
    let (kind, name) = (Interrupt::Soft, NameId(trace.tables.names.len() as u32));
    trace.tables.names.push("softirq net_rx".to_string());
    let told = |event: Event| {
        let What::Wake { thread, cpu, .. } = event.what else { return vec![event] };
        let begin = What::InterruptBegin { cpu, kind, name };
        let wake = What::Wake { thread, cpu, by: Some(cpu) };
        let all = [begin, wake, What::InterruptEnd { cpu, kind, name }];
        all.map(|what| Event { at: event.at, what }).to_vec()
    };
    let events = trace.events.take().into_iter().flatten();
    trace.events = Some(events.flat_map(told).collect());
}

#[test]
fn an_answer_that_its_client_does_not_take_is_no_server_behind() {
    let waits = |cause: Off| {
        let mut trace = stalled(100, &[(40_500, Cause::Sleep, 50_000)]).run().trace;
        woken_by_messages(&mut trace);
        for event in trace.events.iter_mut().flatten() {
            if let What::Off { cause: told, .. } = &mut event.what {
                *told = cause;
            }
        }
        blamed(trace)
    };
    let itself = Culprit::Itself;
    assert_eq!(waits(Off::Client), (Class::Client, Some((Source::Client, itself))));
    assert_eq!(waits(Off::Socket), (Class::Behind, Some((Source::Socket, itself))), "the control");
    assert_eq!(waits(Off::Other).0, Class::Unknown, "handed on to another thread");
}

/// A thread burns CPU time after an answer, and an interrupt takes a little of that. Then it serves a request
/// that comes at that moment and the three that came meanwhile, the last one first.
fn last_come_first_served(burns: u64) -> Trace {
    let (kind, name, thread) = (Interrupt::Hard, NameId(0), ThreadId(0));
    let request = |from: u64, start: u64| {
        let [from, start, to] = [from, start, start + 10].map(Nanos);
        let service = Nanos(10);
        Request { intended: from, sent: from, started: start, completed: to, received: to, service }
    };
    let came = |n: u64| if n < 4 { 20 + n * burns / 5 } else { 20 + burns };
    let mut requests = vec![request(0, 0)];
    requests.extend((1..5).map(|n| request(came(n), 10 * (5 - n) + 10 + burns)));
    let switch = What::Switch { cpu: CPU, from: None, to: Some(thread), why: Why::Idle };
    let mut events = vec![
        (0, What::Wake { thread, cpu: CPU, by: None }),
        (0, switch),
        (20 + burns / 2, What::InterruptBegin { cpu: CPU, kind, name }),
        (20 + burns / 2 + burns / 50, What::InterruptEnd { cpu: CPU, kind, name }),
    ];
    let starts = (0..).zip(&requests);
    events.extend(starts.map(|(request, one)| (one.started.0, What::Start { thread, request })));
    events.sort_by_key(|event| event.0);
    let events = events.into_iter().map(|(at, what)| Event { at: Nanos(at), what });
    Trace {
        window: Window { start: Nanos::ZERO, end: Nanos(100 + burns) },
        programs: vec![
            ProgramTrace { requests, ..ProgramTrace::default() },
            ProgramTrace::default(),
        ],
        threads: vec![ThreadTrace { program: 0 }; 1],
        events: Some(events.collect()),
        tables: Tables { names: vec!["local timer".to_string()], ..Tables::default() },
        ..Trace::default()
    }
}

#[test]
fn what_a_thread_did_before_it_took_up_a_request_is_its_own_work() {
    let told = |trace: &Trace| crate::server::blamed(trace, ["service[1]", "hog[2]"], 1);
    let own = Some((Source::Own, Culprit::Itself));
    assert_eq!(told(&last_come_first_served(5_000)), (Class::OwnCode, own));
    // The controls: another program has the CPU instead, and none has.
    let mut hogged = last_come_first_served(5_000);
    hogged.threads.push(ThreadTrace { program: 1 });
    let switch = |at, from, to| {
        let (from, to) = (Some(ThreadId(from)), Some(ThreadId(to)));
        let what = What::Switch { cpu: CPU, from, to, why: Why::Preempted };
        Event { at: Nanos(at), what }
    };
    let events = hogged.events.iter_mut().flatten().map(|event| *event);
    let mut events: Vec<Event> = events.chain([switch(11, 0, 1), switch(5_020, 1, 0)]).collect();
    events.sort_by_key(|event| event.at);
    hogged.events = Some(events);
    let hog = Some((Source::Background, Culprit::Program(1)));
    assert_eq!(told(&hogged), (Class::Neighbours, hog));
    assert_ne!(told(&last_come_first_served(0)).0, Class::OwnCode);
}

/// Redis writes its data in a child, and autovacuum is a process of PostgreSQL: none of them reads requests.
#[test]
fn a_process_of_the_services_name_and_unit_is_no_neighbour() {
    let trace = stalled(100, &[(40_500, Cause::Hog, 50_000)]).run().trace;
    let told = |names, group| crate::server::blamed_class(&trace, names, group, false);
    let (same, unit) = (["redis-server[1]", "redis-server[2]"], Some("system.slice/redis.service"));
    assert_eq!(told(same, unit), Class::OwnCode);
    assert_eq!(told(same, None), Class::Neighbours, "the control: the root holds any processes");
    assert_eq!(told(["redis-server[1]", "rustc[2]"], unit), Class::Neighbours, "the control");
}

/// In the root, too, where a name says nothing.
#[test]
fn a_process_that_the_service_started_is_no_neighbour() {
    let trace = stalled(100, &[(40_500, Cause::Hog, 50_000)]).run().trace;
    for names in [["redis-server[1]", "redis-server[2]"], ["python3[1]", "convert[2]"]] {
        let told = |descends| crate::server::blamed_class(&trace, names, None, descends);
        let control = "the control: it was started by another";
        assert_eq!((told(true), told(false)), (Class::OwnCode, Class::Neighbours), "{control}");
        let helps = |descends| crate::server::background_helps(&trace, names, descends);
        assert!(helps(true).contains("lower priority"), "{}", helps(true));
        assert!(helps(false).contains("a cell"), "{}", helps(false));
    }
}

/// A thread of the service accepts a connection that came at 20 and starts the one that serves it, at 1,000.
/// Until then a hog has the CPU; the quota may be used up from 10 until a moment.
fn accepted_late(throttled_until: Option<u64>) -> (Class, Option<(Source, Culprit)>) {
    let (accepts, serves, cpu) = (ThreadId(0), ThreadId(1), CPU);
    let switch = |from, to| What::Switch { cpu, from, to, why: Why::Preempted };
    let wake = |thread| What::Wake { thread, cpu, by: None };
    let mut events = vec![
        (0, wake(accepts)),
        (0, switch(None, Some(accepts))),
        (10, switch(Some(accepts), Some(HOG))),
        (1_000, switch(Some(HOG), Some(accepts))),
        (1_000, wake(serves)),
        (1_000, What::Block { thread: accepts, cpu }),
        (1_000, switch(Some(accepts), Some(serves))),
        (1_000, What::Start { thread: serves, request: 0 }),
        (1_040, What::Block { thread: serves, cpu }),
        (1_040, switch(Some(serves), None)),
    ];
    let off = throttled_until.map(|_| (10, What::Off { thread: accepts, cause: Off::Throttled }));
    let free = throttled_until.map(|until| (until, What::Released { thread: accepts }));
    events.extend(off.into_iter().chain(free));
    events.sort_by_key(|(at, _)| *at);
    let at = |(at, what)| Event { at: Nanos(at), what };
    let [intended, started, completed, service] = [20, 1_000, 1_040, 40].map(Nanos);
    let received = completed;
    let request = Request { intended, sent: intended, started, completed, received, service };
    let trace = Trace {
        window: Window { start: Nanos::ZERO, end: Nanos(2_000) },
        programs: vec![ProgramTrace { requests: vec![request], ..ProgramTrace::default() }],
        threads: [0, 0, 1].map(|program| ThreadTrace { program }).to_vec(),
        events: Some(events.into_iter().map(at).collect()),
        ..Trace::default()
    };
    judged(trace, 1)
}

#[test]
fn a_connection_that_nothing_accepts_waits_for_the_quota_of_what_accepts_it() {
    let limits = (Class::Limits, Some((Source::Throttled, Culprit::Itself)));
    assert_eq!(accepted_late(Some(1_000)), limits);
    let hog = (Class::Neighbours, Some((Source::Background, Culprit::Program(1))));
    assert_eq!(accepted_late(None), hog, "the control: it has a quota");
    assert_eq!(accepted_late(Some(100)), hog, "the control: it has one again soon");
}
