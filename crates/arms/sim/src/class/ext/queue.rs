//! A dispatch queue by key.

use std::collections::VecDeque;

use model::{Nanos, ThreadId};

/// A thread that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The owner.
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
    /// Puts a thread in. Costs most in the middle of a long queue; policies that order by arrival insert near
    /// the ends.
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

    /// Where a thread stands that was put in with a key, if it is here. Those that came early are moved
    /// first, so it is looked for from the front on, with strides that double.
    pub fn position(&self, thread: ThreadId, key: u64) -> Option<usize> {
        let is_before = |position: usize| self.entries.get(position).is_some_and(|at| at.key < key);
        let (mut first, mut stride) = (0, 1);
        while is_before(first + stride - 1) {
            first += stride;
            stride *= 2;
        }
        while stride > 1 {
            stride /= 2;
            if is_before(first + stride - 1) {
                first += stride;
            }
        }
        let equals = self.entries.range(first.min(self.entries.len())..);
        let mut equals = equals.take_while(|entry| entry.key == key);
        equals.position(|entry| entry.thread == thread).map(|behind| first + behind)
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
        for (position, (key, thread)) in sorted.into_iter().enumerate() {
            assert_eq!(queue.position(ThreadId(thread), key), Some(position));
            assert_eq!(queue.position(ThreadId(thread), key + 1), None);
        }
    }

    #[test]
    fn a_thread_is_found_where_it_stands_however_many_wait() {
        let mut queue = OrderedQueue::default();
        for waiting in 0..70 {
            for thread in 0..waiting {
                let key = u64::from(thread / 3);
                assert_eq!(queue.position(ThreadId(thread), key), Some(thread as usize));
                assert_eq!(queue.position(ThreadId(waiting), key), None);
            }
            assert_eq!(queue.position(ThreadId(waiting), u64::MAX), None);
            queue.insert(ThreadId(waiting), Nanos(1), u64::from(waiting / 3));
        }
    }
}
