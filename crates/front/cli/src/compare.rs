//! `rearguard compare`: one scenario under several policies.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use compare::Plan;
use compare::command::{command, quoted};
use host::HostArm;
use model::edit::Edit;
use model::{Arm, Events, Failure, Nanos, PolicySpec, Scenario};
use sim::SimArm;
use trace::Making;
use vm::VmArm;

use crate::fail_if::{self, Bound};
use crate::files::{ScenarioFile, check_apart, read_edited};
use crate::keep::Traces;
use crate::output::{Output, signature};
use crate::tables::TableFiles;
use crate::terminal::Terminal;

/// Run one scenario under several policies and say which keeps the tail shorter
#[derive(clap::Args)]
pub struct Args {
    /// The scenario (TOML); shipped ones are in scenarios/
    scenario: PathBuf,
    /// Where to run it
    #[arg(long, value_enum, default_value_t = On::Sim)]
    on: On,
    /// Policies, the baseline first: NAME or NAME:KEY=VALUE, for example cfs,cts,cts:queue=cpu; ./FILE.c is
    /// one of your own
    #[arg(long, value_delimiter = ',', required = true, value_parser = PolicySpec::parse)]
    policy: Vec<PolicySpec>,
    #[command(flatten)]
    seeds: Seeds,
    /// Add seeds until each service's p99.9 is told from that of the first policy: twice as many again and
    /// again, at most so many (40 unless given)
    #[arg(long, value_name = "SEEDS", num_args = 0..=1, require_equals = true, default_missing_value = "40",
          conflicts_with = "seed", value_parser = clap::value_parser!(u16).range(3..))]
    until_sure: Option<u16>,
    /// Runs or guests at a time, where they do not disturb each other (not with --on host); one a core unless
    /// given
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Another value for a key of the scenario, for example program.web.arrivals.utilisation=0.9 (repeatable)
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<Edit>,
    /// Measure for this long instead of the scenario's duration, for example 2s
    #[arg(long, value_parser = positive_duration)]
    duration: Option<Nanos>,
    #[command(flatten)]
    real: Real,
    /// With --on vm, say of every run on stderr how true its time is
    #[arg(long, short)]
    verbose: bool,
    /// Say where the time of the slowest 0.1% of requests went (`sources_ns` of --json), where the arm has
    /// scheduling events; --trace does so, too
    #[arg(long)]
    explain: bool,
    /// Write the trace of the run, scheduling events included, to this file; of several runs to a file each
    /// in this folder
    #[arg(long, value_name = "PATH")]
    trace: Option<PathBuf>,
    /// End with exit code 1 where a service's figure surely lies beyond a limit, for example p99.9>5ms,
    /// outliers>0.1%, lost>0% or 'rearguard p99>2ms' (repeatable)
    #[arg(long, value_name = "FIGURE>LIMIT")]
    fail_if: Vec<Bound>,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    tables: TableFiles,
}

impl Args {
    /// The files that it reads.
    fn inputs(&self) -> Vec<&Path> {
        let own = self.policy.iter().filter_map(PolicySpec::file);
        own.chain([self.scenario.as_path()]).collect()
    }

    /// Those that may be run.
    fn seeds_at_most(&self, scenario: &Scenario) -> Result<Vec<u64>, Failure> {
        let first = self.seeds.of(scenario);
        let Some(most) = self.until_sure.map(usize::from) else { return Ok(first) };
        let refused = |why: &str| Err(Failure::Input(format!("--until-sure {why}")));
        match () {
            () if self.policy.len() < 2 => {
                refused("holds policies against the first: name two or more")
            }
            () if first.len() > most => {
                refused("allows fewer seeds than there are at first: give more")
            }
            () => Ok(compare::first_seeds(scenario, most)),
        }
    }
}

/// Which seeds are run.
#[derive(clap::Args)]
pub struct Seeds {
    /// How many seeds to run: the scenario's own first, then the numbers that follow
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    seeds: Option<u16>,
    /// Exactly these seeds
    #[arg(long, value_delimiter = ',', conflicts_with = "seeds")]
    seed: Vec<u64>,
}

impl Seeds {
    /// Those given, or the first of the scenario's own and what follows the greatest of them.
    pub fn of(&self, scenario: &Scenario) -> Vec<u64> {
        if !self.seed.is_empty() {
            return self.seed.clone();
        }
        let count = self.seeds.map_or(scenario.seeds.len(), usize::from);
        compare::first_seeds(scenario, count)
    }
}

/// What arms of real kernels take.
#[derive(clap::Args, Clone, Default)]
pub struct Real {
    /// With --on vm or host, a program that is a sched_ext scheduler, beside those in PATH (repeatable)
    #[arg(long, value_name = "PATH")]
    pub with: Vec<PathBuf>,
    /// With --on vm, the kernel of all guests, one of `lab list`; for each policy the newest that has what
    /// it needs, unless given
    #[arg(long, value_name = "KERNEL")]
    pub kernel: Option<String>,
}

/// An arm by name.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum On {
    /// The simulator: any machine, no privileges, the same bytes for the same seed
    Sim,
    /// This machine's kernel, with real processes and requests
    Host,
    /// Stock kernels in QEMU, each policy under the one that it needs, with real processes and requests
    Vm,
}

impl On {
    /// The arm; one of guests takes a function that prints a line on each run.
    pub fn arm(self, real: &Real, tell: Option<fn(&str)>) -> Result<Box<dyn Arm>, Failure> {
        if let (Some(kernel), true) = (&real.kernel, self != On::Vm) {
            let message =
                format!("--kernel {kernel} names the kernel of guests: give --on vm, too");
            return Err(Failure::Input(message));
        }
        if let (Some(path), On::Sim) = (real.with.first(), self) {
            let path = path.display();
            let message =
                format!("--with {path} is a real kernel's program: give --on vm or host, too");
            return Err(Failure::Input(message));
        }
        let programs = real.with.clone();
        Ok(match self {
            On::Sim => Box::new(SimArm),
            On::Host => Box::new(HostArm { tracer: vm::kernel_tracer(), programs }),
            On::Vm => Box::new(VmArm::new(programs, real.kernel.as_deref(), tell)?),
        })
    }

    /// The release of the kernel under which the arm's guests run a policy; `None` where it has none.
    pub fn kernel(self, arm: &dyn Arm, policy: &PolicySpec) -> Result<Option<String>, Failure> {
        (self == On::Vm).then(|| arm.kernel(policy)).transpose()
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let inputs = args.inputs();
    args.output.check(&["html", "svg", "md"], &inputs)?;
    args.trace.as_deref().map_or(Ok(()), |path| check_apart(path, &inputs))?;
    args.tables.check(&inputs)?;
    let policies: Vec<String> = args.policy.iter().map(PolicySpec::to_string).collect();
    fail_if::check_policies(&args.fail_if, &policies)?;
    let duration = args.duration.map(|span| Edit::time("duration", span)).transpose()?;
    let edits: Vec<Edit> = args.set.iter().cloned().chain(duration).collect();
    let ScenarioFile { scenario, text } = read_edited(&args.scenario, &edits)?;
    fail_if::check_services(&args.fail_if, &args.scenario, &scenario)?;
    let plan = Plan {
        scenario: &scenario,
        policies: args.policy.clone(),
        seeds: args.seeds_at_most(&scenario)?,
        jobs: args.jobs.map(usize::from),
        events: Events::when(args.explain || args.trace.is_some()),
    };
    let arm = args.on.arm(&args.real, args.verbose.then_some(say))?;
    let machine = arm.machine();
    let (words, version) = signature();
    let traces = Traces {
        path: args.trace.as_deref(),
        folder: plan.policies.len() * plan.seeds.len() > 1
            || args.trace.as_ref().is_some_and(|path| path.is_dir()),
        making: Making {
            scenario: &scenario,
            scenario_text: &text,
            arm: arm.name(),
            machine: &machine,
            replay: String::new(),
            version: &version,
        },
        command: replay(args),
    };
    traces.check()?;
    if let (true, Err(lack)) = (plan.events == Events::Recorded, arm.has_events()) {
        say(&format!(
            "rearguard: no scheduling events, so nothing says where the time went: {lack}"
        ));
    }
    let watch = Terminal::on(&*arm, &scenario.name);
    let mut document = match args.until_sure {
        Some(_) => {
            let first = args.seeds.of(&scenario).len();
            compare::run_until_sure(&plan, first, &*arm, &watch, &traces)?
        }
        None => compare::run_with_sink(&plan, &*arm, &watch, &traces)?,
    };
    (document.command, document.version) = (words, version.clone());
    document.scenario_text = text.clone();
    args.tables.write(&document)?;
    args.output.compared(&document)?;
    let programs = document
        .shown()
        .into_iter()
        .flat_map(|result| result.programs.iter().map(|program| (result.policy.as_str(), program)));
    fail_if::check(&args.fail_if, &programs.collect::<Vec<_>>(), None)
}

/// The command of one run of these, up to policy and seed.
fn replay(args: &Args) -> String {
    let on = args.on.to_possible_value().map_or(String::new(), |on| on.get_name().to_string());
    let edits: Vec<String> = args.set.iter().map(Edit::to_string).collect();
    let with = |path: &PathBuf| format!(" --with {}", quoted(&path.display().to_string()));
    let with: String = args.real.with.iter().map(with).collect();
    let kernel = args.real.kernel.iter().map(|name| format!(" --kernel {}", quoted(name)));
    let real = with + &kernel.collect::<String>();
    command(&args.scenario.display().to_string(), &on, &edits, args.duration) + &real
}

fn say(line: &str) {
    anstream::eprintln!("{line}");
}

/// A span of time above 0.
pub fn positive_duration(text: &str) -> Result<Nanos, String> {
    model::units::duration(text).and_then(above_0)
}

/// What is above 0 of spans of time.
pub fn above_0(time: Nanos) -> Result<Nanos, String> {
    if time > Nanos::ZERO { Ok(time) } else { Err("expected more than 0".to_string()) }
}
