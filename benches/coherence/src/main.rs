//! Prints which cache lines go from CPU to CPU under each policy.

use std::process::ExitCode;

use clap::Parser;
use coherence::load::{machine, scenario};
use coherence::table;
use coherence::watched::Watched;
use instrument::Source;
use model::scenario::Machine;
use model::{Failure, PolicySpec};

/// Counts cache lines that one CPU wrote and another reads or writes, a switch, a wake-up and a tick
#[derive(Parser)]
#[command(after_help = "Exit codes: 0 done; 1 a run failed; 2 bad input; 3 this machine cannot.")]
struct Args {
    /// Policies as the command line of rearguard names them, or files
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "rearguard,cts,gvts,dwrr,global,policy/examples/fifo.c,policy/examples/vtime.c"
    )]
    policy: Vec<String>,
    /// Machines, as CPUSxCACHESxNODES
    #[arg(long, value_delimiter = ',', default_value = "2,16,16x4x2,64,64x8x2,256x2x2,256x32x8")]
    machine: Vec<String>,
    /// Milliseconds that are counted, after 100 of warm-up
    #[arg(long, default_value_t = 100)]
    millis: u64,
    /// The seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Which fields lie behind so many of the lines
    #[arg(long, default_value_t = 0)]
    detail: usize,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("coherence: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}

fn run(args: &Args) -> Result<(), Failure> {
    let machines = args.machine.iter().map(|text| {
        let read = machine(text).map_err(|why| Failure::Input(format!("--machine {text}: {why}")));
        Ok((text.as_str(), read?))
    });
    let machines: Vec<(&str, Machine)> = machines.collect::<Result<_, Failure>>()?;
    let ours = Watched::new(&Source::Ours(Vec::new()))?;
    print!("{}", table::HEAD);
    for (text, machine) in &machines {
        let scenario = scenario(machine, args.millis)?;
        for policy in &args.policy {
            let spec = PolicySpec::parse(policy)?;
            let file = match spec.file() {
                Some(path) => Some(Watched::new(&Source::File(path.to_path_buf()))?),
                None => None,
            };
            let watched = file.as_ref().unwrap_or(&ours);
            let (_, counter) = watched.run(&scenario, &spec, args.seed)?;
            let name = spec.file().and_then(|path| path.file_name()).map_or_else(
                || format!("`{policy}`"),
                |name| format!("`{}`", name.to_string_lossy()),
            );
            print!("{}", table::row(text, &name, watched, &counter));
            if args.detail > 0 {
                print!("{}", table::detail(watched, &counter, args.detail));
            }
        }
    }
    Ok(())
}
