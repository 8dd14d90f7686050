//! A point: what to run, and what it found.

use std::fs;
use std::sync::Mutex;

use columnar::{Format, Table, encode};
use compare::command::{command, of_run};
use compare::{Plan, TraceSink};
use model::{Arm, Events, Failure, PolicySpec, Scenario, Trace, Watch};
use report::document::PolicyResult;
use report::{Document, Tables};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};
use sim::SimArm;

use crate::{ENGINE, SWEEP_SCHEMA};

/// A scenario with its values under one policy, with all its seeds: they are pooled, as percentiles must not
/// be averaged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// What its results depend on, as 32 hexadecimal digits: the scenario with its values, the policy with
    /// its source where that is a file, the seeds, and the engine. The same point has the same id in every
    /// grid.
    pub id: String,
    /// The scenario's file.
    pub file: String,
    /// The scenario's text, values included.
    pub text: String,
    /// All that differs from the file, each as KEY=VALUE.
    pub edits: Vec<String>,
    /// What the grid varies: keys, and values as TOML.
    pub values: Vec<(String, String)>,
    /// The policy with its options.
    pub policy: String,
    /// The seeds.
    pub seeds: Vec<u64>,
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

/// What a finished point keeps.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PointResult {
    /// [`Point::id`].
    pub id: String,
    /// The scenario's name.
    pub scenario: String,
    /// Pooled over the seeds, then seed by seed; without curves.
    pub results: Vec<PolicyResult>,
}

impl Point {
    pub(crate) fn check(&self, scenario: &Scenario) -> Result<(), Failure> {
        self.plan(scenario)?.check()?;
        SimArm.check(scenario, &PolicySpec::parse(&self.policy)?)
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

    /// What [`Point::id`] has to be here and now.
    pub(crate) fn identity(&self, scenario: &Scenario) -> Result<String, Failure> {
        let name = PolicySpec::parse(&self.policy)?.name;
        let source = policy_native::source(&name).map(fs::read).transpose();
        let source = source.map_err(|e| Failure::Input(format!("policy {name}: {e}")))?;
        let inputs = json!([ENGINE, scenario, self.policy, source, self.seeds]);
        Ok(format!("{:.32x}", Sha256::digest(inputs.to_string())))
    }

    /// Runs it and gives the bytes of its file.
    pub fn run(&self, watch: &dyn Watch) -> Result<Vec<u8>, PointFailure> {
        let blame = Blame::default();
        self.found(watch, &blame).map_err(|failure| match failure {
            Failure::Interrupted => PointFailure::Interrupted,
            failure => {
                PointFailure::Failed(Box::new(self.failed(&failure.to_string(), blame.seed())))
            }
        })
    }

    fn found(&self, watch: &dyn Watch, blame: &Blame) -> Result<Vec<u8>, Failure> {
        let scenario = Scenario::read(&self.text, &self.file)?;
        if self.identity(&scenario)? != self.id {
            return Err(Failure::Machine(format!(
                "rearguard here is not the one that made the grid ({ENGINE}), or the policy's file differs: install the same everywhere"
            )));
        }
        let plan = self.plan(&scenario)?;
        let mut document = compare::run_with_sink(&plan, &SimArm, watch, blame)?;
        document.results.iter_mut().for_each(without_curves);
        let programs = document.tables().into_iter().find(|table| table.name == "programs");
        let Document { scenario, results, .. } = document;
        let kept = PointResult { id: self.id.clone(), scenario, results };
        let note = serde_json::to_string(&kept).expect("plain structures of words and numbers");
        let programs = programs.expect("a table of every comparison").batch;
        let file = Table { name: "point", batch: programs }.with_note(SWEEP_SCHEMA, &note);
        Ok(encode(&file.batch, Format::Parquet))
    }

    /// What its failure is reported as.
    pub fn failed(&self, reason: &str, seed: Option<u64>) -> Failed {
        Failed {
            file: self.file.clone(),
            values: self.values.clone(),
            policy: self.policy.clone(),
            seed,
            reason: reason.to_string(),
            replay: of_run(&self.command(), &self.policy, seed.unwrap_or(self.seeds[0])),
        }
    }

    fn command(&self) -> String {
        command(&self.file, SimArm.name(), &self.edits, None)
    }
}

/// Why a point has no results.
#[derive(Debug)]
pub enum PointFailure {
    /// It was interrupted.
    Interrupted,
    /// It cannot be run.
    Failed(Box<Failed>),
}

/// Curves are drawn from comparisons; a sweep of thousands keeps figures.
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
