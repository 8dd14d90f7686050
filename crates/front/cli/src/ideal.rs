//! `rearguard ideal`: what an ideal queue does.

use std::path::{Path, PathBuf};

use compare::ideals;
use model::Failure;

use crate::beside::{self, Given};
use crate::output::{Output, signature};
use crate::queue_args::QueueArgs;
use crate::stamps::read_requests;
use crate::tables::TableFiles;
use crate::terminal::Terminal;

/// Say what the best possible queue makes of a load: the tail that no scheduler can beat
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    queue: QueueArgs,
    /// Replay a trace instead: a line a request, its arrival and its service in ns, or its arrival alone
    /// and --service-time
    #[arg(long, value_name = "FILE", conflicts_with_all = ["arrivals", "rate", "utilisation", "service", "requests"])]
    trace: Option<PathBuf>,
    #[command(flatten)]
    given: Given,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    tables: TableFiles,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let inputs: Vec<&Path> = args.given.files().chain(args.trace.as_deref()).collect();
    args.output.check(&["html", "svg"], &inputs)?;
    args.tables.check(&inputs)?;
    let queue = &args.queue;
    let beside = beside::found(&args.given, queue)?;
    let (name, curve, measured) = match (&args.trace, beside) {
        (Some(path), _) => {
            let requests = read_requests(path, queue.service_time)?;
            let curve = ideals::traced(&requests, queue.workers, queue.discipline, queue.seed)?;
            (path.display().to_string(), curve, None)
        }
        (None, Some((measured, curve))) => {
            let name = format!("{} and {}", measured.curve.name, curve.name);
            (name, curve, Some(measured))
        }
        (None, None) => {
            let curve = ideals::drawn(&queue.ideal(), &Terminal::computing("ideal"))?;
            (queue.kendall(), curve, None)
        }
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
        measured,
    };
    args.tables.write(&document)?;
    let json = report::json(&document);
    args.output.drawn(json, &report::Figure { title, ..document.into() })
}
