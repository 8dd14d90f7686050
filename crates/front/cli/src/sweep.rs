//! `rearguard sweep`: many points, each a scenario with other values under a policy.

use std::path::{Path, PathBuf};
use std::thread;

use model::Failure;
use sweep::{Failed, Folder, Grid, Source, Swept};

use crate::files::{read, read_scenario};
use crate::tables::TableFiles;
use crate::watch::Terminal;

/// Run every point of a grid in simulation: scenarios with other values, under several policies
#[derive(clap::Args)]
pub struct Args {
    /// The grid (TOML), see docs/guide/sweeps.md
    grid: PathBuf,
    /// Where finished points and the tables of all are kept: run again, it goes on where it was [default: the
    /// grid's name without .toml]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Points at a time; one a core unless given
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Print how it went as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    tables: TableFiles,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    args.tables.check()?;
    let name = args.grid.display().to_string();
    let beside = args.grid.parent().unwrap_or(Path::new(""));
    let grid = Grid::read(&read(&args.grid)?, &name, |file| source(&beside.join(file)))?;
    let points = grid.points()?;
    let path = args.folder.clone().unwrap_or_else(|| args.grid.with_extension(""));
    let folder = Folder::open(&path)?;
    let cores = || thread::available_parallelism().map_or(1, |cores| cores.get());
    let jobs = args.jobs.map_or_else(cores, usize::from);
    let swept = sweep::sweep(&points, &folder, jobs, &Terminal::new("sweep"))?;
    let tables = folder.tables(&grid, &points);
    folder.write(&tables)?;
    args.tables.write_all(&tables)?;
    if args.json {
        anstream::print!("{}", report::json(&swept));
    } else {
        anstream::println!("{}", summary(&swept));
        let list = tables.iter().map(|table| path.join(table.name).with_extension("parquet"));
        list.for_each(|path| anstream::println!("{}", path.display()));
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
    let Swept { points, reused, failed, .. } = swept;
    let made = points - reused - failed.len();
    format!("{points} points: {reused} finished before, {made} run now, {} failed", failed.len())
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
