//! Service times: drawn from a law, or from what was measured.

use std::ops::Range;

use model::arrivals::round;
use model::law::Sampler;
use model::seed;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::definition::Work;
use crate::measured::Measured;

/// Where service times come from.
pub(super) enum ServiceTimes {
    /// A law, scaled to its mean.
    Law { services: Sampler, mean_ns: f64 },
    /// A measured distribution.
    Measured { measured: Measured, random: Xoshiro256PlusPlus },
}

impl ServiceTimes {
    /// Service times of such work.
    pub fn new(work: &Work, seed: u64) -> ServiceTimes {
        match work {
            Work::Law(law, mean) => {
                ServiceTimes::Law { services: Sampler::new(law, seed), mean_ns: mean.0 as f64 }
            }
            Work::Measured(measured) => {
                let random = Xoshiro256PlusPlus::seed_from_u64(seed::derive(seed, &[1]));
                ServiceTimes::Measured { measured: measured.clone(), random }
            }
        }
    }

    /// One, of the part of a measurement between two shares, the slowest first; laws are drawn whole.
    pub fn draw(&mut self, part: Range<f64>) -> u64 {
        let ns = match self {
            ServiceTimes::Law { services, mean_ns } => services.next() * *mean_ns,
            ServiceTimes::Measured { measured, random } => {
                let lot = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
                measured.latency_ns(part.start + lot * (part.end - part.start))
            }
        };
        round(ns).max(1)
    }
}
