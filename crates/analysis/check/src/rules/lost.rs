//! No lost thread: no thread waits while every CPU that admits it idles, and where waiting is bounded no
//! thread waits longer.

use model::{CpuId, Nanos, ThreadId};

use super::Rule;
use crate::fault::Finding;
use crate::scene::Scene;

pub const NAME: &str = "lost";

/// How often waits are compared with their bound.
const LOOK: Nanos = Nanos::from_millis(100);

pub struct Lost {
    longest_wait: Option<Nanos>,
    next_look: Nanos,
}

impl Lost {
    pub fn new(longest_wait: Option<Nanos>) -> Lost {
        Lost { longest_wait, next_look: Nanos::ZERO }
    }

    fn waits_too_long(&mut self, scene: &Scene) -> Option<Finding> {
        let bound = self.longest_wait?;
        if scene.now < self.next_look {
            return None;
        }
        self.next_look = scene.now + LOOK;
        let waits = |thread: ThreadId| scene.now.saturating_sub(scene.thread(thread).since);
        let late = scene.waiting.iter().copied().find(|&thread| waits(thread) > bound)?;
        Some(Finding::of(late, format!("waits for {}, longer than {bound}", waits(late))))
    }
}

/// Whether every CPU that admits a thread is idle.
fn is_forgotten(scene: &Scene, thread: ThreadId) -> bool {
    let mut admitting =
        (0..scene.occupants.len() as u32).map(CpuId).filter(|&cpu| scene.may_run_on(thread, cpu));
    admitting.all(|cpu| scene.is_idle(cpu))
}

impl Rule for Lost {
    fn name(&self) -> &'static str {
        NAME
    }

    fn settled(&mut self, scene: &Scene) -> Option<Finding> {
        if scene.waiting.is_empty() {
            return None;
        }
        if scene.idle().next().is_some() {
            let forgotten = scene.waiting.iter().copied().find(|&t| is_forgotten(scene, t));
            if let Some(thread) = forgotten {
                return Some(Finding::of(thread, "waits while every CPU that admits it idles"));
            }
        }
        self.waits_too_long(scene)
    }
}
