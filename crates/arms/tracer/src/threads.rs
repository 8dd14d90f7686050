//! What threads were at: when each got a CPU, and when it was last seen with a request.

use std::collections::BTreeMap;

use model::Nanos;

use super::recording::{Kind, Seen};

/// Moments of threads, by the kernel's id.
#[derive(Default)]
pub(super) struct Threads {
    /// When it was switched to.
    resumed: BTreeMap<u32, Vec<Nanos>>,
    /// When it answered. A read is no end of work, and may be a part of the very request that is asked for.
    answered: BTreeMap<u32, Vec<Nanos>>,
}

impl Threads {
    pub fn new(seen: &[Seen]) -> Threads {
        let mut threads = Threads::default();
        seen.iter().for_each(|one| threads.follow(one));
        threads
    }

    /// Takes up one record more.
    pub fn follow(&mut self, one: &Seen) {
        let list = match one.kind {
            Kind::Switch { .. } => &mut self.resumed,
            Kind::Sends { .. } | Kind::Transmitted { .. } => &mut self.answered,
            _ => return,
        };
        list.entry(one.thread).or_default().push(one.at);
    }

    /// Forgets what was before a moment.
    pub fn forget_before(&mut self, moment: Nanos) {
        for list in [&mut self.resumed, &mut self.answered] {
            let forget =
                |all: &mut Vec<Nanos>| drop(all.drain(..all.partition_point(|at| *at < moment)));
            list.values_mut().for_each(forget);
            list.retain(|_, all| !all.is_empty());
        }
    }

    /// T3: when a thread that read at `read` was there for a request that was ready at `ready`. That is when
    /// it got its CPU. If it was busy with another request, it is when that was done. If it was there
    /// already, it is at once.
    pub fn running(&self, thread: u32, ready: Nanos, read: Nanos) -> Nanos {
        if read == Nanos::NEVER {
            return Nanos::NEVER;
        }
        let before = |moments: &BTreeMap<u32, Vec<Nanos>>| {
            let moments = moments.get(&thread)?;
            moments[..moments.partition_point(|at| *at < read)].last().copied()
        };
        let resumed = before(&self.resumed).filter(|at| *at >= ready);
        let answered = before(&self.answered).filter(|at| *at >= ready);
        // A thread that was preempted between another request and this one was busy until then.
        resumed.max(answered).unwrap_or(ready)
    }
}
