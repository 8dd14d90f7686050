//! `rearguard gate`: a scheduler held against its former self.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;
use gate::{
    Base, GATE_SCHEMA, Least, Outcome, Recorded, Runner, Source, annotations, judge, junit, table,
};
use model::{Answer, Arm, Failure, PolicySpec};

use crate::compare::{On, Real};
use crate::files::{check_apart, check_writable, read, read_scenario, write};
use crate::output::signature;
use crate::terminal::Terminal;

/// What to do
#[derive(clap::Subcommand)]
pub enum Action {
    /// Record what a policy does in scenarios
    Record(Record),
    /// Run the same again, and say what became worse: exit code 1 if anything did
    Check(Check),
}

/// Options of both
#[derive(clap::Args)]
struct Run {
    /// The policy: NAME or NAME:KEY=VALUE; ./FILE.c is one of your own
    #[arg(long, value_parser = PolicySpec::parse)]
    policy: PolicySpec,
    #[command(flatten)]
    real: Real,
    /// Runs or guests at a time, where they do not disturb each other; one a core unless given
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
}

/// Record what a policy does in scenarios
#[derive(clap::Args)]
pub struct Record {
    /// Scenarios (TOML), or folders of them (repeatable)
    #[arg(long, value_name = "PATH", required = true)]
    scenarios: Vec<PathBuf>,
    /// The file to write
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Where to run it
    #[arg(long, value_enum, default_value_t = On::Sim)]
    on: On,
    /// How many seeds to run: each scenario's own first, then the numbers that follow
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(3..))]
    seeds: Option<u16>,
    #[command(flatten)]
    run: Run,
}

/// Run the same again, and say what became worse
#[derive(clap::Args)]
pub struct Check {
    /// What `gate record` wrote
    base: PathBuf,
    /// The least change that matters, in percent
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = least)]
    least: Least,
    /// Write the figures as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    run: Run,
}

/// Runs the command.
pub fn run(action: &Action) -> Result<ExitCode, Failure> {
    match action {
        Action::Record(args) => record(args).map(|()| ExitCode::SUCCESS),
        Action::Check(args) => check(args),
    }
}

fn record(args: &Record) -> Result<(), Failure> {
    check_writable(&args.output)?;
    let sources = sources(&args.scenarios)?;
    let inputs: Vec<&Path> = sources.iter().map(|source| Path::new(&source.name)).collect();
    check_apart(&args.output, &inputs)?;
    let arm = args.on.arm(&args.run.real, None)?;
    let seeds = args.seeds.map(usize::from);
    let watch = Terminal::on(&*arm, "gate");
    let runs = sources.iter().map(|source| runner(&args.run, &*arm).record(source, seeds, &watch));
    let scenarios = runs.collect::<Result<_, _>>()?;
    let base = Base {
        schema: GATE_SCHEMA.to_string(),
        version: signature().1,
        arm: arm.name().to_string(),
        machine: arm.machine(),
        kernel: args.on.kernel(&*arm, &args.run.policy)?,
        policy: args.run.policy.to_string(),
        scenarios,
    };
    if let Some(few) = base.scenarios.iter().find(|recorded| recorded.seeds.len() < 3) {
        let seeds = few.seeds.len();
        let message = format!("{}: {seeds} seeds: a gate needs 3 or more: --seeds 10", few.name);
        return Err(Failure::Input(message));
    }
    write(&args.output, &report::json(&base))?;
    stdout::line(format_args!("{}: {} scenarios", args.output.display(), base.scenarios.len()))
}

fn check(args: &Check) -> Result<ExitCode, Failure> {
    if let Some(path) = &args.junit {
        check_apart(path, &[&args.base])?;
        check_writable(path)?;
    }
    let name = args.base.display().to_string();
    let base = Base::read(&read(&args.base)?, &name)?;
    let on = On::from_str(&base.arm, false)
        .map_err(|_| Failure::Input(format!("{name}: arm: expected sim, host or vm")))?;
    let mut real = args.run.real.clone();
    real.kernel = real.kernel.or(base.kernel.clone());
    let arm = on.arm(&real, None)?;
    check_same(&base, &*arm, &name)?;
    let watch = Terminal::on(&*arm, "gate");
    let again = |recorded: &Recorded| runner(&args.run, &*arm).again(recorded, &watch);
    let now: Vec<Recorded> = base.scenarios.iter().map(again).collect::<Result<_, _>>()?;
    let outcome = judge(&base.scenarios, &now, args.least)?;
    if let Some(path) = &args.junit {
        write(path, &junit(&outcome))?;
    }
    show(&outcome, args.least)
}

fn show(outcome: &Outcome, least: Least) -> Result<ExitCode, Failure> {
    if std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true") {
        stdout::write(annotations(outcome))?;
    }
    stdout::write(table(outcome, least))?;
    let is_worse = outcome.with(Answer::Worse).next().is_some();
    Ok(ExitCode::from(u8::from(is_worse)))
}

/// A base of another machine says nothing of a policy. One of another version may: that is told.
fn check_same(base: &Base, arm: &dyn Arm, name: &str) -> Result<(), Failure> {
    let machine = arm.machine();
    if base.machine != machine {
        return Err(Failure::Machine(format!(
            "{name}: recorded on {}, and this is {machine}: record it here",
            base.machine
        )));
    }
    let version = signature().1;
    if base.version != version {
        anstream::eprintln!(
            "rearguard: {name} was recorded by version {}, this is {version}: a difference may be theirs",
            base.version
        );
    }
    Ok(())
}

fn runner<'a>(run: &'a Run, arm: &'a dyn Arm) -> Runner<'a> {
    Runner { arm, policy: &run.policy, jobs: run.jobs.map(usize::from) }
}

/// The files, and the scenarios of the folders by name, each once; each is read before anything runs.
pub fn sources(paths: &[PathBuf]) -> Result<Vec<Source>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() { files.extend(inside(path)?) } else { files.push(path.clone()) }
    }
    let mut seen = HashSet::new();
    files.retain(|path| seen.insert(fs::canonicalize(path).unwrap_or_else(|_| path.clone())));
    let source = |path: &PathBuf| {
        Ok(Source { name: path.display().to_string(), text: read_scenario(path)?.text })
    };
    files.iter().map(source).collect()
}

fn inside(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let refuse = |why: String| Failure::Input(format!("{}: {why}", folder.display()));
    let entries = fs::read_dir(folder).map_err(|error| refuse(error.to_string()))?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, std::io::Error>>();
    let mut paths = paths.map_err(|error| refuse(error.to_string()))?;
    paths.retain(|path| path.extension().is_some_and(|end| end == "toml"));
    paths.sort();
    if paths.is_empty() {
        return Err(refuse("no scenario (a file that ends in .toml) is in it".to_string()));
    }
    Ok(paths)
}

/// A percentage.
pub fn least(text: &str) -> Result<Least, String> {
    let percent = text.strip_suffix('%').unwrap_or(text).parse::<f64>().ok();
    let percent = percent.filter(|percent| (0.0..=1_000.0).contains(percent));
    percent
        .map(|percent| Least(percent / 100.0))
        .ok_or_else(|| "expected a percentage such as 5%".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_that_is_given_twice_is_taken_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let [a, b] = ["a.toml", "b.toml"].map(|name| folder.path().join(name));
        let text = "# A.\nduration = \"1s\"\n[machine]\ncpus = 1\n\
                    [[program]]\nname = \"b\"\nkind = \"batch\"\nthreads = 1\n";
        for path in [&a, &b] {
            fs::write(path, text).expect("room");
        }
        let count = |paths: &[&PathBuf]| {
            let paths: Vec<PathBuf> = paths.iter().map(|path| (*path).clone()).collect();
            sources(&paths).expect("scenarios").len()
        };
        assert_eq!(count(&[&a, &a]), 1);
        assert_eq!(count(&[&a, &folder.path().to_path_buf()]), 2, "the control: two files");
    }
}
