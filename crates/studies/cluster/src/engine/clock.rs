//! The coming events: the simulator's tournament of slots, with queues behind those slots that stand for many
//! events.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use model::Nanos;
use sim::events::{EventQueue, Tournament};

use super::work::{Mail, Timer};

const ARRIVAL: u32 = 0;
const MAIL: u32 = 1;
const TIMER: u32 = 2;
const FIRST_WORKER: u32 = 3;

/// What comes next.
pub(super) enum Event {
    Arrival,
    Mail(Mail),
    Timer(Timer),
    /// A worker, of leaves first, of roots then, has served what it had.
    Served(u32),
}

/// Time and what it brings.
pub(super) struct Clock {
    pub now: u64,
    slots: Tournament,
    /// On the network, where all messages take as long: the first sent is the first to arrive.
    mail: VecDeque<(u64, Mail)>,
    timers: BinaryHeap<Reverse<(u64, u64, Timer)>>,
    /// Of two timers for the same moment, the one set first comes first.
    set: u64,
}

impl Clock {
    /// A clock at 0 for so many workers, nothing coming.
    pub fn new(workers: u32) -> Clock {
        Clock {
            now: 0,
            slots: Tournament::new((FIRST_WORKER + workers) as usize),
            mail: VecDeque::new(),
            timers: BinaryHeap::new(),
            set: 0,
        }
    }

    /// When the next request comes.
    pub fn arrive(&mut self, at: Nanos) {
        self.slots.set(ARRIVAL, at);
    }

    /// A message that arrives after `delay_ns`, the same for all messages.
    pub fn post(&mut self, delay_ns: u64, mail: Mail) {
        if self.mail.is_empty() {
            self.slots.set(MAIL, Nanos(self.now + delay_ns));
        }
        self.mail.push_back((self.now + delay_ns, mail));
    }

    /// Something to do at a moment.
    pub fn remind(&mut self, at: u64, timer: Timer) {
        self.set += 1;
        self.timers.push(Reverse((at, self.set, timer)));
        self.rewind();
    }

    /// When a worker will have served what it has; [`Nanos::NEVER`]: it has nothing.
    pub fn serve(&mut self, worker: u32, until: Nanos) {
        self.slots.set(FIRST_WORKER + worker, until);
    }

    /// On to the next event.
    pub fn next(&mut self) -> Event {
        let (at, slot) = self.slots.first();
        self.now = at.0;
        match slot {
            ARRIVAL => Event::Arrival,
            MAIL => {
                let (_, mail) = self.mail.pop_front().expect("a slot that is set has mail");
                let next = self.mail.front().map_or(Nanos::NEVER, |(at, _)| Nanos(*at));
                self.slots.set(MAIL, next);
                Event::Mail(mail)
            }
            TIMER => {
                let Reverse((_, _, timer)) =
                    self.timers.pop().expect("a slot that is set has a timer");
                self.rewind();
                Event::Timer(timer)
            }
            worker => {
                self.slots.set(worker, Nanos::NEVER);
                Event::Served(worker - FIRST_WORKER)
            }
        }
    }

    fn rewind(&mut self) {
        let next = self.timers.peek().map_or(Nanos::NEVER, |Reverse((at, _, _))| Nanos(*at));
        self.slots.set(TIMER, next);
    }
}
