//! For how long each thread ran, by the switches of a trace.

use model::event::{Event, What};
use model::{Nanos, ThreadId};

/// The stretches in which a thread had a CPU: from, to, and what it ran before.
type Stretches = Vec<(Nanos, Nanos, Nanos)>;

/// By thread, when it had a CPU.
pub struct Ran(Vec<Stretches>);

impl Ran {
    /// Of a trace with so many threads.
    pub fn new(threads: usize, events: &[Event]) -> Ran {
        let mut all: Vec<Stretches> = vec![Vec::new(); threads];
        let mut since: Vec<Option<Nanos>> = vec![None; threads];
        let mut seen = vec![false; threads];
        for event in events {
            let What::Switch { from, to, .. } = event.what else { continue };
            if let Some(thread) = from.map(ThreadId::index) {
                // One that ran when the trace began.
                let begin = since[thread].take().or((!seen[thread]).then_some(Nanos::ZERO));
                begin.into_iter().for_each(|begin| push(&mut all[thread], begin, event.at));
                seen[thread] = true;
            }
            if let Some(thread) = to.map(ThreadId::index) {
                (since[thread], seen[thread]) = (Some(event.at), true);
            }
        }
        for (thread, since) in since.into_iter().enumerate() {
            since.into_iter().for_each(|since| push(&mut all[thread], since, Nanos::NEVER));
        }
        Ran(all)
    }

    /// For how long a thread had a CPU between two moments.
    pub fn between(&self, thread: ThreadId, from: Nanos, to: Nanos) -> Nanos {
        self.until(thread, to) - self.until(thread, from)
    }

    fn until(&self, thread: ThreadId, at: Nanos) -> Nanos {
        let stretches = &self.0[thread.index()];
        let begun = stretches.partition_point(|(from, ..)| *from <= at);
        let Some((from, to, before)) = stretches[..begun].last() else { return Nanos::ZERO };
        *before + (at.min(*to) - *from)
    }
}

fn push(stretches: &mut Stretches, from: Nanos, to: Nanos) {
    let before = stretches.last().map_or(Nanos::ZERO, |(from, to, before)| *before + (*to - *from));
    stretches.push((from, to, before));
}

#[cfg(test)]
mod tests {
    use model::CpuId;
    use model::event::Why;

    use super::*;

    #[test]
    fn a_thread_that_sleeps_does_not_run() {
        let (one, other) = (ThreadId(0), ThreadId(1));
        let switch = |at: u64, from: Option<ThreadId>, to: Option<ThreadId>| Event {
            at: Nanos(at),
            what: What::Switch { cpu: CpuId(0), from, to, why: Why::Blocked },
        };
        let events = [
            switch(10, Some(one), Some(other)),
            switch(30, Some(other), None),
            switch(50, None, Some(one)),
        ];
        let ran = Ran::new(2, &events);
        let between = |thread, from, to| ran.between(thread, Nanos(from), Nanos(to)).0;
        assert_eq!(between(one, 0, 60), 20, "10 before the first switch, and 10 at the end");
        assert_eq!(between(one, 12, 48), 0, "asleep");
        assert_eq!(between(other, 5, 25), 15);
        assert_eq!(between(other, 0, 100), 20);
    }
}
