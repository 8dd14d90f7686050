//! `[[change]]` and cpusets of groups, brought about on the threads of a run.
//!
//! A cpuset is what it comes to for threads: the CPUs that each may use.

use std::io;
use std::sync::atomic::AtomicBool;

use model::change::{Change, ChangeKind};
use model::{CpuId, Nanos};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use crate::arm::Stage;
use crate::children::{self, Program};
use crate::groups::Groups;
use crate::sampler::doze;

/// What happens to the threads of a run, in the order of moments.
pub struct Changes<'a> {
    changes: Vec<Change>,
    /// The kernel's ids of the scenario's threads, in its order.
    threads: Vec<i32>,
    /// The scenario's CPUs, in its order.
    cpus: &'a [usize],
    groups: &'a Groups,
}

impl<'a> Changes<'a> {
    /// Those of a scenario whose programs have all their threads.
    pub fn new(stage: &'a Stage, programs: &[Program], groups: &'a Groups) -> Changes<'a> {
        let threads = children::threads(programs).into_iter().flat_map(|(_, ids)| ids);
        let (threads, changes) = (threads.copied().collect(), stage.scenario.changes());
        Changes { changes, threads, cpus: &stage.placement.scenario, groups }
    }

    /// Brings about what comes before the run begins.
    pub fn begin(&self) -> io::Result<()> {
        let first = self.changes.iter().take_while(|change| change.at == Nanos::ZERO);
        first.into_iter().try_for_each(|change| self.make(&change.kind))
    }

    /// Brings about the others in a run that began at `start`, until it is told to stop.
    pub fn run(&self, start: Nanos, stop: &AtomicBool) -> io::Result<()> {
        let later = self.changes.iter().skip_while(|change| change.at == Nanos::ZERO);
        for change in later {
            if !doze(start + change.at, stop) {
                break;
            }
            self.make(&change.kind)?;
        }
        Ok(())
    }

    fn make(&self, kind: &ChangeKind) -> io::Result<()> {
        match kind {
            ChangeKind::Affinity { thread, cpus } => Ok(sched_setaffinity(
                Pid::from_raw(self.threads[thread.index()]),
                &self.set(cpus)?,
            )?),
            ChangeKind::Nice { thread, nice } => {
                let thread = rustix::process::Pid::from_raw(self.threads[thread.index()]);
                Ok(rustix::process::setpriority_process(thread, i32::from(*nice))?)
            }
            ChangeKind::Weight { group, weight } => self.groups.set_weight(*group, *weight),
            ChangeKind::Max { group, max } => self.groups.set_max(*group, *max),
            ChangeKind::Idle { group, idle } => self.groups.set_idle(*group, *idle),
            ChangeKind::Move { thread, group } => {
                self.groups.move_process(self.threads[thread.index()], *group)
            }
            // Refused before the run (`Scenario::of_simulation_alone`).
            ChangeKind::Fork(_)
            | ChangeKind::Exit(_)
            | ChangeKind::Offline(_)
            | ChangeKind::Online(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    fn set(&self, cpus: &[CpuId]) -> nix::Result<CpuSet> {
        let mut set = CpuSet::new();
        cpus.iter().try_for_each(|cpu| set.set(self.cpus[cpu.index()]))?;
        Ok(set)
    }
}
