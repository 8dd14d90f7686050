//! `rearguard sweep`: many points, each a scenario with other values under a policy.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use experiment::{Failed, Plan, Runner, Source, Store, Swept, found};
use model::Failure;

use crate::compare::{On, Real};
use crate::files::{read, read_scenario};
use crate::tables::TableFiles;
use crate::terminal::Terminal;

/// Run every point of a plan: scenarios with other values, under several policies, in simulation or on real
/// kernels
#[derive(clap::Args)]
pub struct Args {
    /// The plan (TOML), see docs/guide/sweeps.md
    plan: PathBuf,
    /// Where finished points and the tables of all are kept: run again, it goes on where it was [default: the
    /// plan's name without .toml]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Points or guests at a time, where they do not disturb each other; one a core unless given
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Begin nothing after so long; with 0, only say what is finished
    #[arg(long, value_name = "MINUTES")]
    minutes: Option<u32>,
    /// Run commands and policies in files, ./mine.c, that the plan names: they are code
    #[arg(long)]
    allow_own_policies: bool,
    /// Print how it went as JSON
    #[arg(long)]
    json: bool,
    /// With it the result of every finished point
    #[arg(long, requires = "json")]
    results: bool,
    #[command(flatten)]
    tables: TableFiles,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    args.tables.check(&[&args.plan])?;
    let name = args.plan.display().to_string();
    let beside = args.plan.parent().unwrap_or(Path::new(""));
    let plan = Plan::read(&read(&args.plan)?, &name, |file| {
        let path = beside.join(file);
        args.tables.check_apart(&[&path])?;
        source(&path)
    })?;
    if !args.allow_own_policies {
        plan.check_shipped()?;
    }
    let on = On::from_str(plan.on(), false)
        .map_err(|_| Failure::Input(format!("{name}: on: expected sim, host or vm")))?;
    let arm = on.arm(&Real::default(), None)?;
    let points = plan.points(&*arm)?;
    let path = args.folder.clone().unwrap_or_else(|| args.plan.with_extension(""));
    let store = Store::open(&path.join("points"))?;
    let cores = || thread::available_parallelism().map_or(1, |cores| cores.get());
    let runner = Runner {
        arm: &*arm,
        store: &store,
        jobs: args.jobs.map_or_else(cores, usize::from),
        until: args.minutes.map(|m| Instant::now() + Duration::from_secs(60 * u64::from(m))),
    };
    let mut swept = runner.run(&points, &Terminal::on(&*arm, "sweep"))?;
    let tables = experiment::tables(&plan, &points, &store);
    experiment::write(&path, &tables)?;
    args.tables.write_all(&tables)?;
    if args.json {
        let results = args.results.then(|| found(&points, &store));
        swept.results = results.unwrap_or_default();
        stdout::write(report::json(&swept))?;
    } else {
        stdout::line(summary(&swept))?;
        let mut list = tables.iter().map(|table| path.join(table.name).with_extension("parquet"));
        list.try_for_each(|path| stdout::line(path.display()))?;
    }
    match &swept.failed[..] {
        [] => Ok(()),
        failed => Err(Failure::Run(failures(failed))),
    }
}

fn source(path: &Path) -> Result<Source, Failure> {
    let text = read_scenario(path)?.text;
    Ok(Source { file: path.display().to_string(), text, edits: Vec::new() })
}

fn summary(swept: &Swept) -> String {
    let Swept { points, reused, left, failed, .. } = swept;
    let made = points - reused - left - failed.len();
    let left = if *left > 0 { format!(", {left} left") } else { String::new() };
    format!(
        "{points} points: {reused} finished before, {made} run now, {} failed{left}",
        failed.len()
    )
}

fn failures(failed: &[Failed]) -> String {
    let one = |failed: &Failed| {
        let values = failed.values.iter().map(|(key, value)| format!(", {key} = {value}"));
        let values: String = values.collect();
        let seed = failed.seed.map_or(String::new(), |seed| format!(", seed {seed}"));
        let Failed { file, policy, reason, replay, .. } = failed;
        format!("{file}{values}, {policy}{seed}: {reason}\n  to make it again: {replay}")
    };
    let all: Vec<String> = failed.iter().map(one).collect();
    format!("{} points failed\n{}", failed.len(), all.join("\n"))
}
