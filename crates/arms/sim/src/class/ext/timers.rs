//! A timer for each group, of which most are not set.

use std::collections::{BTreeMap, BTreeSet};

use model::Nanos;

/// The timers that are set.
#[derive(Clone, Debug, Default)]
pub struct Timers {
    at: BTreeMap<u32, Nanos>,
    due: BTreeSet<(Nanos, u32)>,
}

impl Timers {
    /// Sets the timer of a group, in place of its last one.
    pub fn set(&mut self, group: u32, at: Nanos) {
        if let Some(before) = self.at.insert(group, at) {
            self.due.remove(&(before, group));
        }
        self.due.insert((at, group));
    }

    /// When the next one is due.
    pub fn next(&self) -> Nanos {
        self.due.first().map_or(Nanos::NEVER, |(at, _)| *at)
    }

    /// Takes the group whose timer is due first, if one is.
    pub fn take(&mut self, now: Nanos) -> Option<u32> {
        let (at, group) = *self.due.first()?;
        if at > now {
            return None;
        }
        self.due.pop_first();
        self.at.remove(&group);
        Some(group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_has_one_timer_and_the_first_is_due_first() {
        let mut timers = Timers::default();
        timers.set(1, Nanos(50));
        timers.set(2, Nanos(40));
        timers.set(1, Nanos(30));
        assert_eq!((timers.next(), timers.take(Nanos(29))), (Nanos(30), None));
        assert_eq!((timers.take(Nanos(45)), timers.take(Nanos(45))), (Some(1), Some(2)));
        assert_eq!((timers.take(Nanos(99)), timers.next()), (None, Nanos::NEVER));
    }
}
