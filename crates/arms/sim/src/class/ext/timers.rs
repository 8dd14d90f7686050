//! A timer for each group and each CPU, of which most are not set.

use std::collections::{BTreeMap, BTreeSet};

use model::{CpuId, Nanos};

/// The owner of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// A group as the policy numbers it.
    Group(u32),
    /// A CPU, whose thread's turn it ends.
    Cpu(CpuId),
}

/// The timers that are set.
#[derive(Clone, Debug, Default)]
pub struct Timers {
    at: BTreeMap<Timer, Nanos>,
    due: BTreeSet<(Nanos, Timer)>,
}

impl Timers {
    /// Sets a timer, in place of the owner's last one.
    pub fn set(&mut self, timer: Timer, at: Nanos) {
        if let Some(before) = self.at.insert(timer, at) {
            self.due.remove(&(before, timer));
        }
        self.due.insert((at, timer));
    }

    /// When the next one is due.
    pub fn next(&self) -> Nanos {
        self.due.first().map_or(Nanos::NEVER, |(at, _)| *at)
    }

    /// Takes the timer that is due first, if one is.
    pub fn take(&mut self, now: Nanos) -> Option<Timer> {
        let (at, timer) = *self.due.first()?;
        if at > now {
            return None;
        }
        self.due.pop_first();
        self.at.remove(&timer);
        Some(timer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_has_one_timer_and_the_first_is_due_first() {
        let (one, two) = (Timer::Group(1), Timer::Cpu(CpuId(1)));
        let mut timers = Timers::default();
        timers.set(one, Nanos(50));
        timers.set(two, Nanos(40));
        timers.set(one, Nanos(30));
        assert_eq!((timers.next(), timers.take(Nanos(29))), (Nanos(30), None));
        assert_eq!((timers.take(Nanos(45)), timers.take(Nanos(45))), (Some(one), Some(two)));
        assert_eq!((timers.take(Nanos(99)), timers.next()), (None, Nanos::NEVER));
    }
}
