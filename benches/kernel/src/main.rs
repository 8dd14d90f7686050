//! What schedulers cost on a real kernel: instructions a pipe round trip, ours beside the kernel's own class
//! and rivals, in one run.
//!
//! The guest has no KVM even where the host does: QEMU counts instructions, a nanosecond of guest time each,
//! so the host's load and speed do not enter. What a cache miss, a lock or an interrupt between processors
//! costs is not in the figures.
#![forbid(unsafe_code)]

mod guest;
mod host;
mod pairs;
mod profile;
mod shape;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use shape::Shape;

/// Counts instructions a pipe round trip under each scheduler
#[derive(Clone, Parser)]
#[command(after_help = "Exit codes: 0 done; 1 a run failed; 2 bad input; 3 this machine cannot.")]
struct Args {
    /// Schedulers: `default` (the kernel's own class), `scx_...` (a rival of tools/rivals), else what
    /// scx_rearguard loads
    #[arg(long, value_delimiter = ',', default_value = "default,rearguard")]
    policy: Vec<String>,
    /// Pairs of threads that play ping-pong, as PROCESSESxPAIRS; half of the threads are queued [default: a
    /// series up to 10x1000]
    #[arg(long, value_delimiter = ',', value_name = "PROCESSESxPAIRS")]
    shapes: Vec<Shape>,
    /// Machines: numbers of virtual CPUs
    #[arg(long, value_delimiter = ',', default_value = "1")]
    cpus: Vec<u32>,
    /// Say for each callback of the scheduler how often it runs a round trip and how long; what counts costs,
    /// too
    #[arg(long)]
    profile: bool,
    /// A line of JSON a measurement instead of a table
    #[arg(long)]
    json: bool,
    /// The executable to load with [default: scx_rearguard beside this one]
    #[arg(long, value_name = "PATH")]
    loader: Option<PathBuf>,
    /// This is the guest
    #[arg(long, hide = true)]
    in_guest: bool,
    /// What loads the scheduler there
    #[arg(last = true, hide = true)]
    load: Vec<String>,
}

fn main() -> ExitCode {
    if let Some(code) =
        model::role::play(&[lab::ROLES], std::env::args_os()).or_else(pairs::role_main)
    {
        return code;
    }
    let args = Args::parse();
    let outcome = if args.in_guest { guest::run(&args) } else { host::run(&args) };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("kernel-cost: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}
