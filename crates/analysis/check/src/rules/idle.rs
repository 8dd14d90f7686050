//! No CPU idles for more than a tick beside a thread that may run there and waits, wherever the two are.
//!
//! Unlike work conservation, which looks at moments and queues, this looks at spans and at the whole machine:
//! it holds under any affinity, at any number of threads and queues, and for CPUs that are slow to wake.

use model::change::ChangeKind;
use model::event::{Event, What};
use model::{CpuId, Nanos, Scenario, ThreadId};

use super::Rule;
use crate::fault::Finding;
use crate::scene::Scene;

pub const NAME: &str = "idle beside work";

/// A tick at HZ=250, which may come late, and what a switch takes then.
const LONGEST: Nanos = Nanos(4_000_000 + 200_000);

pub struct IdleBesideWork {
    /// Since when each CPU could run a thread and runs none.
    idle_since: Vec<Nanos>,
    /// Since when each thread waits where it may run now.
    waits_since: Vec<Nanos>,
}

impl IdleBesideWork {
    pub fn new(scenario: &Scenario) -> IdleBesideWork {
        let threads = scenario.programs.iter().map(|program| program.kind.threads() as usize).sum();
        IdleBesideWork {
            idle_since: vec![Nanos::ZERO; scenario.machine.cpus as usize],
            waits_since: vec![Nanos::ZERO; threads],
        }
    }

    /// For how long the two were beside each other when time will be `to`.
    fn beside(&self, thread: ThreadId, cpu: CpuId, to: Nanos) -> Nanos {
        let since = self.idle_since[cpu.index()].max(self.waits_since[thread.index()]);
        to.saturating_sub(since)
    }
}

impl Rule for IdleBesideWork {
    fn name(&self) -> &'static str {
        NAME
    }

    /// A CPU that is busy at the end of a moment begins to idle after it at the earliest.
    fn passes(&mut self, scene: &Scene, to: Nanos) -> Option<Finding> {
        let mut idle = Vec::new();
        for cpu in (0..scene.occupants.len() as u32).map(CpuId) {
            if scene.is_idle(cpu) {
                idle.push(cpu);
            } else {
                self.idle_since[cpu.index()] = to;
            }
        }
        let late = |cpu: &CpuId| to.saturating_sub(self.idle_since[cpu.index()]) > LONGEST;
        idle.retain(late);
        let beside = |thread: ThreadId| {
            let admitted = idle.iter().copied().filter(|&cpu| scene.may_run_on(thread, cpu));
            let mut long = admitted.filter(|&cpu| self.beside(thread, cpu, to) > LONGEST);
            long.next().map(|cpu| (thread, cpu))
        };
        let waiting = scene.waiting.iter().copied().filter(|_| !idle.is_empty());
        let (thread, cpu) = waiting.into_iter().find_map(beside)?;
        let took = self.beside(thread, cpu, to);
        Some(Finding::at(thread, cpu, format!("waits for {took} while the CPU idles")))
    }

    fn event(&mut self, scene: &Scene, event: &Event) -> Option<Finding> {
        match event.what {
            What::Wake { thread, .. }
            | What::Released { thread }
            | What::Switch { from: Some(thread), .. } => {
                self.waits_since[thread.index()] = scene.now;
            }
            _ => {}
        }
        None
    }

    fn changed(&mut self, scene: &Scene, kind: &ChangeKind) -> Option<Finding> {
        match kind {
            ChangeKind::Affinity { thread, .. } => self.waits_since[thread.index()] = scene.now,
            ChangeKind::Offline(_) | ChangeKind::Online(_) => self.waits_since.fill(scene.now),
            _ => {}
        }
        None
    }
}
