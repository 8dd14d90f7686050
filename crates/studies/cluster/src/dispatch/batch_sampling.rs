//! Batch sampling with late binding: for m sub-requests, d m reservations wait at servers drawn at random; a
//! reservation whose turn comes asks its scheduler for work, and the first m to ask get it (Sparrow,
//! Ousterhout et al. 2013, section 3). So a queue's length need not tell how long it lasts, and no two
//! schedulers race for one idle server.

use rand_xoshiro::Xoshiro256PlusPlus;

use super::below;

/// Draws `wanted` servers of the shard that begins with `first`: all different, as long as there are enough.
pub(crate) fn sample(
    first: u32,
    replicas: u32,
    wanted: u32,
    random: &mut Xoshiro256PlusPlus,
) -> Vec<u32> {
    let rounds = wanted / replicas;
    let rest = wanted % replicas;
    let mut drawn: Vec<u32> = (0..rounds).flat_map(|_| 0..replicas).collect();
    let start = drawn.len();
    // Floyd's: each subset of the rest is equally likely, without a list of all servers.
    for last in replicas - rest..replicas {
        let lot = below(last + 1, random);
        let lot = if drawn[start..].contains(&lot) { last } else { lot };
        drawn.push(lot);
    }
    drawn.iter().map(|server| first + server).collect()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn servers_differ_and_each_is_as_likely() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut counts = [0u32; 10];
        for _ in 0..20_000 {
            let drawn = sample(30, 10, 4, &mut random);
            let mut distinct = drawn.clone();
            distinct.sort_unstable();
            distinct.dedup();
            assert_eq!(distinct.len(), 4);
            drawn.iter().for_each(|server| counts[(server - 30) as usize] += 1);
        }
        assert!(counts.iter().all(|n| n.abs_diff(8_000) < 350), "{counts:?}");
        assert_eq!(sample(0, 3, 7, &mut random).len(), 7, "more than servers: in rounds");
    }
}
