//! `rearguard capacity`: the greatest load that each policy carries at an objective.

use std::path::PathBuf;
use std::thread;

use capacity::{Objective, Study};
use experiment::{Runner, Source, Store};
use model::edit::Edit;
use model::{Failure, Nanos, PolicySpec};

use crate::compare::{On, Real, Seeds, positive_duration};
use crate::files::read_edited;
use crate::output::{Output, signature};
use crate::terminal::Terminal;

/// Say how much load each policy carries at an objective, beside what the ideal carries
#[derive(clap::Args)]
pub struct Args {
    /// The scenario (TOML), with a service whose load is scaled; shipped ones are in scenarios/
    scenario: PathBuf,
    /// The objective, DURATION=PERCENT: at most so many requests slower than that, for example 10ms=0.1%
    #[arg(long, value_name = "DURATION=PERCENT")]
    slo: Objective,
    /// Whose load is scaled, where there are several services
    #[arg(long, value_name = "NAME")]
    service: Option<String>,
    /// Where to run it
    #[arg(long, value_enum, default_value_t = On::Sim)]
    on: On,
    /// Policies, the first of which the others are held against
    #[arg(long, value_delimiter = ',', default_value = "eevdf,rearguard", value_parser = PolicySpec::parse)]
    policy: Vec<PolicySpec>,
    #[command(flatten)]
    seeds: Seeds,
    /// Loads at a time, where they do not disturb each other (not with --on host); one a core unless given
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Another value for a key of the scenario (repeatable)
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<Edit>,
    /// Measure each load for this long instead of the scenario's duration, for example 2s
    #[arg(long, value_parser = positive_duration)]
    duration: Option<Nanos>,
    #[command(flatten)]
    real: Real,
    /// Where finished loads are kept: run again, it goes on where it was
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    args.output.check(&["html", "svg", "md"], &[&args.scenario])?;
    let edits = edits(args)?;
    let file = read_edited(&args.scenario, &edits)?;
    let arm = args.on.arm(&args.real, None)?;
    // Gone with the command, unless its folder has a name.
    let unnamed = fileio::Folder::new()
        .map_err(|error| Failure::Machine(format!("no folder for results: {error}")))?;
    let store = Store::open(args.folder.as_deref().unwrap_or(unnamed.path()))?;
    let cores = || thread::available_parallelism().map_or(1, |cores| cores.get());
    let study = Study {
        source: Source {
            file: args.scenario.display().to_string(),
            text: file.text.clone(),
            edits: edits.iter().map(Edit::to_string).collect(),
        },
        service: args.service.as_deref(),
        objective: args.slo,
        policies: args.policy.clone(),
        seeds: args.seeds.of(&file.scenario),
        runner: Runner {
            arm: &*arm,
            store: &store,
            jobs: args.jobs.map_or_else(cores, usize::from),
            until: None,
        },
    };
    let mut document = study.run(&Terminal::on(&*arm, "capacity"))?;
    (document.command, document.version) = signature();
    document.scenario_text = file.text;
    args.output.carried(&document)
}

/// All that differs from the scenario's file but for the load.
fn edits(args: &Args) -> Result<Vec<Edit>, Failure> {
    let mut edits = args.set.clone();
    edits.extend(args.duration.map(|span| Edit::time("duration", span)).transpose()?);
    edits.push(Edit::time("outlier_threshold", args.slo.threshold)?);
    Ok(edits)
}
