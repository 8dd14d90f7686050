//! `rearguard prove`: what schedulers do on this machine, on a page to share.

mod plan;
mod rows;
mod switches;
mod timed;

use std::thread::sleep;
use std::time::Duration;

use host::HostArm;
use machine::facts::{Usage, caveats, facts};
use machine::platform::{Live, Platform};
use model::{Arm, Events, Failure, Nanos, PolicySpec, Scenario, Watch, units};
use report::proof::{PROOF_SCHEMA, Proof, ProofFact, ProofRow};

use self::plan::{Budget, Fit, PAIRS, ROWS, Row};
use self::timed::Timed;
use crate::output::{Output, signature};
use crate::terminal::Terminal;

/// The page, unless --report says otherwise.
const PAGE: &str = "proof.html";
/// How long the machine is looked at before anything runs.
const CALM: Duration = Duration::from_secs(1);

/// Measure schedulers beside this kernel's default class, and write a page to share
///
/// Each scheduler is loaded for its own runs and taken out after them, between runs of the default class.
#[derive(clap::Args)]
pub struct Args {
    /// Schedulers, as with `compare --on host`: NAME, NAME:KEY=VALUE, ./FILE.c, or a program scx_NAME in PATH
    #[arg(long, value_delimiter = ',', default_value = "rearguard", value_parser = PolicySpec::parse)]
    policy: Vec<PolicySpec>,
    /// How long all of it may take
    #[arg(long = "for", value_name = "DURATION", default_value = "15m", value_parser = units::long_duration)]
    time: Nanos,
    #[command(flatten)]
    output: Output,
}

/// What is measured: the default class, then the others.
struct Study {
    arm: HostArm,
    policies: Vec<PolicySpec>,
    budget: Budget,
}

/// Runs the command.
pub fn run(args: Args) -> Result<(), Failure> {
    let output = args.output.with_report(PAGE);
    output.check(&["html", "md"], &[])?;
    let on = Live::new("");
    let policies: Vec<PolicySpec> =
        std::iter::once(PolicySpec::plain("default")).chain(args.policy).collect();
    let contenders = policies.len() as u64 + 1;
    let budget = Budget { time: args.time, contenders };
    let study = Study { arm: HostArm::default(), policies, budget };
    let rows = study.rows()?;
    machine::privileged(&on).map_err(|why| Failure::Machine(format!("prove {why}")))?;
    let fit = study.budget.first_fit(&scenarios(&rows)?)?;
    anstream::eprintln!("{}", study.plan(&rows, fit));
    output.proved(&study.measured(&on, &rows, &Terminal::new("prove"))?)
}

/// A row, or why this machine cannot run it.
type Planned = Result<&'static Row, ProofRow>;

/// The scenarios of rows that can be run.
fn scenarios(rows: &[Planned]) -> Result<Vec<Scenario>, Failure> {
    rows.iter().flatten().map(|row| row.scenario(100)).collect()
}

impl Study {
    /// All rows. What one CPU cannot show fails; what more CPUs are missing for is left out.
    fn rows(&self) -> Result<Vec<Planned>, Failure> {
        let planned = |row: &'static Row| {
            let scenario = row.scenario(100)?;
            self.compared(&scenario, 1).check()?;
            let able =
                self.policies.iter().try_for_each(|policy| self.arm.check(&scenario, policy));
            match able {
                Ok(()) => Ok(Ok(row)),
                Err(Failure::Machine(why)) if scenario.machine.cpus > 1 => {
                    Ok(Err(row.lacking(why)))
                }
                Err(failure) => Err(failure),
            }
        };
        ROWS.iter().map(planned).collect()
    }

    fn compared<'a>(&self, scenario: &'a Scenario, runs: u64) -> compare::Plan<'a> {
        compare::Plan {
            scenario,
            policies: self.policies.clone(),
            seeds: compare::first_seeds(scenario, runs as usize),
            jobs: None,
            events: Events::Omitted,
        }
    }

    /// What is going to happen.
    fn plan(&self, rows: &[Planned], fit: Fit) -> String {
        let names: Vec<String> = self.policies.iter().map(PolicySpec::to_string).collect();
        let Fit { runs, percent } = fit;
        format!(
            "rearguard: {} for round trips of {} pairs of threads, then {} tails with {runs} runs of {} and {} again in \
             turns, {percent}% of the usual windows; the whole machine is under each scheduler meanwhile",
            self.budget.time,
            PAIRS.map(|pairs| pairs.to_string()).join(", "),
            rows.iter().flatten().count(),
            names.join(", "),
            names[0],
        )
    }

    /// Everything.
    fn measured(
        &self,
        on: &dyn Platform,
        rows: &[Planned],
        user: &dyn Watch,
    ) -> Result<Proof, Failure> {
        let watch = Timed::new(user, self.budget.time);
        let before = Usage::read(on);
        sleep(CALM);
        let begin = Usage::read(on);
        let switches = self.switches(&watch)?;
        let (tails, attempts) = self.tails(rows, &watch)?;
        let others = begin.zip(before).and_then(|(now, earlier)| now.others(&earlier));
        let stolen = Usage::read(on).zip(begin).and_then(|(now, earlier)| now.stolen(&earlier));
        let noted = others.into_iter().chain(stolen).chain(of_build());
        let noted = noted.chain(rows::noted(&tails)).chain(attempts);
        let fact = |(what, is): (&str, String)| ProofFact { what: what.to_string(), is };
        Ok(Proof {
            schema: PROOF_SCHEMA.to_string(),
            command: signature().0,
            version: crate::version().to_string(),
            machine: facts(on).into_iter().map(fact).collect(),
            caveats: caveats(on).into_iter().chain(noted).collect(),
            tails,
            switches,
        })
    }
}

/// What is to be held against this very program.
fn of_build() -> Vec<String> {
    let version = crate::version();
    let no_commit = ["not recorded", "-dirty"].iter().any(|mark| version.contains(mark));
    let no_commit =
        no_commit.then_some("This program is of no recorded commit: none can be built like it.");
    let debug = cfg!(debug_assertions)
        .then_some("This program is a debug build, whose servers take longer.");
    no_commit.into_iter().chain(debug).map(String::from).collect()
}
