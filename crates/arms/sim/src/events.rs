//! The queue of coming events: a fixed set of slots, each with at most one event.
//!
//! Events are ordered by (time, sequence): of two at the same time, the one that was set first comes first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use model::Nanos;

/// What the kernel asks of a queue of events.
pub trait EventQueue {
    /// A queue of `slots` slots without an event.
    fn new(slots: usize) -> Self;

    /// Moves the event of a slot to a time, behind all others of the same time; [`Nanos::NEVER`]: no event. A
    /// slot that keeps its time keeps its place.
    fn set(&mut self, slot: u32, at: Nanos);

    /// The next event and its slot; at [`Nanos::NEVER`] there is none. It stays until its slot is set again.
    fn first(&mut self) -> (Nanos, u32);
}

/// An event as one number, time above sequence above slot, so that one comparison orders two of them.
type Key = u128;

const SLOT_BITS: u32 = 24;
const SEQUENCE_BITS: u32 = 40;

fn time_of(key: Key) -> Nanos {
    Nanos((key >> (SLOT_BITS + SEQUENCE_BITS)) as u64)
}

fn slot_of(key: Key) -> u32 {
    key as u32 & ((1 << SLOT_BITS) - 1)
}

/// Numbers events in the order in which they are set.
#[derive(Default)]
struct Sequence(u64);

impl Sequence {
    fn key(&mut self, slot: u32, at: Nanos) -> Key {
        self.0 += 1;
        debug_assert!(self.0 < 1 << SEQUENCE_BITS);
        (Key::from(at.0) << SEQUENCE_BITS | Key::from(self.0)) << SLOT_BITS | Key::from(slot)
    }
}

/// A winner tree (Knuth, TAOCP vol. 3, section 5.4.1) of four children a node, one cache line each: the least
/// of four siblings goes up.
///
/// Setting a slot replays one path without a branch on keys, where a heap would leave the old event behind
/// and sift twice.
pub struct Tournament {
    /// A complete tree. Four 0 holds the finalists, and the winner of four n is at place n - 1. Slots take
    /// the last places, from the end on. Where they do not fill a level, the first ones are a level deeper
    /// than the last. Arrivals, which change most, are among the first. Place p is number p % 4 of four p /
    /// 4.
    fours: Vec<Four>,
    /// The place of slot 0; slot n stands n before it.
    last_leaf: usize,
    winner: Key,
    sequence: Sequence,
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Four([Key; 4]);

impl Tournament {
    /// Siblings are compared without waiting for what comes from below, which keeps a level at a few cycles.
    /// Where the winner was there before, nothing changes further up.
    #[inline]
    fn replay(&mut self, slot: u32, key: Key) {
        let mut place = self.last_leaf - slot as usize;
        let mut winner = key;
        loop {
            let four = place / 4;
            let Four(keys) = &mut self.fours[four];
            let own = place % 4;
            let siblings = keys[own ^ 1].min(keys[own ^ 2]).min(keys[own ^ 3]);
            if keys[own] == winner {
                return;
            }
            keys[own] = winner;
            winner = winner.min(siblings);
            if four == 0 {
                break;
            }
            place = four - 1;
        }
        self.winner = winner;
    }
}

impl EventQueue for Tournament {
    fn new(slots: usize) -> Tournament {
        assert!(slots < 1 << SLOT_BITS, "{slots} event slots");
        // Each four takes one place in the four above and brings four.
        let fours = slots.saturating_sub(1).div_ceil(3).max(1);
        let last_leaf = fours + slots.max(1) - 2;
        let fours = vec![Four([Key::MAX; 4]); fours];
        Tournament { fours, last_leaf, winner: Key::MAX, sequence: Sequence::default() }
    }

    #[inline]
    fn set(&mut self, slot: u32, at: Nanos) {
        let leaf = self.last_leaf - slot as usize;
        if time_of(self.fours[leaf / 4].0[leaf % 4]) != at {
            let key = self.sequence.key(slot, at);
            self.replay(slot, key);
        }
    }

    #[inline]
    fn first(&mut self) -> (Nanos, u32) {
        (time_of(self.winner), slot_of(self.winner))
    }
}

/// The same by the standard library's heap: the oracle that the order is checked against, and the peer in the
/// benchmark.
pub struct Heap {
    queued: BinaryHeap<Reverse<Key>>,
    /// The valid event of each slot; others in `queued` are left over.
    valid: Vec<Key>,
    sequence: Sequence,
}

impl EventQueue for Heap {
    fn new(slots: usize) -> Heap {
        Heap {
            queued: BinaryHeap::new(),
            valid: vec![Key::MAX; slots],
            sequence: Sequence::default(),
        }
    }

    fn set(&mut self, slot: u32, at: Nanos) {
        if time_of(self.valid[slot as usize]) == at {
            return;
        }
        let key = self.sequence.key(slot, at);
        self.valid[slot as usize] = key;
        if at != Nanos::NEVER {
            self.queued.push(Reverse(key));
        }
    }

    fn first(&mut self) -> (Nanos, u32) {
        while let Some(&Reverse(key)) = self.queued.peek() {
            if self.valid[slot_of(key) as usize] == key {
                return (time_of(key), slot_of(key));
            }
            self.queued.pop();
        }
        (Nanos::NEVER, 0)
    }
}

/// A queue that folds the order of its events into a digest: equal for two queues that order them equally.
pub struct Digest<Q> {
    queue: Q,
    last: (Nanos, u32),
    /// FNV-1a over the (time, slot) of all different events in order.
    pub digest: u64,
}

impl<Q: EventQueue> EventQueue for Digest<Q> {
    fn new(slots: usize) -> Digest<Q> {
        Digest { queue: Q::new(slots), last: (Nanos::NEVER, 0), digest: 0xcbf2_9ce4_8422_2325 }
    }

    fn set(&mut self, slot: u32, at: Nanos) {
        self.queue.set(slot, at);
    }

    fn first(&mut self) -> (Nanos, u32) {
        let first = self.queue.first();
        if first.0 != Nanos::NEVER && first != self.last {
            self.last = first;
            for part in [first.0.0, u64::from(first.1)] {
                self.digest = (self.digest ^ part).wrapping_mul(0x0000_0100_0000_01b3);
            }
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Drives a queue by a script and lists what came first after each step.
    fn replay<Q: EventQueue>(slots: usize, script: &[(u32, u64)]) -> Vec<(Nanos, u32)> {
        let mut queue = Q::new(slots);
        let step = |&(slot, at): &(u32, u64)| {
            queue.set(slot, Nanos(at));
            queue.first()
        };
        script.iter().map(step).collect()
    }

    #[test]
    fn equal_times_come_in_the_order_in_which_they_were_set() {
        let script = [(2, 5), (0, 5), (1, 5), (2, 9), (0, 5), (0, 7), (0, 5), (1, 6)];
        let order: Vec<u32> = replay::<Tournament>(3, &script).iter().map(|e| e.1).collect();
        // Slot 0 keeps its place while its time stays 5, and loses it to slot 1 by leaving and coming back.
        assert_eq!(order, [2, 2, 2, 0, 0, 1, 1, 0]);
    }

    #[test]
    fn the_tree_and_the_heap_agree_on_random_scripts() {
        let mut state = 1u64;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for slots in [1, 2, 4, 5, 16, 17, 64, 100] {
            let script: Vec<(u32, u64)> = (0..5_000)
                .map(|_| {
                    let at = if random(8) == 0 { u64::MAX } else { random(50) };
                    (random(slots) as u32, at)
                })
                .collect();
            let tree = replay::<Tournament>(slots as usize, &script);
            let heap = replay::<Heap>(slots as usize, &script);
            let known = |events: &[(Nanos, u32)]| -> Vec<_> {
                events.iter().map(|e| (e.0 != Nanos::NEVER).then_some(*e)).collect()
            };
            assert_eq!(known(&tree), known(&heap), "{slots} slots");
        }
    }
}
