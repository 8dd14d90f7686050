//! Requests that were served, and every thread that had a CPU meanwhile.

use model::event::{Event, Process, Tables, What};
use model::trace::{Stages, ThreadTrace, Usage, Window};
use model::{CpuId, Nanos};

use super::answering::{Answering, tell_waits};
use super::cpu_time::CpuTime;
use super::descent::Descent;
use super::events::translate;
use super::process_cache::ProcessInfo;
use super::recording::Recording;
use super::thread_table::ThreadTable;

/// A request as the server's side saw it; moments count from a beginning.
pub(super) struct Exchanged {
    pub stages: Stages,
    /// The thread that serves it: that read it, or that this one woke for it; 0: not seen.
    pub thread: u32,
    /// How its answer went out.
    pub answering: Answering,
    /// Whether another thread read it.
    pub is_handed_over: bool,
}

impl Exchanged {
    /// One that its reader serves.
    pub fn new(stages: Stages, thread: u32, answering: Answering) -> Exchanged {
        Exchanged { stages, thread, answering, is_handed_over: false }
    }

    /// Whether another thread than its reader answers.
    pub fn is_answered_by_another(&self) -> bool {
        let answers = self.answering.thread;
        answers != 0 && self.thread != 0 && answers != self.thread
    }
}

/// What surrounds the requests. Program 0 is the service: every process that served.
pub(super) struct Scene {
    pub table: ThreadTable,
    pub time: CpuTime,
    /// The programs: processes.
    pub programs: Vec<Process>,
    pub threads: Vec<ThreadTrace>,
    /// CPUs of the machine.
    pub cpus: u32,
    pub events: Vec<Event>,
    pub tables: Tables,
}

impl Scene {
    /// Of requests whose numbers are their places.
    pub fn new(recording: &Recording, exchanged: &[Exchanged], begin: Nanos) -> Scene {
        let known = &recording.known;
        let served = || exchanged.iter().map(|one| one.thread).filter(|thread| *thread != 0);
        let process = |thread: u32| known.get(&thread).map_or(thread, |info| info.process);
        let serving = served().map(|thread| (process(thread), 0)).collect();
        let mut table = ThreadTable::new(recording, served().map(|thread| (thread, 0)), 1, serving);
        Descent::new(recording, served()).mark(&mut table);
        let first = served().next().unwrap_or(0);
        let service = ProcessInfo::process(known.get(&first), first);
        let programs = std::iter::once(service).chain(table.others.iter().cloned()).collect();
        let cpus = 1 + recording.seen.iter().map(|seen| u32::from(seen.cpu)).max().unwrap_or(0);
        let threads = table.programs_of.iter().map(|&program| ThreadTrace { program }).collect();
        let place = |cpu: usize| Some(CpuId(cpu as u32));
        let (mut events, mut tables) = translate(recording, &table.numbers, &place, begin);
        tell_waits(&mut events, exchanged, &table.numbers);
        events.extend(affinities(recording, &table, cpus, &mut tables));
        for (request, one) in (0..).zip(exchanged).filter(|(_, one)| one.thread != 0) {
            let Stages { read, transmitted, .. } = one.stages;
            events.extend(Event::of_request(
                table.numbers[&one.thread],
                request,
                read,
                transmitted,
            ));
        }
        events.sort_by_key(|event| event.at);
        let time = CpuTime::new(&recording.seen);
        Scene { table, time, programs, threads, cpus, events, tables }
    }

    /// CPU time of all threads at both ends of a window.
    pub fn usage(&self, window: Window, begin: Nanos) -> Vec<Usage> {
        let ids = &self.table.threads;
        let used = |at: Nanos| Usage {
            at,
            cpu_time: ids.iter().map(|id| self.time.until(*id, begin + at)).collect(),
        };
        vec![used(window.start), used(window.end)]
    }
}

/// On which of the CPUs the service may run.
fn affinities(
    recording: &Recording,
    table: &ThreadTable,
    cpus: u32,
    tables: &mut Tables,
) -> Vec<Event> {
    let own = table.numbers.iter().filter(|(_, thread)| table.programs_of[thread.index()] == 0);
    let affinity = |(id, thread): (&u32, &model::ThreadId)| {
        let info = recording.known.get(id)?;
        let own: Vec<CpuId> = info.cpus.iter().copied().filter(|cpu| cpu.0 < cpus).collect();
        if own.is_empty() {
            return None;
        }
        let what = What::Affinity { thread: *thread, cpus: tables.cpu_set(&own) };
        Some(Event { at: Nanos::ZERO, what })
    };
    own.filter_map(affinity).collect()
}
