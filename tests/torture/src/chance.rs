//! Chance from a seed, so that a failing piece can be repeated.

use std::thread::sleep;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A source of chance.
pub struct Chance(Xoshiro256PlusPlus);

impl Chance {
    /// Of a seed.
    pub fn new(seed: u64) -> Chance {
        Chance(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0.random_range(0..end)
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of them.
    pub fn of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    /// A duration below `most`, small ones as likely as large ones by magnitude: races live in the small.
    pub fn moment(&mut self, most: Duration) -> Duration {
        let most_us = most.as_micros().max(2) as f64;
        Duration::from_micros(most_us.powf(self.0.random_range(0.0..1.0)) as u64)
    }

    /// Sleeps for a [`moment`](Chance::moment), or not at all.
    pub fn pause(&mut self, most: Duration) {
        if !self.once_in(4) {
            sleep(self.moment(most));
        }
    }

    /// Numbers of CPUs, at least one of `cpus`.
    pub fn cpus(&mut self, cpus: usize) -> Vec<usize> {
        let chosen: Vec<usize> = (0..cpus).filter(|_| self.once_in(2)).collect();
        if chosen.is_empty() { vec![self.below(cpus)] } else { chosen }
    }

    /// A seed for another source.
    pub fn seed(&mut self) -> u64 {
        self.0.random()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_choices() {
        let draw = |seed| {
            let mut chance = Chance::new(seed);
            (chance.cpus(8), chance.moment(Duration::from_secs(1)), chance.seed())
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn no_set_of_cpus_is_empty() {
        let mut chance = Chance::new(1);
        assert!((0..1000).all(|_| !chance.cpus(2).is_empty()));
    }
}
