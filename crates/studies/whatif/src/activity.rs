//! What threads did, by the events of a trace: when each slept, and for how much CPU time it then ran.

use std::collections::BTreeSet;

use model::event::{Event, What};
use model::{CpuId, Nanos, ThreadId, Trace};

/// One thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Activity {
    /// How long it slept, and the CPU time that it then took before it slept again.
    pub cycles: Vec<(Nanos, Nanos)>,
    /// Its CPU time.
    pub ran: Nanos,
    /// When it was first given a CPU, and last taken off one.
    came: Nanos,
    left: Nanos,
    /// How often it was given a CPU.
    pub begun: usize,
    /// Where it ran.
    pub cpus: BTreeSet<CpuId>,
    /// Whether it served requests.
    pub serves: bool,
    /// Whether it went to sleep at all.
    pub sleeps: bool,
    seen: bool,
    state: State,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct State {
    /// When it last went to sleep; the beginning of the trace for one that was not seen.
    asleep_since: Nanos,
    /// How long it slept before it woke up; `None`: it sleeps.
    slept: Option<Nanos>,
    running_since: Option<Nanos>,
    run: Nanos,
    blocks: bool,
}

/// Every thread of a trace.
pub fn activities(trace: &Trace, events: &[Event]) -> Vec<Activity> {
    let mut all = vec![Activity::default(); trace.threads.len()];
    for event in events {
        note(&mut all, event);
    }
    all.iter_mut().for_each(|one| one.end(trace.window.end));
    all
}

fn note(all: &mut [Activity], event: &Event) {
    let of = |thread: ThreadId| thread.index();
    match event.what {
        What::Wake { thread, .. } => all[of(thread)].wake(event.at),
        What::Block { thread, .. } => all[of(thread)].state.blocks = true,
        // Kept off the CPUs while it wants one: by its quota, or stopped.
        What::Off { thread, .. } => all[of(thread)].kept_off(event.at),
        What::Released { thread } => all[of(thread)].wake(event.at),
        What::Start { thread, .. } => all[of(thread)].serves = true,
        What::Switch { cpu, from, to, .. } => {
            if let Some(thread) = from {
                all[of(thread)].leave(event.at);
            }
            if let Some(thread) = to {
                all[of(thread)].take_up(event.at, cpu);
            }
        }
        _ => {}
    }
}

impl Activity {
    /// Whether it would take any CPU time: one that wanted a CPU from the beginning of the trace to its end.
    pub fn spins(&self, end: Nanos) -> bool {
        let there = self.left.saturating_sub(self.came);
        let [there, ran, end] = [there, self.ran, end].map(|span| u128::from(span.0));
        !self.sleeps && 10 * there >= 9 * end && 100 * ran >= end
    }

    fn wake(&mut self, at: Nanos) {
        (self.seen, self.state.blocks) = (true, false);
        if self.state.slept.is_none() {
            self.state.slept = Some(at.saturating_sub(self.state.asleep_since));
        }
    }

    fn take_up(&mut self, at: Nanos, cpu: CpuId) {
        self.wake(at);
        self.state.running_since = Some(at);
        self.cpus.insert(cpu);
        self.came = if self.begun == 0 { at } else { self.came };
        self.begun += 1;
    }

    fn leave(&mut self, at: Nanos) {
        // One that the trace never saw before has run since its beginning.
        let unseen = (!self.seen).then_some(Nanos::ZERO);
        self.left = at;
        let since = self.state.running_since.take().or(unseen).unwrap_or(at);
        self.seen = true;
        self.state.slept.get_or_insert(Nanos::ZERO);
        self.state.run += at.saturating_sub(since);
        if self.state.blocks {
            self.sleeps = true;
            self.close(at);
        }
    }

    fn kept_off(&mut self, at: Nanos) {
        if self.state.slept.is_some() && self.state.running_since.is_none() {
            self.sleeps = true;
            self.close(at);
        }
    }

    fn close(&mut self, at: Nanos) {
        let slept = self.state.slept.take().unwrap_or_default();
        self.ran += self.state.run;
        if self.state.run > Nanos::ZERO {
            self.cycles.push((slept, self.state.run));
        }
        self.state = State { asleep_since: at, ..State::default() };
    }

    /// What it was at when the trace ended counts as done.
    fn end(&mut self, at: Nanos) {
        if self.state.running_since.is_some() {
            self.state.blocks = false;
            self.leave(at);
        }
        if self.state.slept.is_some() {
            self.close(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::event::Why;

    fn switch(at: u64, from: Option<u32>, to: Option<u32>) -> Event {
        let (from, to) = (from.map(ThreadId), to.map(ThreadId));
        Event { at: Nanos(at), what: What::Switch { cpu: CpuId(0), from, to, why: Why::Blocked } }
    }

    fn event(at: u64, what: What) -> Event {
        Event { at: Nanos(at), what }
    }

    #[test]
    fn sleeps_and_runs_alternate_and_preemptions_do_not_end_a_run() {
        let thread = ThreadId(0);
        let (block, wake) = (
            |at| event(at, What::Block { thread, cpu: CpuId(0) }),
            |at| event(at, What::Wake { thread, cpu: CpuId(0), by: None }),
        );
        let events = [
            wake(10),
            switch(12, Some(1), Some(0)),
            switch(15, Some(0), Some(1)), // preempted
            switch(20, Some(1), Some(0)),
            block(24),
            switch(24, Some(0), Some(1)),
            wake(50),
            switch(60, Some(1), Some(0)),
        ];
        let mut all = vec![Activity::default(); 2];
        events.iter().for_each(|one| note(&mut all, one));
        all.iter_mut().for_each(|one| one.end(Nanos(100)));
        let cycle = |sleep, run| (Nanos(sleep), Nanos(run));
        assert_eq!(all[0].cycles, [cycle(10, 7), cycle(26, 40)]);
        assert!(all[0].sleeps && !all[1].sleeps, "the other one never sleeps");
        assert_eq!((all[0].ran, all[1].ran), (Nanos(47), Nanos(12 + 5 + 36)));
    }

    #[test]
    fn what_spins_is_told_for_any_length_of_a_trace() {
        for end in [100, 1 << 62].map(Nanos) {
            let mut all = [Activity::default()];
            note(&mut all[..], &switch(0, None, Some(0)));
            all[0].end(end);
            assert!(all[0].spins(end), "{end}");
            assert!(!all[0].spins(Nanos(2 * end.0)), "{end}: it is there for half of the time");
        }
    }
}
