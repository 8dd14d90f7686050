//! A recording as a trace: requests with their stages, and scheduling events of every thread.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use model::event::Process;
use model::trace::{Counters, ProgramTrace, Request, Stages, Trace, Window};
use model::{Failure, Nanos};

use super::answering::Answering;
use super::connection::Connections;
use super::cpu_time::CpuTime;
use super::follower::Ended;
use super::handover::hand_over;
use super::recording::Recording;
use super::scene::{Exchanged, Scene};

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

/// Makes a trace of what was recorded. [`Failure::Run`] where something was lost, or skipped by the kernel,
/// too few requests have all their stages, or none was seen.
pub fn observe(recording: &Recording) -> Result<Observed, Failure> {
    recording.check_whole()?;
    let observed = lay_out(recording, WARM_UP, None).ok_or_else(nothing)?;
    check_complete(observed.requests, observed.complete)?;
    Ok(observed)
}

/// What a part of a recording says of requests that it holds from their beginning to their end, and of `slow`
/// even where that one began before; `None`: of none.
pub fn snapshot(recording: &Recording, slow: Option<&Ended>) -> Option<Observed> {
    lay_out(recording, Nanos::ZERO, slow)
}

fn lay_out(recording: &Recording, warm_up: Nanos, slow: Option<&Ended>) -> Option<Observed> {
    let (first, last) = (recording.seen.first()?, recording.seen.last()?);
    let longer = slow.filter(|one| one.stages.arrived < first.at);
    let begin = longer.map_or(first.at, |one| one.stages.arrived);
    let window = Window { start: warm_up, end: last.at - begin };
    let connections = Connections::new(recording);
    let mut exchanged = exchanged(&connections, begin);
    exchanged.extend(
        longer.map(|one| Exchanged::new(one.stages.since(begin), one.thread, Answering::default())),
    );
    exchanged.sort_by_key(|one| one.stages.arrived);
    let inside = exchanged.iter().filter(|one| window.contains(one.stages.arrived));
    let (requests, complete) = count(inside);
    let at_all = exchanged.len();
    exchanged.retain(|one| one.stages.is_complete());
    if at_all == 0 {
        return None;
    }
    hand_over(&mut exchanged, recording, begin);
    let scene = Scene::new(recording, &exchanged, begin);
    let service = ProgramTrace {
        requests: requests_of(&exchanged, &scene, begin, last.at),
        stages: exchanged.iter().map(|one| one.stages).collect(),
        rounds: 0,
    };
    let others = scene.programs.iter().skip(1).map(|_| ProgramTrace::default());
    let trace = Trace {
        policy: "default".to_string(),
        kernel: fs::read_to_string("/proc/sys/kernel/osrelease").ok().map(|r| r.trim().to_string()),
        seed: 0,
        window,
        programs: std::iter::once(service).chain(others).collect(),
        usage: scene.usage(window, begin),
        threads: scene.threads,
        counters: Counters::default(),
        neighbours: None,
        events: Some(scene.events),
        tables: scene.tables,
    };
    Some(Observed { trace, programs: scene.programs, cpus: scene.cpus, complete, requests })
}

/// How many there are, and how many of them are complete.
pub(super) fn count<'a>(exchanged: impl Iterator<Item = &'a Exchanged>) -> (u64, u64) {
    exchanged.fold((0, 0), |(all, complete), one| {
        (all + 1, complete + u64::from(one.stages.is_complete()))
    })
}

/// Refuses what lacks stages: those may be what matters.
pub(super) fn check_complete(requests: u64, complete: u64) -> Result<(), Failure> {
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
    let mut all = Vec::new();
    for (peer, own) in connections.iter() {
        for exchange in own.exchanges() {
            // Of datagrams no hook tells the thread that answers.
            let answering = match peer.is_udp {
                true => Answering::default(),
                false => Answering::of(own, &exchange.answer, begin),
            };
            let (stages, thread) = connections.stages(own, exchange.request_end, exchange.answer);
            all.push(Exchanged::new(stages.since(begin), thread, answering));
        }
    }
    // What arrived before the recording has no first moment and counts as no loss.
    all.retain(|one| one.stages.arrived != Nanos::NEVER);
    all
}

/// The CPU time of each request's thread from T4 to T6. While a thread is at several requests, its time is
/// that of the one that it has read last: Redis reads many before it answers the first.
fn own_times(exchanged: &[Exchanged], time: &CpuTime, begin: Nanos) -> Vec<Nanos> {
    let mut edges = BTreeMap::<u32, Vec<(Nanos, bool, usize)>>::new();
    for (at, one) in exchanged.iter().enumerate() {
        let own = edges.entry(one.thread).or_default();
        let Stages { read, transmitted, .. } = one.stages;
        own.extend([(begin + read, false, at), (begin + transmitted, true, at)]);
    }
    let mut own = vec![Nanos::ZERO; exchanged.len()];
    for (thread, mut edges) in edges {
        edges.sort_unstable();
        let (mut open, mut before) = (BTreeSet::new(), Nanos::ZERO);
        for (moment, is_over, at) in edges {
            let received = time.until(thread, moment);
            if let Some((_, last)) = open.last() {
                own[*last] += received - before;
            }
            before = received;
            let request = (exchanged[at].stages.read, at);
            if is_over {
                open.remove(&request)
            } else {
                open.insert(request)
            };
        }
    }
    own
}

/// Requests as the ideal queue wants them (Tales section 3.2). The arrival is T1. The service time is the
/// thread's own CPU time from T4 to T6, and the mean of all else that the threads did.
fn requests_of(exchanged: &[Exchanged], scene: &Scene, begin: Nanos, end: Nanos) -> Vec<Request> {
    let (table, time) = (&scene.table, &scene.time);
    let own = own_times(exchanged, time, begin);
    let total: u64 = (table.threads.iter().zip(&table.programs_of))
        .filter(|(_, program)| **program == 0)
        .map(|(thread, _)| time.until(*thread, end).0)
        .sum();
    let served: u64 = own.iter().map(|time| time.0).sum();
    let kernel_part = Nanos(total.saturating_sub(served) / exchanged.len().max(1) as u64);
    let request = |(one, own): (&Exchanged, &Nanos)| Request {
        intended: one.stages.arrived,
        sent: one.stages.arrived,
        started: one.stages.read,
        completed: one.stages.transmitted,
        received: one.stages.transmitted,
        service: *own + kernel_part,
    };
    exchanged.iter().zip(&own).map(request).collect()
}

#[cfg(test)]
mod tests {
    use super::super::recording::{Kind, Left, Seen};
    use super::*;

    /// The thread runs from 0 to 100; the first request waits for something while the third one is served.
    #[test]
    fn a_threads_time_is_of_the_request_that_it_has_read_last_and_of_no_other() {
        let switch = |at, thread, from| Seen {
            at: Nanos(at),
            cpu: 0,
            thread,
            kind: Kind::Switch { from, left: Left::Preempted },
        };
        let time = CpuTime::new(&[switch(0, 7, 0), switch(100, 0, 7)]);
        let exchanged = |(read, transmitted)| {
            let (read, transmitted) = (Nanos(read), Nanos(transmitted));
            let stages = Stages { read, transmitted, ..Stages::UNSEEN };
            Exchanged::new(stages, 7, Answering::default())
        };
        let own = |spans: &[(u64, u64)]| {
            let all: Vec<Exchanged> = spans.iter().copied().map(exchanged).collect();
            own_times(&all, &time, Nanos::ZERO).iter().map(|own| own.0).collect::<Vec<_>>()
        };
        assert_eq!(own(&[(10, 50), (20, 60), (30, 45)]), [10, 25, 15], "50 from 10 to 60");
        assert_eq!(own(&[(10, 20), (20, 60), (60, 65)]), [10, 40, 5], "the control: one by one");
    }

    /// No record of its arrival is there any more.
    #[test]
    fn a_request_that_is_longer_than_its_records_is_found_all_the_same() {
        let kind = Kind::Switch { from: 0, left: Left::Preempted };
        let seen = [5_000, 9_000].map(|at| Seen { at: Nanos(at), cpu: 0, thread: 7, kind });
        let recording = Recording { seen: seen.to_vec(), ..Recording::default() };
        let [arrived, ready, running, read, sends, transmitted] =
            [1_000, 1_100, 1_200, 1_300, 8_000, 9_000].map(Nanos);
        let stages = Stages { arrived, ready, running, read, sends, transmitted };
        let slow = Ended { stages, thread: 7, service: 0 };
        let observed = snapshot(&recording, Some(&slow)).expect("it is told");
        assert_eq!(observed.trace.programs[0].stages, [stages.since(arrived)]);
        assert_eq!(observed.trace.programs[0].requests.len(), 1);
        assert_eq!(observed.trace.window.end, Nanos(8_000));
        assert!(snapshot(&recording, None).is_none(), "the control: nothing else names it");
    }

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
