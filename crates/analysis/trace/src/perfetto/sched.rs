//! Scheduling events as the kernel's own, the threads that wait for a CPU as a counter, and on each thread
//! what it serves.

use model::event::{Event, What, Why};
use model::{CpuId, ThreadId};

use super::proto::{FtraceBundle, FtraceEvent, Packet, SchedMigrate, SchedSwitch, SchedWaking};
use super::{Out, tid};

/// Events of one CPU that share a packet.
const BUNDLE: usize = 512;
/// The priority of nice 0 (`DEFAULT_PRIO`).
const NICE_0: i32 = 120;
/// `TASK_INTERRUPTIBLE`, and what a thread that gave way is in.
const SLEEPS: i64 = 1;
const RUNNABLE: i64 = 0;

/// Writes what the trace holds of it.
pub fn encode(out: &mut Out) {
    let recorded = out.recorded;
    let Some(events) = &recorded.trace.events else { return };
    let mut kernel = Kernel::new(recorded.header.cpus.cpus as usize);
    for event in events {
        kernel.event(out, event);
    }
    (0..kernel.bundles.len()).for_each(|cpu| kernel.flush(out, cpu));
    waiting(out, events);
    serving(out, events);
}

/// What each CPU runs, and its events that are not written yet.
struct Kernel {
    running: Vec<Option<ThreadId>>,
    bundles: Vec<Vec<FtraceEvent>>,
}

impl Kernel {
    fn new(cpus: usize) -> Kernel {
        Kernel { running: vec![None; cpus], bundles: vec![Vec::new(); cpus] }
    }

    fn event(&mut self, out: &mut Out, event: &Event) {
        let (cpu, known) = match event.what {
            What::Wake { thread, cpu, by } => (
                by.unwrap_or(cpu),
                FtraceEvent { waking: Some(waking(out, thread, cpu)), ..none() },
            ),
            What::Switch { cpu, from, to, why } => {
                (cpu, FtraceEvent { switch: Some(switch(out, from, to, why)), ..none() })
            }
            What::Migrate { thread, from, to } => {
                (to, FtraceEvent { migrate: Some(migrate(out, thread, from, to)), ..none() })
            }
            _ => return,
        };
        let pid = self.running[cpu.index()].map_or(0, |thread| tid(thread) as u32);
        let timestamp = Some(event.at.0);
        let bundle = &mut self.bundles[cpu.index()];
        bundle.push(FtraceEvent { timestamp, pid: Some(pid), ..known });
        if let What::Switch { to, .. } = event.what {
            self.running[cpu.index()] = to;
        }
        if bundle.len() == BUNDLE {
            self.flush(out, cpu.index());
        }
    }

    fn flush(&mut self, out: &mut Out, cpu: usize) {
        let events = std::mem::take(&mut self.bundles[cpu]);
        if !events.is_empty() {
            let ftrace = Some(FtraceBundle { cpu: Some(cpu as u32), events });
            out.packet(&Packet { ftrace, ..Packet::default() });
        }
    }
}

fn none() -> FtraceEvent {
    FtraceEvent::default()
}

/// Name, id and priority of a thread; of the idle thread for `None`.
fn who(out: &Out, thread: Option<ThreadId>) -> (String, i32, i32) {
    let Some(thread) = thread else { return ("swapper".to_string(), 0, NICE_0) };
    let header = &out.recorded.header;
    let nice = header.programs[header.threads[thread.index()]].nice;
    (out.names.of(thread).to_string(), tid(thread), NICE_0 + i32::from(nice))
}

fn waking(out: &Out, thread: ThreadId, cpu: CpuId) -> SchedWaking {
    let (comm, pid, prio) = who(out, Some(thread));
    SchedWaking { comm, pid, prio, success: 1, target_cpu: cpu.0 as i32 }
}

fn switch(out: &Out, from: Option<ThreadId>, to: Option<ThreadId>, why: Why) -> SchedSwitch {
    let (prev_comm, prev_pid, prev_prio) = who(out, from);
    let (next_comm, next_pid, next_prio) = who(out, to);
    let prev_state = if why == Why::Blocked { SLEEPS } else { RUNNABLE };
    SchedSwitch { prev_comm, prev_pid, prev_prio, prev_state, next_comm, next_pid, next_prio }
}

fn migrate(out: &Out, thread: ThreadId, from: CpuId, to: CpuId) -> SchedMigrate {
    let (comm, pid, prio) = who(out, Some(thread));
    SchedMigrate { comm, pid, prio, orig_cpu: from.0 as i32, dest_cpu: to.0 as i32 }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Asleep,
    Waits,
    Runs,
}

/// A counter of the threads that could run and have no CPU.
fn waiting(out: &mut Out, events: &[Event]) {
    let track = out.counter("threads waiting for a CPU", "threads");
    let mut states = vec![State::Asleep; out.recorded.header.threads.len()];
    let (mut waits, mut shown) = (0, 0);
    for (at, event) in events.iter().enumerate() {
        let mut becomes = |thread: ThreadId, from: State, to: State| {
            let state = &mut states[thread.index()];
            if *state == from {
                waits += i64::from(to == State::Waits) - i64::from(from == State::Waits);
                *state = to;
            }
        };
        match event.what {
            What::Wake { thread, .. } => becomes(thread, State::Asleep, State::Waits),
            What::Block { thread, .. } => becomes(thread, State::Runs, State::Asleep),
            What::Switch { from, to, .. } => {
                from.into_iter().for_each(|from| becomes(from, State::Runs, State::Waits));
                to.into_iter().for_each(|to| {
                    becomes(to, State::Waits, State::Runs);
                    becomes(to, State::Asleep, State::Runs);
                });
            }
            _ => {}
        }
        let settled = events.get(at + 1).is_none_or(|next| next.at > event.at);
        if settled && waits != shown {
            out.value(track, event.at.0, waits);
            shown = waits;
        }
    }
}

/// On the track of each serving thread, the requests that it is at work on.
fn serving(out: &mut Out, events: &[Event]) {
    for event in events {
        match event.what {
            What::Start { thread, request } => {
                let track = out.thread_track(thread);
                out.begin(track, event.at.0, "serves", &[("request", u64::from(request))]);
            }
            What::Finish { thread, .. } => {
                let track = out.thread_track(thread);
                out.end(track, event.at.0);
            }
            _ => {}
        }
    }
}
