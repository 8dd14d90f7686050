//! Which servers are slow, and what that does to work under way.

use std::ops::Range;

use model::arrivals;
use model::law::{Law, Sampler};

use crate::definition::Slow;

/// The servers' episodes.
pub(super) struct Episodes {
    slow: Slow,
    now_slow: Vec<bool>,
    lengths: Sampler,
}

impl Episodes {
    /// As many servers, each slow with the probability that it is slow at any moment.
    pub fn new(slow: Slow, servers: u32, seed: u64) -> Episodes {
        let mut lengths = Sampler::new(&Law::Exponential, seed);
        // Of two exponential draws, one is the smaller in its share of the sum of their rates.
        let mut is_slow = || {
            let (a, b) = (lengths.next() / slow.share, lengths.next() / (1.0 - slow.share));
            a < b
        };
        let now_slow = (0..servers).map(|_| is_slow()).collect();
        Episodes { slow, now_slow, lengths }
    }

    /// Whether a server is slow now.
    pub fn is_slow(&self, server: u32) -> bool {
        self.now_slow[server as usize]
    }

    /// The part of a measurement that a server as it is now draws from: the slowest, as large as the share of
    /// time that servers are slow, or the rest. All together is what was measured, with slow ones in a row.
    pub fn part(&self, server: u32) -> Range<f64> {
        if self.is_slow(server) { 0.0..self.slow.share } else { self.slow.share..1.0 }
    }

    /// How long a server stays as it is.
    pub fn stay(&mut self, server: u32) -> u64 {
        let Slow { share, length, .. } = self.slow;
        let mean = length.0 as f64 * if self.is_slow(server) { 1.0 } else { (1.0 - share) / share };
        arrivals::round(self.lengths.next() * mean).max(1)
    }

    /// A server becomes slow or quick.
    pub fn turn(&mut self, server: u32) {
        self.now_slow[server as usize] ^= true;
    }

    /// How long work takes on a server as it is now.
    pub fn stretched(&self, server: u32, work_ns: u64) -> u64 {
        if self.is_slow(server) { scaled(work_ns, self.slow.factor) } else { work_ns }
    }

    /// What is left of work under way, just after [`Episodes::turn`].
    pub fn left(&self, server: u32, left_ns: u64) -> u64 {
        let factor = self.slow.factor;
        scaled(left_ns, if self.is_slow(server) { factor } else { 1.0 / factor })
    }
}

fn scaled(ns: u64, factor: f64) -> u64 {
    arrivals::round(ns as f64 * factor).max(1)
}
