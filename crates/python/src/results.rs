//! Documents, and the tables in them.

use pyo3::prelude::*;
use report::{Document, Ideal, Tables};
use serde::de::DeserializeOwned;

use crate::arrow::Table;
use crate::failure::wrong;

/// A result document: as JSON, byte for byte what the command prints, and as tables.
#[pyclass(frozen, module = "rearguard")]
pub struct Results(Kind);

enum Kind {
    Compare(Box<Document>),
    Ideal(Box<Ideal>),
}

impl From<Document> for Results {
    fn from(document: Document) -> Results {
        Results(Kind::Compare(Box::new(document)))
    }
}

impl From<Ideal> for Results {
    fn from(ideal: Ideal) -> Results {
        Results(Kind::Ideal(Box::new(ideal)))
    }
}

#[pymethods]
impl Results {
    /// Reads what `--json` printed, on any arm. `schema` is the document's.
    #[staticmethod]
    fn parse(text: &str, schema: &str) -> PyResult<Results> {
        match schema {
            report::document::COMPARE_SCHEMA => read::<Document>(text).map(Results::from),
            report::IDEAL_SCHEMA => read::<Ideal>(text).map(Results::from),
            other => Err(wrong(format!(
                "schema `{other}`: expected {} or {}",
                report::document::COMPARE_SCHEMA,
                report::IDEAL_SCHEMA
            ))),
        }
    }

    /// The document as the command prints it with `--json`.
    fn json(&self) -> String {
        match &self.0 {
            Kind::Compare(document) => report::json(document),
            Kind::Ideal(ideal) => report::json(ideal),
        }
    }

    /// Every table of the document.
    fn tables(&self) -> Vec<Table> {
        let tables = match &self.0 {
            Kind::Compare(document) => document.tables(),
            Kind::Ideal(ideal) => ideal.tables(),
        };
        tables.into_iter().map(Table::from).collect()
    }
}

fn read<T: DeserializeOwned>(text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| wrong(format!("the document: {error}")))
}
