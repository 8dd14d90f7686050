//! Server after server: evens out numbers, not work, and knows nothing of a server that is slow.

use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Chooser, Shard};

/// The next server of each shard, counted from the shard's first.
pub(super) struct RoundRobin(Vec<u32>);

impl RoundRobin {
    pub fn new(shards: u32) -> RoundRobin {
        RoundRobin(vec![0; shards as usize])
    }
}

impl Chooser for RoundRobin {
    fn choose(&mut self, shard: &Shard, _random: &mut Xoshiro256PlusPlus) -> u32 {
        let next = &mut self.0[shard.number as usize];
        loop {
            let server = shard.first + *next;
            *next = (*next + 1) % shard.lengths.len() as u32;
            if !shard.taken.contains(&server) {
                return server;
            }
        }
    }
}
