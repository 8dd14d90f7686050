//! What the slots of a service do at a moment: serve, or what keeps them from it.

use super::{NOBODYS, Slot, UNKNOWN, Walk};
use crate::source::{Culprit, Holder, Source};
use crate::sweep::{Key, Slots};
use crate::timeline::Cursor;
use model::ThreadId;

impl Walk<'_, '_> {
    /// Where threads are, after changes of holders.
    pub(super) fn place(&mut self, from: usize, cursor: &Cursor) {
        if matches!(self.slots, Slots::Cpus(_)) {
            return;
        }
        for change in &self.scene.timeline.changes[from..cursor.next] {
            let left = self.occupants.remove(&change.cpu);
            if let Some(left) = left.filter(|left| self.on.get(left) == Some(&change.cpu)) {
                self.on.remove(&left);
            }
            if let Some(thread) = change.holder.occupant() {
                self.occupants.insert(change.cpu, thread);
                self.on.insert(thread, change.cpu);
            }
        }
    }

    /// What the slots do from now on.
    pub(super) fn look(&mut self, cursor: &Cursor) {
        let slots = self.slots;
        let states: Vec<Slot> = match slots {
            Slots::Threads(threads) => {
                threads.iter().map(|thread| self.thread(*thread, cursor)).collect()
            }
            Slots::Cpus(_) => {
                let usable = self.scene.serving.usable(self.program, self.now);
                let off_cause = self.cause_of_all();
                usable.iter().map(|cpu| self.cpu(cursor.holders[*cpu], off_cause)).collect()
            }
        };
        let now = self.now.0;
        let served = |states: &[Slot], at: usize| match states.get(at) {
            Some(Slot::Serves(request)) => Some(*request),
            _ => None,
        };
        for at in 0..states.len().max(self.states.len()) {
            let (before, after) = (served(&self.states, at), served(&states, at));
            if before != after {
                before.into_iter().for_each(|request| self.served.change(request, -1, now));
                after.into_iter().for_each(|request| self.served.change(request, 1, now));
            }
        }
        self.states = states;
        self.take();
    }

    /// Only as much is lost as there are requests that could be served.
    pub(super) fn take(&mut self) {
        let serving = self.states.iter().filter(|state| matches!(state, Slot::Serves(_))).count();
        let wanted = self.outstanding.min(self.slots.count()).saturating_sub(serving);
        self.taken.clear();
        if wanted == 0 {
            return;
        }
        let lost = self.states.iter().filter_map(|state| match state {
            Slot::Lost(key) => Some(*key),
            _ => None,
        });
        self.taken.extend(lost.take(wanted));
        let idle = self.states.iter().filter(|state| **state == Slot::Idle).count();
        let idle = idle.min(wanted - self.taken.len());
        if idle > 0 && matches!(self.slots, Slots::Threads(_)) && self.outstanding > serving + 1 {
            let worker = self.number((Source::IdleElsewhere, Culprit::Worker));
            self.taken.extend(std::iter::repeat_n(worker, idle));
        }
    }

    /// What a slot does that is a thread.
    pub(super) fn thread(&mut self, thread: ThreadId, cursor: &Cursor) -> Slot {
        let serving = &self.scene.serving;
        if let Some(cpu) = self.on.get(&thread) {
            return match cursor.holders[*cpu] {
                Holder::Interrupt(name, _) => {
                    self.lost((Source::Interrupt, Culprit::Interrupt(name)))
                }
                Holder::Exit(state, _) => {
                    self.lost((Source::Power, Culprit::IdleState(Some(state))))
                }
                _ => self.at_work(thread),
            };
        }
        if let Some(kept) = self.keeping.of(thread) {
            let key = self.scene.cause_key(kept, self.now);
            return self.lost(key);
        }
        if !serving.is_awake(thread, self.now) {
            let is_at_work = serving.is_at_work(thread.index(), self.now);
            return if is_at_work { Slot::Lost(UNKNOWN) } else { Slot::Idle };
        }
        let usable = serving.usable_by(thread, self.now);
        self.steps += usable.len() as u64;
        let key = self.in_the_way(thread, usable, cursor);
        self.lost(key)
    }

    /// What a thread that could run waits for.
    pub(super) fn in_the_way(&self, thread: ThreadId, usable: &[usize], cursor: &Cursor) -> Key {
        let placement = (Source::IdleElsewhere, Culprit::Placement);
        let serving = &self.scene.serving;
        let blames = |holder: Holder| match holder {
            Holder::Thread(other) if serving.program(other) != self.program => {
                let program = serving.program(other) as u32;
                Some((Source::Background, Culprit::Program(program)))
            }
            Holder::Thread(other) if serving.request(other, self.now).is_none() => {
                Some((Source::Background, Culprit::Program(self.program as u32)))
            }
            Holder::Interrupt(name, _) => Some((Source::Interrupt, Culprit::Interrupt(name))),
            Holder::Exit(state, _) => Some((Source::Power, Culprit::IdleState(Some(state)))),
            _ => None,
        };
        let mut holders = usable.iter().map(|cpu| cursor.holders[*cpu]);
        let place = serving.place(thread, self.now).map(|cpu| cursor.holders[cpu]);
        match place {
            Some(Holder::Idle) => (Source::Power, Culprit::IdleState(None)),
            _ if holders.any(|holder| holder == Holder::Idle) => placement,
            Some(holder) => {
                let others = usable.iter().filter_map(|cpu| blames(cursor.holders[*cpu]));
                blames(holder).or(others.into_iter().next()).unwrap_or(placement)
            }
            None => placement,
        }
    }

    /// What keeps all threads of the program, where none of them could run.
    pub(super) fn cause_of_all(&self) -> Option<Key> {
        let waits = || self.scene.serving.waits(self.program, self.now);
        let first = || self.keeping.first().filter(|_| !waits());
        let cause = self.keeping.first_hard().or_else(first);
        cause.map(|kept| self.scene.cause_key(kept, self.now))
    }

    /// What a slot does that is a CPU.
    pub(super) fn cpu(&mut self, holder: Holder, off_cause: Option<Key>) -> Slot {
        let serving = &self.scene.serving;
        let background = |program: usize| (Source::Background, Culprit::Program(program as u32));
        let key = match holder {
            Holder::Thread(thread) if serving.program(thread) == self.program => {
                match self.at_work(thread) {
                    Slot::Idle => background(self.program),
                    state => return state,
                }
            }
            Holder::Thread(thread) => background(serving.program(thread)),
            Holder::Interrupt(name, _) => (Source::Interrupt, Culprit::Interrupt(name)),
            Holder::Exit(state, _) => (Source::Power, Culprit::IdleState(Some(state))),
            Holder::Away => (Source::IdleElsewhere, Culprit::Placement),
            Holder::Idle if off_cause.is_some() => NOBODYS,
            Holder::Idle if serving.waits(self.program, self.now) => {
                (Source::IdleElsewhere, Culprit::Placement)
            }
            Holder::Idle => return Slot::Idle,
        };
        self.lost(off_cause.unwrap_or(key))
    }

    /// What a thread of the program does that runs; idle: it serves no request.
    pub(super) fn at_work(&mut self, thread: ThreadId) -> Slot {
        let serving = &self.scene.serving;
        let Some(request) = serving.request(thread, self.now) else { return Slot::Idle };
        let one = &self.scene.trace.programs[self.program].requests[request as usize];
        if one.completed > self.now {
            return Slot::Serves(request);
        }
        // What follows a request takes less than its service time, which holds it.
        let since = serving.placed(thread, self.now).max(one.completed);
        if self.now < since.saturating_add(one.service) {
            return Slot::Aside;
        }
        self.lost((Source::Own, Culprit::Itself))
    }

    pub(super) fn lost(&mut self, key: Key) -> Slot {
        Slot::Lost(self.number(key))
    }
}
