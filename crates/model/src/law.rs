//! Laws of gaps and service times, all with mean 1 until scaled.

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// A law of positive random numbers with mean 1.
#[derive(Clone, Debug, PartialEq)]
pub enum Law {
    /// Always 1.
    Fixed,
    /// Exponential: as gaps, Poisson arrivals.
    Exponential,
}

/// Draws from a [`Law`] with a generator of its own.
#[derive(Clone, Debug)]
pub struct Sampler {
    law: Law,
    random: Xoshiro256PlusPlus,
}

impl Sampler {
    /// A sampler whose numbers depend on the law and the seed alone.
    pub fn new(law: &Law, seed: u64) -> Sampler {
        Sampler { law: law.clone(), random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// The next number, mean 1.
    pub fn next(&mut self) -> f64 {
        use rand::RngExt;
        match self.law {
            Law::Fixed => 1.0,
            Law::Exponential => -(1.0 - self.random.random::<f64>()).ln(),
        }
    }
}
