//! Join the shortest queue of the shard, at random among equals. The best that a dispatcher can do which
//! knows lengths and binds at once; it must know every queue.

use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Chooser, Shard, below};

/// The servers of each shard by their number of copies, so that a decision costs no look at every server.
pub(super) struct Shortest {
    replicas: u32,
    /// For each shard, for each length: the servers of that length.
    by_length: Vec<Vec<Vec<u32>>>,
    /// Each server's place in its list.
    places: Vec<u32>,
    /// For each shard: the least length of any server.
    least: Vec<usize>,
}

impl Shortest {
    pub fn new(servers: u32, replicas: u32) -> Shortest {
        let shards = servers / replicas;
        let idle = |shard: u32| vec![(shard * replicas..(shard + 1) * replicas).collect()];
        Shortest {
            replicas,
            by_length: (0..shards).map(idle).collect(),
            places: (0..servers).map(|server| server % replicas).collect(),
            least: vec![0; shards as usize],
        }
    }
}

impl Chooser for Shortest {
    fn choose(&mut self, shard: &Shard, random: &mut Xoshiro256PlusPlus) -> u32 {
        let lists = &self.by_length[shard.number as usize][self.least[shard.number as usize]..];
        // Only where copies of the same sub-request hold the shortest queues is a longer one looked at.
        let free = |list: &&Vec<u32>| list.iter().any(|server| !shard.taken.contains(server));
        let list = lists.iter().find(free).expect("fewer servers are taken than there are");
        loop {
            let server = list[below(list.len() as u32, random) as usize];
            if !shard.taken.contains(&server) {
                return server;
            }
        }
    }

    fn changed(&mut self, server: u32, from: u32, to: u32) {
        let shard = (server / self.replicas) as usize;
        let (lists, from, to) = (&mut self.by_length[shard], from as usize, to as usize);
        let place = self.places[server as usize] as usize;
        lists[from].swap_remove(place);
        if let Some(moved) = lists[from].get(place) {
            self.places[*moved as usize] = place as u32;
        }
        if lists.len() <= to {
            lists.resize(to + 1, Vec::new());
        }
        self.places[server as usize] = lists[to].len() as u32;
        lists[to].push(server);
        let least = &mut self.least[shard];
        *least = (*least).min(to);
        while lists[*least].is_empty() {
            *least += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    /// The index against a look at every server.
    #[test]
    fn the_index_finds_what_a_search_finds() {
        let (servers, replicas) = (24, 8);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut index = Shortest::new(servers, replicas);
        let mut lengths = vec![0u32; servers as usize];
        for _ in 0..20_000 {
            let number = below(servers / replicas, &mut random);
            let first = number * replicas;
            let own = first as usize..(first + replicas) as usize;
            let taken = [first + below(replicas, &mut random)];
            let shard = Shard { number, first, lengths: &lengths[own.clone()], taken: &taken };
            let chosen = index.choose(&shard, &mut random);
            let free = own.filter(|server| *server as u32 != taken[0]);
            assert_eq!(Some(shard.length(chosen)), free.map(|server| lengths[server]).min());
            let server = below(servers, &mut random) as usize;
            let from = lengths[server];
            let to = if from > 0 && below(2, &mut random) == 0 { from - 1 } else { from + 1 };
            index.changed(server as u32, from, to);
            lengths[server] = to;
        }
    }
}
