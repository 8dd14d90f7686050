//! The requests of a run, drawn before it starts: the same on every arm, under every policy.

use crate::Nanos;
use crate::law::Sampler;
use crate::scenario::Service;

/// A request before it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// When it should be sent.
    pub intended: Nanos,
    /// The CPU time that it asks for, at least 1 ns.
    pub service: Nanos,
}

/// What a generator is for. Each purpose has its own, so that a change of the service law leaves the arrivals alone.
#[derive(Clone, Copy)]
enum Purpose {
    Arrivals = 1,
    Services = 2,
}

/// All requests of a service with an intended time before `until`, in order of it.
///
/// They depend on the service, the machine's size (for a load given as utilisation), the seed and the
/// program's place in the scenario, and on nothing else; a longer run begins with the requests of a shorter one.
pub fn draw(
    service: &Service,
    cpus: u32,
    seed: u64,
    program_index: usize,
    until: Nanos,
) -> Vec<Planned> {
    let sampler = |law, purpose| Sampler::new(law, generator_seed(seed, program_index, purpose));
    let mut gaps = sampler(&service.arrival_law, Purpose::Arrivals);
    let mut services = sampler(&service.service_law, Purpose::Services);
    let gap_ns = 1e9 / service.rate_per_s(cpus);
    let service_ns = service.service_time.0 as f64;
    let expected = until.0 as f64 / gap_ns;
    let mut plan = Vec::with_capacity((expected + 5.0 * expected.sqrt()) as usize + 1);
    // The moment stays a float and each is rounded from it: whole gaps would add up their rounding, and a
    // truncated one raises the load by 3e-5.
    let mut at_ns = 0.0;
    loop {
        at_ns += gaps.next() * gap_ns;
        let intended = Nanos(at_ns.round() as u64);
        if intended >= until {
            return plan;
        }
        let service = Nanos(((services.next() * service_ns).round() as u64).max(1));
        plan.push(Planned { intended, service });
    }
}

/// The seed of one generator: what tells it apart goes one by one through SplitMix64's mixer.
fn generator_seed(seed: u64, program_index: usize, purpose: Purpose) -> u64 {
    [seed, program_index as u64, purpose as u64]
        .into_iter()
        .fold(0, |state, part| mix(state ^ part))
}

/// A step of SplitMix64 (Steele, Lea, Flood 2014): a bijection whose output bits all depend on all input bits.
fn mix(state: u64) -> u64 {
    let z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::Law;
    use crate::scenario::{Architecture, Arrivals};

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
    fn seeds_programs_and_purposes_have_their_own_numbers() {
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
}
