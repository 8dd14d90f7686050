//! Requests that one thread reads and another one answers: where the reader wakes that one, it serves them.

use std::collections::BTreeMap;

use model::Nanos;

use super::recording::{Kind, Recording, Seen};
use super::scene::Exchanged;

/// By thread, when it was woken and by which thread.
#[derive(Default)]
struct Wakings(BTreeMap<u32, Vec<(Nanos, u32)>>);

/// What a CPU is at: a thread, and how many interrupts are on top of it.
#[derive(Clone, Copy, Default)]
struct Cpu {
    thread: u32,
    interrupts: u32,
}

impl Cpu {
    fn follow(&mut self, seen: &Seen) {
        match seen.kind {
            Kind::Switch { .. } => self.thread = seen.thread,
            Kind::Begin { .. } => self.interrupts += 1,
            Kind::End { .. } => self.interrupts = self.interrupts.saturating_sub(1),
            _ => {}
        }
    }
}

impl Wakings {
    fn new(seen: &[Seen]) -> Wakings {
        let mut cpus = BTreeMap::<u16, Cpu>::new();
        let mut wakings = Wakings::default();
        for one in seen {
            cpus.entry(one.cpu).or_default().follow(one);
            let by = match one.kind {
                Kind::Waking { by } => by,
                Kind::Wake { .. } => one.cpu,
                _ => continue,
            };
            let cpu = cpus.get(&by).filter(|cpu| cpu.interrupts == 0);
            let of_thread = wakings.0.entry(one.thread).or_default();
            of_thread.extend(cpu.map(|cpu| (one.at, cpu.thread)));
        }
        wakings
    }

    /// When a thread was woken by another one first, from one moment until another.
    fn first(&self, thread: u32, by: u32, from: Nanos, until: Nanos) -> Option<Nanos> {
        let all = self.0.get(&thread)?;
        let all = &all[all.partition_point(|(at, _)| *at < from)..];
        let inside = all.iter().take_while(|(at, _)| *at <= until);
        inside.filter(|(_, waker)| *waker == by).map(|(at, _)| *at).next()
    }
}

/// Gives requests to the threads that answer them, where their readers woke those and they answered nothing
/// else before.
pub(super) fn hand_over(exchanged: &mut [Exchanged], recording: &Recording, begin: Nanos) {
    let wakings = Wakings::new(&recording.seen);
    let mut answers = BTreeMap::<u32, Vec<Nanos>>::new();
    for one in exchanged.iter() {
        answers.entry(one.answering.thread).or_default().push(one.stages.sends);
    }
    answers.values_mut().for_each(|all| all.sort_unstable());
    for one in exchanged.iter_mut().filter(|one| one.is_answered_by_another()) {
        let (worker, stages) = (one.answering.thread, one.stages);
        let (read, sends) = (begin + stages.read, begin + stages.sends);
        let Some(taken) = wakings.first(worker, one.thread, read, sends) else { continue };
        let own = &answers[&worker];
        let is_between = |at: &Nanos| begin + *at > taken && *at < stages.sends;
        if !own.iter().any(is_between) {
            (one.thread, one.is_handed_over) = (worker, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use model::trace::Stages;

    use super::super::answering::Answering;
    use super::super::recording::{Left, Level};
    use super::*;

    const READER: u32 = 7;
    const WORKER: u32 = 8;

    /// The thread of a request that is read at 10 and answered at 50, and of another answered at a moment.
    fn threads(between: &[Seen], other_at: u64) -> [u32; 2] {
        let kind = Kind::Switch { from: 0, left: Left::Preempted };
        let mut seen = vec![Seen { at: Nanos(1), cpu: 0, thread: READER, kind }];
        seen.extend(between);
        let recording = Recording { seen, ..Recording::default() };
        let request = |read, sends| {
            let stages = Stages { read: Nanos(read), sends: Nanos(sends), ..Stages::UNSEEN };
            let answering = Answering { thread: WORKER, ..Answering::default() };
            Exchanged::new(stages, READER, answering)
        };
        let mut all = [request(10, 50), request(2, other_at)];
        hand_over(&mut all, &recording, Nanos::ZERO);
        all.map(|one| one.thread)
    }

    #[test]
    fn a_request_is_served_by_the_thread_that_its_reader_wakes_and_that_answers_it() {
        let seen = |at, cpu, kind| Seen { at: Nanos(at), cpu, thread: WORKER, kind };
        let wake =
            |at, cpu| seen(at, cpu, Kind::Wake { target: 1, throttled_by: None, started_by: None });
        assert_eq!(threads(&[wake(12, 0)], 5), [WORKER, READER]);
        assert_eq!(threads(&[seen(11, 1, Kind::Waking { by: 0 })], 5), [WORKER, READER]);
        assert_eq!(threads(&[], 5), [READER; 2], "the control: nothing wakes it");
        assert_eq!(threads(&[wake(12, 1)], 5), [READER; 2], "another CPU does");
        assert_eq!(threads(&[wake(9, 0)], 5)[0], READER, "before it was read");
        assert_eq!(threads(&[wake(12, 0)], 30)[0], READER, "it answers another one first");
        let timer = Kind::Begin { vector: 0, level: Level::Timer };
        assert_eq!(threads(&[seen(11, 0, timer), wake(12, 0)], 5), [READER; 2], "a timer does");
    }
}
