//! `rearguard`: compares schedulers by what they do to the tail of a service.
#![forbid(unsafe_code)]

mod beside;
mod bisect;
mod capacity;
mod cell;
mod check;
mod cluster;
mod compare;
mod diff;
mod doctor;
#[cfg(all(test, feature = "bpf"))]
mod documented;
mod explain;
mod exporter;
mod fail_if;
mod fanout;
mod files;
mod gate;
mod ideal;
mod keep;
mod lab;
mod latencies;
mod load;
mod measure;
mod new_policy;
mod output;
mod paper;
mod promise;
mod prove;
mod queue_args;
mod secrets;
mod serve;
#[cfg(feature = "bpf")]
mod stages;
mod stamps;
mod sweep;
mod tables;
mod terminal;
mod top;
mod traces;
mod tune;
mod watch;
mod what_if;
mod words;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use model::Failure;

/// Guards the tail latency of multi-threaded services, and proves what any scheduler does to it.
#[derive(Parser)]
#[command(
    version = version(),
    max_term_width = 100,
    after_help = "Exit codes: 0 done; 1 the run failed; 2 bad input; 3 this machine cannot."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Bisect(bisect::Args),
    Capacity(capacity::Args),
    /// Isolate first, then share: CPUs and memory of a service's own, on the fly
    #[command(subcommand)]
    Cell(cell::Action),
    Check(check::Args),
    Cluster(cluster::Args),
    Compare(compare::Args),
    Diff(diff::Args),
    Doctor(doctor::Args),
    Fanout(fanout::Args),
    Explain(explain::Args),
    /// Hold a scheduler against its former self: what became worse fails the build
    #[command(subcommand)]
    Gate(gate::Action),
    Ideal(ideal::Args),
    Lab(lab::Args),
    Load(load::Args),
    /// Write manual pages and completions into a folder
    #[command(hide = true)]
    Manual {
        /// The folder
        folder: PathBuf,
    },
    Measure(Box<measure::Args>),
    NewPolicy(new_policy::Args),
    Paper(paper::Args),
    /// Make, change, drop and see promises to groups of the policy in force
    #[command(subcommand)]
    Promise(promise::Action),
    Prove(prove::Args),
    Serve(serve::Args),
    Sweep(sweep::Args),
    #[cfg(feature = "bpf")]
    Stages(stages::Args),
    /// Needs a build with the kernel's part
    #[cfg(not(feature = "bpf"))]
    #[command(disable_help_flag = true)]
    Stages {
        /// Whatever the command takes elsewhere
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        any: Vec<std::ffi::OsString>,
    },
    Top(top::Args),
    Trace(traces::Args),
    Watch(watch::Args),
    WhatIf(what_if::Args),
    /// See, turn and turn back the machine's knobs against tail latency
    #[command(subcommand)]
    Tune(tune::Action),
}

fn main() -> ExitCode {
    let roles =
        [host::ROLES, loader::ROLES, ::lab::ROLES, machine::ROLES, vm::ROLES, ::measure::ROLES];
    if let Some(code) = model::role::play(&roles, std::env::args_os()) {
        return code;
    }
    let cli = match Cli::try_parse_from(words::joined(std::env::args_os())) {
        Ok(cli) => cli,
        Err(asked) if asked.use_stderr() => asked.exit(),
        Err(help) => {
            let shown = stdout::write(help.render().ansi());
            return shown.map_or_else(report_failure, |()| ExitCode::SUCCESS);
        }
    };
    if let Err(failure) = keep_least(&cli.command) {
        return report_failure(failure);
    }
    terminal::handle_signals();
    let outcome = match cli.command {
        // The command of a cell has an exit code of its own.
        Command::Cell(args) => return cell::run(&args).unwrap_or_else(report_failure),
        // So has a version that cannot be told.
        Command::Bisect(args) => return bisect::run(&args).unwrap_or_else(report_failure),
        Command::Capacity(args) => capacity::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Cluster(args) => cluster::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Diff(args) => return diff::run(&args).unwrap_or_else(report_failure),
        Command::Doctor(args) => doctor::run(&args),
        Command::Fanout(args) => fanout::run(&args),
        Command::Explain(args) => explain::run(&args),
        // Worse is no failure of the run, but an exit code.
        Command::Gate(action) => return gate::run(&action).unwrap_or_else(report_failure),
        Command::Ideal(args) => ideal::run(&args),
        // The guest's command has an exit code of its own.
        Command::Lab(args) => return lab::run(&args).unwrap_or_else(report_failure),
        Command::Load(args) => load::run(&args),
        Command::Manual { folder } => about::write_manual(Cli::command(), &folder),
        Command::Measure(args) => measure::run(&args),
        Command::NewPolicy(args) => new_policy::run(&args),
        Command::Paper(args) => paper::run(&args),
        Command::Promise(action) => promise::run(&action),
        Command::Prove(args) => prove::run(args),
        Command::Serve(args) => serve::run(&args),
        Command::Sweep(args) => sweep::run(&args),
        #[cfg(feature = "bpf")]
        Command::Stages(args) => stages::run(&args),
        #[cfg(not(feature = "bpf"))]
        Command::Stages { .. } => Err(model::trace_session::unbuilt()),
        Command::Top(args) => top::run(&args),
        Command::Trace(args) => traces::run(&args),
        Command::Watch(args) => watch::run(&args),
        Command::WhatIf(args) => what_if::run(&args),
        Command::Tune(args) => tune::run(&args),
    };
    outcome.map_or_else(report_failure, |()| ExitCode::SUCCESS)
}

/// Before the first thread starts: each has capabilities of its own.
fn keep_least(command: &Command) -> Result<(), Failure> {
    match command {
        #[cfg(feature = "bpf")]
        Command::Stages(args) => args.keep_least(),
        #[cfg(feature = "bpf")]
        Command::Explain(args) => args.keep_least(),
        _ => Ok(()),
    }
}

/// The version, the commit, and what the build left out.
fn version() -> &'static str {
    about::version(&[("bpf", cfg!(feature = "bpf"))])
}

fn report_failure(failure: Failure) -> ExitCode {
    // The reader is gone: that is no news.
    if failure != Failure::ClosedOutput {
        anstream::eprintln!("rearguard: {failure}");
    }
    ExitCode::from(terminal::exit_code(&failure))
}
