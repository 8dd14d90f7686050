//! Scenarios: text, what it means, and other values for its keys.

use std::path::PathBuf;

use model::Nanos;
use model::edit::{Edit, edited};
use model::scenario::Kind;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::failure::{exception, wrong};
use crate::value;

/// A valid scenario. It does not change: `with_values` makes another.
#[pyclass(frozen, module = "rearguard")]
pub struct Scenario {
    pub text: String,
    /// Where it is from; messages name it.
    pub file: String,
    /// What `with_values` changed, as the command's `--set` takes it.
    pub edits: Vec<String>,
    pub scenario: model::Scenario,
}

impl Scenario {
    fn read(text: String, file: String, edits: Vec<String>) -> PyResult<Scenario> {
        let scenario = model::Scenario::read(&text, &file).map_err(exception)?;
        Ok(Scenario { text, file, edits, scenario })
    }

    /// The same for another time, which the command says by `--duration`.
    pub fn lasting(&self, span: Option<Nanos>) -> PyResult<Scenario> {
        let edits = span.map(|span| Edit::time("duration", span)).transpose().map_err(exception)?;
        let text = edited(&self.text, &self.file, edits.as_slice()).map_err(exception)?;
        Scenario::read(text, self.file.clone(), self.edits.clone())
    }
}

#[pymethods]
impl Scenario {
    /// From the text of a scenario file. `file` is its name in messages.
    #[new]
    #[pyo3(signature = (text, file="scenario.toml", *, edits=Vec::new()))]
    fn new(text: String, file: &str, edits: Vec<String>) -> PyResult<Scenario> {
        Scenario::read(text, file.to_string(), edits)
    }

    /// From a file.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Scenario> {
        let file = path.display().to_string();
        let text = fileio::text(&path, fileio::LONGEST_TEXT)
            .map_err(|error| wrong(format!("{file}: {error}")))?;
        Scenario::read(text, file, Vec::new())
    }

    /// The same with other values for some keys: `{"program.web.arrivals.utilisation": 0.9, "duration":
    /// "2s"}`.
    fn with_values(&self, values: &Bound<PyDict>) -> PyResult<Scenario> {
        let edit = |(key, value): (Bound<PyAny>, Bound<PyAny>)| {
            Edit::new(&key.extract::<String>()?, value::toml(&value)?).map_err(exception)
        };
        let edits = values.iter().map(edit).collect::<PyResult<Vec<Edit>>>()?;
        let text = edited(&self.text, &self.file, &edits).map_err(exception)?;
        let all = self.edits.iter().cloned().chain(edits.iter().map(Edit::to_string));
        Scenario::read(text, self.file.clone(), all.collect())
    }

    /// The text that was read, with other values where there are some.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// The file's name, as messages have it.
    #[getter]
    fn file(&self) -> &str {
        &self.file
    }

    /// What `with_values` changed, each as KEY=VALUE.
    #[getter]
    fn edits(&self) -> Vec<String> {
        self.edits.clone()
    }

    /// Its name: the file's stem unless the text gives one.
    #[getter]
    fn name(&self) -> &str {
        &self.scenario.name
    }

    /// What it shows, in its author's words.
    #[getter]
    fn shows(&self) -> &str {
        &self.scenario.shows
    }

    /// The seeds that it runs with unless others are asked for.
    #[getter]
    fn seeds(&self) -> Vec<u64> {
        self.scenario.seeds.clone()
    }

    /// The measured time in nanoseconds.
    #[getter]
    fn duration_ns(&self) -> u64 {
        self.scenario.duration.0
    }

    /// Logical CPUs.
    #[getter]
    fn cpus(&self) -> u32 {
        self.scenario.machine.cpus
    }

    /// The names of its programs.
    #[getter]
    fn programs(&self) -> Vec<String> {
        self.scenario.programs.iter().map(|program| program.name.clone()).collect()
    }

    /// The names of its services: the programs that have latencies.
    #[getter]
    fn services(&self) -> Vec<String> {
        let programs = self.scenario.programs.iter();
        let services = programs.filter(|program| matches!(program.kind, Kind::Service(_)));
        services.map(|program| program.name.clone()).collect()
    }

    /// What it holds, as `rearguard check` says it.
    fn describe(&self) -> String {
        self.scenario.describe()
    }

    fn __repr__(&self) -> String {
        format!("<rearguard.Scenario {}>", self.scenario.name)
    }

    fn __eq__(&self, other: &Scenario) -> bool {
        self.scenario == other.scenario
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        (&self.scenario.name, &self.scenario.seeds).hash(&mut hasher);
        hasher.finish()
    }

    /// For pickle, so that scenarios go to other processes.
    fn __getnewargs_ex__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<((String, String), Bound<'py, PyDict>)> {
        let named = PyDict::new(py);
        named.set_item("edits", &self.edits)?;
        Ok(((self.text.clone(), self.file.clone()), named))
    }
}
