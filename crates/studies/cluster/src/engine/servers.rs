//! Servers of leaves and roots: workers of queues, latencies as measured, whole machines.
//!
//! Waiting for a worker is left to the queues: [`super::leaves`], [`super::roots`].

use model::{Failure, Nanos};

use super::clock::Clock;
use super::machines::Machines;
use super::service_times::ServiceTimes;
use super::slow::Episodes;
use super::work::Timer;
use crate::definition::Tier;

/// The servers of a tier. `K` is the key of what they serve; the clock brings it back as a [`Timer`] where no
/// worker serves it.
pub(super) struct Servers<K> {
    queues: bool,
    /// What each worker of a queue serves, and until when.
    serving: Vec<(K, u64)>,
    machines: Option<Machines<K>>,
    episodes: Option<Episodes>,
    /// How many they are.
    pub count: u32,
    /// Workers of each.
    workers: u32,
    /// The first of their slots in the clock.
    first_slot: u32,
}

/// Seeds of what happens at servers by itself.
pub(super) struct Seeds {
    pub episodes: u64,
    pub machines: u64,
}

impl<K: Copy + Default + Into<Timer>> Servers<K> {
    /// Idle ones. [`Failure::Input`] where a machine's policy is unknown.
    pub fn new(tier: &Tier, first_slot: u32, seeds: &Seeds) -> Result<Servers<K>, Failure> {
        let Tier { servers, workers, .. } = *tier;
        let queues = tier.is_queue();
        let machines = tier.machine.as_ref();
        let machines = machines.map(|machine| Machines::new(machine, servers, seeds.machines));
        let places = if queues { servers * workers } else { 0 };
        Ok(Servers {
            queues,
            serving: vec![(K::default(), 0); places as usize],
            machines: machines.transpose()?,
            episodes: tier.slow.map(|slow| Episodes::new(slow, servers, seeds.episodes)),
            count: servers,
            workers,
            first_slot,
        })
    }

    /// Whether each has workers and a queue of this simulation before them.
    pub fn are_queues(&self) -> bool {
        self.queues
    }

    /// They begin: machines with the programs beside their service, episodes with their first end.
    pub fn begin(&mut self, clock: &mut Clock) -> Result<(), Failure> {
        for server in 0..self.count {
            if self.machines.is_some() {
                self.step(server, clock)?;
            }
            if let Some(episodes) = &mut self.episodes {
                clock.remind(episodes.stay(server), Timer::Episode(self.first_slot + server));
            }
        }
        Ok(())
    }

    /// How long a server takes for work as it is now, or for a service time of its own.
    pub fn takes(&self, server: u32, work: Option<u64>, service_times: &mut ServiceTimes) -> u64 {
        let Some(episodes) = &self.episodes else {
            return work.unwrap_or_else(|| service_times.draw(0.0..1.0));
        };
        let work = work.unwrap_or_else(|| service_times.draw(episodes.part(server)));
        match service_times {
            ServiceTimes::Law { .. } => episodes.stretched(server, work),
            ServiceTimes::Measured { .. } => work,
        }
    }

    /// A worker of a queue serves something for so long.
    pub fn serve(&mut self, worker: u32, key: K, takes_ns: u64, clock: &mut Clock) {
        let until = clock.now + takes_ns;
        self.serving[worker as usize] = (key, until);
        clock.serve(self.first_slot + worker, Nanos(until));
    }

    /// What a worker of a queue serves.
    pub fn served_by(&self, worker: u32) -> K {
        self.serving[worker as usize].0
    }

    /// A worker of a queue drops what it serves.
    pub fn abort(&mut self, worker: u32, clock: &mut Clock) {
        self.serving[worker as usize].1 = 0;
        clock.serve(self.first_slot + worker, Nanos::NEVER);
    }

    /// Something reaches a server that is no queue and takes so long; what a machine has answered by now.
    pub fn hand(&mut self, server: u32, key: K, takes_ns: u64, clock: &mut Clock) -> Answered<K> {
        let Some(machines) = &mut self.machines else {
            clock.remind(clock.now + takes_ns, key.into());
            return Ok(Vec::new());
        };
        machines.send(server, Nanos(clock.now), key, Nanos(takes_ns))?;
        self.step(server, clock)
    }

    /// A slot of theirs in the clock is due: what machines have answered; `None` where it is a worker that
    /// has served.
    pub fn due(&mut self, server: u32, clock: &mut Clock) -> Option<Answered<K>> {
        (!self.queues).then(|| self.step(server, clock))
    }

    fn step(&mut self, server: u32, clock: &mut Clock) -> Answered<K> {
        let Some(machines) = &mut self.machines else { return Ok(Vec::new()) };
        let (answered, next) = machines.step(server, Nanos(clock.now))?;
        clock.serve(self.first_slot + server, next);
        Ok(answered)
    }

    /// A server becomes slow or quick: what its workers have under way takes longer or shorter from here on.
    pub fn turn(&mut self, server: u32, clock: &mut Clock) {
        let Some(episodes) = &mut self.episodes else { return };
        episodes.turn(server);
        let stay = clock.now + episodes.stay(server);
        clock.remind(stay, Timer::Episode(self.first_slot + server));
        if !self.queues {
            return;
        }
        for worker in server * self.workers..(server + 1) * self.workers {
            let (_, until) = &mut self.serving[worker as usize];
            if *until > clock.now {
                *until = clock.now + episodes.left(server, *until - clock.now);
                clock.serve(self.first_slot + worker, Nanos(*until));
            }
        }
    }
}

/// What machines have answered, or why one cannot go on.
pub(super) type Answered<K> = Result<Vec<K>, Failure>;

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::definition::{Slow, Work};
    use crate::engine::work::CopyKey;
    use crate::measured::Measured;

    fn tier(slow: Option<Slow>) -> Tier {
        let point = |ms: u64, p: f64| {
            format!("{{\"latency_ns\": {}, \"proportion\": {p}}}", ms * 1_000_000)
        };
        let ccdf = [point(1, 0.9), point(2, 0.5), point(10, 0.1), point(100, 0.01)].join(",");
        let json = format!("{{\"ccdf\": [{ccdf}], \"latency_ns\": {{\"max\": 200000000}}}}");
        let measured = Measured::read(&json, "test", None).expect("a document").remove(0);
        Tier { servers: 1, workers: 1, work: Work::Measured(measured), machine: None, slow }
    }

    /// Episodes change when slow answers come, not how many there are.
    #[test]
    fn episodes_keep_the_measured_distribution() {
        let slow = Slow { share: 0.1, length: Nanos::from_millis(50), factor: 1.0 };
        for slow in [None, Some(slow)] {
            let tier = tier(slow);
            let mut service_times = ServiceTimes::new(&tier.work, 1);
            let mut chances = Xoshiro256PlusPlus::seed_from_u64(3);
            let seeds = Seeds { episodes: 2, machines: 2 };
            let mut servers = Servers::<CopyKey>::new(&tier, 0, &seeds).expect("no machines");
            let mut beyond = [0u32; 2];
            let mut after_slow = (0u32, 0u32);
            let mut last_slow = false;
            for _ in 0..200_000 {
                if let Some(episodes) = &mut servers.episodes {
                    // Turn as often as episodes of 20 draws would.
                    let chance = if episodes.is_slow(0) { 20 } else { 180 };
                    if chances.next_u64().is_multiple_of(chance) {
                        episodes.turn(0);
                    }
                }
                let latency = servers.takes(0, None, &mut service_times);
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
