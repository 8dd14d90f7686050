//! The requests of a run, drawn before it starts: the same on every arm, under every policy.

use std::collections::VecDeque;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::Nanos;
use crate::arrivals::ArrivalTimes;
use crate::law::Sampler;
use crate::scenario::{Architecture, Service};
use crate::seed::derive;

/// A request before it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// When it should be sent.
    pub intended: Nanos,
    /// The CPU time that it asks for, at least 1 ns.
    pub service: Nanos,
    /// A random number for [`IdleConnections::take`].
    pub random: u32,
}

/// What a generator is for. Each purpose has its own, so that a change of the service law leaves the arrivals
/// alone.
#[derive(Clone, Copy)]
enum Stream {
    Arrivals = 1,
    Services = 2,
    Connections = 3,
}

/// All requests of a service with an intended time before `until`, in order of it.
///
/// They depend on the service, the machine's size (for a load given as utilisation), the seed and the
/// program's place in the scenario, and on nothing else; a longer run begins with the requests of a shorter
/// one.
pub fn draw(
    service: &Service,
    cpus: u32,
    seed: u64,
    program_index: usize,
    until: Nanos,
) -> Vec<Planned> {
    let own = derive(seed, &[program_index as u64, Stream::Arrivals as u64]);
    let arrivals = ArrivalTimes::new(&service.arrival_law, service.rate_per_s(cpus), own);
    draw_at(service, seed, program_index, arrivals.take_while(|intended| *intended < until))
}

/// What the requests of these moments ask of a service: of one behind another, those of its client.
pub fn draw_at(
    service: &Service,
    seed: u64,
    program_index: usize,
    moments: impl Iterator<Item = Nanos>,
) -> Vec<Planned> {
    let seed = |purpose| derive(seed, &[program_index as u64, purpose as u64]);
    let mut services = Sampler::new(&service.service_law, seed(Stream::Services));
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed(Stream::Connections));
    let service_ns = service.service_time.0 as f64;
    let planned = |intended| Planned {
        intended,
        service: Nanos(((services.next() * service_ns).round() as u64).max(1)),
        random: rng.random(),
    };
    moments.map(planned).collect()
}

/// The connections of a service's client without a request, and the rule by which a request takes one of
/// them.
#[derive(Clone, Debug)]
pub struct IdleConnections {
    /// One queue for each worker that owns connections; one for all where every thread serves all.
    idle: Vec<VecDeque<u32>>,
}

impl IdleConnections {
    /// All connections of a service, none of which has carried a request yet.
    ///
    /// A request takes the one that has been idle longest: any other choice would make a queue a connection,
    /// and with it inversions of the client's own. With statically partitioned connections its random number
    /// names the worker first. The longest idle of all would hand requests to the workers in turn, a balance
    /// that many independent clients do not give. So each worker sees a Poisson stream, and has the tail of a
    /// server with one CPU (Tales section 4.3).
    pub fn new(service: &Service) -> IdleConnections {
        let owners = match service.architecture {
            Architecture::Partitioned { workers } => workers,
            Architecture::ThreadPerConnection | Architecture::SharedQueue { .. } => 1,
        };
        let mut all = IdleConnections { idle: vec![VecDeque::new(); owners as usize] };
        (0..service.connections).for_each(|connection| all.give_back(connection));
        all
    }

    /// The connection for a request with this lot: of its worker, else of the next one that has one idle;
    /// `None` where all are busy.
    pub fn take(&mut self, random: u32) -> Option<u32> {
        // Most services have one queue, and a simulator asks too often to divide by 1.
        if let [all] = self.idle.as_mut_slice() {
            return all.pop_front();
        }
        let first = random as usize % self.idle.len();
        let (before, from_first) = self.idle.split_at_mut(first);
        from_first.iter_mut().chain(before).find_map(VecDeque::pop_front)
    }

    /// A connection whose response has come.
    pub fn give_back(&mut self, connection: u32) {
        match self.idle.as_mut_slice() {
            [all] => all.push_back(connection),
            owners => owners[connection as usize % owners.len()].push_back(connection),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::Law;
    use crate::scenario::Arrivals;

    fn service(arrival_law: Law, service_law: Law) -> Service {
        Service {
            architecture: Architecture::ThreadPerConnection,
            connections: 64,
            request_bytes: 128,
            response_bytes: 128,
            service_law,
            service_time: Nanos::from_micros(500),
            arrival_law,
            arrivals: Arrivals::Utilisation(0.8),
        }
    }

    #[test]
    fn fixed_gaps_do_not_drift() {
        // 3 CPUs at 80% of 500 us: a gap of 208,333.33 ns, which no whole number is.
        let plan = draw(&service(Law::Fixed, Law::Fixed), 3, 1, 0, Nanos::from_secs(10));
        assert_eq!(plan.len(), 47_999);
        let (last, n) = (plan.last().unwrap(), plan.len() as u64);
        assert_eq!(last.intended, Nanos((n * 625_000).div_ceil(3)));
        assert!(plan.iter().all(|request| request.service == Nanos::from_micros(500)));
    }

    #[test]
    fn a_poisson_plan_has_the_load_that_was_asked() {
        let plan =
            draw(&service(Law::Exponential, Law::Exponential), 1, 7, 0, Nanos::from_secs(600));
        let n = plan.len() as f64;
        assert!((n - 960_000.0).abs() < 5.0 * 960_000f64.sqrt(), "{n} requests");
        let mean_ns = plan.iter().map(|request| request.service.0 as f64).sum::<f64>() / n;
        assert!((mean_ns / 500_000.0 - 1.0).abs() < 5.0 / n.sqrt(), "mean {mean_ns} ns");
        assert!(plan.is_sorted_by_key(|request| request.intended));
    }

    #[test]
    fn a_longer_run_begins_with_the_shorter_one() {
        let service = service(Law::Exponential, Law::Exponential);
        let short = draw(&service, 1, 3, 2, Nanos::from_secs(1));
        let long = draw(&service, 1, 3, 2, Nanos::from_secs(2));
        assert!(!short.is_empty() && long.starts_with(&short));
    }

    #[test]
    fn seeds_programs_and_streams_have_their_own_numbers() {
        let poisson = service(Law::Exponential, Law::Exponential);
        let until = Nanos::from_secs(1);
        let plan = draw(&poisson, 1, 1, 0, until);
        assert_eq!(plan, draw(&poisson, 1, 1, 0, until));
        assert_ne!(plan, draw(&poisson, 1, 2, 0, until));
        assert_ne!(plan, draw(&poisson, 1, 1, 1, until));
        let steady = draw(&service(Law::Exponential, Law::Fixed), 1, 1, 0, until);
        let times = |plan: &[Planned]| plan.iter().map(|p| p.intended).collect::<Vec<_>>();
        assert_eq!(times(&plan), times(&steady), "the service law must not move arrivals");
    }

    #[test]
    fn requests_take_the_longest_idle_connection() {
        let mut idle = IdleConnections::new(&service(Law::Fixed, Law::Fixed));
        assert_eq!((0..3).map(|_| idle.take(17).unwrap()).collect::<Vec<_>>(), [0, 1, 2]);
        idle.give_back(1);
        let rest: Vec<u32> = std::iter::from_fn(|| idle.take(17)).collect();
        assert_eq!(rest, (3..64).chain([1]).collect::<Vec<_>>());
    }

    #[test]
    fn a_random_number_picks_a_worker_and_skips_busy_ones() {
        let architecture = Architecture::Partitioned { workers: 4 };
        let four = Service { architecture, connections: 5, ..service(Law::Fixed, Law::Fixed) };
        let mut idle = IdleConnections::new(&four);
        let taken: Vec<u32> = (0..5).map(|_| idle.take(6).unwrap()).collect();
        assert_eq!(taken, [2, 3, 0, 4, 1]);
        assert_eq!(idle.take(6), None);
    }

    /// Squared coefficient of variation of the gaps that worker 0 of 4 sees.
    fn squared_cv_of_a_worker(architecture: Architecture) -> f64 {
        let poisson = Service { architecture, ..service(Law::Exponential, Law::Fixed) };
        let mut idle = IdleConnections::new(&poisson);
        let mut moments = Vec::new();
        for request in draw(&poisson, 1, 1, 0, Nanos::from_secs(100)) {
            let connection = idle.take(request.random).unwrap();
            idle.give_back(connection);
            if connection.is_multiple_of(4) {
                moments.push(request.intended.0 as f64);
            }
        }
        let gaps: Vec<f64> = moments.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        gaps.iter().map(|gap| (gap / mean - 1.0).powi(2)).sum::<f64>() / gaps.len() as f64
    }

    #[test]
    fn a_partitioned_worker_sees_a_poisson_stream() {
        let by_lot = squared_cv_of_a_worker(Architecture::Partitioned { workers: 4 });
        assert!((by_lot - 1.0).abs() < 0.05, "{by_lot}");
        // The control: the longest idle takes turns, and a worker sees every fourth arrival.
        let in_turn = squared_cv_of_a_worker(Architecture::ThreadPerConnection);
        assert!((in_turn - 0.25).abs() < 0.05, "{in_turn}");
    }
}
