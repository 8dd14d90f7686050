//! Single runs, request by request.

use std::path::PathBuf;

use ::compare::command::{command, of_run};
use columnar::stack;
use model::{Arm, Events, Failure, PolicySpec};
use pyo3::prelude::*;
use sim::SimArm;
use trace::{Header, Making, Recorded};

use crate::arrow::Table;
use crate::compare::span;
use crate::failure::{exception, wrong};
use crate::scenario::Scenario;
use crate::work::work;

/// Where a trace is from, as JSON, and its tables.
type Traced = (String, Vec<Table>);

/// Runs a scenario once and gives its trace.
#[pyfunction]
#[pyo3(signature = (scenario, policy, *, seed=None, duration=None, events=false, progress=None))]
pub fn run(
    py: Python,
    scenario: &Scenario,
    policy: &str,
    seed: Option<u64>,
    duration: Option<&str>,
    events: bool,
    progress: Option<&Bound<PyAny>>,
) -> PyResult<Traced> {
    let span = duration.map(span).transpose()?;
    let scenario = scenario.lasting(span)?;
    let changed = &scenario.scenario;
    let spec = PolicySpec::parse(policy).map_err(exception)?;
    let seed = seed.unwrap_or(changed.seeds[0]);
    let base = command(&scenario.file, SimArm.name(), &scenario.edits, span);
    let making = Making {
        scenario: changed,
        scenario_text: &scenario.text,
        arm: SimArm.name(),
        machine: &SimArm.machine(),
        replay: of_run(&base, &spec.to_string(), seed),
        version: env!("CARGO_PKG_VERSION"),
    };
    work(py, progress, |watch| {
        SimArm.check(changed, &spec)?;
        let trace = SimArm.run(changed, &spec, seed, Events::when(events), watch)?;
        Ok(traced(Recorded { header: Header::new(&making, &trace), trace }))
    })
}

/// Reads a trace that the command wrote, on any arm.
#[pyfunction]
pub fn read_trace(py: Python, path: PathBuf) -> PyResult<Traced> {
    let name = path.display().to_string();
    let bytes = fileio::whole(&path, fileio::LONGEST_TRACE)
        .map_err(|error| wrong(format!("{name}: {error}")))?;
    work(py, None, |_| Ok::<_, Failure>(traced(trace::read(&bytes, &name)?)))
}

fn traced(recorded: Recorded) -> Traced {
    let header = serde_json::to_string(&recorded.header).expect("plain structures of words");
    let tables = trace::tables::tables(&recorded).into_iter().map(|parts| {
        let rows: Vec<_> = parts.batches.collect();
        let batch = stack(&rows).unwrap_or(parts.empty.batch);
        Table::from(columnar::Table { name: parts.name, batch })
    });
    (header, tables.collect())
}
