//! A thread that serves many requests at once: one of them waits for something that no event tells.

use explain::{Class, Confidence, Explained, Program, Service, Setting, Source, explain};
use model::event::{Cause, Event, Interrupt, NameId, Tables, What, Why};
use model::scenario::Machine;
use model::trace::{ProgramTrace, Request, ThreadTrace, Trace, Window};
use model::{CpuId, Nanos, ThreadId};

const CPU: CpuId = CpuId(0);
const LOOP: ThreadId = ThreadId(0);
/// A request comes each so many nanoseconds; the first one is answered after the last one.
const GAP: u64 = 100;
const OTHERS: u64 = 9;

/// Requests that each take 10 ns and an interrupt of 4 ns. Between them the thread sleeps, for a cause that
/// events tell or do not. A message wakes it, which `told` events tell.
fn trace(cause: Option<Cause>, told: bool) -> Trace {
    let request = |from: u64, to: u64| {
        let [from, to] = [from, to].map(Nanos);
        let service = Nanos(10);
        Request { intended: from, sent: from, started: from, completed: to, received: to, service }
    };
    let end = GAP * (OTHERS + 1) + 16;
    let mut requests = vec![request(0, end)];
    requests.extend((1..=OTHERS).map(|n| request(n * GAP, n * GAP + 16)));
    let mut events = Vec::new();
    let mut push = |at: u64, what: What| events.push(Event { at: Nanos(at), what });
    let (kind, name, thread, cpu) = (Interrupt::Soft, NameId(0), LOOP, CPU);
    for n in 0..=OTHERS + 1 {
        let at = n * GAP;
        push(at, What::InterruptBegin { cpu, kind, name });
        push(at, What::Wake { thread, cpu, by: told.then_some(cpu) });
        push(at, What::InterruptEnd { cpu, kind, name });
        push(at, What::Switch { cpu, from: None, to: Some(LOOP), why: Why::Idle });
        if n <= OTHERS {
            push(at, What::Start { thread, request: n as u32 });
        }
        push(at + 2, What::InterruptBegin { cpu, kind, name });
        push(at + 6, What::InterruptEnd { cpu, kind, name });
        push(at + 20, What::Block { thread, cpu });
        push(at + 20, What::Switch { cpu, from: Some(LOOP), to: None, why: Why::Blocked });
        cause.into_iter().for_each(|cause| push(at + 20, What::Off { thread, cause }));
    }
    Trace {
        seed: 1,
        window: Window { start: Nanos::ZERO, end: Nanos(end) },
        programs: vec![ProgramTrace { requests, ..ProgramTrace::default() }],
        threads: vec![ThreadTrace { program: 0 }],
        events: Some(events),
        tables: Tables { names: vec!["softirq net_rx".to_string()], ..Tables::default() },
        ..Trace::default()
    }
}

fn program() -> Program {
    let name = "loop".to_string();
    let (group, owner, descends) = (None, None, false);
    Program { name, group, owner, serves: true, descends, process: 0, memory: None }
}

fn explained(cause: Option<Cause>) -> Service {
    let setting = Setting { machine: Machine::ONE_CPU, programs: vec![program()] };
    explain(&trace(cause, true), &setting).expect("events").services.remove(0)
}

fn first(service: &Service) -> &Explained {
    service.requests.iter().find(|one| one.request == 0).expect("it was answered")
}

#[test]
fn what_a_thread_did_in_between_is_not_what_a_request_waited_for() {
    let idle = explained(None);
    let (told, latency) = (first(&idle), first(&idle).latency.0);
    let interrupts = 4 * (OTHERS + 2);
    assert!(told.of(Source::Interrupt) <= 2 * interrupts, "{told:?}");
    assert!(10 * told.other > 7 * latency as i64, "{told:?}");
    let verdict = idle.verdict();
    assert_eq!((verdict.class, verdict.confidence), (Class::Unknown, Confidence::None));
    let asleep = explained(Some(Cause::Sleep));
    assert!(
        10 * first(&asleep).of(Source::Sleep) > 7 * latency,
        "the control: {:?}",
        first(&asleep)
    );
}

/// What ends the last wait tells what the first request waited for: the others ended with another request.
#[test]
fn a_thread_that_waits_for_whatever_comes_waits_for_no_server_behind() {
    let of_last = |last: Cause, told: bool| {
        let mut trace = trace(Some(Cause::Socket), told);
        // All of them wait for the same, and are answered after the first.
        let end = trace.window.end;
        let others = trace.programs[0].requests.iter_mut().skip(1);
        for (n, one) in (1..).zip(others) {
            (one.completed, one.received) = (end + Nanos(n), end + Nanos(n));
        }
        let waits =
            trace.events.iter_mut().flatten().filter(|e| matches!(e.what, What::Off { .. }));
        let last_but_one = waits.rev().nth(1).expect("it waits ten times");
        last_but_one.what = What::Off { thread: LOOP, cause: last };
        let setting = Setting { machine: Machine::ONE_CPU, programs: vec![program()] };
        let service = explain(&trace, &setting).expect("events").services.remove(0);
        let told = service.verdict();
        (told.class, told.parts.iter().max_by_key(|part| part.2).map(|part| part.0))
    };
    assert_eq!(of_last(Cause::Lock, true), (Class::OwnCode, Some(Source::Lock)));
    assert_eq!(of_last(Cause::Other, true).0, Class::Unknown);
    assert_eq!(of_last(Cause::Socket, false).0, Class::Unknown, "nothing is seen to end it");
    assert_eq!(of_last(Cause::Socket, true), (Class::Behind, Some(Source::Socket)), "the control");
}
