//! What keeps threads of a service off the CPUs at a moment. A thread may be kept for as long as others come
//! and go, so none is looked at but where what keeps it may have changed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use model::event::Cause;
use model::{Nanos, ThreadId};

use crate::serving::OffSpan;

/// A place in the order in which they began: when, and its number among all.
type Place = (Nanos, u32);

/// Everything that keeps threads, and what of it is under way.
pub(super) struct Keeping {
    all: Vec<(ThreadId, OffSpan)>,
    open: BTreeSet<Place>,
    throttled: BTreeSet<Place>,
    stopped: BTreeSet<Place>,
    of_thread: BTreeMap<ThreadId, Held>,
    /// Those whose cause must be looked up.
    stale: BTreeSet<Place>,
    /// Until when causes are sure to be the same.
    expiries: BinaryHeap<Reverse<(Nanos, u32)>>,
    /// How often one was touched.
    pub steps: u64,
}

/// What keeps a thread now.
struct Held {
    at: u32,
    /// Its cause's number and since when it counts; `None`: it must be looked up.
    counted: Option<(usize, Nanos)>,
}

/// For so long a thread was kept by a cause.
pub(super) struct KeptTime {
    pub thread: ThreadId,
    pub key: usize,
    pub ns: u64,
}

impl Keeping {
    /// What ends when it begins keeps nothing.
    pub fn new(all: impl Iterator<Item = (ThreadId, OffSpan)>) -> Keeping {
        Keeping {
            all: all.filter(|(_, one)| one.from < one.to).collect(),
            open: BTreeSet::new(),
            throttled: BTreeSet::new(),
            stopped: BTreeSet::new(),
            of_thread: BTreeMap::new(),
            stale: BTreeSet::new(),
            expiries: BinaryHeap::new(),
            steps: 0,
        }
    }

    /// All of them, by number.
    pub fn all(&self) -> &[(ThreadId, OffSpan)] {
        &self.all
    }

    fn of_cause(&mut self, cause: Cause) -> Option<&mut BTreeSet<Place>> {
        match cause {
            Cause::Throttled => Some(&mut self.throttled),
            Cause::Stopped => Some(&mut self.stopped),
            _ => None,
        }
    }

    /// One begins.
    pub fn begin(&mut self, at: u32) {
        let (thread, one) = self.all[at as usize];
        let place = (one.from, at);
        self.steps += 1;
        self.open.insert(place);
        self.stale.insert(place);
        self.of_cause(one.cause).map(|places| places.insert(place));
        self.of_thread.insert(thread, Held { at, counted: None });
    }

    /// One ends. Says for how long it counts that was not said yet.
    pub fn end(&mut self, at: u32, now: Nanos) -> Option<KeptTime> {
        let (thread, one) = self.all[at as usize];
        let place = (one.from, at);
        self.steps += 1;
        self.open.remove(&place);
        self.stale.remove(&place);
        self.of_cause(one.cause).map(|places| places.remove(&place));
        let kept = self.count(thread, now);
        if self.of_thread.get(&thread).is_some_and(|held| held.at == at) {
            self.of_thread.remove(&thread);
        }
        kept
    }

    /// For how long what keeps a thread counts that was not said yet.
    pub fn count(&mut self, thread: ThreadId, now: Nanos) -> Option<KeptTime> {
        let (key, since) = self.of_thread.get_mut(&thread)?.counted.as_mut()?;
        let ns = (now - std::mem::replace(since, now)).0;
        (ns > 0).then_some(KeptTime { thread, key: *key, ns })
    }

    /// The next whose cause must be looked up, in the order in which they began.
    pub fn next_stale(&mut self) -> Option<(u32, OffSpan)> {
        let (_, at) = self.stale.pop_first()?;
        self.steps += 1;
        Some((at, self.all[at as usize].1))
    }

    /// Its cause from a moment on, until at least another.
    pub fn settle(&mut self, at: u32, key: usize, [since, until]: [Nanos; 2]) {
        let (thread, one) = self.all[at as usize];
        self.of_thread.insert(thread, Held { at, counted: Some((key, since)) });
        if until < one.to {
            self.expiries.push(Reverse((until, at)));
        }
    }

    /// A cause that may be another from a moment on. Says for how long it counts so far.
    pub fn expire(&mut self, now: Nanos) -> Option<Option<KeptTime>> {
        self.expiries.peek().filter(|one| one.0.0 <= now)?;
        let Reverse((_, at)) = self.expiries.pop()?;
        let (thread, one) = self.all[at as usize];
        if self.of_thread.get(&thread).is_none_or(|held| held.at != at) {
            return Some(None);
        }
        let kept = self.count(thread, now);
        self.of_thread.insert(thread, Held { at, counted: None });
        self.stale.insert((one.from, at));
        Some(kept)
    }

    /// What keeps a thread.
    pub fn of(&self, thread: ThreadId) -> Option<&OffSpan> {
        self.of_thread.get(&thread).map(|held| &self.all[held.at as usize].1)
    }

    /// The first that is under way.
    pub fn first(&self) -> Option<&OffSpan> {
        self.named(&self.open)
    }

    /// The first for the quota or a stop.
    pub fn first_hard(&self) -> Option<&OffSpan> {
        self.named(&self.throttled).or_else(|| self.named(&self.stopped))
    }

    fn named(&self, places: &BTreeSet<Place>) -> Option<&OffSpan> {
        places.first().map(|(_, at)| &self.all[*at as usize].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serving::Waker;

    #[test]
    fn what_ends_when_it_begins_keeps_nothing() {
        let (thread, cause) = (ThreadId(0), Cause::Sleep);
        let span = |from, to| {
            let [from, to] = [from, to].map(Nanos);
            (thread, OffSpan { from, to, cause, by: Waker::Unseen, timed_out: false })
        };
        let mut keeping = Keeping::new([span(5, 5), span(7, 9)].into_iter());
        assert_eq!(keeping.all(), [span(7, 9)]);
        keeping.begin(0);
        assert!(keeping.first().is_some() && keeping.of(thread).is_some(), "the control");
        keeping.end(0, Nanos(9));
        assert!(keeping.first().is_none() && keeping.of(thread).is_none());
    }
}
