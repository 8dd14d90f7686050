//! A dispatch queue by key.

use std::collections::VecDeque;

use model::{Nanos, ThreadId};

/// A thread that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Who.
    pub thread: ThreadId,
    /// The slice that it gets.
    pub slice: Nanos,
    key: u64,
}

/// Threads by ascending key, equal keys first come first.
#[derive(Clone, Debug, Default)]
pub struct OrderedQueue {
    entries: VecDeque<Entry>,
}

impl OrderedQueue {
    /// Puts a thread in. Costs most in the middle of a long queue; policies that order by arrival insert near the ends.
    pub fn insert(&mut self, thread: ThreadId, slice: Nanos, key: u64) {
        let at = match self.entries.back() {
            Some(last) if last.key > key => self.entries.partition_point(|entry| entry.key <= key),
            _ => self.entries.len(),
        };
        self.entries.insert(at, Entry { thread, slice, key });
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The entry at a position.
    pub fn get(&self, position: usize) -> Option<Entry> {
        self.entries.get(position).copied()
    }

    /// Where a thread stands, if it is here. Those that came early are moved first, so they are looked for first.
    pub fn position(&self, thread: ThreadId) -> Option<usize> {
        self.entries.iter().position(|entry| entry.thread == thread)
    }

    /// Takes the entry at a position out.
    pub fn remove(&mut self, position: usize) -> Option<Entry> {
        self.entries.remove(position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_stand_by_key_and_equal_keys_by_arrival() {
        let mut queue = OrderedQueue::default();
        let keys = [5, 1, 5, 3, 1, 9, 0];
        let mut sorted: Vec<(u64, u32)> = keys.iter().copied().zip(0..).collect();
        sorted.sort();
        for (key, thread) in keys.into_iter().zip(0..) {
            queue.insert(ThreadId(thread), Nanos(1), key);
        }
        let stands: Vec<(u64, u32)> =
            queue.entries.iter().map(|entry| (entry.key, entry.thread.0)).collect();
        assert_eq!(stands, sorted);
    }
}
