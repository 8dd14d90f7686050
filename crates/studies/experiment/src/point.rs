//! A point: what to run, and what it found.

use std::path::Path;
use std::sync::Mutex;

use compare::command::{command, of_run};
use compare::{Plan, TraceSink};
use fileio::LONGEST_LIST;
use model::{Arm, Events, Failure, PolicySpec, Scenario, Trace, Watch};
use report::document::PolicyResult;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::sources;
use crate::store::digest;

/// What is run and kept as one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// What its result depends on, as 32 hexadecimal digits. The same point has the same id in every plan.
    pub id: String,
    /// [`Point::id`] without the seeds: points of one row may share what goes before a run.
    pub row: String,
    /// Which of the plan's grids it is of.
    pub grid: usize,
    /// The scenario's file, or a command's program.
    pub file: String,
    /// All that differs from the file, each as KEY=VALUE.
    pub edits: Vec<String>,
    /// What the grid varies: keys, and values as TOML.
    pub values: Vec<(String, String)>,
    /// The policy with its options; of a command none.
    pub policy: String,
    /// The seeds: their runs are pooled, as percentiles must not be averaged.
    pub seeds: Vec<u64>,
    /// What to run.
    pub work: Work,
}

/// What to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Work {
    /// A scenario, values included, on an arm.
    Scenario {
        /// The scenario.
        scenario: Box<Scenario>,
        /// Whether curves are kept: a sweep of thousands keeps figures.
        curves: bool,
    },
    /// A command that leaves a file results/SEED.json for each seed in a folder: `{seeds}` and `{folder}`
    /// stand for them. It depends on its words, and on the text of those that are files.
    Command(Vec<String>),
}

/// A point that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// The scenario's file.
    pub file: String,
    /// The grid's values, by key.
    pub values: Vec<(String, String)>,
    /// The policy.
    pub policy: String,
    /// The seed that failed; `None` where no run was to blame.
    pub seed: Option<u64>,
    /// Why.
    pub reason: String,
    /// The command that makes the failure again.
    pub replay: String,
}

/// Why a point has no result.
#[derive(Debug)]
pub enum PointFailure {
    /// Somebody stopped it.
    Interrupted,
    /// It cannot be run.
    Failed(Box<Failed>),
}

impl Point {
    /// A scenario under a policy, of no grid and no file.
    pub fn new(
        scenario: Scenario,
        policy: &PolicySpec,
        curves: bool,
        arm: &dyn Arm,
    ) -> Result<Point, Failure> {
        let (file, seeds) = (format!("{}.toml", scenario.name), scenario.seeds.clone());
        let work = Work::Scenario { scenario: Box::new(scenario), curves };
        Point::named(file, policy.to_string(), seeds, work, arm)
    }

    /// A command for one seed.
    pub(crate) fn of_command(
        words: Vec<String>,
        seed: u64,
        arm: &dyn Arm,
    ) -> Result<Point, Failure> {
        let file = words.first().cloned().unwrap_or_default();
        Point::named(file, String::new(), vec![seed], Work::Command(words), arm)
    }

    fn named(
        file: String,
        policy: String,
        seeds: Vec<u64>,
        work: Work,
        arm: &dyn Arm,
    ) -> Result<Point, Failure> {
        let (id, row, grid) = (String::new(), String::new(), 0);
        let (edits, values) = (Vec::new(), Vec::new());
        let mut point = Point { id, row, grid, file, edits, values, policy, seeds, work };
        (point.row, point.id) = point.identity(arm)?;
        Ok(point)
    }

    /// What [`Point::row`] and [`Point::id`] have to be here and now.
    fn identity(&self, arm: &dyn Arm) -> Result<(String, String), Failure> {
        let inputs = match &self.work {
            Work::Scenario { scenario, curves } => {
                let policy = PolicySpec::parse(&self.policy)?;
                let depends = sources::of(arm, scenario, &policy)?;
                let shows = String::new();
                let scenario = Scenario { seeds: Vec::new(), shows, ..(**scenario).clone() };
                json!([depends, scenario, self.policy, curves])
            }
            Work::Command(words) => {
                let texts = words
                    .iter()
                    .filter_map(|word| fileio::text(Path::new(word), LONGEST_LIST).ok());
                json!([words, texts.collect::<Vec<_>>()])
            }
        };
        let row = digest(&inputs.to_string());
        let id = digest(&format!("{row} {:?}", self.seeds));
        Ok((row, id))
    }

    /// Whether it could run, as far as that can be said without running it.
    pub(crate) fn check(&self, arm: &dyn Arm) -> Result<(), Failure> {
        let Work::Scenario { scenario, .. } = &self.work else { return Ok(()) };
        self.plan(scenario)?.check()?;
        arm.check(scenario, &PolicySpec::parse(&self.policy)?)
    }

    fn plan<'a>(&self, scenario: &'a Scenario) -> Result<Plan<'a>, Failure> {
        let policies = vec![PolicySpec::parse(&self.policy)?];
        Ok(Plan {
            scenario,
            policies,
            seeds: self.seeds.clone(),
            jobs: Some(1),
            events: Events::Omitted,
        })
    }

    /// Runs a scenario and gives what to keep.
    pub fn run(&self, arm: &dyn Arm, watch: &dyn Watch) -> Result<String, PointFailure> {
        let blame = Blame::default();
        self.found(arm, watch, &blame).map_err(|failure| self.told(&failure, arm, blame.seed()))
    }

    fn found(&self, arm: &dyn Arm, watch: &dyn Watch, blame: &Blame) -> Result<String, Failure> {
        let Work::Scenario { scenario, curves } = &self.work else {
            return Err(Failure::Machine("commands are run where their plan is".to_string()));
        };
        if self.identity(arm)?.1 != self.id {
            return Err(Failure::Machine(format!(
                "rearguard here is not the one that made the plan ({}), or the policy's file differs: install the same everywhere",
                env!("CARGO_PKG_VERSION")
            )));
        }
        let document = compare::run_with_sink(&self.plan(scenario)?, arm, watch, blame)?;
        Ok(kept(document.results, *curves))
    }

    /// What a failure of its run comes to.
    pub(crate) fn told(&self, why: &Failure, arm: &dyn Arm, seed: Option<u64>) -> PointFailure {
        match why {
            Failure::Interrupted => PointFailure::Interrupted,
            why => PointFailure::Failed(Box::new(self.failed(&why.to_string(), arm.name(), seed))),
        }
    }

    /// What its failure is reported as.
    pub fn failed(&self, reason: &str, on: &str, seed: Option<u64>) -> Failed {
        let replay = match &self.work {
            Work::Scenario { .. } => {
                let command = command(&self.file, on, &self.edits, None);
                of_run(&command, &self.policy, seed.unwrap_or(self.seeds[0]))
            }
            Work::Command(words) => words.join(" "),
        };
        Failed {
            file: self.file.clone(),
            values: self.values.clone(),
            policy: self.policy.clone(),
            seed,
            reason: reason.to_string(),
            replay,
        }
    }
}

/// What is kept of a point: pooled over the seeds, then seed by seed.
fn kept(mut results: Vec<PolicyResult>, curves: bool) -> String {
    if !curves {
        results.iter_mut().for_each(without_curves);
    }
    serde_json::to_string(&results).expect("plain structures of words and numbers")
}

/// What is kept of a run of one seed that was made together with others.
pub(crate) fn kept_alone(scenario: &Scenario, trace: &Trace, curves: bool) -> String {
    let pooled = compare::single(scenario, trace);
    let mut single = PolicyResult { seed: Some(trace.seed), ..pooled.clone() };
    without_curves(&mut single);
    kept(vec![pooled, single], curves)
}

fn without_curves(result: &mut PolicyResult) {
    result.lag_samples.clear();
    result.programs.iter_mut().for_each(|program| {
        program.ccdf.clear();
        program.ideal_ccdf.clear();
    });
    result.groups.iter_mut().for_each(|group| group.share_samples.clear());
}

/// Hears which run failed.
#[derive(Default)]
struct Blame {
    seed: Mutex<Option<u64>>,
}

impl Blame {
    fn seed(&self) -> Option<u64> {
        *self.seed.lock().expect("no thread panics with it")
    }
}

impl TraceSink for Blame {
    fn keep(&self, _trace: &Trace) -> Result<(), Failure> {
        Ok(())
    }

    /// Asked for the run that failed. The report of the point has the command in a place of its own.
    fn replay(&self, _policy: &PolicySpec, seed: u64) -> Option<String> {
        *self.seed.lock().expect("no thread panics with it") = Some(seed);
        None
    }
}
