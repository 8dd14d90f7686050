//! A recording as a trace: requests with their stages, and scheduling events of everybody.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use model::trace::{Counters, ProgramTrace, Request, Stages, ThreadTrace, Trace, Usage, Window};
use model::{Failure, Nanos, ThreadId};

use super::connection::Connections;
use super::cpu_time::CpuTime;
use super::events::translate;
use super::people::Person;
use super::recording::{Kind, Recording};

/// The first of a recording is warm-up: a fresh tracer makes the run look faster than an untraced one.
const WARM_UP: Nanos = Nanos::from_millis(200);

/// A service that was watched.
#[derive(Clone, Debug)]
pub struct Observed {
    /// What happened. Program 0 is the service: every process that read at its port.
    pub trace: Trace,
    /// The programs, processes by name.
    pub programs: Vec<ObservedProgram>,
    /// CPUs of the machine.
    pub cpus: u32,
    /// Requests whose stages are complete and in order, of those inside the measured part.
    pub complete: u64,
    /// Requests inside the measured part.
    pub requests: u64,
    /// Calls of hooks that the kernel skipped.
    pub missed: u64,
}

/// A process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedProgram {
    /// Its name.
    pub name: String,
    /// The path of its group (cgroup); `None`: the root.
    pub group: Option<String>,
}

/// A request as the server's side saw it.
struct Exchanged {
    stages: Stages,
    thread: u32,
}

/// Makes a trace of what was recorded. [`Failure::Run`] where something was lost or no request was seen.
pub fn observe(recording: &Recording) -> Result<Observed, Failure> {
    let (Some(first), Some(last)) = (recording.seen.first(), recording.seen.last()) else {
        return Err(nothing());
    };
    if recording.lost > 0 {
        return Err(Failure::Run(format!(
            "{} records found no room in the ring: trace a shorter time, or a quieter machine",
            recording.lost
        )));
    }
    let begin = first.at;
    let window = Window { start: WARM_UP, end: last.at - begin };
    let connections = Connections::new(recording);
    let mut exchanged = exchanged(&connections, begin);
    if exchanged.is_empty() {
        return Err(nothing());
    }
    exchanged.sort_by_key(|one| one.stages.arrived);
    let inside = exchanged.iter().filter(|one| window.contains(one.stages.arrived));
    let (requests, complete) = inside.fold((0, 0), |(all, complete), one| {
        (all + 1, complete + u64::from(one.stages.is_complete()))
    });
    exchanged.retain(|one| one.stages.is_complete());
    let crew = Crew::new(recording, &exchanged);
    let time = CpuTime::new(&recording.seen);
    let cpus = 1 + recording.seen.iter().map(|seen| u32::from(seen.cpu)).max().unwrap_or(0);
    let (events, tables) = translate(recording, &crew.numbers, served(&exchanged), begin);
    let service = ProgramTrace {
        requests: requests_of(&exchanged, &crew, &time, begin, last.at),
        stages: exchanged.iter().map(|one| one.stages).collect(),
        rounds: 0,
    };
    let others = crew.programs.iter().skip(1).map(|_| ProgramTrace::default());
    let used = |at: Nanos| Usage {
        at,
        cpu_time: crew.threads.iter().map(|id| time.until(*id, begin + at)).collect(),
    };
    let trace = Trace {
        policy: "default".to_string(),
        kernel: fs::read_to_string("/proc/sys/kernel/osrelease").ok().map(|r| r.trim().to_string()),
        seed: 0,
        window,
        programs: std::iter::once(service).chain(others).collect(),
        threads: crew.programs_of.iter().map(|&program| ThreadTrace { program }).collect(),
        usage: vec![used(window.start), used(window.end)],
        counters: Counters::default(),
        events: Some(events),
        tables,
    };
    let (programs, missed) = (crew.programs, recording.missed);
    Ok(Observed { trace, programs, cpus, complete, requests, missed })
}

fn nothing() -> Failure {
    Failure::Run("no request was answered at this port while it was watched".to_string())
}

/// Every request that was answered, with moments from the beginning of the recording.
fn exchanged(connections: &Connections, begin: Nanos) -> Vec<Exchanged> {
    let since = |at: Nanos| if at == Nanos::NEVER { at } else { at - begin };
    let mut all = Vec::new();
    for (_, own) in connections.iter() {
        for exchange in own.exchanges() {
            let (s, thread) = connections.stages(own, exchange.request_end, exchange.answer);
            let [arrived, ready, running, read, sends, transmitted] = s.moments().map(since);
            let stages = Stages { arrived, ready, running, read, sends, transmitted };
            all.push(Exchanged { stages, thread });
        }
    }
    // What arrived before the recording has no first moment and is nobody's fault.
    all.retain(|one| one.stages.arrived != Nanos::NEVER);
    all
}

fn served(exchanged: &[Exchanged]) -> Vec<(u32, Nanos, Nanos)> {
    exchanged.iter().map(|one| (one.thread, one.stages.read, one.stages.transmitted)).collect()
}

/// Who was seen: threads in the order of their appearance, and their programs.
struct Crew {
    /// The kernel's ids of threads.
    threads: Vec<u32>,
    /// The places of threads, by the kernel's id.
    numbers: BTreeMap<u32, ThreadId>,
    /// The program of each thread.
    programs_of: Vec<usize>,
    programs: Vec<ObservedProgram>,
}

impl Crew {
    fn new(recording: &Recording, exchanged: &[Exchanged]) -> Crew {
        let process = |thread: &u32| {
            recording.people.known.get(thread).map_or(*thread, |person| person.process)
        };
        let serving: BTreeSet<u32> = exchanged.iter().map(|one| process(&one.thread)).collect();
        let mut crew = Crew {
            threads: Vec::new(),
            numbers: BTreeMap::new(),
            programs_of: Vec::new(),
            programs: Vec::new(),
        };
        let mut of_process: BTreeMap<u32, usize> = BTreeMap::new();
        let first = exchanged.first().map(|one| one.thread);
        for thread in first.into_iter().chain(threads(recording)) {
            if thread == 0 || crew.numbers.contains_key(&thread) {
                continue;
            }
            let own = process(&thread);
            let own = if serving.contains(&own) { 0 } else { own };
            let program = *of_process.entry(own).or_insert_with(|| {
                crew.programs.push(program(recording.people.known.get(&thread), thread));
                crew.programs.len() - 1
            });
            crew.numbers.insert(thread, ThreadId(crew.threads.len() as u32));
            crew.threads.push(thread);
            crew.programs_of.push(program);
        }
        crew
    }
}

/// Every thread that was seen.
fn threads(recording: &Recording) -> impl Iterator<Item = u32> {
    recording.seen.iter().flat_map(|seen| match seen.kind {
        Kind::Switch { from, .. } => [from, seen.thread],
        Kind::Wake { .. } => [seen.thread, 0],
        _ => [0, 0],
    })
}

fn program(person: Option<&Person>, thread: u32) -> ObservedProgram {
    match person {
        Some(person) => ObservedProgram {
            name: format!("{}[{}]", person.name, person.process),
            group: Some(person.group.clone()).filter(|group| !group.is_empty()),
        },
        // It ended before anybody asked.
        None => ObservedProgram { name: format!("thread[{thread}]"), group: None },
    }
}

/// Requests as the ideal queue wants them: the arrival is T1, the service time the thread's own CPU time from T4 to T6 and the mean of all else that the threads did
/// (Tales section 3.2).
fn requests_of(
    exchanged: &[Exchanged],
    crew: &Crew,
    time: &CpuTime,
    begin: Nanos,
    end: Nanos,
) -> Vec<Request> {
    let own = |one: &Exchanged| {
        let at = |moment: Nanos| time.until(one.thread, begin + moment);
        at(one.stages.transmitted).saturating_sub(at(one.stages.read))
    };
    let total: u64 = (crew.threads.iter().zip(&crew.programs_of))
        .filter(|(_, program)| **program == 0)
        .map(|(thread, _)| time.until(*thread, end).0)
        .sum();
    let served: u64 = exchanged.iter().map(|one| own(one).0).sum();
    let kernel_part = Nanos(total.saturating_sub(served) / exchanged.len().max(1) as u64);
    let request = |one: &Exchanged| Request {
        intended: one.stages.arrived,
        sent: one.stages.arrived,
        started: one.stages.read,
        completed: one.stages.transmitted,
        received: one.stages.transmitted,
        service: own(one) + kernel_part,
    };
    exchanged.iter().map(request).collect()
}
