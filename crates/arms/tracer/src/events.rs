//! What hooks saw of CPUs, as scheduling events.

use std::collections::BTreeMap;
use std::path::Path;

use model::event::{Cause, Event, Interrupt, NameId, Tables, What, Why};
use model::{CpuId, Nanos, ThreadId};

use super::interrupts::device;
use super::recording::{Kind, Left, Level, Recording, Seen};

/// Softirqs by number (`softirq_to_name` in kernel/softirq.c).
const SOFTIRQS: [&str; 10] =
    ["hi", "timer", "net_tx", "net_rx", "block", "irq_poll", "tasklet", "sched", "hrtimer", "rcu"];

/// A recording on its way into events.
struct Translation<'a> {
    numbers: &'a BTreeMap<u32, ThreadId>,
    place: &'a dyn Fn(usize) -> Option<CpuId>,
    begin: Nanos,
    ran_on: BTreeMap<ThreadId, CpuId>,
    /// The CPUs that asked for wake-ups that other ones are about to tell.
    asked_by: BTreeMap<ThreadId, Option<CpuId>>,
    interrupts: BTreeMap<(Level, u32), NameId>,
    tables: Tables,
    events: Vec<Event>,
}

/// The events of a recording on the CPUs that have a place; moments count from `begin`.
pub(super) fn translate(
    recording: &Recording,
    numbers: &BTreeMap<u32, ThreadId>,
    place: &dyn Fn(usize) -> Option<CpuId>,
    begin: Nanos,
) -> (Vec<Event>, Tables) {
    let mut translation = Translation {
        numbers,
        place,
        begin,
        ran_on: BTreeMap::new(),
        asked_by: BTreeMap::new(),
        interrupts: BTreeMap::new(),
        tables: Tables::default(),
        events: Vec::new(),
    };
    translation.open(&recording.seen);
    recording.seen.iter().for_each(|seen| translation.translate_one(seen));
    (translation.events, translation.tables)
}

impl Translation<'_> {
    /// The thread that a CPU switches away from first, it ran from the beginning.
    fn open(&mut self, seen: &[Seen]) {
        let mut known = std::collections::BTreeSet::new();
        for one in seen {
            let Kind::Switch { from, .. } = one.kind else { continue };
            if known.insert(one.cpu) {
                let switch = Kind::Switch { from: 0, left: Left::Preempted };
                self.translate_one(&Seen { at: self.begin, thread: from, kind: switch, ..*one });
            }
        }
    }

    fn translate_one(&mut self, seen: &Seen) {
        let at = seen.at.saturating_sub(self.begin);
        let told_by = (self.place)(seen.cpu.into());
        if let Kind::Waking { .. } | Kind::Wake { .. } = seen.kind {
            return self.wake(at, seen, told_by);
        }
        let Some(cpu) = told_by else { return };
        let what = match seen.kind {
            Kind::Switch { from, left } => {
                return self.switch(at, cpu, [from, seen.thread], left);
            }
            Kind::Begin { vector, level } => {
                What::InterruptBegin { cpu, kind: kind(level), name: self.name(level, vector) }
            }
            Kind::End { vector, level } => {
                What::InterruptEnd { cpu, kind: kind(level), name: self.name(level, vector) }
            }
            _ => return,
        };
        self.events.push(Event { at, what });
    }

    /// A wake-up that a CPU tells, or that another one asked for it.
    fn wake(&mut self, at: Nanos, seen: &Seen, told_by: Option<CpuId>) {
        let Some(thread) = self.numbers.get(&seen.thread).copied() else { return };
        match seen.kind {
            Kind::Waking { by } => {
                let by = (self.place)(by.into());
                self.asked_by.insert(thread, by);
                let waking = by.map(|by| What::Waking { thread, by });
                self.events.extend(waking.map(|what| Event { at, what }));
            }
            Kind::Wake { target, throttled, .. } => {
                let by = self.asked_by.remove(&thread).unwrap_or(told_by);
                let Some(cpu) = (self.place)(target as usize) else { return };
                self.events.push(Event { at, what: What::Wake { thread, cpu, by } });
                self.keep(at, thread, throttled.then_some(Cause::Throttled));
            }
            _ => {}
        }
    }

    fn switch(&mut self, at: Nanos, cpu: CpuId, threads: [u32; 2], left: Left) {
        let [from, to] = threads.map(|id| self.numbers.get(&id).copied());
        let (why, cause) = match (from, left) {
            (None, _) => (Why::Idle, None),
            (Some(_), Left::Blocked(cause)) => (Why::Blocked, Some(cause)),
            (Some(_), Left::Throttled) => (Why::Preempted, Some(Cause::Throttled)),
            (Some(_), Left::Preempted) => (Why::Preempted, None),
        };
        if let Some(thread) = from.filter(|_| why == Why::Blocked) {
            self.events.push(Event { at, what: What::Block { thread, cpu } });
        }
        if let Some(thread) = to {
            match self.ran_on.insert(thread, cpu) {
                Some(from) if from != cpu => {
                    let what = What::Migrate { thread, from, to: cpu };
                    self.events.push(Event { at, what });
                }
                _ => {}
            }
        }
        self.events.push(Event { at, what: What::Switch { cpu, from, to, why } });
        from.into_iter().for_each(|thread| self.keep(at, thread, cause));
    }

    fn keep(&mut self, at: Nanos, thread: ThreadId, cause: Option<Cause>) {
        let off = cause.map(|cause| What::Off { thread, cause });
        self.events.extend(off.map(|what| Event { at, what }));
    }

    fn name(&mut self, level: Level, vector: u32) -> NameId {
        let tables = &mut self.tables;
        *self.interrupts.entry((level, vector)).or_insert_with(|| {
            tables.name(&match level {
                Level::Soft => match SOFTIRQS.get(vector as usize) {
                    Some(name) => format!("softirq {name}"),
                    None => format!("softirq {vector}"),
                },
                Level::Timer => "local timer".to_string(),
                Level::Hard => {
                    let device = device(vector, Path::new("/sys"), Path::new("/proc"));
                    format!("interrupt {vector}{device}")
                }
            })
        })
    }
}

fn kind(level: Level) -> Interrupt {
    match level {
        Level::Soft => Interrupt::Soft,
        Level::Hard | Level::Timer => Interrupt::Hard,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLEEPER: u32 = 7;

    /// A wake-up that CPU 1 tells at 9 of a thread that is for it, and what comes before.
    fn woken(before: &[Seen], is_placed: impl Fn(usize) -> bool) -> Vec<Event> {
        let wake = Kind::Wake { target: 1, throttled: false, started_by: None };
        let wake = Seen { at: Nanos(9), cpu: 1, thread: SLEEPER, kind: wake };
        let seen = before.iter().copied().chain([wake]).collect();
        let numbers = BTreeMap::from([(SLEEPER, ThreadId(0))]);
        let place = |cpu: usize| is_placed(cpu).then_some(CpuId(cpu as u32));
        let recording = Recording { seen, ..Recording::default() };
        translate(&recording, &numbers, &place, Nanos::ZERO).0
    }

    #[test]
    fn a_wake_up_is_by_the_cpu_that_asked_for_it() {
        let (thread, cpu) = (ThreadId(0), CpuId(1));
        let wake = |by| Event { at: Nanos(9), what: What::Wake { thread, cpu, by } };
        let asks = Seen { at: Nanos(4), cpu: 1, thread: SLEEPER, kind: Kind::Waking { by: 0 } };
        let waking = Event { at: Nanos(4), what: What::Waking { thread, by: CpuId(0) } };
        assert_eq!(woken(&[asks], |_| true), [waking, wake(Some(CpuId(0)))]);
        assert_eq!(woken(&[asks], |cpu| cpu == 1), [wake(None)], "that one is not followed");
        assert_eq!(woken(&[], |_| true), [wake(Some(cpu))], "the control: its own CPU did");
    }
}
