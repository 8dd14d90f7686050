//! The parts of a sweep. The package says where they run.

use std::path::{Path, PathBuf};

use experiment::{Failed, Plan, Point, PointFailure, Source, Store};
use model::{Arm, Failure};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sim::SimArm;
use toml_edit::Value;

use crate::arrow::Table;
use crate::failure::{exception, wrong};
use crate::scenario::Scenario;
use crate::value;
use crate::work::work;

/// A grid with its points and the folder that keeps them.
#[pyclass(frozen, module = "rearguard")]
pub struct Grid {
    plan: Plan,
    points: Vec<Point>,
    folder: PathBuf,
    store: Store,
}

impl Grid {
    fn new(plan: Plan, folder: PathBuf, allow_own_policies: bool) -> Result<Grid, Failure> {
        if !allow_own_policies {
            plan.check_shipped().map_err(in_python)?;
        }
        if plan.on() != SimArm.name() {
            let said = format!("on = \"{}\": from Python plans are simulated", plan.on());
            return Err(Failure::Input(format!("{said}; use `rearguard sweep`")));
        }
        let points = plan.points(&SimArm)?;
        let store = Store::open(&folder.join("points"))?;
        Ok(Grid { plan, points, folder, store })
    }
}

#[pymethods]
impl Grid {
    /// From a grid file; scenarios are looked for beside it.
    #[staticmethod]
    #[pyo3(signature = (path, folder, *, allow_own_policies))]
    fn load(path: PathBuf, folder: PathBuf, allow_own_policies: bool) -> PyResult<Grid> {
        let text = read(&path)?;
        let beside = path.parent().unwrap_or(Path::new(""));
        let source = |file: &str| {
            let path = beside.join(file);
            let text = fileio::text(&path, fileio::LONGEST_TEXT)
                .map_err(|error| Failure::Input(format!("{}: {error}", path.display())))?;
            Ok(Source { file: path.display().to_string(), text, edits: Vec::new() })
        };
        let plan = Plan::read(&text, &path.display().to_string(), source);
        plan.and_then(|plan| Grid::new(plan, folder, allow_own_policies)).map_err(exception)
    }

    /// From a dict with the keys of a grid file, but for the scenarios.
    #[staticmethod]
    #[pyo3(signature = (entries, scenarios, folder, *, allow_own_policies))]
    fn of(
        entries: &Bound<PyDict>,
        scenarios: Vec<PyRef<Scenario>>,
        folder: PathBuf,
        allow_own_policies: bool,
    ) -> PyResult<Grid> {
        let Value::InlineTable(table) = value::toml(entries)? else {
            return Err(wrong("expected a dict"));
        };
        let source = |scenario: &PyRef<Scenario>| Source {
            file: scenario.file.clone(),
            text: scenario.text.clone(),
            edits: scenario.edits.clone(),
        };
        let plan = Plan::of(&table, scenarios.iter().map(source).collect());
        plan.and_then(|plan| Grid::new(plan, folder, allow_own_policies)).map_err(exception)
    }

    /// How many points there are.
    fn __len__(&self) -> usize {
        self.points.len()
    }

    /// The places of the points that are not finished.
    fn missing(&self) -> Vec<usize> {
        let all = self.points.iter().enumerate();
        all.filter(|(_, point)| self.store.get(&point.id).is_none())
            .map(|(place, _)| place)
            .collect()
    }

    /// A point as text, for `run_point`.
    fn point(&self, place: usize) -> String {
        serde_json::to_string(&self.points[place]).expect("plain structures of words and numbers")
    }

    /// Keeps what `run_point` gave.
    fn keep(&self, place: usize, found: &str) -> PyResult<()> {
        self.store.put(&self.points[place].id, found).map_err(exception)
    }

    /// What is reported of a point that could not run, as JSON.
    fn failed(&self, place: usize, reason: &str) -> String {
        json(&self.points[place].failed(reason, SimArm.name(), None))
    }

    /// The tables of all points that are finished; also written into the folder.
    fn tables(&self) -> PyResult<Vec<Table>> {
        let tables = experiment::tables(&self.plan, &self.points, &self.store);
        experiment::write(&self.folder, &tables).map_err(exception)?;
        Ok(tables.into_iter().map(Table::from).collect())
    }
}

/// Runs a point: what to keep, or what is reported of its failure, as JSON.
#[pyfunction]
pub fn run_point(py: Python, point: &str) -> PyResult<(Option<String>, Option<String>)> {
    let point: Point = serde_json::from_str(point).map_err(|e| wrong(e.to_string()))?;
    let found = work(py, None, |watch| match point.run(&SimArm, watch) {
        Ok(found) => Ok(Ok(found)),
        Err(PointFailure::Failed(failed)) => Ok(Err(json(&failed))),
        Err(PointFailure::Interrupted) => Err(Failure::Interrupted),
    })?;
    Ok(match found {
        Ok(found) => (Some(found), None),
        Err(failed) => (None, Some(failed)),
    })
}

/// The remedy is a keyword here, not an option.
fn in_python(failure: Failure) -> Failure {
    match failure {
        Failure::Input(said) => {
            Failure::Input(said.replace("--allow-own-policies", "allow_own_policies=True"))
        }
        other => other,
    }
}

fn json(failed: &Failed) -> String {
    serde_json::to_string(failed).expect("plain structures of words and numbers")
}

fn read(path: &Path) -> PyResult<String> {
    fileio::text(path, fileio::LONGEST_TEXT)
        .map_err(|error| wrong(format!("{}: {error}", path.display())))
}
