//! `rearguard bisect`: which version of a scheduler made it worse.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bisect::{Asked, Builds, Origin, Recipe, Study, Subject, Version, told};
use clap::builder::ArgPredicate;
use gate::{Base, GATE_SCHEMA, Least, Recorded, Runner, Source};
use model::{Arm, Failure, PolicySpec, Scenario, Watch};

use crate::compare::{On, Real};
use crate::gate::{least, sources};
use crate::output::signature;
use crate::terminal::Terminal;

/// How cargo builds a release in its folder. All releases share what is compiled.
const CARGO: &str = "CARGO_TARGET_DIR=\"${CARGO_TARGET_DIR:-$PWD/../../cargo}\" \
    cargo install --quiet --locked --root . \"CRATE@$VERSION\"";

/// Find the version that made a scheduler worse: builds and runs versions between a good one and a worse one
///
/// The figure that became worse most surely between the two is the one to look for. Exit code 3 where the
/// first worse version cannot be told.
#[derive(clap::Args)]
pub struct Args {
    /// The good commit, or release of a crate
    #[arg(required_unless_present = "versions", conflicts_with = "versions", requires = "worse")]
    good: Option<String>,
    /// The worse one
    #[arg(requires = "origin")]
    worse: Option<String>,
    /// The git repository of the commits
    #[arg(long, value_name = "FOLDER", group = "origin")]
    git: Option<PathBuf>,
    /// Instead of commits, the releases of this crate on crates.io, which cargo builds: a sched_ext scheduler
    #[arg(long = "crate", value_name = "NAME", group = "origin")]
    krate: Option<String>,
    /// Instead of commits, releases: the good one first, the worse one last, all of them in order
    #[arg(long, value_name = "NAME", value_delimiter = ',', required_unless_present = "origin")]
    versions: Vec<String>,
    /// What builds a version: for `sh -c`, in the version's own folder, its name in $VERSION
    #[arg(long, value_name = "COMMAND")]
    build: Option<String>,
    /// The policy: ./FILE.c in the version's folder, or a program's name; with --crate the crate's
    #[arg(long, value_parser = PolicySpec::parse, required_unless_present = "krate")]
    policy: Option<PolicySpec>,
    /// With --on vm or host, a program in the version's folder that is a sched_ext scheduler (repeatable)
    #[arg(long, value_name = "PATH")]
    with: Vec<PathBuf>,
    /// Scenarios (TOML), or folders of them (repeatable)
    #[arg(long, value_name = "PATH", required = true)]
    scenarios: Vec<PathBuf>,
    /// Where to run them; with --crate in guests, unless given
    #[arg(long, value_enum, default_value_t = On::Sim, default_value_if("krate", ArgPredicate::IsPresent, "vm"))]
    on: On,
    /// With --on vm, the kernel of all guests, one of `lab list`: one that both ends can run under
    #[arg(long, value_name = "KERNEL")]
    kernel: Option<String>,
    /// The figure to look for; the one that became worse most surely unless given
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(gate::FIGURES))]
    figure: Option<String>,
    /// The least change between the two ends that matters, in percent
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = least)]
    least: Least,
    /// Runs of each scenario at the first look at a version; up to four times as many if that does not tell
    #[arg(long, value_name = "COUNT", default_value = "5", value_parser = clap::value_parser!(u16).range(3..=1000))]
    seeds: u16,
    /// Keep builds and runs in this folder, and go on from what is in it; a temporary one unless given
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
    /// Runs or guests at a time, where they do not disturb each other; one a core unless given
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let program = args.program()?;
    let versions = args.versions()?;
    let subject = Candidate::new(args, &program)?;
    let temporary = fileio::Folder::new()
        .map_err(|error| Failure::Machine(format!("no temporary folder: {error}")))?;
    let folder = args.keep.clone().unwrap_or_else(|| temporary.path().to_path_buf());
    let recipe = Recipe { origin: args.origin(), build: args.build() };
    let asked = Asked { seeds: args.seeds.into(), least: args.least, figure: args.figure.clone() };
    let study = Study {
        versions: &versions,
        builds: &Builds::new(folder, recipe, args.keep.is_some())?,
        subject: &subject,
        asked: &asked,
        tell: &|line| anstream::eprintln!("rearguard: {line}"),
        watch: &Terminal::on(&*args.arm(Vec::new())?, "bisect"),
    };
    let outcome = study.run()?;
    stdout::write(told(&versions, &outcome, args.least))?;
    let is_told = outcome.found.is_some_and(bisect::Found::is_one);
    Ok(ExitCode::from(if is_told { 0 } else { 3 }))
}

impl Args {
    fn arm(&self, with: Vec<PathBuf>) -> Result<Box<dyn Arm>, Failure> {
        self.on.arm(&Real { with, kernel: self.kernel.clone() }, None)
    }

    fn origin(&self) -> Origin {
        self.git.clone().map_or(Origin::Named, Origin::Git)
    }

    /// What builds a version.
    fn build(&self) -> Option<String> {
        let of_crate = |krate: &String| CARGO.replace("CRATE", krate);
        self.build.clone().or_else(|| self.krate.as_ref().map(of_crate))
    }

    /// What is run. [`Failure::Input`] for a policy that is the same code in every version.
    fn program(&self) -> Result<Subjected, Failure> {
        let of_crate = self.krate.iter().map(|krate| PathBuf::from(format!("bin/{krate}")));
        let with: Vec<PathBuf> = self.with.iter().cloned().chain(of_crate).collect();
        let policy = match (&self.policy, &self.krate) {
            (Some(policy), _) => policy.clone(),
            (None, krate) => PolicySpec::parse(krate.as_deref().unwrap_or_default())?,
        };
        let is_built = !with.is_empty() && self.on != On::Sim;
        if policy.file().is_some() || is_built {
            return Ok(Subjected { policy, with });
        }
        Err(Failure::Input(format!(
            "policy `{policy}` is the same in every version: give ./FILE.c, or with --on vm or host the program by --with"
        )))
    }

    fn versions(&self) -> Result<Vec<Version>, Failure> {
        match (&self.git, &self.krate, &self.good, &self.worse) {
            (Some(at), _, Some(good), Some(worse)) => Version::commits(at, good, worse),
            (_, Some(krate), Some(good), Some(worse)) => Version::releases(krate, good, worse),
            _ => Version::all_named(&self.versions),
        }
    }
}

/// What is run of a version.
struct Subjected {
    policy: PolicySpec,
    /// Programs in the version's folder.
    with: Vec<PathBuf>,
}

/// What is run of each version.
struct Candidate<'a> {
    args: &'a Args,
    program: &'a Subjected,
    kind: Base,
    /// By scenario, as many as any look wants.
    seeds: Vec<Vec<u64>>,
}

impl<'a> Candidate<'a> {
    fn new(args: &'a Args, program: &'a Subjected) -> Result<Candidate<'a>, Failure> {
        let sources = sources(&args.scenarios)?;
        let arm = args.arm(Vec::new())?;
        let seeds = |source: &Source| {
            let scenario = Scenario::read(&source.text, &source.name)?;
            Ok(compare::first_seeds(&scenario, bisect::most_runs(args.seeds.into())))
        };
        let seeds = sources.iter().map(seeds).collect::<Result<_, Failure>>()?;
        let kind = Base {
            schema: GATE_SCHEMA.to_string(),
            version: signature().1,
            arm: arm.name().to_string(),
            machine: arm.machine(),
            kernel: args.on.kernel(&*arm, &program.policy)?,
            policy: program.policy.to_string(),
            scenarios: sources.into_iter().map(Recorded::none).collect(),
        };
        Ok(Candidate { args, program, kind, seeds })
    }

    /// The policy, where it is a file in the version's own folder.
    fn policy(&self, tree: &Path) -> PolicySpec {
        let mut policy = self.program.policy.clone();
        if let Some(file) = policy.file() {
            policy.name =
                tree.join(file.strip_prefix(".").unwrap_or(file)).to_string_lossy().into_owned();
        }
        policy
    }
}

impl Subject for Candidate<'_> {
    fn kind(&self) -> &Base {
        &self.kind
    }

    fn record(
        &self,
        tree: &Path,
        seeds: Range<usize>,
        watch: &dyn Watch,
    ) -> Result<Vec<Recorded>, Failure> {
        let with = self.program.with.iter().map(|path| tree.join(path)).collect();
        let arm = self.args.arm(with)?;
        let policy = self.policy(tree);
        let runner = Runner { arm: &*arm, policy: &policy, jobs: self.args.jobs.map(usize::from) };
        let scenarios = self.kind.scenarios.iter().zip(&self.seeds);
        let record = |(one, all): (&Recorded, &Vec<u64>)| {
            runner.runs(&one.source(), all[seeds.clone()].to_vec(), watch)
        };
        scenarios.map(record).collect()
    }
}
