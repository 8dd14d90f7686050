//! Traces that are made to take long, and what is not looked at held against a look at every moment.

mod drawn;

use model::event::{Cause, Event, Interrupt, NameId, Tables, What, Why};
use model::scenario::Machine;
use model::trace::{ProgramTrace, Request, ThreadTrace, Trace, Window};
use model::{CpuId, Nanos, ThreadId};

use crate::explanation::{explain_scene, lay_out};
use crate::room::{MOST_STEPS, MOST_WORDS, Room};
use crate::setting::{Program, Setting};

fn setting(programs: usize, cpus: u32) -> Setting {
    let program = |process| Program {
        name: format!("p{process}"),
        group: None,
        owner: None,
        serves: process < 2,
        descends: false,
        process,
        memory: None,
    };
    let machine = Machine { cpus, ..Machine::ONE_CPU };
    Setting { machine, programs: (0..programs).map(program).collect() }
}

/// What is told of a trace, and how many steps that took. With `is_slow` every moment is looked at.
fn told(trace: &Trace, cpus: u32, is_slow: bool) -> (String, u64) {
    let setting = setting(trace.programs.len(), cpus);
    let mut scene = lay_out(trace, trace.events.as_deref().expect("events"), &setting);
    scene.is_slow = is_slow;
    let mut room = Room::new(MOST_WORDS, MOST_STEPS);
    let told = explain_scene(&mut room, scene, &setting).expect("it fits").services;
    (format!("{told:?}"), MOST_STEPS - room.steps())
}

#[test]
fn what_is_surely_the_same_is_what_a_look_at_every_moment_tells() {
    let (mut quick, mut slow) = (0, 0);
    for seed in 0..200 {
        let (threads, cpus) = (2 + seed as usize % 13, 1 + seed as u32 % 5);
        let trace = drawn::trace(seed, threads, cpus as usize);
        let [short, long] = [false, true].map(|is_slow| told(&trace, cpus, is_slow));
        assert_eq!(short.0, long.0, "seed {seed}");
        (quick, slow) = (quick + short.1, slow + long.1);
    }
    assert!(quick < slow, "the control: it looks at more, {quick} and {slow}");
}

/// So many threads sleep at a request from the first moment to the last. Meanwhile one serves as many short
/// ones on a CPU of its own, each with an interrupt.
fn sleepers(many: u32) -> Trace {
    let (cpu, worker, kind) = (CpuId(0), ThreadId(many), Interrupt::Soft);
    let end = 100 * (u64::from(many) + 2);
    let long = |_| Request::at_once(Nanos(0), Nanos(end), Nanos(10));
    let short = |n| {
        let from = 100 * (u64::from(n) + 1);
        Request::at_once(Nanos(from), Nanos(from + 50), Nanos(30))
    };
    let mut events = Vec::new();
    let mut push = |at: u64, what: What| events.push(Event { at: Nanos(at), what });
    for thread in (0..many).map(ThreadId) {
        push(0, What::Start { thread, request: thread.0 });
        push(1, What::Off { thread, cause: Cause::Sleep });
    }
    for n in 0..many {
        let (at, name) = (100 * (u64::from(n) + 1), NameId(0));
        push(at, What::Wake { thread: worker, cpu, by: None });
        push(at, What::Switch { cpu, from: None, to: Some(worker), why: Why::Idle });
        push(at, What::Start { thread: worker, request: many + n });
        push(at + 10, What::InterruptBegin { cpu, kind, name });
        push(at + 20, What::InterruptEnd { cpu, kind, name });
        push(at + 50, What::Block { thread: worker, cpu });
        push(at + 50, What::Switch { cpu, from: Some(worker), to: None, why: Why::Blocked });
    }
    (0..many).map(ThreadId).for_each(|thread| {
        push(end, What::Wake { thread, cpu: CpuId(1), by: None });
    });
    let requests = (0..many).map(long).chain((0..many).map(short)).collect();
    Trace {
        window: Window { start: Nanos::ZERO, end: Nanos(end + 1) },
        programs: vec![ProgramTrace { requests, ..ProgramTrace::default() }],
        threads: vec![ThreadTrace { program: 0 }; many as usize + 1],
        events: Some(events),
        tables: Tables { names: vec!["irq".to_string()], ..Tables::default() },
        ..Trace::default()
    }
}

#[test]
fn threads_that_sleep_at_their_requests_are_not_looked_at_while_others_serve() {
    let steps = |many, is_slow| told(&sleepers(many), 2, is_slow).1 as f64;
    let grown = |is_slow| steps(400, is_slow) / steps(100, is_slow);
    let (quick, slow) = (grown(false), grown(true));
    assert!(quick < 5.0, "four times the threads and requests: {quick} times the steps");
    assert!(slow > 12.0, "the control: {slow}");
}

/// A thread is always at work on the only CPU, and is further behind with each request.
fn growing(many: u32) -> Trace {
    let (cpu, thread, service) = (CpuId(0), ThreadId(0), Nanos(30));
    let request = |n: u32| {
        let [intended, started] = [20 * n, 30 * n].map(|at| Nanos(u64::from(at)));
        let (sent, completed) = (intended, started + service);
        Request { intended, sent, started, completed, received: completed, service }
    };
    let requests: Vec<Request> = (0..many).map(request).collect();
    let switch = What::Switch { cpu, from: None, to: Some(thread), why: Why::Idle };
    let begin = [What::Wake { thread, cpu, by: None }, switch];
    let begin = begin.map(|what| Event { at: Nanos::ZERO, what });
    let start = |(request, one): (u32, &Request)| Event {
        at: one.started,
        what: What::Start { thread, request },
    };
    Trace {
        window: Window { start: Nanos::ZERO, end: Nanos(30 * u64::from(many) + 1) },
        events: Some(begin.into_iter().chain((0..).zip(&requests).map(start)).collect()),
        programs: vec![ProgramTrace { requests, ..ProgramTrace::default() }],
        threads: vec![ThreadTrace { program: 0 }],
        ..Trace::default()
    }
}

#[test]
fn requests_do_not_look_at_all_those_that_they_wait_for() {
    let grown = |of: &dyn Fn(u32) -> u64| of(3_200) as f64 / of(200) as f64;
    let steps = grown(&|many| told(&growing(many), 1, false).1);
    assert!(steps < 20.0, "sixteen times the requests: {steps} times the steps");
    let waited_for = |many| {
        let trace = growing(many);
        let all = &trace.programs[0].requests;
        let before = |one: &Request| all.partition_point(|other| other.intended < one.intended);
        let done = |one: &Request| all.partition_point(|other| other.completed <= one.intended);
        all.iter().map(|one| (before(one) - done(one)) as u64).sum()
    };
    assert!(grown(&waited_for) > 200.0, "the control: {}", grown(&waited_for));
}

#[test]
fn a_trace_that_takes_too_many_steps_is_refused() {
    let (trace, setting) = (sleepers(200), setting(1, 2));
    let steps = told(&trace, 2, false).1;
    let explained = |steps| {
        let scene = lay_out(&trace, trace.events.as_deref().expect("events"), &setting);
        explain_scene(&mut Room::new(MOST_WORDS, steps), scene, &setting).map(drop)
    };
    explained(steps).expect("the control: as many as it takes");
    let why = explained(steps - 1).expect_err("one fewer");
    assert!(why.exit_code() == 2 && why.to_string().contains("record less"), "{why}");
}
