//! Chains of services against an oracle that looks at every worker in every nanosecond, and against queues
//! that are known.

use model::Nanos;
use proptest::prelude::*;
use queue::{Chain, Discipline, Tier, ideal};

/// Of each request, when it comes and what it asks of each service.
type Asked = Vec<(u64, Vec<u64>)>;

/// Where a request is.
#[derive(Clone, Copy, PartialEq)]
enum At {
    Coming,
    /// In its client.
    Held,
    Waits(usize),
    /// At work in a service until a moment.
    Runs(usize, u64),
    Done,
}

/// Serves nanosecond by nanosecond.
fn step_by_step(chain: &Chain, asked: &Asked) -> Vec<Vec<Nanos>> {
    let mut at = vec![At::Coming; asked.len()];
    let mut done = vec![vec![Nanos::NEVER; asked.len()]; chain.tiers.len()];
    for now in 0.. {
        if at.iter().all(|one| *one == At::Done) {
            return done;
        }
        for (own, (comes, _)) in at.iter_mut().zip(asked) {
            *own = if *own == At::Coming && *comes <= now { At::Held } else { *own };
        }
        for number in 0..asked.len() {
            if let At::Runs(tier, end) = at[number]
                && end == now
            {
                done[tier][number] = Nanos(now);
                let is_last = tier + 1 == chain.tiers.len();
                at[number] = if is_last { At::Done } else { At::Waits(tier + 1) };
            }
        }
        // Requests stand in the order in which they came, so whatever can begin does so first come.
        for number in 0..asked.len() {
            let under_way = at.iter().filter(|one| matches!(one, At::Waits(_) | At::Runs(..)));
            if at[number] == At::Held && under_way.count() < chain.connections as usize {
                at[number] = At::Waits(0);
            }
            let At::Waits(tier) = at[number] else { continue };
            let busy = |of: &dyn Fn(usize) -> bool| {
                at.iter().filter(|one| matches!(one, At::Runs(other, _) if of(*other))).count()
            };
            let Tier { pool, workers } = chain.tiers[tier];
            let on_pool = busy(&|other| chain.tiers[other].pool == pool);
            if busy(&|other| other == tier) < workers as usize
                && on_pool < chain.pools[pool] as usize
            {
                at[number] = At::Runs(tier, now + asked[number].1[tier]);
            }
        }
    }
    unreachable!("time does not end")
}

fn completions(chain: &Chain, asked: &Asked) -> Vec<Vec<Nanos>> {
    let arrivals: Vec<Nanos> = asked.iter().map(|(at, _)| Nanos(*at)).collect();
    let of = |tier: usize| asked.iter().map(|(_, all)| Nanos(all[tier])).collect::<Vec<_>>();
    let services: Vec<Vec<Nanos>> = (0..chain.tiers.len()).map(of).collect();
    let services: Vec<&[Nanos]> = services.iter().map(Vec::as_slice).collect();
    chain.completions(&arrivals, &services)
}

/// One to three services on one or two pools, and requests for them.
fn cases() -> impl Strategy<Value = (Chain, Asked)> {
    let tiers = prop::collection::vec((0..2usize, 1..4u32), 1..4);
    (tiers, prop::array::uniform2(1..4u32), 1..9u32).prop_flat_map(|(tiers, pools, connections)| {
        let services = prop::collection::vec(1..12u64, tiers.len());
        let asked = prop::collection::vec((0..60u64, services), 1..24);
        let tier = |&(pool, workers): &(usize, u32)| Tier { pool, workers };
        let chain =
            Chain { tiers: tiers.iter().map(tier).collect(), pools: pools.to_vec(), connections };
        asked.prop_map(move |mut asked| {
            asked.sort_by_key(|(at, _)| *at);
            (chain.clone(), asked)
        })
    })
}

proptest! {
    #[test]
    fn a_chain_is_what_looking_at_every_nanosecond_gives((chain, asked) in cases()) {
        prop_assert_eq!(completions(&chain, &asked), step_by_step(&chain, &asked));
    }

    /// On shared CPUs the work of one request follows at once: all services together are one queue.
    #[test]
    fn services_on_one_pool_are_a_queue_of_their_sums((chain, asked) in cases()) {
        let tiers = chain.tiers.iter().map(|_| Tier { pool: 0, workers: 1_000 }).collect();
        let pools = vec![chain.pools[0]];
        let together = Chain { tiers, pools, connections: 1_000 };
        let last = completions(&together, &asked).pop().unwrap();
        let sums: Vec<(Nanos, Nanos)> =
            asked.iter().map(|(at, all)| (Nanos(*at), Nanos(all.iter().sum()))).collect();
        let latencies = ideal(&sums, chain.pools[0], Discipline::Fifo, 0);
        let ends: Vec<Nanos> = sums.iter().zip(latencies).map(|((at, _), own)| *at + own).collect();
        prop_assert_eq!(last, ends);
    }
}

/// Two servers in series: what leaves the first comes to the second.
#[test]
fn services_on_pools_of_their_own_are_queues_in_series() {
    let asked: Asked =
        (0..2_000).map(|n| (n * 7, vec![1 + n * 31 % 11, 1 + n * 17 % 12])).collect();
    let tiers = vec![Tier { pool: 0, workers: 1 }, Tier { pool: 1, workers: 1 }];
    let chain = Chain { tiers, pools: vec![1, 1], connections: 1_000 };
    let found = completions(&chain, &asked);
    let queue = |coming: &[Nanos], tier: usize| -> Vec<Nanos> {
        let requests: Vec<(Nanos, Nanos)> =
            coming.iter().zip(&asked).map(|(at, (_, all))| (*at, Nanos(all[tier]))).collect();
        let latencies = ideal(&requests, 1, Discipline::Fifo, 0);
        coming.iter().zip(latencies).map(|(at, own)| *at + own).collect()
    };
    let arrivals: Vec<Nanos> = asked.iter().map(|(at, _)| Nanos(*at)).collect();
    let first = queue(&arrivals, 0);
    assert_eq!(found, [first.clone(), queue(&first, 1)]);
    // The control: on one CPU the two are no such series.
    let tiers = vec![Tier { pool: 0, workers: 1 }, Tier { pool: 0, workers: 1 }];
    let shared = completions(&Chain { tiers, pools: vec![1], connections: 1_000 }, &asked);
    assert_ne!(shared, found);
}
