//! Messages that wait to be sent: so many at most.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What became of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deliveries {
    /// Handed over.
    pub offered: u64,
    /// Taken by the receiver.
    pub sent: u64,
    /// Dropped for younger ones, where there was no room.
    pub no_room: u64,
    /// Refused by the receiver.
    pub refused: u64,
    /// Given up: the receiver was absent for too long.
    pub not_taken: u64,
}

impl Deliveries {
    /// Those that the receiver does not have.
    pub fn dropped(self) -> u64 {
        self.no_room + self.refused + self.not_taken
    }
}

/// A message.
pub struct Waiting {
    /// Its bytes.
    pub message: Vec<u8>,
    /// Since when it waits.
    pub since: Instant,
}

/// Messages in the order in which they came.
pub struct Queue {
    room: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    counts: Deliveries,
    is_closed: bool,
}

impl Queue {
    /// For so many.
    pub fn new(room: usize) -> Queue {
        Queue { room, state: Mutex::default(), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds one. Where there is no room the oldest goes.
    pub fn push(&self, message: Vec<u8>) {
        let mut state = self.lock();
        state.counts.offered += 1;
        if state.waiting.len() == self.room {
            state.waiting.pop_front();
            state.counts.no_room += 1;
        }
        state.waiting.push_back(Waiting { message, since: Instant::now() });
        self.changed.notify_all();
    }

    /// The oldest, as soon as there is one; `None` where none will come any more.
    pub fn pop(&self) -> Option<Waiting> {
        let mut state = self.lock();
        loop {
            if let Some(oldest) = state.waiting.pop_front() {
                return Some(oldest);
            }
            if state.is_closed {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Puts the oldest back, unless younger ones have taken its room.
    pub fn put_back(&self, oldest: Waiting) {
        let mut state = self.lock();
        if state.waiting.len() < self.room {
            state.waiting.push_front(oldest);
        } else {
            state.counts.no_room += 1;
        }
    }

    /// Waits for so long, and no longer than until it is closed.
    pub fn pause(&self, span: Duration) {
        let state = self.lock();
        let _ = self.changed.wait_timeout_while(state, span, |state| !state.is_closed);
    }

    /// No more will come.
    pub fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    /// Whether no more will come.
    pub fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// Drops all that waits.
    pub fn give_up(&self) {
        let mut state = self.lock();
        state.counts.not_taken += state.waiting.len() as u64;
        state.waiting.clear();
    }

    /// Counts what became of a message.
    pub fn count(&self, change: impl Fn(&mut Deliveries)) {
        change(&mut self.lock().counts);
    }

    /// What was counted.
    pub fn counts(&self) -> Deliveries {
        self.lock().counts
    }
}
