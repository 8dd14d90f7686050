//! The machine's RNG streams. Each kind of draw has a stream of its own, so that one more draw from it leaves
//! the others alone.

use model::seed::derive;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// What a stream is for.
#[derive(Clone, Copy)]
pub(crate) enum Stream {
    Places = 2,
    Switches = 3,
    Ticks = 4,
    /// The kernel's part of requests that come from outside.
    Parts = 5,
}

impl Stream {
    /// Its own seed in a run. No program has the number in it.
    pub(crate) fn seed(self, run: u64) -> u64 {
        derive(run, &[u64::MAX, self as u64])
    }

    /// Its own numbers in a run.
    pub(crate) fn generator(self, run: u64) -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(self.seed(run))
    }
}
