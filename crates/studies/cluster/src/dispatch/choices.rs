//! The shortest of d servers drawn at random. Two already keep the longest queues from growing but doubly
//! logarithmically (Mitzenmacher 1996, "The Power of Two Choices in Randomized Load Balancing"), and no
//! dispatcher need know all queues.

use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Chooser, Shard};

pub(super) struct Choices(pub u32);

impl Chooser for Choices {
    /// The draws are independent, as in the papers; of equals the first drawn wins.
    fn choose(&mut self, shard: &Shard, random: &mut Xoshiro256PlusPlus) -> u32 {
        let mut best = shard.any(random);
        for _ in 1..self.0 {
            let other = shard.any(random);
            if shard.length(other) < shard.length(best) {
                best = other;
            }
        }
        best
    }
}
