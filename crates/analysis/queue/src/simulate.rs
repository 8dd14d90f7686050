//! Simulation of drawn requests, a block at a time.

use model::arrivals::{ArrivalTimes, round};
use model::law::{Law, Sampler};
use model::{Failure, Nanos, Watch};

use crate::engine::{Drive, Engine, Request};
use crate::record::LatencyRecorder;

/// Requests drawn at once: few enough to stay in the first cache beside a histogram.
const BLOCK: usize = 512;
/// Requests between two looks at the watch, some milliseconds: whole blocks.
const REQUESTS_A_LOOK: u64 = 2_048 * BLOCK as u64;

/// Service times of a law, in blocks.
pub(crate) struct Services {
    /// `None`: all alike, and every block holds them already.
    random: Option<Sampler>,
    mean_ns: f64,
    scratch: Vec<f64>,
    block: Vec<u64>,
}

impl Services {
    /// Services with this mean.
    pub fn new(law: &Law, mean: Nanos, seed: u64) -> Services {
        Services {
            random: (*law != Law::Fixed).then(|| Sampler::new(law, seed)),
            mean_ns: mean.0 as f64,
            scratch: vec![0.0; BLOCK],
            block: vec![mean.0; BLOCK],
        }
    }

    fn next_block(&mut self) -> &[u64] {
        if let Some(random) = &mut self.random {
            random.fill(&mut self.scratch);
            for (service, drawn) in self.block.iter_mut().zip(&self.scratch) {
                *service = round(drawn * self.mean_ns).max(1);
            }
        }
        &self.block
    }
}

/// Arrivals and services on their way through an engine into a recorder.
pub(crate) struct Stream<'a> {
    pub arrivals: ArrivalTimes,
    pub services: Services,
    pub recorder: LatencyRecorder,
    /// Requests to expect in all, for the progress.
    pub expected: u64,
    pub watch: &'a dyn Watch,
}

impl Drive for Stream<'_> {
    type Outcome = Result<LatencyRecorder, Failure>;

    fn drive(mut self, mut engine: impl Engine) -> Result<LatencyRecorder, Failure> {
        let mut arrivals = vec![0; BLOCK];
        let mut scratch = vec![0.0; BLOCK];
        let mut number = 0;
        while !self.recorder.is_full() {
            self.arrivals.fill(&mut arrivals, &mut scratch);
            for (&arrival, &service) in arrivals.iter().zip(self.services.next_block()) {
                engine.arrive(Request { number, arrival, service }, &mut self.recorder);
                number += 1;
            }
            if number.is_multiple_of(REQUESTS_A_LOOK) {
                self.look(number)?;
            }
        }
        Ok(self.recorder)
    }
}

impl Stream<'_> {
    #[cold]
    fn look(&self, number: u64) -> Result<(), Failure> {
        if self.watch.cancelled() {
            return Err(Failure::Interrupted);
        }
        self.watch.progress((number as f64 / self.expected as f64).min(1.0));
        Ok(())
    }
}
