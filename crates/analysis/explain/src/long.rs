//! Requests that are far longer than the others, and what waits behind them.

use model::Nanos;
use model::trace::Request;
use queue::{Discipline, ideal};

use crate::split::Explained;
use crate::verdict::MOST_OF_TIME;

/// So many times the median is far longer: of exponential service times it is one in a million.
const FAR: u64 = 20;

/// The requests whose service times are far longer than the others', where most of the slowest requests' time
/// is theirs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Long {
    /// How many they are.
    pub requests: usize,
    /// The longest of them.
    pub longest: u32,
    /// The service time of that.
    pub service: Nanos,
    /// What the slowest requests' ideal latencies have of them and not without them, as a part of these
    /// requests' time.
    pub share: f64,
}

impl Long {
    /// Those of a service with so many workers.
    pub(crate) fn of<'a>(
        requests: &[Request],
        workers: u32,
        slowest: impl Iterator<Item = &'a Explained> + Clone,
    ) -> Option<Long> {
        let least = median(requests).filter(|median| *median > 0)?.saturating_mul(FAR);
        let is_long = |one: &Request| !one.is_lost() && one.service.0 >= least;
        let long = (0..).zip(requests).filter(|(_, one)| is_long(one));
        let (longest, Request { service, .. }) = long.clone().max_by_key(|one| one.1.service)?;
        let spared = |one: &Request| if is_long(one) { Nanos::ZERO } else { one.service };
        let asked: Vec<_> = requests.iter().map(|one| (one.intended, spared(one))).collect();
        let without = ideal(&asked, workers, Discipline::Fifo, 0);
        let due = |one: &Explained| {
            let of = |ideal: Nanos| ideal.min(one.latency);
            of(one.ideal).saturating_sub(of(without[one.request as usize])).0
        };
        let latency: u64 = slowest.clone().map(|one| one.latency.0).sum();
        let share = slowest.map(due).sum::<u64>() as f64 / latency.max(1) as f64;
        let told = Long { requests: long.count(), longest, service: *service, share };
        (share >= MOST_OF_TIME).then_some(told)
    }
}

/// The median of service times.
fn median(requests: &[Request]) -> Option<u64> {
    let mut services: Vec<u64> = requests.iter().map(|one| one.service.0).collect();
    let middle = services.len() / 2;
    (!services.is_empty()).then(|| *services.select_nth_unstable(middle).1)
}
