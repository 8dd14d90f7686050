//! The loop that one writes first: a heap of events.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use rand::SeedableRng;
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::{MEAN_GAP_NS, SERVICE_NS, WORKERS};

/// Draws the gaps of both peers.
pub struct Gaps(Xoshiro256PlusPlus);

impl Gaps {
    pub fn new() -> Gaps {
        Gaps(Xoshiro256PlusPlus::seed_from_u64(1))
    }

    pub fn next_ns(&mut self) -> u64 {
        let gap: f64 = Exp1.sample(&mut self.0);
        (gap * MEAN_GAP_NS) as u64
    }
}

/// M/D/4, first come, first served.
pub fn mean_latency_ns(requests: u64) -> f64 {
    const ARRIVAL: u8 = 1;
    const COMPLETION: u8 = 0;
    let mut gaps = Gaps::new();
    let mut events = BinaryHeap::from([Reverse((gaps.next_ns(), ARRIVAL))]);
    let mut waiting = VecDeque::new();
    let (mut idle, mut served, mut total) = (WORKERS, 0, 0);
    while served < requests {
        let Reverse((now, kind)) = events.pop().expect("an arrival is always due");
        if kind == ARRIVAL {
            waiting.push_back(now);
            events.push(Reverse((now + gaps.next_ns(), ARRIVAL)));
        } else {
            idle += 1;
        }
        if idle > 0
            && let Some(arrival) = waiting.pop_front()
        {
            idle -= 1;
            served += 1;
            total += now + SERVICE_NS - arrival;
            events.push(Reverse((now + SERVICE_NS, COMPLETION)));
        }
    }
    total as f64 / requests as f64
}
