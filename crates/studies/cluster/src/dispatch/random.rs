//! Any server with equal probability: what every other rule is held against. Each queue is then one for
//! itself.

use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Chooser, Shard};

pub(super) struct Random;

impl Chooser for Random {
    fn choose(&mut self, shard: &Shard, random: &mut Xoshiro256PlusPlus) -> u32 {
        shard.any(random)
    }
}
