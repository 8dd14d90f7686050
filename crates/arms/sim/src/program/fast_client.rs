//! Whether a worker finds its next request when it has answered one: a random draw.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A client that is so fast now and then.
pub struct FastClient {
    /// The share of the requests let go by a response that are there before its worker sleeps.
    share: f64,
    rng: Xoshiro256PlusPlus,
}

impl FastClient {
    /// Above 0.
    pub fn new(share: f64, seed: u64) -> FastClient {
        FastClient { share, rng: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// Whether the next request that a response lets go is one of these.
    pub fn next(&mut self) -> bool {
        self.rng.random::<f64>() < self.share
    }
}
