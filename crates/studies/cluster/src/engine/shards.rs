//! Which shards a request asks.

use rand_xoshiro::Xoshiro256PlusPlus;

use crate::dispatch::below;

/// The shards, in an order that is shuffled as far as it is used.
pub(super) struct Shards {
    order: Vec<u32>,
    /// Servers of each.
    pub replicas: u32,
    random: Xoshiro256PlusPlus,
}

impl Shards {
    /// So many shards.
    pub fn new(shards: u32, replicas: u32, random: Xoshiro256PlusPlus) -> Shards {
        Shards { order: (0..shards).collect(), replicas, random }
    }

    /// How many sub-requests, of `fan_out` to random shards, each shard gets: all different, as long as there
    /// are enough.
    pub fn draw(&mut self, fan_out: u32) -> Vec<(u32, u32)> {
        let shards = self.order.len() as u32;
        let (rounds, rest) = (fan_out / shards, fan_out % shards);
        for place in 0..rest {
            // Fisher-Yates on whatever order the last request left: still each order with equal probability.
            let other = place + below(shards - place, &mut self.random);
            self.order.swap(place as usize, other as usize);
        }
        let asked = if rounds == 0 { rest } else { shards };
        let count = |place: u32| rounds + u32::from(place < rest);
        (0..asked).map(|place| (self.order[place as usize], count(place))).collect()
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn shards_differ_and_each_is_as_likely() {
        let mut shards = Shards::new(10, 1, Xoshiro256PlusPlus::seed_from_u64(1));
        let mut counts = [0u32; 10];
        for _ in 0..20_000 {
            let drawn = shards.draw(3);
            assert!(drawn.len() == 3 && drawn.iter().all(|(_, n)| *n == 1), "{drawn:?}");
            drawn.iter().for_each(|(shard, _)| counts[*shard as usize] += 1);
        }
        assert!(counts.iter().all(|n| n.abs_diff(6_000) < 300), "{counts:?}");
    }

    #[test]
    fn more_sub_requests_than_shards_go_round() {
        let mut shards = Shards::new(4, 5, Xoshiro256PlusPlus::seed_from_u64(1));
        let drawn = shards.draw(10);
        assert_eq!(drawn.iter().map(|(_, n)| n).sum::<u32>(), 10);
        assert!(drawn.len() == 4 && drawn.iter().all(|(_, n)| (2..=3).contains(n)), "{drawn:?}");
    }
}
