//! The one RNG of a case.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Draws from a seed.
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// From a seed, for a purpose.
    pub fn new(seed: u64, purpose: u64) -> Rng {
        let seed = model::seed::derive(seed, &[purpose]);
        Rng(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A whole number from `least` to `most`.
    pub fn within(&mut self, least: u64, most: u64) -> u64 {
        self.0.random_range(least..=most)
    }

    /// True once in so many times.
    pub fn one_in(&mut self, times: u64) -> bool {
        self.within(1, times) == 1
    }

    /// One of several.
    pub fn of<T: Copy>(&mut self, several: &[T]) -> T {
        several[self.within(0, several.len() as u64 - 1) as usize]
    }

    /// A number from `least` to `most`, each order of magnitude as likely as any other.
    pub fn magnitude(&mut self, least: u64, most: u64) -> u64 {
        let ratio = most as f64 / least as f64;
        let drawn = least as f64 * ratio.powf(self.0.random::<f64>());
        (drawn as u64).clamp(least, most)
    }
}
