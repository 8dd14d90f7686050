//! A thread runs in one place at a time, only while it wants to, and a CPU runs what it was switched to.

use model::event::{Event, What};
use model::{CpuId, ThreadId};

use super::Rule;
use crate::fault::Finding;
use crate::scene::{Scene, State};

pub const NAME: &str = "one place";

pub struct OnePlace;

impl Rule for OnePlace {
    fn name(&self) -> &'static str {
        NAME
    }

    fn event(&mut self, scene: &Scene, event: &Event) -> Option<Finding> {
        match event.what {
            What::Wake { thread, cpu, .. } => {
                let state = scene.thread(thread).state;
                (state != State::Asleep)
                    .then(|| Finding::at(thread, cpu, format!("is woken while it {state:?}")))
            }
            What::Block { thread, cpu } => {
                let state = scene.thread(thread).state;
                (state != State::Runs(cpu))
                    .then(|| Finding::at(thread, cpu, format!("blocks there while it {state:?}")))
            }
            What::Switch { cpu, from, .. } => {
                let runs = scene.occupants[cpu.index()];
                let text = || format!("a switch from {from:?} where {runs:?} ran");
                (from != runs).then(|| Finding { thread: from, cpu: Some(cpu), text: text() })
            }
            _ => None,
        }
    }

    fn started(&mut self, scene: &Scene, thread: ThreadId, cpu: CpuId) -> Option<Finding> {
        let state = scene.thread(thread).state;
        let waits = matches!(state, State::Waits(_));
        (!waits).then(|| Finding::at(thread, cpu, format!("begins to run while it {state:?}")))
    }

    fn settled(&mut self, scene: &Scene) -> Option<Finding> {
        let occupied = (0..).map(CpuId).zip(&scene.occupants);
        occupied.filter_map(|(cpu, thread)| Some((cpu, (*thread)?))).find_map(|(cpu, thread)| {
            let state = scene.thread(thread).state;
            (state != State::Runs(cpu))
                .then(|| Finding::at(thread, cpu, format!("has the CPU while it {state:?}")))
        })
    }
}
