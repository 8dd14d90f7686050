//! What threads were at: since when each was there for what it did next.

use std::collections::BTreeMap;

use model::Nanos;

use super::recording::{Kind, Seen};

/// Threads of which that is known; of more, those that were seen last.
const MOST_THREADS: usize = 32_768;
/// A thread that did nothing for longer is forgotten: T3 of its next request is told as T2.
const REMEMBERED: Nanos = Nanos::from_secs(10);

/// By thread, when it was last switched to or answered. A read is no end of work, and may be a part of the
/// very request that is asked for.
#[derive(Default)]
pub(super) struct Threads(BTreeMap<u32, Nanos>);

impl Threads {
    /// Takes up one record more.
    pub fn follow(&mut self, one: &Seen) {
        if let Kind::Switch { .. } | Kind::Sends { .. } | Kind::Transmitted { .. } = one.kind {
            self.0.insert(one.thread, one.at);
        }
    }

    /// Since when a thread was there for what it does now.
    pub fn free_since(&self, thread: u32) -> Nanos {
        self.0.get(&thread).copied().unwrap_or_default()
    }

    /// Forgets threads that did nothing lately, and of too many those that did nothing for longest.
    pub fn forget(&mut self, now: Nanos) {
        self.0.retain(|_, at| at.saturating_add(REMEMBERED) >= now);
        if self.0.len() > MOST_THREADS {
            let mut moments: Vec<Nanos> = self.0.values().copied().collect();
            let excess = moments.len() - MOST_THREADS;
            let (_, last, _) = moments.select_nth_unstable(excess - 1);
            let last = *last;
            self.0.retain(|_, at| *at > last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::recording::Left;
    use super::*;

    fn switch(thread: u32, at: u64) -> Seen {
        let kind = Kind::Switch { from: 0, left: Left::Preempted };
        Seen { at: Nanos(at), cpu: 0, thread, kind }
    }

    #[test]
    fn of_too_many_threads_those_that_were_seen_last_are_known() {
        let mut threads = Threads::default();
        (1..=100_000).for_each(|n| threads.follow(&switch(n, u64::from(n))));
        assert_eq!(threads.0.len(), 100_000, "the control: all are known until then");
        threads.forget(Nanos(100_000));
        assert_eq!(threads.0.len(), MOST_THREADS);
        assert_eq!([1, 100_000].map(|n| threads.free_since(n).0), [0, 100_000]);
        threads.forget(REMEMBERED + Nanos(100_001));
        assert!(threads.0.is_empty());
    }
}
