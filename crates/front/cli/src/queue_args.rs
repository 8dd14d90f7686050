//! An ideal queue in the words of the command line.

use model::law::Law;
use model::scenario::Arrivals;
use model::{Nanos, units};
use queue::{Discipline, Ideal};

/// The options of every command that simulates an ideal queue
#[derive(clap::Args)]
pub struct QueueArgs {
    /// The law of gaps between arrivals: poisson, fixed, lognormal:cv=2, weibull:shape=0.5, pareto:shape=2.5,
    /// hyperexponential:cv=3, mmpp:ratio=10:share=0.1:length=50 [default: poisson]
    #[arg(long)]
    arrivals: Option<Law>,
    /// Requests a second, for example 12k/s
    #[arg(long, value_parser = units::rate_per_s, conflicts_with = "utilisation")]
    pub rate: Option<f64>,
    /// The share of the workers' time that the requests take
    #[arg(long, default_value_t = 0.8)]
    utilisation: f64,
    /// The law of service times: fixed (unless one is given), exponential, or any law of gaps
    #[arg(long, alias = "law")]
    pub service: Option<Law>,
    /// The mean service time [default: 50us]
    #[arg(long, value_parser = service_time)]
    pub service_time: Option<Nanos>,
    /// How many workers serve
    #[arg(long, default_value_t = 1)]
    pub workers: u32,
    /// The next request: fifo, lifo, random-request, random-worker, round-robin, processor-sharing
    #[arg(long, default_value = "fifo")]
    pub discipline: Discipline,
    /// How many requests to simulate, for example 10M
    #[arg(long, default_value = "1M", value_parser = units::count)]
    requests: u64,
    /// The seed of arrivals and services
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// The mean service time unless one is given.
const SERVICE_TIME: Nanos = Nanos::from_micros(50);

/// A mean that leaves room for whole nanoseconds.
fn service_time(text: &str) -> Result<Nanos, String> {
    let time = units::duration(text)?;
    let is_known = time >= Ideal::LEAST_SERVICE;
    is_known.then_some(time).ok_or_else(|| format!("expected at least {}", Ideal::LEAST_SERVICE))
}

impl QueueArgs {
    /// The queue to simulate.
    pub fn ideal(&self) -> Ideal {
        Ideal {
            arrivals: self.arrivals.clone().unwrap_or(Law::Exponential),
            load: self.rate.map_or(Arrivals::Utilisation(self.utilisation), Arrivals::Rate),
            services: self.services().clone(),
            service_time: self.mean_service(),
            workers: self.workers,
            discipline: self.discipline,
            requests: self.requests,
            seed: self.seed,
        }
    }

    /// The queue to simulate at a rate.
    pub fn ideal_at(&self, rate_per_s: f64) -> Ideal {
        Ideal { load: Arrivals::Rate(rate_per_s), ..self.ideal() }
    }

    /// Whether the command line says when requests come.
    pub fn says_arrivals(&self) -> bool {
        self.arrivals.is_some() || self.rate.is_some()
    }

    /// The queue in a few words: arrivals, services, load.
    pub fn kendall(&self) -> String {
        let arrivals = match &self.arrivals {
            None | Some(Law::Exponential) => "poisson".to_string(),
            Some(law) => law.to_string(),
        };
        let load = self.ideal().utilisation() * 100.0;
        let (service, time) = (self.services(), self.mean_service());
        format!("{arrivals} arrivals, {service} services of {time}, {load:.1}% load")
    }

    /// The mean service time.
    pub fn mean_service(&self) -> Nanos {
        self.service_time.unwrap_or(SERVICE_TIME)
    }

    /// The law of service times.
    pub fn services(&self) -> &Law {
        self.service.as_ref().unwrap_or(&Law::Fixed)
    }
}
