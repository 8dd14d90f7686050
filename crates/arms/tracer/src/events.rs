//! What hooks saw of CPUs, as scheduling events.

use std::collections::BTreeMap;
use std::path::Path;

use model::event::{Cause, Event, Interrupt, NameId, Tables, What, Why};
use model::{CpuId, Nanos, ThreadId};

use super::interrupts::device;
use super::quotas::Quotas;
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
    quotas: Quotas<'a>,
    tables: Tables,
    events: Vec<Event>,
}

/// The events of a recording on the CPUs that have a place; moments count from `begin`.
pub(super) fn translate<'a>(
    recording: &'a Recording,
    numbers: &'a BTreeMap<u32, ThreadId>,
    place: &'a dyn Fn(usize) -> Option<CpuId>,
    begin: Nanos,
) -> (Vec<Event>, Tables) {
    let mut translation = Translation {
        numbers,
        place,
        begin,
        ran_on: BTreeMap::new(),
        asked_by: BTreeMap::new(),
        interrupts: BTreeMap::new(),
        quotas: Quotas::new(&recording.known),
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
        match seen.kind {
            Kind::Waking { .. } | Kind::Wake { .. } => return self.wake(at, seen, told_by),
            Kind::Renewed { group, held } => return self.renew(at, group, held),
            _ => {}
        }
        let Some(cpu) = told_by else { return };
        let what = match seen.kind {
            Kind::Switch { from, left } => {
                self.switch(at, cpu, [from, seen.thread], left);
                return self.queue(at, [from, seen.thread], seen.cpu, left);
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
            Kind::Wake { target, throttled_by, .. } => {
                let by = self.asked_by.remove(&thread).unwrap_or(told_by);
                let Some(cpu) = (self.place)(target as usize) else { return };
                self.events.push(Event { at, what: What::Wake { thread, cpu, by } });
                self.quotas.wait(seen.thread, target as u16);
                let group = throttled_by.into_iter();
                group.for_each(|group| self.throttle(at, seen.thread, target as u16, group));
            }
            _ => {}
        }
    }

    fn switch(&mut self, at: Nanos, cpu: CpuId, threads: [u32; 2], left: Left) {
        let [from, to] = threads.map(|id| self.numbers.get(&id).copied());
        let (why, cause) = match (from, left) {
            (None, _) => (Why::Idle, None),
            (Some(_), Left::Blocked(cause)) => (Why::Blocked, Some(cause)),
            (Some(_), Left::Throttled(_) | Left::Preempted) => (Why::Preempted, None),
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

    /// Where the threads of a switch are from now on.
    fn queue(&mut self, at: Nanos, [from, to]: [u32; 2], cpu: u16, left: Left) {
        match left {
            Left::Preempted => self.quotas.wait(from, cpu),
            Left::Blocked(_) => self.quotas.leave(from),
            Left::Throttled(group) => self.throttle(at, from, cpu, group),
        }
        self.quotas.leave(to);
    }

    fn throttle(&mut self, at: Nanos, thread: u32, cpu: u16, group: u32) {
        for one in self.quotas.throttle(thread, cpu, group) {
            let thread = self.numbers.get(&one).copied().into_iter();
            thread.for_each(|thread| self.keep(at, thread, Some(Cause::Throttled)));
        }
    }

    fn renew(&mut self, at: Nanos, group: u32, held: u64) {
        for one in self.quotas.renew(group, held) {
            let what = self.numbers.get(&one).map(|thread| What::Released { thread: *thread });
            self.events.extend(what.map(|what| Event { at, what }));
        }
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
    use super::super::process_cache::ProcessInfo;
    use super::*;

    const SLEEPER: u32 = 7;

    /// A wake-up that CPU 1 tells at 9 of a thread that is for it, and what comes before.
    fn woken(before: &[Seen], is_placed: impl Fn(usize) -> bool) -> Vec<Event> {
        let wake = Kind::Wake { target: 1, throttled_by: None, started_by: None };
        let wake = Seen { at: Nanos(9), cpu: 1, thread: SLEEPER, kind: wake };
        let seen = before.iter().copied().chain([wake]).collect();
        let numbers = BTreeMap::from([(SLEEPER, ThreadId(0))]);
        let place = |cpu: usize| is_placed(cpu).then_some(CpuId(cpu as u32));
        let recording = Recording { seen, ..Recording::default() };
        translate(&recording, &numbers, &place, Nanos::ZERO).0
    }

    /// Of two threads of a group one leaves CPU 0 at 5, its quota being used up, and the other one waits.
    #[test]
    fn a_quota_keeps_those_that_wait_from_then_on_until_it_is_renewed() {
        let seen = |at, thread, kind| Seen { at: Nanos(at), cpu: 0, thread, kind };
        let switch = |at, from, to, left| seen(at, to, Kind::Switch { from, left });
        let mut all = vec![
            switch(1, SLEEPER, 8, Left::Preempted),
            switch(5, 8, 9, Left::Throttled(3)),
            seen(7, 0, Kind::Renewed { group: 3, held: 0 }),
        ];
        let kept = |seen: &[Seen], group: &str| {
            let info = ProcessInfo { group: group.to_string(), ..ProcessInfo::default() };
            let known = [(SLEEPER, info.clone()), (8, info)].into();
            let recording = Recording { seen: seen.to_vec(), known, ..Recording::default() };
            let numbers = (7..10).map(|id| (id, ThreadId(id - SLEEPER))).collect();
            let place = |cpu: usize| Some(CpuId(cpu as u32));
            let events = translate(&recording, &numbers, &place, Nanos::ZERO).0;
            let is_of = |what: &What| matches!(what, What::Off { .. } | What::Released { .. });
            events.into_iter().filter(|event| is_of(&event.what)).collect::<Vec<_>>()
        };
        let off = |thread| What::Off { thread: ThreadId(thread), cause: Cause::Throttled };
        let free = |thread| What::Released { thread: ThreadId(thread) };
        let of = |all: &[(u64, What)]| {
            all.iter().map(|(at, what)| Event { at: Nanos(*at), what: *what }).collect::<Vec<_>>()
        };
        assert_eq!(kept(&all, "web"), of(&[(5, off(1)), (5, off(0)), (7, free(0)), (7, free(1))]));
        assert_eq!(kept(&all, ""), of(&[(5, off(1)), (7, free(1))]), "the control: no group");
        all[2].kind = Kind::Renewed { group: 3, held: 1 };
        assert_eq!(kept(&all, "web"), of(&[(5, off(1)), (5, off(0))]), "the control: not there");
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
