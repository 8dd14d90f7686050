//! A thread runs only where its affinity admits it, on CPUs that are there.

use model::{CpuId, ThreadId};

use super::Rule;
use crate::fault::Finding;
use crate::scene::{Scene, State};

pub const NAME: &str = "affinity";

pub struct Affinity;

impl Affinity {
    fn check(scene: &Scene, thread: ThreadId, cpu: CpuId) -> Option<Finding> {
        if scene.may_run_on(thread, cpu) {
            return None;
        }
        let why = if scene.online[cpu.index()] { "its affinity refuses" } else { "is offline" };
        Some(Finding::at(thread, cpu, format!("runs on a CPU that {why}")))
    }
}

impl Rule for Affinity {
    fn name(&self) -> &'static str {
        NAME
    }

    fn started(&mut self, scene: &Scene, thread: ThreadId, cpu: CpuId) -> Option<Finding> {
        Affinity::check(scene, thread, cpu)
    }

    /// A change finds threads at work: they have to go at once.
    fn settled(&mut self, scene: &Scene) -> Option<Finding> {
        if scene.changed != Some(scene.now) {
            return None;
        }
        let runs = (0..).map(ThreadId).zip(&scene.threads).filter_map(|(id, thread)| {
            if let State::Runs(cpu) = thread.state { Some((id, cpu)) } else { None }
        });
        runs.into_iter().find_map(|(thread, cpu)| Affinity::check(scene, thread, cpu))
    }
}
