//! `rearguard ideal`: what an ideal queue does.

use std::path::PathBuf;
use std::time::Instant;

use model::law::Law;
use model::scenario::Arrivals;
use model::{Failure, Nanos, units};
use queue::{Discipline, Ideal};

use crate::curves::traced;
use crate::output::{Output, signature};
use crate::stamps::read_stamps;
use crate::watch::Terminal;

/// Say what the best possible queue makes of a load: the tail that no scheduler can beat
#[derive(clap::Args)]
pub struct Args {
    /// The law of gaps between arrivals: poisson, fixed, lognormal:cv=2, weibull:shape=0.5, pareto:shape=2.5,
    /// hyperexponential:cv=3, mmpp:ratio=10:share=0.1:length=50
    #[arg(long, default_value = "poisson")]
    arrivals: Law,
    /// Requests a second, for example 12k/s
    #[arg(long, value_parser = units::rate_per_s, conflicts_with = "utilisation")]
    rate: Option<f64>,
    /// The share of the workers' time that the requests take
    #[arg(long, default_value_t = 0.8)]
    utilisation: f64,
    /// The law of service times: fixed, exponential, or any law of gaps
    #[arg(long, default_value = "fixed")]
    service: Law,
    /// The mean service time
    #[arg(long, default_value = "50us", value_parser = units::duration)]
    service_time: Nanos,
    /// How many workers serve
    #[arg(long, default_value_t = 1)]
    workers: u32,
    /// Who is next: fifo, lifo, random-request, random-worker, round-robin, processor-sharing
    #[arg(long, default_value = "fifo")]
    discipline: Discipline,
    /// How many requests to simulate, for example 10M
    #[arg(long, default_value = "1M", value_parser = units::count)]
    requests: u64,
    /// The seed of arrivals and services
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Replay a trace instead: a line a request, its arrival and (unless it is --service-time) its service, in ns
    #[arg(long, value_name = "FILE", conflicts_with_all = ["arrivals", "rate", "utilisation", "service", "requests"])]
    trace: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    args.output.check()?;
    let (name, curve) = match &args.trace {
        Some(path) => {
            let requests = read_stamps(path, args.service_time)?;
            let curve = traced("ideal", &requests, args.workers, args.discipline, args.seed)?;
            (path.display().to_string(), curve)
        }
        None => (args.kendall(), args.simulated()?),
    };
    let many = if args.workers == 1 { "worker" } else { "workers" };
    let title = format!("{name}: {} {many}, {}", args.workers, args.discipline);
    let (command, version) = signature();
    let document = report::Ideal {
        schema: report::IDEAL_SCHEMA.to_string(),
        command,
        version,
        seed: args.trace.is_none().then_some(args.seed),
        curve,
    };
    let json = report::json(&document);
    args.output.drawn(json, &report::Figure { title, ..document.into() })
}

impl Args {
    fn ideal(&self) -> Ideal {
        Ideal {
            arrivals: self.arrivals.clone(),
            load: self.rate.map_or(Arrivals::Utilisation(self.utilisation), Arrivals::Rate),
            services: self.service.clone(),
            service_time: self.service_time,
            workers: self.workers,
            discipline: self.discipline,
            requests: self.requests,
            seed: self.seed,
        }
    }

    /// The queue in a few words: arrivals, services, load.
    fn kendall(&self) -> String {
        let arrivals = match &self.arrivals {
            Law::Exponential => "poisson".to_string(),
            law => law.to_string(),
        };
        let load = self.ideal().utilisation() * 100.0;
        let (service, time) = (&self.service, self.service_time);
        format!("{arrivals} arrivals, {service} services of {time}, {load:.1}% load")
    }

    fn simulated(&self) -> Result<report::Curve, Failure> {
        let started = Instant::now();
        let result = self.ideal().run(&Terminal::new("ideal"))?;
        let took_s = started.elapsed().as_secs_f64();
        Ok(report::Curve {
            requests_per_s: Some(result.simulated as f64 / took_s),
            ..compare::convert::queue("ideal", &result)
        })
    }
}
