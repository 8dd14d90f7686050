//! `rearguard ideal`: what an ideal queue does.

use std::path::PathBuf;
use std::time::Instant;

use model::Failure;

use crate::curves::traced;
use crate::output::{Output, signature};
use crate::queue_args::QueueArgs;
use crate::stamps::read_stamps;
use crate::watch::Terminal;

/// Say what the best possible queue makes of a load: the tail that no scheduler can beat
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    queue: QueueArgs,
    /// Replay a trace instead: a line a request, its arrival and (unless it is --service-time) its service, in ns
    #[arg(long, value_name = "FILE", conflicts_with_all = ["arrivals", "rate", "utilisation", "service", "requests"])]
    trace: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    args.output.check()?;
    let queue = &args.queue;
    let (name, curve) = match &args.trace {
        Some(path) => {
            let requests = read_stamps(path, queue.service_time)?;
            let curve = traced("ideal", &requests, queue.workers, queue.discipline, queue.seed)?;
            (path.display().to_string(), curve)
        }
        None => (queue.kendall(), args.simulated()?),
    };
    let many = if queue.workers == 1 { "worker" } else { "workers" };
    let title = format!("{name}: {} {many}, {}", queue.workers, queue.discipline);
    let (command, version) = signature();
    let document = report::Ideal {
        schema: report::IDEAL_SCHEMA.to_string(),
        command,
        version,
        seed: args.trace.is_none().then_some(queue.seed),
        curve,
    };
    let json = report::json(&document);
    args.output.drawn(json, &report::Figure { title, ..document.into() })
}

impl Args {
    fn simulated(&self) -> Result<report::Curve, Failure> {
        let started = Instant::now();
        let result = self.queue.ideal().run(&Terminal::new("ideal"))?;
        let took_s = started.elapsed().as_secs_f64();
        Ok(report::Curve {
            requests_per_s: Some(result.simulated as f64 / took_s),
            ..compare::convert::queue("ideal", &result)
        })
    }
}
