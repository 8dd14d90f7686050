//! `rearguard watch`: the flight recorder for slow requests.

#[cfg(feature = "bpf")]
mod daemon;
#[cfg(feature = "bpf")]
mod explainer;
mod export;
#[cfg(feature = "bpf")]
mod metrics;
#[cfg(feature = "bpf")]
mod open_metrics;
#[cfg(feature = "bpf")]
mod otlp;
#[cfg(feature = "bpf")]
mod samples;
#[cfg(all(test, feature = "bpf"))]
mod scraped;
#[cfg(feature = "bpf")]
mod service;
#[cfg(feature = "bpf")]
mod verdict;

use std::path::{Path, PathBuf};

use model::{Failure, Nanos, units};
use recorder::{Endpoint, KeptRequest, list, read_kept, trace_path};
use report::explain::within;

use crate::output::Output;
use crate::{explain, traces};

/// Keep the slow requests of a running service, each with what made it slow, until it is stopped
///
/// One request stands for those that overlap. `rearguard watch list DIR` shows what is kept.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// The port at which the service listens, over TCP; again for each service more
    #[arg(long, required_unless_present = "pid", value_parser = clap::value_parser!(u16).range(1..))]
    port: Vec<u16>,
    /// The service that this process is
    #[arg(long)]
    pid: Option<u32>,
    /// From which latency on, T1 to T6, a request is slow [default: learned, the p99.9 of the last minutes]
    #[arg(long, value_name = "DURATION", value_parser = units::duration)]
    slower_than: Option<Nanos>,
    /// The folder to keep requests in; it is made where it is missing
    #[arg(long, value_name = "DIR", required = true)]
    keep: Option<PathBuf>,
    /// Mebibytes of that folder; of the older half the least slow request goes first
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    keep_at_most: u64,
    /// Requests that are kept of a minute, the worst
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    worst: u32,
    /// Serve what is seen as OpenMetrics at an address (127.0.0.1:9899), or keep a file of it
    #[arg(long, value_name = "ADDRESS|FILE")]
    metrics: Option<String>,
    /// Send traces of what is kept and metrics of what is seen to a receiver of OTLP over HTTP
    /// (http://127.0.0.1:4318); again for a second one, each then with /v1/traces or /v1/metrics at its end
    #[arg(long, value_name = "URL", value_parser = Endpoint::parse)]
    otlp: Vec<Endpoint>,
    /// A header of what is sent there, such as `Authorization: Bearer ...` (repeatable); @FILE: those of a
    /// file, a line each, which other users cannot see
    #[arg(long, value_name = "NAME: VALUE|@FILE", requires = "otlp")]
    otlp_header: Vec<String>,
    /// How often metrics are sent there
    #[arg(long, value_name = "DURATION", default_value = "15s", requires = "otlp", value_parser = units::duration)]
    otlp_every: Nanos,
    /// How long to watch [default: until it is stopped]
    #[arg(long = "for", value_name = "DURATION", value_parser = units::long_duration)]
    duration: Option<Nanos>,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Show what a folder keeps, the oldest first
    List {
        /// The folder
        folder: PathBuf,
    },
    /// Explain one request that was kept
    Show {
        /// The folder
        folder: PathBuf,
        /// The request, as `list` names it
        id: String,
        #[command(flatten)]
        output: Output,
    },
    /// Write one request for ui.perfetto.dev, or as spans for OpenTelemetry (FILE.otlp.json)
    Export {
        /// The folder
        folder: PathBuf,
        /// The request, as `list` names it
        id: String,
        /// The file to write
        out: PathBuf,
    },
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    match &args.command {
        None => record(args),
        Some(Command::List { folder }) => stdout::write(table(folder)?),
        Some(Command::Show { folder, id, output }) => show(folder, id, output),
        Some(Command::Export { folder, id, out }) => export::export(folder, id, out),
    }
}

#[cfg(feature = "bpf")]
fn record(args: &Args) -> Result<(), Failure> {
    daemon::run(args)
}

#[cfg(not(feature = "bpf"))]
fn record(_args: &Args) -> Result<(), Failure> {
    Err(model::trace_session::unbuilt())
}

fn show(folder: &Path, id: &str, output: &Output) -> Result<(), Failure> {
    let kept_trace = trace_path(folder, id);
    output.check(&["html", "md"], &[&kept_trace])?;
    let kept = read_kept(folder, id)?;
    let recorded = traces::read_kept(&kept_trace)?;
    anstream::eprintln!("{}", line(&kept));
    output.explained(&explain::document(&recorded)?)
}

/// A kept request in a line.
fn line(kept: &KeptRequest) -> String {
    let KeptRequest { id, latency_ns, stage, stage_ns, told, .. } = kept;
    let service = within(&kept.service, kept.owner.as_deref());
    let (latency, longest) = (Nanos(*latency_ns), Nanos(*stage_ns));
    format!("{id}  {service}  {latency}, {stage} {longest}  {}", told.line)
}

fn table(folder: &Path) -> Result<String, Failure> {
    let (all, unreadable) = list(folder)?;
    let mut text: String = all.iter().map(|kept| line(kept) + "\n").collect();
    if unreadable > 0 {
        text += &format!("{unreadable} more cannot be read\n");
    }
    if text.is_empty() {
        text = format!("{} keeps no request yet\n", folder.display());
    }
    Ok(text)
}
