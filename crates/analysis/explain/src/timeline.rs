//! The holder of each CPU over time: scheduling events as changes of holders.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use model::event::{Event, NameId, What};
use model::{CpuId, Nanos, ThreadId};

use crate::nesting::Nesting;
use crate::source::Holder;

/// From this moment on another thread holds a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub at: Nanos,
    pub cpu: usize,
    pub holder: Holder,
}

/// All changes of holders, in order of time.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    pub changes: Vec<Change>,
    /// The same by CPU.
    of_cpu: Vec<Vec<(Nanos, Holder)>>,
}

/// A CPU as far as events have told.
#[derive(Clone, Debug, Default)]
struct Cpu {
    occupant: Option<ThreadId>,
    /// Interrupts that have begun and not ended, by kind and name.
    interrupts: Nesting<(u8, NameId)>,
    /// The idle state that it leaves, and until when.
    exit: Option<(NameId, Nanos)>,
    away: bool,
}

impl Cpu {
    fn holder(&self, now: Nanos) -> Holder {
        match (self.interrupts.innermost(), self.exit) {
            _ if self.away => Holder::Away,
            (Some((_, name)), _) => Holder::Interrupt(name, self.occupant),
            (None, Some((state, until))) if now < until => Holder::Exit(state, self.occupant),
            _ => self.occupant.map_or(Holder::Idle, Holder::Thread),
        }
    }
}

/// Events on their way into changes.
struct Building {
    cpus: Vec<Cpu>,
    last: Vec<Holder>,
    /// Ends of exits from idle states that are still to come.
    exits: BinaryHeap<Reverse<(Nanos, usize)>>,
    changes: Vec<Change>,
}

impl Timeline {
    /// The holders of a machine of `cpus`; all are idle at first.
    pub fn new(events: &[Event], cpus: usize) -> Timeline {
        let mut building = Building {
            cpus: vec![Cpu::default(); cpus],
            last: vec![Holder::Idle; cpus],
            exits: BinaryHeap::new(),
            changes: Vec::new(),
        };
        for event in events {
            building.end_exits(event.at);
            building.follow(event);
        }
        building.end_exits(Nanos::NEVER);
        let mut of_cpu = vec![Vec::new(); cpus];
        for Change { at, cpu, holder } in &building.changes {
            of_cpu[*cpu].push((*at, *holder));
        }
        Timeline { changes: building.changes, of_cpu }
    }

    /// The holder of a CPU at a moment.
    pub fn holder(&self, cpu: usize, now: Nanos) -> Holder {
        let changes = &self.of_cpu[cpu];
        let last = changes[..changes.partition_point(|(at, _)| *at <= now)].last();
        last.map_or(Holder::Idle, |(_, holder)| *holder)
    }

    /// When a CPU has another holder.
    pub fn next_change(&self, cpu: usize, now: Nanos) -> Nanos {
        let changes = &self.of_cpu[cpu];
        let next = changes.get(changes.partition_point(|(at, _)| *at <= now));
        next.map_or(Nanos::NEVER, |(at, _)| *at)
    }
}

impl Building {
    fn end_exits(&mut self, until: Nanos) {
        while let Some(Reverse((at, cpu))) = self.exits.peek().copied().filter(|e| e.0.0 <= until) {
            self.exits.pop();
            self.note(at, cpu);
        }
    }

    fn follow(&mut self, event: &Event) {
        let cpu = match event.what {
            What::Switch { cpu, to, .. } => {
                self.cpus[cpu.index()].occupant = to;
                cpu
            }
            What::InterruptBegin { cpu, kind, name } => {
                self.cpus[cpu.index()].interrupts.begin((kind as u8, name));
                cpu
            }
            What::InterruptEnd { cpu, kind, name } => {
                self.cpus[cpu.index()].interrupts.end((kind as u8, name));
                cpu
            }
            What::IdleExit { cpu, state, took } => {
                let until = event.at.saturating_add(took);
                self.cpus[cpu.index()].exit = Some((state, until));
                self.exits.push(Reverse((until, cpu.index())));
                cpu
            }
            What::Offline { cpu } => {
                self.cpus[cpu.index()].away = true;
                cpu
            }
            What::Online { cpu } => {
                self.cpus[cpu.index()].away = false;
                cpu
            }
            _ => return,
        };
        self.note(event.at, cpu.index());
    }

    /// Writes down a CPU's holder if it is another than before. Of one moment only the last counts.
    fn note(&mut self, at: Nanos, cpu: usize) {
        let holder = self.cpus[cpu].holder(at);
        if holder != self.last[cpu] {
            self.last[cpu] = holder;
            self.changes.push(Change { at, cpu, holder });
        }
    }
}

/// So many changes of each CPU are more than to look each up.
const FAR: usize = 16;

/// The holders of all CPUs at a moment that only moves forward.
#[derive(Clone)]
pub(crate) struct Cursor<'a> {
    timeline: &'a Timeline,
    /// The change that comes next.
    pub next: usize,
    pub holders: Vec<Holder>,
}

impl<'a> Cursor<'a> {
    pub fn new(timeline: &'a Timeline, cpus: usize) -> Cursor<'a> {
        Cursor { timeline, next: 0, holders: vec![Holder::Idle; cpus] }
    }

    /// Applies every change up to and including a moment. Where that is far ahead, each CPU is looked up.
    pub fn advance(&mut self, to: Nanos) {
        let far = self.timeline.changes.get(self.next + FAR * self.holders.len());
        if far.is_some_and(|change| change.at <= to) {
            self.next = self.timeline.changes.partition_point(|change| change.at <= to);
            let holder = |cpu| self.timeline.holder(cpu, to);
            self.holders = (0..self.holders.len()).map(holder).collect();
            return;
        }
        while let Some(change) = self.timeline.changes.get(self.next).filter(|c| c.at <= to) {
            self.holders[change.cpu] = change.holder;
            self.next += 1;
        }
    }
}

/// The CPU index of an id, for tables by CPU.
pub(crate) fn indices(cpus: &[CpuId]) -> Vec<usize> {
    cpus.iter().map(|cpu| cpu.index()).collect()
}
