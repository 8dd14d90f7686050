//! The machines that serve requests: one a family of disciplines.
//!
//! All take requests in the order of arrival and tell each latency once, as soon as it is settled, in the
//! order in which they settle. A request that arrives at the very moment a worker becomes free finds it free,
//! behind those that waited.

mod fifo;
mod order;
mod sharing;
mod split;
mod workers;

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::discipline::Discipline;
use fifo::Fifo;
use order::{Ordered, Pick};
use sharing::Sharing;
use split::{Split, Turn};
pub(crate) use workers::Tree;
use workers::{Ring, Workers};

/// A request; times in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    /// Its place in the order of arrival.
    pub number: u64,
    /// When it comes; never before the one ahead of it.
    pub arrival: u64,
    /// The time one worker needs for it.
    pub service: u64,
}

/// Where latencies go.
pub(crate) trait Sink {
    /// The latency of a request, by its number.
    fn take(&mut self, number: u64, latency: u64);
}

/// Something that serves requests.
pub(crate) trait Engine {
    /// A request arrives.
    fn arrive(&mut self, request: Request, sink: &mut impl Sink);

    /// No more will come: serve all that wait.
    fn drain(self, sink: &mut impl Sink);
}

/// What to do with an engine of any type.
pub(crate) trait Drive {
    /// What comes of it.
    type Outcome;

    /// Does it.
    fn drive(self, engine: impl Engine) -> Self::Outcome;
}

/// A queue to build an engine for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// At least 1.
    pub workers: u32,
    /// The next request.
    pub discipline: Discipline,
    /// Whether all services take as long.
    pub alike: bool,
    /// Of the choices of the random disciplines.
    pub seed: u64,
}

impl Plan {
    /// Builds the engine that fits and hands it over.
    pub fn drive<D: Drive>(self, driver: D) -> D::Outcome {
        match self.discipline {
            Discipline::RandomWorker => {
                driver.drive(Split::new(self.workers, Turn::Random(self.random())))
            }
            Discipline::RoundRobin => driver.drive(Split::new(self.workers, Turn::InTurn(0))),
            Discipline::ProcessorSharing => driver.drive(Sharing::new(self.workers)),
            _ if self.alike => self.drive_shared(Ring::new(self.workers), driver),
            _ => self.drive_shared(Tree::new(self.workers), driver),
        }
    }

    /// The disciplines with one queue.
    fn drive_shared<D: Drive>(self, workers: impl Workers, driver: D) -> D::Outcome {
        match self.discipline {
            Discipline::Lifo => driver.drive(Ordered::new(workers, Pick::Last)),
            Discipline::RandomRequest => {
                driver.drive(Ordered::new(workers, Pick::Any(self.random())))
            }
            _ => driver.drive(Fifo(workers)),
        }
    }

    fn random(self) -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(self.seed)
    }
}
