//! Whether a worker finds its next request when it has answered one, by lot.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A client that is so fast now and then.
pub struct Prompt {
    /// The share of the requests let go by a response that are there before its worker sleeps.
    share: f64,
    lots: Xoshiro256PlusPlus,
}

impl Prompt {
    /// Above 0.
    pub fn new(share: f64, seed: u64) -> Prompt {
        Prompt { share, lots: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// Whether the next request that a response lets go is one of these.
    pub fn next(&mut self) -> bool {
        self.lots.random::<f64>() < self.share
    }
}
