//! Documents, and the tables in them.

use pyo3::prelude::*;
use report::document::COMPARE_SCHEMA;
use report::{CLUSTER_SCHEMA, ClusterRun, Document, IDEAL_SCHEMA, Ideal, Tables};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::arrow::Table;
use crate::failure::wrong;

/// A result document: as JSON, byte for byte what the command prints, and as tables.
#[pyclass(frozen, module = "rearguard")]
pub struct Results(Box<dyn Found>);

/// What a document can be made into.
trait Found: Tables + Send + Sync {
    fn json(&self) -> String;
}

impl<T: Tables + Serialize + Send + Sync> Found for T {
    fn json(&self) -> String {
        report::json(self)
    }
}

impl Results {
    /// Of a document.
    pub fn of(document: impl Tables + Serialize + Send + Sync + 'static) -> Results {
        Results(Box::new(document))
    }
}

#[pymethods]
impl Results {
    /// Reads what `--json` printed, on any arm. `schema` is the document's.
    #[staticmethod]
    fn parse(text: &str, schema: &str) -> PyResult<Results> {
        match schema {
            COMPARE_SCHEMA => read::<Document>(text).map(Results::of),
            IDEAL_SCHEMA => read::<Ideal>(text).map(Results::of),
            CLUSTER_SCHEMA => read::<ClusterRun>(text).map(Results::of),
            other => Err(wrong(format!(
                "schema `{other}`: expected {COMPARE_SCHEMA}, {IDEAL_SCHEMA} or {CLUSTER_SCHEMA}"
            ))),
        }
    }

    /// The document as the command prints it with `--json`.
    fn json(&self) -> String {
        self.0.json()
    }

    /// Every table of the document.
    fn tables(&self) -> Vec<Table> {
        self.0.tables().into_iter().map(Table::from).collect()
    }
}

fn read<T: DeserializeOwned>(text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| wrong(format!("the document: {error}")))
}
