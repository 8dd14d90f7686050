//! A recording as a trace: requests with their stages, and scheduling events of everybody.

use std::fs;

use model::event::{Event, Process, Tables, What};
use model::trace::{Counters, ProgramTrace, Request, Stages, ThreadTrace, Trace, Usage, Window};
use model::{CpuId, Failure, Nanos};

use super::connection::Connections;
use super::cpu_time::CpuTime;
use super::crew::Crew;
use super::events::translate;
use super::people::Person;
use super::recording::Recording;

/// The first of a recording is warm-up: a fresh tracer makes the run look faster than an untraced one.
const WARM_UP: Nanos = Nanos::from_millis(200);

/// The least part of requests whose stages must be complete.
const COMPLETE: f64 = 0.999;

/// A service that was watched.
#[derive(Clone, Debug)]
pub struct Observed {
    /// What happened. Program 0 is the service: every process that read at its port.
    pub trace: Trace,
    /// The programs: processes.
    pub programs: Vec<Process>,
    /// CPUs of the machine.
    pub cpus: u32,
    /// Requests whose stages are complete and in order, of those inside the measured part.
    pub complete: u64,
    /// Requests inside the measured part.
    pub requests: u64,
}

/// A request as the server's side saw it.
struct Exchanged {
    stages: Stages,
    thread: u32,
}

/// Makes a trace of what was recorded. [`Failure::Run`] where something was lost, or skipped by the kernel, too few requests have all their stages, or none was seen.
pub fn observe(recording: &Recording) -> Result<Observed, Failure> {
    let (Some(first), Some(last)) = (recording.seen.first(), recording.seen.last()) else {
        return Err(nothing());
    };
    recording.check_whole()?;
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
    check_complete(requests, complete)?;
    let (crew, programs) = crew(recording, &exchanged);
    let time = CpuTime::new(&recording.seen);
    let cpus = 1 + recording.seen.iter().map(|seen| u32::from(seen.cpu)).max().unwrap_or(0);
    let (events, tables) = events(recording, &crew, &exchanged, (begin, cpus));
    let service = ProgramTrace {
        requests: requests_of(&exchanged, &crew, &time, begin, last.at),
        stages: exchanged.iter().map(|one| one.stages).collect(),
        rounds: 0,
    };
    let others = crew.others.iter().map(|_| ProgramTrace::default());
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
    Ok(Observed { trace, programs, cpus, complete, requests })
}

/// Refuses what lacks stages: those may be what matters.
fn check_complete(requests: u64, complete: u64) -> Result<(), Failure> {
    if complete as f64 >= COMPLETE * requests as f64 {
        return Ok(());
    }
    Err(Failure::Run(format!(
        "the stages of {complete} of {requests} requests are complete, and what is missing may be what matters: watch again, for a shorter time or under less load"
    )))
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

/// Numbers for everybody, the service first: program 0 is every process that served.
fn crew(recording: &Recording, exchanged: &[Exchanged]) -> (Crew, Vec<Process>) {
    let known = &recording.people.known;
    let process =
        |one: &Exchanged| known.get(&one.thread).map_or(one.thread, |person| person.process);
    let serving = exchanged.iter().map(|one| (process(one), 0)).collect();
    let crew = Crew::new(recording, exchanged.iter().map(|one| (one.thread, 0)), 1, serving);
    let service = Person::process(known.get(&crew.threads[0]), crew.threads[0]);
    let programs = std::iter::once(service).chain(crew.others.iter().cloned()).collect();
    (crew, programs)
}

/// What the scheduler did, who served what, and on which of the CPUs the service may run.
fn events(
    recording: &Recording,
    crew: &Crew,
    exchanged: &[Exchanged],
    (begin, cpus): (Nanos, u32),
) -> (Vec<Event>, Tables) {
    let place = |cpu: usize| Some(CpuId(cpu as u32));
    let (mut events, mut tables) = translate(recording, &crew.numbers, &place, begin);
    for (id, thread) in
        crew.numbers.iter().filter(|(_, thread)| crew.programs_of[thread.index()] == 0)
    {
        let Some(person) = recording.people.known.get(id) else { continue };
        let own: Vec<CpuId> = person.cpus.iter().copied().filter(|cpu| cpu.0 < cpus).collect();
        let what = What::Affinity { thread: *thread, cpus: tables.cpu_set(&own) };
        events.push(Event { at: Nanos::ZERO, what });
    }
    for (request, one) in (0..).zip(exchanged) {
        let thread = crew.numbers[&one.thread];
        let Stages { read, transmitted, .. } = one.stages;
        events.extend(Event::of_request(thread, request, read, transmitted));
    }
    events.sort_by_key(|event| event.at);
    (events, tables)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lacks_more_than_one_request_in_a_thousand_is_refused() {
        assert!(check_complete(10_000, 9_990).is_ok());
        let Err(Failure::Run(why)) = check_complete(10_000, 9_989) else { panic!("accepted") };
        assert!(why.contains("9989 of 10000"), "{why}");
    }

    #[test]
    fn what_the_kernel_skipped_or_lost_is_refused() {
        let whole = Recording::default();
        assert!(whole.check_whole().is_ok());
        let skipped = Recording { missed: 1, ..whole.clone() };
        let lost = Recording { lost: 1, ..whole };
        for torn in [skipped, lost] {
            assert!(matches!(torn.check_whole(), Err(Failure::Run(_))));
        }
    }
}
