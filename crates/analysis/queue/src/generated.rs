//! The ideal of requests drawn from laws, simulated: how late they are where nothing but their queue delays
//! them ("Tales of the Tail", section 2).

use model::arrivals::ArrivalTimes;
use model::law::Law;
use model::scenario::Arrivals;
use model::{Failure, Nanos, Watch, seed};
use stats::{CcdfPoint, Latency};

use crate::discipline::Discipline;
use crate::engine::{Plan, Tree};
use crate::exact::{self, Exact};
use crate::record::{LatencyRecorder, batches};
use crate::simulate::{Services, Stream};
use crate::summary::Summary;

/// Requests that an idle queue needs to forget that it was idle, at no load; in proportion to 1 / (1 -
/// utilisation).
const WARM_UP: f64 = 20_000.0;
/// Requests of a warm-up at most: nothing is shown before it ends.
const LONGEST_WARM_UP: u64 = 1_000_000_000;

/// An A/S/c queue (Tales section 2) to simulate.
#[derive(Clone, Debug, PartialEq)]
pub struct Ideal {
    /// The law of gaps between arrivals.
    pub arrivals: Law,
    /// How often they come. The utilisation must stay below 1.
    pub load: Arrivals,
    /// The law of service times.
    pub services: Law,
    /// The mean service time: at least [`Ideal::LEAST_SERVICE`].
    pub service_time: Nanos,
    /// Workers, 1 to 4,096.
    pub workers: u32,
    /// The next request.
    pub discipline: Discipline,
    /// Requests to measure, at least 1. The warm-up, 20,000 / (1 - utilisation) requests, comes before them.
    pub requests: u64,
    /// Of everything drawn.
    pub seed: u64,
}

/// What an [`Ideal`] does.
#[derive(Clone, Debug, PartialEq)]
pub struct IdealResult {
    /// Requests that were measured.
    pub requests: u64,
    /// Requests that were simulated, those of the warm-up included.
    pub simulated: u64,
    /// Their latency.
    pub latency: Latency,
    /// What is known in closed form.
    pub exact: Option<Exact>,
    /// The tail as a curve, fastest first.
    pub ccdf: Vec<CcdfPoint>,
}

/// The generators of a run.
#[derive(Clone, Copy)]
enum RngStream {
    Arrivals = 1,
    Services = 2,
    Choices = 3,
}

impl Ideal {
    /// The shortest mean service time, as all times are whole nanoseconds.
    pub const LEAST_SERVICE: Nanos = Nanos(100);

    /// Requests a second.
    pub fn rate_per_s(&self) -> f64 {
        match self.load {
            Arrivals::Rate(rate) => rate,
            Arrivals::Utilisation(share) => {
                share * f64::from(self.workers) / self.service_time.as_secs_f64()
            }
        }
    }

    /// The share of the workers' time that the requests take.
    pub fn utilisation(&self) -> f64 {
        self.rate_per_s() * self.service_time.as_secs_f64() / f64::from(self.workers)
    }

    /// [`Failure::Input`] where a figure is outside its range.
    pub fn validate(&self) -> Result<(), Failure> {
        self.arrivals.validate()?;
        self.services.validate()?;
        let utilisation = self.utilisation();
        let wrong = if !(1..=4_096).contains(&self.workers) {
            format!("{} workers: expected 1 to 4096", self.workers)
        } else if self.service_time < Ideal::LEAST_SERVICE {
            format!(
                "service time {}: expected at least {}",
                self.service_time,
                Ideal::LEAST_SERVICE
            )
        } else if self.requests == 0 {
            "0 requests: expected at least 1".to_string()
        } else if !(utilisation > 0.0 && utilisation < 1.0) {
            format!(
                "utilisation {utilisation}: expected above 0 and below 1, where the queue does not grow for ever; \
                 lower the rate or the service time, or add workers"
            )
        } else if self.warm_up() > LONGEST_WARM_UP {
            format!(
                "utilisation {utilisation}: it takes {} requests of warm-up before the {} that count; expected \
                 {LONGEST_WARM_UP} at most: lower the rate or the service time, or add workers",
                self.warm_up(),
                self.requests
            )
        } else if !self.fits() {
            "the run would last too long to count in nanoseconds: ask for fewer requests or a higher rate".to_string()
        } else {
            return Ok(());
        };
        Err(Failure::Input(format!("ideal: {wrong}")))
    }

    /// Simulates it. [`Failure::Input`] as [`Ideal::validate`], [`Failure::Interrupted`] when the watch says
    /// so.
    pub fn run(&self, watch: &dyn Watch) -> Result<IdealResult, Failure> {
        self.validate()?;
        let batches = batches(self.requests);
        let recorder =
            LatencyRecorder::new(self.least_latency(), self.warm_up(), self.requests, batches);
        let summary = Summary::new(self.plan().drive(self.stream(recorder, watch))?);
        Ok(IdealResult {
            requests: self.requests,
            simulated: self.simulated(),
            latency: summary.latency(),
            exact: exact::of(self),
            ccdf: summary.ccdf(),
        })
    }

    fn plan(&self) -> Plan {
        Plan {
            workers: self.workers,
            discipline: self.discipline,
            alike: self.services == Law::Fixed,
            seed: self.seed_of(RngStream::Choices),
        }
    }

    fn stream<'a>(&self, recorder: LatencyRecorder, watch: &'a dyn Watch) -> Stream<'a> {
        let arrivals = self.seed_of(RngStream::Arrivals);
        let services = self.seed_of(RngStream::Services);
        Stream {
            arrivals: ArrivalTimes::new(&self.arrivals, self.rate_per_s(), arrivals),
            services: Services::new(&self.services, self.service_time, services),
            recorder,
            expected: self.simulated(),
            watch,
        }
    }

    fn warm_up(&self) -> u64 {
        (WARM_UP / (1.0 - self.utilisation())) as u64
    }

    fn simulated(&self) -> u64 {
        self.warm_up().saturating_add(self.requests)
    }

    /// No request is faster than its service.
    fn least_latency(&self) -> u64 {
        if self.services == Law::Fixed { self.service_time.0 } else { 0 }
    }

    /// Whether the last moment of the run, with room for chance, is one that the engines can tell.
    fn fits(&self) -> bool {
        let span_ns = self.simulated() as f64 / self.rate_per_s() * 1e9;
        span_ns * 8.0 < Tree::horizon(self.workers) as f64
    }

    fn seed_of(&self, stream: RngStream) -> u64 {
        seed::derive(self.seed, &[stream as u64])
    }
}
