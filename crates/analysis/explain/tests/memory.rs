//! Threads and CPUs of a trace do not multiply: alone in its process, which so has used no memory before.

use std::fs;

use explain::{Program, Setting, explain};
use model::event::{Event, What, Why};
use model::scenario::Machine;
use model::trace::{ProgramTrace, Request, ThreadTrace, Trace, Window};
use model::{CpuId, Nanos, ThreadId};

const CPUS: u32 = 8_192;
const THREADS: usize = 100_000;

/// One request of the first of many threads.
fn trace() -> Trace {
    let [intended, started, completed, end] = [10, 20, 30, 40].map(Nanos);
    let request = Request {
        intended,
        sent: intended,
        started,
        completed,
        received: completed,
        service: Nanos(5),
    };
    let thread = ThreadId(0);
    let switch = What::Switch { cpu: CpuId(0), from: None, to: Some(thread), why: Why::Idle };
    let mut events = vec![Event { at: started, what: switch }];
    events.extend(Event::of_request(thread, 0, started, completed));
    Trace {
        window: Window { start: Nanos::ZERO, end },
        programs: vec![ProgramTrace { requests: vec![request], ..ProgramTrace::default() }],
        threads: vec![ThreadTrace { program: 0 }; THREADS],
        events: Some(events),
        ..Trace::default()
    }
}

/// The most memory that this process ever had.
fn most_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a line");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
fn memory_is_for_threads_and_for_cpus_and_not_for_both() {
    let machine = Machine { cpus: CPUS, smt: 1, llcs: 1, nodes: 1 };
    let web = Program {
        name: "web".to_string(),
        group: None,
        owner: None,
        descends: false,
        serves: true,
        process: 0,
        memory: None,
    };
    let (trace, setting) = (trace(), Setting { machine, programs: vec![web] });
    let explained = explain(&trace, &setting).expect("events");
    assert_eq!(explained.services[0].requests.len(), 1, "it is explained all the same");
    assert!(most_kib() < 512 << 10, "{} KiB", most_kib());
}
