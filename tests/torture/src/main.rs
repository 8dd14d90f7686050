//! `torture`: what a scheduler must survive, in pieces. Each piece boots a guest of the lab, loads the
//! scheduler there, does its harm, and judges: no thread lost, none kept from a CPU for too long, the
//! scheduler still in force, nothing said by the kernel.
#![forbid(unsafe_code)]

mod chance;
mod groups;
mod guest;
mod host;
mod judge;
mod pieces;
mod worker;
mod workers;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use torture::scheduler;

/// Tortures a scheduler in the lab's guests
#[derive(Clone, Parser)]
#[command(
    after_help = "Exit codes: 0 all pieces stood; 1 a fault; 2 bad input; 3 this machine cannot."
)]
struct Args {
    /// Pieces [default: all]
    pieces: Vec<String>,
    /// What scx_rearguard loads; `default`: nothing, the kernel's own class; `scx_...`: a rival of
    /// tools/rivals
    #[arg(long, default_value = scheduler::DEFAULT)]
    policy: String,
    /// The seed of the first piece
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The guest's seconds of each piece
    #[arg(long, default_value_t = 130)]
    seconds: u64,
    /// The guest's CPUs, in two caches
    #[arg(long, default_value_t = 4)]
    cpus: u32,
    /// Only pieces of the short selection
    #[arg(long)]
    short: bool,
    /// The executable to load with [default: scx_rearguard beside this one]
    #[arg(long, value_name = "PATH")]
    loader: Option<PathBuf>,
    /// Plant a fault: the judge must find it
    #[arg(long)]
    fault: Option<Fault>,
    /// List the pieces
    #[arg(long)]
    list: bool,
    /// This is the guest
    #[arg(long, hide = true)]
    in_guest: bool,
    /// What loads the scheduler there
    #[arg(last = true, hide = true)]
    load: Vec<String>,
}

/// Faults to plant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Fault {
    /// Another scheduler's end: the loader is killed and it is not reported.
    Killed,
    /// A thread that never gets its CPU.
    Starved,
    /// A warning of the kernel.
    Warning,
}

fn main() -> ExitCode {
    if let Some(code) = model::role::play(&[lab::ROLES], std::env::args_os()).or_else(worker_main) {
        return code;
    }
    let args = Args::parse();
    let outcome = if args.in_guest { guest::run(&args) } else { host::run(&args) };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("torture: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}

fn worker_main() -> Option<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [worker::NOTHING] => Some(ExitCode::SUCCESS),
        [worker::ROLE, kind, threads, seed] => {
            let kind = worker::Kind::from_str(kind, false).ok()?;
            Some(worker::main(kind, threads.parse().ok()?, seed.parse().ok()?))
        }
        _ => None,
    }
}
