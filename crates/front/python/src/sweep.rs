//! The parts of a sweep. The package says where they run.

use std::fs;
use std::path::{Path, PathBuf};

use ::sweep::{Failed, Folder, PointFailure, Source};
use model::Failure;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use toml_edit::Value;

use crate::arrow::Table;
use crate::failure::{exception, wrong};
use crate::scenario::Scenario;
use crate::value;
use crate::work::work;

/// A grid with its points and the folder that keeps them.
#[pyclass(frozen, module = "rearguard")]
pub struct Grid {
    grid: ::sweep::Grid,
    points: Vec<::sweep::Point>,
    folder: Folder,
}

impl Grid {
    fn new(grid: ::sweep::Grid, folder: &Path) -> Result<Grid, Failure> {
        let points = grid.points()?;
        Ok(Grid { grid, points, folder: Folder::open(folder)? })
    }
}

#[pymethods]
impl Grid {
    /// From a grid file; scenarios are looked for beside it.
    #[staticmethod]
    fn load(path: PathBuf, folder: PathBuf) -> PyResult<Grid> {
        let text = read(&path)?;
        let beside = path.parent().unwrap_or(Path::new(""));
        let source = |file: &str| {
            let path = beside.join(file);
            let text = fs::read_to_string(&path)
                .map_err(|error| Failure::Input(format!("{}: {error}", path.display())))?;
            Ok(Source { file: path.display().to_string(), text, edits: Vec::new() })
        };
        let grid = ::sweep::Grid::read(&text, &path.display().to_string(), source);
        grid.and_then(|grid| Grid::new(grid, &folder)).map_err(exception)
    }

    /// From a dict with the keys of a grid file, but for the scenarios.
    #[staticmethod]
    fn of(
        entries: &Bound<PyDict>,
        scenarios: Vec<PyRef<Scenario>>,
        folder: PathBuf,
    ) -> PyResult<Grid> {
        let Value::InlineTable(table) = value::toml(entries)? else {
            return Err(wrong("expected a dict"));
        };
        let source = |scenario: &PyRef<Scenario>| Source {
            file: scenario.file.clone(),
            text: scenario.text.clone(),
            edits: scenario.edits.clone(),
        };
        let grid = ::sweep::Grid::of(&table, scenarios.iter().map(source).collect());
        grid.and_then(|grid| Grid::new(grid, &folder)).map_err(exception)
    }

    /// How many points there are.
    fn __len__(&self) -> usize {
        self.points.len()
    }

    /// The places of the points that are not finished.
    fn missing(&self) -> Vec<usize> {
        let all = self.points.iter().enumerate();
        all.filter(|(_, point)| !self.folder.has(point)).map(|(place, _)| place).collect()
    }

    /// A point as text, for `run_point`.
    fn point(&self, place: usize) -> String {
        serde_json::to_string(&self.points[place]).expect("plain structures of words and numbers")
    }

    /// Keeps what `run_point` gave.
    fn keep(&self, place: usize, found: &[u8]) -> PyResult<()> {
        self.folder.keep(&self.points[place], found).map_err(exception)
    }

    /// What is reported of a point that could not run, as JSON.
    fn failed(&self, place: usize, reason: &str) -> String {
        json(&self.points[place].failed(reason, None))
    }

    /// The tables of all points that are finished; also written into the folder.
    fn tables(&self) -> PyResult<Vec<Table>> {
        let tables = self.folder.tables(&self.grid, &self.points);
        self.folder.write(&tables).map_err(exception)?;
        Ok(tables.into_iter().map(Table::from).collect())
    }
}

/// Runs a point: what to keep, or what is reported of its failure, as JSON.
#[pyfunction]
pub fn run_point<'py>(
    py: Python<'py>,
    point: &str,
) -> PyResult<(Option<Bound<'py, PyBytes>>, Option<String>)> {
    let point: ::sweep::Point = serde_json::from_str(point).map_err(|e| wrong(e.to_string()))?;
    let found = work(py, None, |watch| match point.run(watch) {
        Ok(bytes) => Ok(Ok(bytes)),
        Err(PointFailure::Failed(failed)) => Ok(Err(json(&failed))),
        Err(PointFailure::Interrupted) => Err(Failure::Interrupted),
    })?;
    Ok(match found {
        Ok(bytes) => (Some(PyBytes::new(py, &bytes)), None),
        Err(failed) => (None, Some(failed)),
    })
}

fn json(failed: &Failed) -> String {
    serde_json::to_string(failed).expect("plain structures of words and numbers")
}

fn read(path: &Path) -> PyResult<String> {
    fs::read_to_string(path).map_err(|error| wrong(format!("{}: {error}", path.display())))
}
