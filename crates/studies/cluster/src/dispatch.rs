//! Which server of a shard a sub-request goes to: a rule a file.
//!
//! Rules that look at queues know how many copies each server has, waiting, served and on their way to it, at
//! the moment of the decision.

mod batch_sampling;
mod central;
mod choices;
mod random;
mod round_robin;
mod shortest;

use std::fmt;
use std::str::FromStr;

use model::{Failure, PolicySpec};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::words::{Words, refused};
pub(crate) use batch_sampling::sample;
pub(crate) use central::Central;

/// How sub-requests find their server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dispatch {
    /// Any server of the shard with equal probability.
    Random,
    /// One after the other.
    RoundRobin,
    /// The shortest of so many drawn at random (Mitzenmacher 1996).
    Choices(u32),
    /// The shortest of all.
    Shortest,
    /// Sparrow's: so many reservations a sub-request, each asks for work when its turn comes (Ousterhout et
    /// al. 2013).
    BatchSampling(u32),
    /// One queue a shard, from which its workers are fed.
    Central,
}

const FORMS: &str = "random, round-robin, choices:d=D, shortest, batch-sampling:d=D, central";

impl FromStr for Dispatch {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Dispatch, Failure> {
        let mut words = Words::read("dispatch", text, FORMS)?;
        let rule = match words.name() {
            "random" => Dispatch::Random,
            "round-robin" => Dispatch::RoundRobin,
            "choices" => Dispatch::Choices(words.count("d", 2, 1..=64)?),
            "shortest" => Dispatch::Shortest,
            "batch-sampling" => Dispatch::BatchSampling(words.count("d", 2, 1..=64)?),
            "central" => Dispatch::Central,
            _ => return Err(refused("dispatch", text, FORMS)),
        };
        words.done(rule)
    }
}

impl fmt::Display for Dispatch {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let spec = |name: &str, d: &u32| {
            let options = [("d".to_string(), d.to_string())].into();
            PolicySpec { name: name.to_string(), options }
        };
        match self {
            Dispatch::Random => f.pad("random"),
            Dispatch::RoundRobin => f.pad("round-robin"),
            Dispatch::Choices(d) => f.pad(&spec("choices", d).to_string()),
            Dispatch::Shortest => f.pad("shortest"),
            Dispatch::BatchSampling(d) => f.pad(&spec("batch-sampling", d).to_string()),
            Dispatch::Central => f.pad("central"),
        }
    }
}

/// What a rule may look at: one shard's servers, numbered from `first` on.
pub(crate) struct Shard<'a> {
    pub number: u32,
    pub first: u32,
    /// The copies at each server of the shard.
    pub lengths: &'a [u32],
    /// Servers that have a copy of the sub-request already: fewer than there are.
    pub taken: &'a [u32],
}

impl Shard<'_> {
    /// A random server that has no copy yet.
    pub fn any(&self, random: &mut Xoshiro256PlusPlus) -> u32 {
        loop {
            let server = self.first + below(self.lengths.len() as u32, random);
            if !self.taken.contains(&server) {
                return server;
            }
        }
    }

    /// The copies at a server.
    pub fn length(&self, server: u32) -> u32 {
        self.lengths[(server - self.first) as usize]
    }
}

/// A rule at work.
pub(crate) trait Chooser {
    /// The server that the next copy goes to, none of the taken ones.
    fn choose(&mut self, shard: &Shard, random: &mut Xoshiro256PlusPlus) -> u32;

    /// A server's number of copies changed by one, from `from` to `to`.
    fn changed(&mut self, _server: u32, _from: u32, _to: u32) {}
}

impl Dispatch {
    /// The rule for so many servers in shards of `replicas`. The two that bind late choose no server by
    /// themselves.
    pub(crate) fn chooser(self, servers: u32, replicas: u32) -> Box<dyn Chooser> {
        match self {
            Dispatch::RoundRobin => Box::new(round_robin::RoundRobin::new(servers / replicas)),
            Dispatch::Choices(d) => Box::new(choices::Choices(d)),
            Dispatch::Shortest => Box::new(shortest::Shortest::new(servers, replicas)),
            Dispatch::Random | Dispatch::BatchSampling(_) | Dispatch::Central => {
                Box::new(random::Random)
            }
        }
    }
}

/// A server's, worker's or shard's number below `end`.
pub(crate) fn below(end: u32, random: &mut Xoshiro256PlusPlus) -> u32 {
    model::seed::below(end as usize, random) as u32
}
