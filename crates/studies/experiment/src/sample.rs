//! Some of many, by a seed.

use std::collections::BTreeSet;

use model::seed::derive;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// `count` different numbers below `all`, each set as likely as any other, in rising order; all of them where
/// there are no more.
///
/// Floyd's way (Bentley and Floyd 1987): takes memory for the chosen only.
pub fn sample(all: u64, count: u64, seed: u64) -> Vec<u64> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(derive(seed, &[]));
    let mut chosen = BTreeSet::new();
    for last in all - count.min(all)..all {
        let any = rng.random_range(0..=last);
        if !chosen.insert(any) {
            chosen.insert(last);
        }
    }
    chosen.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_of_different_numbers_and_follows_the_seed() {
        let chosen = sample(1_000_000_000, 100, 7);
        assert!(chosen.len() == 100 && chosen.is_sorted_by(|a, b| a < b));
        assert_eq!(chosen, sample(1_000_000_000, 100, 7));
        assert_ne!(chosen, sample(1_000_000_000, 100, 8));
        assert_eq!(sample(3, 5, 1), [0, 1, 2]);
    }

    #[test]
    fn every_number_is_as_likely() {
        let mut hits = [0; 10];
        for seed in 0..4_000 {
            sample(10, 3, seed).into_iter().for_each(|n| hits[n as usize] += 1);
        }
        // 1,200 expected, with a standard deviation of 29.
        assert!(hits.iter().all(|hits| (1_080..1_320).contains(hits)), "{hits:?}");
    }
}
