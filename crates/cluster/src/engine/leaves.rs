//! The leaves: their queues and workers, how many copies each has, how long they take.

use model::arrivals::round;
use model::law::Sampler;
use model::seed;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::slow::Episodes;
use super::station::Station;
use super::work::{CopyKey, Item};
use crate::definition::Leaf;
use crate::dispatch::Chooser;
use crate::measured::Measured;

/// The state of all leaves.
pub(super) struct Leaves {
    pub station: Station<Item>,
    /// Copies at each, waiting, served and on their way to it.
    pub lengths: Vec<u32>,
    /// What each worker serves, and until when.
    pub serving: Vec<(CopyKey, u64)>,
    pub episodes: Option<Episodes>,
    services: Sampler,
    mean_ns: f64,
    measured: Option<Measured>,
    random: Xoshiro256PlusPlus,
}

impl Leaves {
    /// Idle ones.
    pub fn new(leaf: &Leaf, services: u64, episodes: u64) -> Leaves {
        let tier = &leaf.tier;
        Leaves {
            station: Station::new(tier.servers, tier.workers),
            lengths: vec![0; tier.servers as usize],
            serving: vec![(CopyKey::default(), 0); (tier.servers * tier.workers) as usize],
            episodes: leaf.slow.map(|slow| Episodes::new(slow, tier.servers, episodes)),
            services: Sampler::new(&tier.services, services),
            mean_ns: tier.service_time.0 as f64,
            measured: leaf.measured.clone(),
            random: Xoshiro256PlusPlus::seed_from_u64(seed::derive(services, &[1])),
        }
    }

    /// When each server's first episode begins or ends.
    pub fn first_episodes(&mut self) -> Vec<(u32, u64)> {
        let servers = self.lengths.len() as u32;
        let Some(episodes) = &mut self.episodes else { return Vec::new() };
        (0..servers).map(|server| (server, episodes.stay(server))).collect()
    }

    /// Whether they are measured latencies and no queues.
    pub fn are_measured(&self) -> bool {
        self.measured.is_some()
    }

    /// The work of a sub-request.
    pub fn work(&mut self) -> u64 {
        round(self.services.next() * self.mean_ns).max(1)
    }

    /// How long a server takes for work: 0 stands for a draw of its own.
    pub fn service(&mut self, server: u32, work: u64) -> u64 {
        let work = if work == 0 { self.work() } else { work };
        self.episodes.as_ref().map_or(work, |episodes| episodes.stretched(server, work))
    }

    /// A measured latency. A server that is slow draws from the slowest part of the measurement, as large as the share of time
    /// that servers are slow, and another from the rest: all together what was measured, and slow ones in a row.
    pub fn latency(&mut self, server: u32) -> u64 {
        let lot = (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let Some(measured) = &self.measured else { return 1 };
        let beyond = match &self.episodes {
            None => lot,
            Some(slow) if slow.is_slow(server) => lot * slow.share(),
            Some(slow) => slow.share() + lot * (1.0 - slow.share()),
        };
        round(measured.latency_ns(beyond)).max(1)
    }

    /// A server has one copy more.
    pub fn more(&mut self, server: u32, chooser: &mut dyn Chooser) {
        let length = &mut self.lengths[server as usize];
        *length += 1;
        chooser.changed(server, *length - 1, *length);
    }

    /// A server has one copy less.
    pub fn less(&mut self, server: u32, chooser: &mut dyn Chooser) {
        let length = &mut self.lengths[server as usize];
        *length -= 1;
        chooser.changed(server, *length + 1, *length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::{Slow, Tier};
    use model::Nanos;
    use model::law::Law;

    fn leaf(slow: Option<Slow>) -> Leaf {
        let point = |ms: u64, p: f64| {
            format!("{{\"latency_ns\": {}, \"proportion\": {p}}}", ms * 1_000_000)
        };
        let ccdf = [point(1, 0.9), point(2, 0.5), point(10, 0.1), point(100, 0.01)].join(",");
        let json = format!("{{\"ccdf\": [{ccdf}], \"latency_ns\": {{\"max\": 200000000}}}}");
        let measured = Measured::read(&json, "test", Nanos(1)).expect("a document");
        let tier = Tier { servers: 1, workers: 1, services: Law::Fixed, service_time: Nanos(1) };
        Leaf {
            tier,
            replicas: 1,
            same_work: false,
            slow,
            measured: measured.into_iter().next(),
            machine: None,
        }
    }

    /// Episodes change when slow answers come, not how many there are.
    #[test]
    fn episodes_keep_the_measured_distribution() {
        let slow = Slow { share: 0.1, length: Nanos::from_millis(50), factor: 1.0 };
        for slow in [None, Some(slow)] {
            let mut leaves = Leaves::new(&leaf(slow), 1, 2);
            let mut beyond = [0u32; 2];
            let mut after_slow = (0u32, 0u32);
            let mut last_slow = false;
            for _ in 0..200_000 {
                if let Some(episodes) = &mut leaves.episodes {
                    // Turn as often as episodes of 20 draws would.
                    let chance = if episodes.is_slow(0) { 20 } else { 180 };
                    if leaves.random.next_u64().is_multiple_of(chance) {
                        episodes.turn(0);
                    }
                }
                let latency = leaves.latency(0);
                beyond[0] += u32::from(latency > 2_000_000);
                beyond[1] += u32::from(latency > 10_000_000);
                after_slow.1 += u32::from(last_slow);
                after_slow.0 += u32::from(last_slow && latency > 10_000_000);
                last_slow = latency > 10_000_000;
            }
            assert!(beyond[0].abs_diff(100_000) < 2_500, "{beyond:?}");
            assert!(beyond[1].abs_diff(20_000) < 2_500, "{beyond:?}");
            let again = f64::from(after_slow.0) / f64::from(after_slow.1);
            assert_eq!(again > 0.9, slow.is_some(), "a slow answer after a slow one: {again}");
        }
    }
}
