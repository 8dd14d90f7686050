//! `rearguard ideal`: what an ideal queue does.

use std::path::PathBuf;

use compare::ideals;
use model::Failure;

use crate::output::{Output, signature};
use crate::queue_args::QueueArgs;
use crate::stamps::read_stamps;
use crate::tables::TableFiles;
use crate::watch::Terminal;

/// Say what the best possible queue makes of a load: the tail that no scheduler can beat
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    queue: QueueArgs,
    /// Replay a trace instead: a line a request, its arrival and (unless it is --service-time) its service,
    /// in ns
    #[arg(long, value_name = "FILE", conflicts_with_all = ["arrivals", "rate", "utilisation", "service", "requests"])]
    trace: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    tables: TableFiles,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    args.output.check()?;
    args.tables.check()?;
    let queue = &args.queue;
    let (name, curve) = match &args.trace {
        Some(path) => {
            let requests = read_stamps(path, queue.service_time)?;
            let curve = ideals::traced(&requests, queue.workers, queue.discipline, queue.seed)?;
            (path.display().to_string(), curve)
        }
        None => (queue.kendall(), ideals::drawn(&queue.ideal(), &Terminal::computing("ideal"))?),
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
    args.tables.write(&document)?;
    let json = report::json(&document);
    args.output.drawn(json, &report::Figure { title, ..document.into() })
}
