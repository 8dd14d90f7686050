//! Comparisons in simulation.

use ::compare::command::{Again, command};
use ::compare::{Plan, first_seeds};
use model::{Arm, Events, Nanos, PolicySpec, Watch, units};
use pyo3::prelude::*;
use report::Document;
use sim::SimArm;

use crate::failure::{exception, wrong};
use crate::results::Results;
use crate::scenario::Scenario;
use crate::work::work;

/// Which seeds: so many, or exactly these.
#[derive(FromPyObject)]
pub enum Seeds {
    #[pyo3(transparent)]
    Count(usize),
    #[pyo3(transparent)]
    These(Vec<u64>),
}

/// The names of the policies that the simulator knows.
#[pyfunction]
pub fn policies() -> Vec<&'static str> {
    sim::names()
}

/// Says whether a scenario could run under a policy; raises what is wrong.
#[pyfunction]
pub fn check(scenario: &Scenario, policy: &str) -> PyResult<()> {
    let policy = PolicySpec::parse(policy).map_err(exception)?;
    SimArm.check(&scenario.scenario, &policy).map_err(exception)
}

/// Runs a scenario under several policies.
#[pyfunction]
#[pyo3(signature = (scenario, policies, *, seeds=None, duration=None, jobs=None, progress=None))]
pub fn compare(
    py: Python,
    scenario: &Scenario,
    policies: Vec<String>,
    seeds: Option<Seeds>,
    duration: Option<&str>,
    jobs: Option<usize>,
    progress: Option<&Bound<PyAny>>,
) -> PyResult<Results> {
    let span = duration.map(span).transpose()?;
    let scenario = &scenario.lasting(span)?;
    let specs = policies.iter().map(|policy| PolicySpec::parse(policy));
    let plan = Plan {
        scenario: &scenario.scenario,
        policies: specs.collect::<Result<_, _>>().map_err(exception)?,
        seeds: chosen(seeds.as_ref(), &scenario.scenario)?,
        jobs,
        events: Events::Omitted,
    };
    one_or_more("policy", plan.policies.len())?;
    one_or_more("job", jobs.unwrap_or(1))?;
    let again = Again(command(&scenario.file, SimArm.name(), &scenario.edits, span));
    let run = |watch: &dyn Watch| ::compare::run_with_sink(&plan, &SimArm, watch, &again);
    let document = work(py, progress, run)?;
    Ok(Results::of(Document {
        command: words(scenario, &policies, seeds.as_ref(), duration),
        version: env!("CARGO_PKG_VERSION").to_string(),
        scenario_text: scenario.text.clone(),
        ..document
    }))
}

/// A duration above 0.
pub fn span(text: &str) -> PyResult<Nanos> {
    match units::duration(text) {
        Ok(Nanos::ZERO) => Err(wrong(format!("duration {text}: expected more than 0"))),
        other => other.map_err(|what| wrong(format!("duration: {what}"))),
    }
}

fn one_or_more(what: &str, count: usize) -> PyResult<()> {
    if count == 0 { Err(wrong(format!("0: expected at least one {what}"))) } else { Ok(()) }
}

fn chosen(seeds: Option<&Seeds>, scenario: &model::Scenario) -> PyResult<Vec<u64>> {
    let chosen = match seeds {
        Some(Seeds::These(seeds)) => seeds.clone(),
        Some(Seeds::Count(count)) => first_seeds(scenario, *count),
        None => scenario.seeds.clone(),
    };
    one_or_more("seed", chosen.len())?;
    Ok(chosen)
}

/// The command that prints the same document.
fn words(
    scenario: &Scenario,
    policies: &[String],
    seeds: Option<&Seeds>,
    duration: Option<&str>,
) -> Vec<String> {
    let mut words: Vec<String> =
        ["rearguard", "compare", &scenario.file].map(str::to_string).to_vec();
    let mut option = |name: &str, value: String| words.extend([format!("--{name}"), value]);
    scenario.edits.iter().for_each(|edit| option("set", edit.clone()));
    option("policy", policies.join(","));
    match seeds {
        Some(Seeds::Count(count)) => option("seeds", count.to_string()),
        Some(Seeds::These(seeds)) => {
            let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
            option("seed", seeds.join(","));
        }
        None => {}
    }
    duration.into_iter().for_each(|duration| option("duration", duration.to_string()));
    words.push("--json".to_string());
    words
}
