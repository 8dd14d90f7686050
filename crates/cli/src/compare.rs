//! `rearguard compare`: one scenario under several policies.

use std::path::PathBuf;

use clap::ValueEnum;
use compare::Plan;
use load::HostArm;
use model::{Arm, Failure, Nanos, PolicySpec, Scenario};
use sim::SimArm;
use vm::VmArm;

use crate::files::{ScenarioFile, read_scenario};
use crate::output::{Output, signature};
use crate::watch::Terminal;

/// Run one scenario under several policies and say which keeps the tail shorter
#[derive(clap::Args)]
pub struct Args {
    /// The scenario (TOML); shipped ones are in scenarios/
    scenario: PathBuf,
    /// Where to run it
    #[arg(long, value_enum, default_value_t = On::Sim)]
    on: On,
    /// Policies, the baseline first: NAME or NAME:KEY=VALUE, for example cfs,cts,cts:queue=cpu
    #[arg(long, value_delimiter = ',', required = true, value_parser = PolicySpec::parse)]
    policy: Vec<PolicySpec>,
    /// How many seeds to run: the scenario's own first, then the numbers that follow
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    seeds: Option<u16>,
    /// Exactly these seeds
    #[arg(long, value_delimiter = ',', conflicts_with = "seeds")]
    seed: Vec<u64>,
    /// Measure for this long instead of the scenario's duration, for example 2s
    #[arg(long, value_parser = positive_duration)]
    duration: Option<Nanos>,
    /// With --on vm, a program that is a sched_ext scheduler, beside those in PATH (repeatable)
    #[arg(long, value_name = "PATH")]
    with: Vec<PathBuf>,
    /// With --on vm, say of every run on stderr how true its time is
    #[arg(long, short)]
    verbose: bool,
    #[command(flatten)]
    output: Output,
}

#[derive(Clone, Copy, ValueEnum)]
enum On {
    /// The simulator: any machine, no privileges, the same bytes for the same seed
    Sim,
    /// This machine's kernel, with real processes and requests
    Host,
    /// Stock kernels in QEMU, each policy under the one that it needs, with real processes and requests
    Vm,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    args.output.check()?;
    let ScenarioFile { mut scenario, text } = read_scenario(&args.scenario)?;
    if let Some(duration) = args.duration {
        scenario.duration = duration;
    }
    let plan =
        Plan { scenario: &scenario, policies: args.policy.clone(), seeds: seeds(args, &scenario) };
    let arm: Box<dyn Arm> = match args.on {
        On::Sim => Box::new(SimArm),
        On::Host => Box::new(HostArm),
        On::Vm => Box::new(VmArm::new(args.with.clone(), args.verbose.then_some(say))?),
    };
    let mut document = compare::run(&plan, &*arm, &Terminal::new(&scenario.name))?;
    document.scenario_text = text;
    (document.command, document.version) = signature();
    args.output.compared(&document)
}

fn say(line: &str) {
    anstream::eprintln!("{line}");
}

fn positive_duration(text: &str) -> Result<Nanos, String> {
    let duration = model::units::duration(text)?;
    if duration > Nanos::ZERO { Ok(duration) } else { Err("expected more than 0".to_string()) }
}

/// The seeds to run: those given, or the first `count` of the scenario's own and what follows the greatest of them.
fn seeds(args: &Args, scenario: &Scenario) -> Vec<u64> {
    if !args.seed.is_empty() {
        return args.seed.clone();
    }
    let after = scenario.seeds.iter().max().map_or(1, |last| last + 1);
    let count = args.seeds.map_or(scenario.seeds.len(), usize::from);
    scenario.seeds.iter().copied().chain(after..).take(count).collect()
}
